#include "bandwidth.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>

#include "isa.hpp"
#include "pool.hpp"

namespace oneread {

namespace {

constexpr size_t kGrain = 256;            // bytes; four of the widest vectors
constexpr size_t kHugePage = 1 << 21;     // bytes
constexpr double kSampleSeconds = 0.002;  // long beside the start of the threads, some 10 us
constexpr int kSamples = 9;

// Pages as large as the system gives them, which is what NumPy asks for, too. Aligned to kHugePage.
class Pages {
 public:
  explicit Pages(size_t bytes) : size_(bytes + kHugePage) {
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    data_ = (char*)(((uintptr_t)base_ + kHugePage - 1) & ~(uintptr_t)(kHugePage - 1));
#if defined(MADV_HUGEPAGE)
    madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    std::memset(data_, 1, bytes);
  }
  ~Pages() { munmap(base_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  char* data() const { return data_; }

 private:
  size_t size_;
  void* base_;
  char* data_;
};

}  // namespace

double bandwidth(Traffic traffic, size_t bytes, int threads) {
  size_t parts = (size_t)std::clamp(threads, 1, kMaxThreads);
  size_t part = std::max((bytes / parts + kGrain - 1) / kGrain, (size_t)1) * kGrain;
  bool copies = traffic != Traffic::read;
  Pages from(part * parts), to(copies ? part * parts : kGrain);
  const Kernels& kernels = current_tables()(ElementType::f32);
  std::atomic<uint32_t> seen{0};
  auto seconds = [&](size_t turns) {
    auto start = std::chrono::steady_clock::now();
    parallel(parts, (int)parts, [&](size_t i, int) {
      for (size_t turn = 0; turn < turns; turn++) {
        if (copies)
          kernels.copy(from.data() + i * part, to.data() + i * part, part,
                       traffic == Traffic::streaming_copy);
        else seen |= kernels.read(from.data() + i * part, part);
      }
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(1);
  size_t turns = 1 + (size_t)(kSampleSeconds / std::max(seconds(1), 1e-7));
  double sample[kSamples];
  for (double& s : sample) s = seconds(turns);
  std::nth_element(sample, sample + kSamples / 2, sample + kSamples);
  return (copies ? 2e-9 : 1e-9) * (double)(part * parts * turns) / sample[kSamples / 2];
}

}  // namespace oneread
