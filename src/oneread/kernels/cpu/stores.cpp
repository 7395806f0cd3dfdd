#include "stores.hpp"

#include <atomic>

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

// They do in log_softmax, which reads its logits a second time: 4000 x 25000 take 38 instead of
// 60 ms on two threads of an Intel Xeon, 25 instead of 28 on Zen 4. In softmax the Xeon gains up to
// a tenth (40 and 44 ms), but a core of Zen 4 stores past its caches more slowly than it fetches
// and writes back: 33 and 27 ms, 53 and 37 on one thread. With many threads memory itself is the
// limit, and the fetches that are saved count: from here on by reckoning, not by measurement.
bool streaming_pays(bool log, int threads) {
  constexpr int kManyThreads = 16;
  Stores stores = stores_in_use.load(std::memory_order_relaxed);
  if (stores != Stores::any) return stores == Stores::streaming;
  static const bool amd = is_amd();
  return log || !amd || threads > kManyThreads;
}

}  // namespace oneread
