// How rows beyond the caches are stored.
#pragma once

#include <cstddef>

namespace oneread {

// Past the caches whatever the size, through them, or past them from the size on that pays.
enum class Stores { any, regular, streaming };
void set_stores(Stores stores);
// Bytes of results from which on they go past the caches.
size_t streaming_from();

// A row has lines that it shares with its neighbours, and a beginning and an end. 16000 x 2000 take
// 7.7 instead of 7.0 ms, 12000 x 3000 as much instead of 8.3, 4000 x 4000 3.0 instead of 3.3 (Zen
// 4); 40000 x 1000 20 instead of 16 ms on an Intel Xeon.
inline constexpr size_t kLeastStreamedBytes = 12 << 10;

}  // namespace oneread
