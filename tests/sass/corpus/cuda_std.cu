// Of libcu++, the standard library of NVIDIA's CCCL: atomics, barriers, numbers, algorithms.

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>

template <class T, cuda::thread_scope SCOPE>
__global__ void atomic_add(T* y, const T* x) {
    cuda::atomic_ref<T, SCOPE> total(*y);
    total.fetch_add(x[blockIdx.x * blockDim.x + threadIdx.x], cuda::std::memory_order_relaxed);
}

template <class T, cuda::thread_scope SCOPE>
__global__ void atomic_swap(T* y, const T* x) {
    cuda::atomic_ref<T, SCOPE> place(*y);
    T known = place.load();
    while (known < x[threadIdx.x] && !place.compare_exchange_weak(known, x[threadIdx.x])) {
    }
    place.store(known, cuda::std::memory_order_release);
}

template <class T>
__global__ void complex_product(const cuda::std::complex<T>* x, cuda::std::complex<T>* y, int n) {
    cuda::std::complex<T> product(1);
    for (int i = threadIdx.x; i < n; i += blockDim.x) product *= x[i];
    y[threadIdx.x] = product;
}

template <class T>
__global__ void complex_functions(cuda::std::complex<T>* x) {
    x[threadIdx.x] = exp(x[threadIdx.x]) / (x[threadIdx.x] + cuda::std::complex<T>(abs(x[0])));
}

template <class T>
__global__ void bits(T* x) {
    const T v = x[threadIdx.x];
    x[threadIdx.x] = cuda::std::popcount(v) + cuda::std::countl_zero(v) * cuda::std::countl_one(v) +
                     cuda::std::rotl(v, 3) + cuda::std::bit_ceil(v) + cuda::std::has_single_bit(v);
}

__global__ void block_barrier(float* x) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier barrier;
    __shared__ float row[256];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    for (int step = 0; step < 4; ++step) {
        row[threadIdx.x] = x[step * 256 + threadIdx.x];
        barrier.arrive_and_wait();
        x[step * 256 + threadIdx.x] = row[255 - threadIdx.x];
        barrier.arrive_and_wait();
    }
}

__global__ void async_copy(const float* x, float* y) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier barrier;
    __shared__ __align__(16) float row[1024];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(row + 4 * threadIdx.x, x + 4 * threadIdx.x, cuda::aligned_size_t<16>(16),
                       barrier);
    barrier.arrive_and_wait();
    y[threadIdx.x] = row[1023 - threadIdx.x];
}

template <class T>
__global__ void tuples(const T* x, T* y, int n) {
    cuda::std::tuple<T, int> best(cuda::std::numeric_limits<T>::lowest(), -1);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (x[i] > cuda::std::get<0>(best)) best = cuda::std::tuple<T, int>(x[i], i);
    y[threadIdx.x] = cuda::std::get<0>(best) + T(cuda::std::get<1>(best));
}

template <class T>
__device__ cuda::std::optional<T> found(cuda::std::span<const T> values, T wanted) {
    for (const T& value : values)
        if (value == wanted) return value;
    return cuda::std::nullopt;
}

template <class T>
__global__ void optional_search(const T* x, T* y, int n) {
    y[threadIdx.x] = found(cuda::std::span<const T>(x, n), y[threadIdx.x]).value_or(T(-1));
}

template <class T>
__global__ void array_rotate(T* x, int by) {
    cuda::std::array<T, 8> values;
    for (int i = 0; i < 8; ++i) values[i] = x[threadIdx.x * 8 + i];
    for (int i = 0; i < 8; ++i) x[threadIdx.x * 8 + i] = values[(i + by) & 7];
}

template __global__ void atomic_add<int, cuda::thread_scope_device>(int*, const int*);
template __global__ void atomic_add<int, cuda::thread_scope_block>(int*, const int*);
template __global__ void atomic_swap<int, cuda::thread_scope_system>(int*, const int*);
template __global__ void atomic_add<unsigned long long, cuda::thread_scope_device>(unsigned long long*, const unsigned long long*);
template __global__ void atomic_add<unsigned long long, cuda::thread_scope_block>(unsigned long long*, const unsigned long long*);
template __global__ void atomic_swap<unsigned long long, cuda::thread_scope_system>(unsigned long long*, const unsigned long long*);
template __global__ void atomic_add<float, cuda::thread_scope_device>(float*, const float*);
template __global__ void atomic_add<float, cuda::thread_scope_block>(float*, const float*);
template __global__ void atomic_swap<float, cuda::thread_scope_system>(float*, const float*);
template __global__ void atomic_add<double, cuda::thread_scope_device>(double*, const double*);
template __global__ void atomic_add<double, cuda::thread_scope_block>(double*, const double*);
template __global__ void atomic_swap<double, cuda::thread_scope_system>(double*, const double*);
template __global__ void complex_product<float>(const cuda::std::complex<float>*, cuda::std::complex<float>*, int);
template __global__ void complex_functions<float>(cuda::std::complex<float>*);
template __global__ void complex_product<double>(const cuda::std::complex<double>*, cuda::std::complex<double>*, int);
template __global__ void complex_functions<double>(cuda::std::complex<double>*);
template __global__ void bits<unsigned char>(unsigned char*);
template __global__ void bits<unsigned>(unsigned*);
template __global__ void bits<unsigned long long>(unsigned long long*);

template __global__ void tuples<int>(const int*, int*, int);
template __global__ void optional_search<int>(const int*, int*, int);
template __global__ void array_rotate<int>(int*, int);
template __global__ void tuples<float>(const float*, float*, int);
template __global__ void optional_search<float>(const float*, float*, int);
template __global__ void array_rotate<float>(float*, int);
template __global__ void tuples<double>(const double*, double*, int);
template __global__ void optional_search<double>(const double*, double*, int);
template __global__ void array_rotate<double>(double*, int);
template __global__ void tuples<short>(const short*, short*, int);
template __global__ void optional_search<short>(const short*, short*, int);
template __global__ void array_rotate<short>(short*, int);
