// The arithmetic of kernels/cuda on a CPU: one row, cut into parts as threads would cut it.
//
// What the GPU offers is stood in for as far as running.cuh needs it; a warp here has one lane.
#include <cmath>
#include <cstdint>
#include <cstring>

#define __device__
#define __forceinline__ inline
#define __noinline__
#define __align__(bytes) alignas(bytes)
#define PLAIN_C

template <typename To, typename From>
To cast_bits(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline float __int_as_float(int bits) { return cast_bits<float>(bits); }
inline float __uint_as_float(unsigned bits) { return cast_bits<float>(bits); }
inline double __longlong_as_double(long long bits) { return cast_bits<double>(bits); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const std::uint64_t bytes = (std::uint64_t)b << 32 | a;
    unsigned picked = 0;
    for (int i = 0; i < 4; ++i)
        picked |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return picked;
}
inline unsigned __ballot_sync(unsigned, bool holds) { return holds; }
inline int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
inline void __syncthreads() {}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int, int) {
    return value;
}
struct float2 {
    float x, y;
};
struct double2 {
    double x, y;
};
static struct {
    int x;
} threadIdx;
using std::fabs;
using std::fma;
using std::fmin;

#if ELEMENT == 1
inline float half_to_float(unsigned short bits) { return (float)cast_bits<_Float16>(bits); }
inline unsigned short float_to_half(float x) { return cast_bits<unsigned short>((_Float16)x); }
#define NARROW float_to_half
#elif ELEMENT == 2
inline unsigned short float_to_bfloat(float x) {
    const unsigned bits = cast_bits<unsigned>(x);
    if (x != x) return 0x7fff;
    return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#define NARROW float_to_bfloat
#endif
#ifdef NARROW
inline unsigned pair_of(float low, float high) {
    return (unsigned)NARROW(high) << 16 | NARROW(low);
}
#endif

#include "running.cuh"

// softmax as softmax_row.cu has it, log_softmax as all kernels have it.
extern "C" void row(const Element* x, Element* y, long vocab, double temperature, int log,
                    int parts) {
    const Scale scale = scale_of(temperature, nullptr, 0);
    Running all = Running{-infinity(), 0};
    for (int part = 0; part < parts; ++part) {
        Running own = Running{-infinity(), 0};
        if (log) {
            Stream stream = nothing();
            for (long i = part; i < vocab; i += parts) {
                Vector v = of_lowest();
                set(v, i % WIDTH, x[i]);
                absorb<1>(stream, &v, scale);
            }
            own = total(stream, scale);
        } else {
            for (long i = part; i < vocab; i += parts) own.m = larger(own.m, to_real(x[i]));
            const Origin origin = origin_at(reference(own.m));
            Real sum = 0;
            for (long i = part; i < vocab; i += parts) sum += power(origin, to_real(x[i]), scale);
            own.r = sum * drift(origin) - 1;
        }
        all = part == 0 ? own : merge(all, own, scale);
    }
    const bool regular = fabs(all.m) < infinity();
    const Origin top = origin_at(all.m);
    const Real factor = regular ? drift(top) / (1 + all.r) : not_a_number();
    const Real log_d = regular ? log_one_plus(all.r) : not_a_number();
    for (long i = 0; i < vocab; ++i) {
        const Real z = log ? over_temperature(to_real(x[i]) - all.m, scale) - log_d
                           : power(top, to_real(x[i]), scale) * factor;
        y[i] = to_element(z);
    }
}
