#include <atomic>
#include <stdexcept>

#include "count.hpp"
#include "isa.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace oneread {

namespace {

struct Isa {
  const char* name;
  Tables table;
  Gradients gradients;
  bool (*supported)();
};

#if defined(__x86_64__)
// __builtin_cpu_supports also asks whether the operating system saves the wider registers. Clang's
// does not know these three, which belong to the level, too.
bool has_f16c_movbe_lzcnt() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C) || !(c & bit_MOVBE)) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}
bool has_v2() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }
bool has_v3() {
  return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c_movbe_lzcnt();
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
constexpr Isa kIsas[] = {
    {"x86-64-v4", x86_64_v4::table, x86_64_v4::gradient_table, has_v4},
    {"x86-64-v3", x86_64_v3::table, x86_64_v3::gradient_table, has_v3},
    {"x86-64-v2", x86_64_v2::table, x86_64_v2::gradient_table, has_v2},
    {"scalar", scalar::table, scalar::gradient_table, has_v2},
};
#elif defined(__aarch64__)
bool always() { return true; }
constexpr Isa kIsas[] = {{"aarch64", aarch64::table, aarch64::gradient_table, always},
                         {"scalar", scalar::table, scalar::gradient_table, always}};
#else
#error "oneread has no CPU kernels for this architecture"
#endif

const Isa* best() {
  for (const Isa& isa : kIsas)
    if (isa.supported()) return &isa;
  return nullptr;
}

// Not in the list: nobody can ask for it by name.
constexpr Isa kCounting = {"counting", counting::table, counting::gradient_table, nullptr};

std::atomic<const Isa*> in_use{nullptr};

const Isa& current() {
  if (Counting::current()) return kCounting;
  const Isa* isa = in_use.load(std::memory_order_relaxed);
  if (!isa) {
    isa = best();
    if (!isa) throw std::runtime_error("this processor lacks x86-64-v2 (SSE4.2, POPCNT)");
    in_use.store(isa, std::memory_order_relaxed);
  }
  return *isa;
}

}  // namespace

std::vector<std::string> compiled_isas() {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas) names.push_back(isa.name);
  return names;
}

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas)
    if (isa.supported()) names.push_back(isa.name);
  return names;
}

const char* current_isa() { return current().name; }

void set_isa(const std::string& name) {
  for (const Isa& isa : kIsas) {
    if (name != isa.name) continue;
    if (!isa.supported()) throw std::invalid_argument("this machine cannot run " + name);
    in_use.store(&isa, std::memory_order_relaxed);
    return;
  }
  throw std::invalid_argument("this build has no code for " + name);
}

Tables current_tables() { return current().table; }
Gradients current_gradients() { return current().gradients; }

#if defined(__x86_64__)
FloatControl::FloatControl(bool flush) : saved_(_mm_getcsr()) {
  constexpr unsigned masked = 0x1f80, flush_results = 0x8000;
  _mm_setcsr(masked | (flush ? flush_results : 0));
}
FloatControl::~FloatControl() { _mm_setcsr((unsigned)saved_); }
#else
FloatControl::FloatControl(bool) {
  asm volatile("mrs %0, fpcr" : "=r"(saved_));
  asm volatile("msr fpcr, %0" ::"r"((uint64_t)0));
}
FloatControl::~FloatControl() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
#endif

}  // namespace oneread
