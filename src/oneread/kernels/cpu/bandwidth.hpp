// How fast memory of a given size is read or copied on this machine.
#pragma once

#include <cstddef>

namespace oneread {

enum class Traffic { read, copy, streaming_copy };

// 1e9 bytes a second, as the median of several measurements; a copy moves each byte twice. Each
// buffer has `bytes` bytes, cut into one part a thread. Throws std::bad_alloc.
double bandwidth(Traffic, size_t bytes, int threads);

}  // namespace oneread
