#include "stores.hpp"

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace oneread {

namespace {

std::atomic<Stores> stores_in_use{Stores::any};

bool is_amd() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx;
#else
  return false;
#endif
}

}  // namespace

void set_stores(Stores stores) { stores_in_use.store(stores, std::memory_order_relaxed); }

// Once x and y no longer fit the outermost cache. On Zen 4, 32 MB of it, rows of 25,000 take as
// long either way at 24 MB, 1270 and 1400 us at 32 MB, 2.0 and 2.3 ms at 48 MB. On an Intel Xeon
// results within the caches took twice as long, and from 64 MB on up to a tenth less.
size_t streaming_from() {
  constexpr size_t kMegabyte = 1000000;
  static const size_t pays = (is_amd() ? 24 : 64) * kMegabyte;
  switch (stores_in_use.load(std::memory_order_relaxed)) {
    case Stores::regular:
      return SIZE_MAX;
    case Stores::streaming:
      return 0;
    case Stores::any:
      break;
  }
  return pays;
}

}  // namespace oneread
