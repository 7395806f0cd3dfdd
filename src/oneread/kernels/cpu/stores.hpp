// How rows beyond the caches are stored.
#pragma once

#include <cstddef>

namespace oneread {

// Past the caches whatever the size, through them, or past them from the size on that pays.
enum class Stores { any, regular, streaming };
void set_stores(Stores stores);
// Bytes of results from which on they go past the caches.
size_t streaming_from();

}  // namespace oneread
