#include "reuse.hpp"

#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>

namespace oneread {

namespace {

constexpr size_t kPage = (size_t)2 << 20;  // a huge one
constexpr size_t kMost = (size_t)512 << 20;

size_t whole_pages(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kPage) throw std::bad_alloc();
  return (bytes + kPage - 1) / kPage * kPage;
}

void* mapped(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// New memory at a huge page, or null.
char* new_block(size_t bytes) {
  char* all = (char*)mapped(bytes + kPage);
  if (!all) return nullptr;
  size_t before = (kPage - (uintptr_t)all % kPage) % kPage;
  if (before) munmap(all, before);
  munmap(all + before + bytes, kPage - before);
#if defined(MADV_HUGEPAGE)
  madvise(all + before, bytes, MADV_HUGEPAGE);
#endif
  return all + before;
}

class Shelf {
 public:
  Loan borrow(size_t bytes) {
    size_t size = whole_pages(bytes);
    {
      std::lock_guard<std::mutex> guard(lock_);
      size_t best = fitting(size);
      if (best < kept_.size()) return take(best);
    }
    char* data = new_block(size);
    if (!data) {  // what is kept may stand in the way
      std::lock_guard<std::mutex> guard(lock_);
      shrink(0);
      data = new_block(size);
    }
    if (!data) throw std::bad_alloc();
    return {data, size, false};
  }

  void give_back(const Loan& loan) {
#if defined(MADV_FREE)
    // The system may take the pages when it runs short; until then they stay for the next one.
    madvise(loan.data, loan.bytes, MADV_FREE);
#endif
    std::lock_guard<std::mutex> guard(lock_);
    kept_.push_back({loan.data, loan.bytes, true});
    total_ += loan.bytes;
    shrink(most_);
  }

  bool keeps(size_t bytes) {
    std::lock_guard<std::mutex> guard(lock_);
    return fitting(whole_pages(bytes)) < kept_.size();
  }

  size_t keep_at_most(size_t bytes) {
    std::lock_guard<std::mutex> guard(lock_);
    size_t before = std::exchange(most_, bytes);
    shrink(most_);
    return before;
  }

  size_t kept_bytes() {
    std::lock_guard<std::mutex> guard(lock_);
    return total_;
  }

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  // The smallest that is large enough and not much larger, of equals the latest.
  size_t fitting(size_t size) const {
    size_t best = kept_.size();
    for (size_t i = 0; i < kept_.size(); i++) {
      size_t here = kept_[i].bytes;
      if (here < size || here > size + size / 4) continue;
      if (best == kept_.size() || here <= kept_[best].bytes) best = i;
    }
    return best;
  }
  Loan take(size_t i) {
    Loan loan = kept_[i];
    kept_.erase(kept_.begin() + (ptrdiff_t)i);
    total_ -= loan.bytes;
    return loan;
  }
  void shrink(size_t most) {
    while (total_ > most) {
      Loan oldest = take(0);
      munmap(oldest.data, oldest.bytes);
    }
  }

  std::mutex lock_;
  std::vector<Loan> kept_;  // the oldest first
  size_t total_ = 0, most_ = kMost;
};

// Never destroyed: results may outlive main. A fork waits until no thread is in it, so that the
// child has it whole.
Shelf& shelf() {
  static Shelf* the = [] {
    static Shelf* made = new Shelf;
    pthread_atfork([] { made->lock(); }, [] { made->unlock(); }, [] { made->unlock(); });
    return made;
  }();
  return *the;
}

}  // namespace

Loan borrow(size_t bytes) { return shelf().borrow(bytes); }
void give_back(const Loan& loan) { shelf().give_back(loan); }
bool keeps(size_t bytes) { return shelf().keeps(bytes); }
size_t keep_at_most(size_t bytes) { return shelf().keep_at_most(bytes); }
size_t kept_bytes() { return shelf().kept_bytes(); }

}  // namespace oneread
