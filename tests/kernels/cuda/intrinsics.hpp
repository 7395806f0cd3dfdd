// What CUDA C offers a kernel beside the language, for the thread blocks of gpu.hpp.
#pragma once
#include "gpu.hpp"

inline void __syncthreads() { gpu::meet(); }
inline int __syncthreads_count(int holds) { return gpu::count(holds != 0); }
inline int __syncthreads_or(int holds) { return __syncthreads_count(holds) != 0; }

inline void __syncwarp(unsigned mask = 0xffffffffu) { gpu::exchange(mask, 0); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane / width * width + from % width, true);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int step, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane ^ step, (lane ^ step) / width <= lane / width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned step, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane - (int)step, lane % width >= (int)step);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned step, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane + (int)step, lane % width + (int)step < width);
}

inline unsigned __ballot_sync(unsigned mask, int holds) {
  const std::uint64_t* shown = gpu::exchange(mask, (int)(holds != 0));
  unsigned bits = 0;
  gpu::for_each_lane(mask, [&](int i) { bits |= (unsigned)(gpu::taken<int>(shown[i]) << i); });
  return bits;
}
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) == mask; }

template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  const std::uint64_t* shown = gpu::exchange(mask, value);
  unsigned same = 0;
  gpu::for_each_lane(mask, [&](int i) {
    if (gpu::taken<T>(shown[i]) == value) same |= 1u << i;
  });
  return same;
}

template <typename T, typename Join>
T reduced(unsigned mask, T value, const Join& join) {
  const std::uint64_t* shown = gpu::exchange(mask, value);
  T all = value;
  gpu::for_each_lane(mask, [&](int i) {
    if (i != (int)threadIdx.x % 32) all = join(all, gpu::taken<T>(shown[i]));
  });
  return all;
}
template <typename T>
T __reduce_max_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return a > b ? a : b; });
}
template <typename T>
T __reduce_min_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return a < b ? a : b; });
}
template <typename T>
T __reduce_add_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return (T)(a + b); });
}
template <typename T>
T __reduce_or_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return (T)(a | b); });
}

// Only one thread runs at a time.
template <typename T, typename Join>
T atomically(T* p, const Join& join) {
  const T old = *p;
  *p = join(old);
  return old;
}
template <typename T>
T atomicAdd(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return (T)(old + value); });
}
template <typename T>
T atomicMax(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return old > value ? old : value; });
}
template <typename T>
T atomicMin(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return old < value ? old : value; });
}
template <typename T>
T atomicOr(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return (T)(old | value); });
}
template <typename T>
T atomicExch(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T) { return value; });
}
template <typename T>
T atomicCAS(T* p, std::common_type_t<T> expected, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return old == expected ? value : old; });
}
inline void __threadfence() {}
inline void __threadfence_block() {}

template <typename To, typename From>
To cast_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int bits) { return cast_bits<float>(bits); }
inline float __uint_as_float(unsigned bits) { return cast_bits<float>(bits); }
inline int __float_as_int(float x) { return cast_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return cast_bits<unsigned>(x); }
inline double __longlong_as_double(long long bits) { return cast_bits<double>(bits); }
inline long long __double_as_longlong(double x) { return cast_bits<long long>(x); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
inline int __clz(int bits) { return bits ? __builtin_clz((unsigned)bits) : 32; }
inline int __clzll(long long bits) { return bits ? __builtin_clzll((unsigned long long)bits) : 64; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = (std::uint64_t)b << 32 | a;
  unsigned picked = 0;
  for (int i = 0; i < 4; ++i)
    picked |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return picked;
}
template <typename T>
void __stcs(T* p, T value) {
  *p = value;
}
template <typename T>
T __ldg(const T* p) {
  return *p;
}
template <typename T>
T min(T a, std::common_type_t<T> b) {
  return a < b ? a : b;
}
template <typename T>
T max(T a, std::common_type_t<T> b) {
  return a > b ? a : b;
}
inline float __fdividef(float a, float b) { return a / b; }
using std::fabs;
using std::fma;
using std::fmin;

// What ptx.cuh has beyond reductions.
inline float half_to_float(unsigned short bits) { return (float)cast_bits<_Float16>(bits); }
inline unsigned short float_to_half(float x) { return cast_bits<unsigned short>((_Float16)x); }
inline unsigned short float_to_bfloat(float x) {
  const unsigned bits = cast_bits<unsigned>(x);
  if (x != x) return 0x7fff;
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#ifndef RESULT
#define RESULT ELEMENT
#endif
#if RESULT == 1
#define NARROW float_to_half
#else
#define NARROW float_to_bfloat
#endif
inline unsigned pair_of(float low, float high) {
  return (unsigned)NARROW(high) << 16 | NARROW(low);
}
#if ELEMENT == 1
#define WIDEN half_to_float
#else
inline float bfloat_to_float(unsigned short bits) { return cast_bits<float>((unsigned)bits << 16); }
#define WIDEN bfloat_to_float
#endif
template <typename Join>
unsigned of_pairs(unsigned a, unsigned b, const Join& join) {
    const unsigned short low = join((unsigned short)a, (unsigned short)b);
    return (unsigned)join((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16 | low;
}
inline unsigned max_of_pairs(unsigned a, unsigned b) {
    return of_pairs(a, b, [](unsigned short x, unsigned short y) {
        return WIDEN(x) > WIDEN(y) || WIDEN(x) != WIDEN(x) ? x : y;
    });
}
inline unsigned min_of_pairs(unsigned a, unsigned b) {
    return of_pairs(a, b, [](unsigned short x, unsigned short y) {
        return WIDEN(x) < WIDEN(y) || WIDEN(y) != WIDEN(y) ? x : y;
    });
}
inline unsigned above_in_pairs(unsigned pair, unsigned bound) {
    return of_pairs(pair, bound, [](unsigned short x, unsigned short y) {
        return (unsigned short)(WIDEN(x) <= WIDEN(y) ? 0 : 0xffff);
    });
}
template <typename T>
void load_once(T& v, const void* p) {
  std::memcpy(&v, p, sizeof v);
}
template <typename T>
void load_hinted(T& v, const void* p, unsigned long long) {
  load_once(v, p);
}
inline unsigned load_relaxed(const unsigned* p) { return *p; }
inline void store_relaxed(unsigned* p, unsigned value) { *p = value; }
inline unsigned long long keep_policy() { return 0; }
inline unsigned long long drop_policy() { return 0; }
// Copies past the registers are made when they are waited for, as late as a GPU may make them.
inline void begin_copy(void* to, const void* from) { gpu::begin_copy(to, from); }
inline void end_group() { gpu::end_group(); }
template <int PENDING>
void wait_for_groups() {
  gpu::wait_for_groups(PENDING);
}

inline unsigned cluster_rank() { return (unsigned)gpu::rank_in_cluster(); }

// The place of `p` in the shared memory of another block of the cluster.
static thread_local char anchor;
template <typename T>
T* remote(T* p, unsigned rank) {
  return (T*)(gpu::anchor_of(rank) + ((char*)p - &anchor));
}
template <typename Pair, typename Real>
void store_remote(Pair* p, unsigned rank, Real a, Real b) {
  *remote(p, rank) = Pair{a, b};
}
template <typename T>
void store_remote(T* p, unsigned rank, T value) {
    *remote(p, rank) = value;
}
inline void cluster_arrive() { gpu::arrive_at_cluster(); }
inline void cluster_arrive_relaxed() { cluster_arrive(); }
inline void cluster_wait() { gpu::wait_for_cluster(); }
