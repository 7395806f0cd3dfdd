// How rows beyond the caches are stored.
#pragma once

namespace oneread {

// Past the caches, through them, or as this processor likes.
enum class Stores { any, regular, streaming };
void set_stores(Stores stores);
// Whether stores past the caches are worth it, for long rows that do not fit them.
bool streaming_pays(bool log, int threads);

}  // namespace oneread
