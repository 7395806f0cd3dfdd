// Memory of large results: what one gave back, the next is written to. Its pages are there already,
// which new memory gets one by one as it is first written, at more than the cost of a softmax.
#pragma once

#include <cstddef>

namespace oneread {

struct Loan {
  char* data;
  size_t bytes;  // of the whole block, at least those asked for
  bool used;     // written before, so that its pages are there
};

// Memory of at least so many bytes, at a page of 2 MB. Throws std::bad_alloc. Any thread may ask,
// and give back.
Loan borrow(size_t bytes);
void give_back(const Loan& loan);
// Whether one that is borrowed next would be used.
bool keeps(size_t bytes);

// Keep at most so many bytes that nobody has; what is more goes back to the system, the oldest
// first. 512 MiB at the start. Returns the limit until now.
size_t keep_at_most(size_t bytes);
// How many are kept.
size_t kept_bytes();

}  // namespace oneread
