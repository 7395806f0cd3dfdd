// Primitives of a warp and of a thread, of NVIDIA's CCCL.

#include <cub/thread/thread_load.cuh>
#include <cub/thread/thread_reduce.cuh>
#include <cub/thread/thread_sort.cuh>
#include <cub/thread/thread_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

struct Less {
    template <class T>
    __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};

struct Larger {
    template <class T>
    __device__ T operator()(const T& a, const T& b) const { return a > b ? a : b; }
};

template <class T, int LANES>
__global__ void warp_sum(const T* x, T* y) {
    using Reduce = cub::WarpReduce<T, LANES>;
    __shared__ typename Reduce::TempStorage storage[128 / LANES];
    const T sum = Reduce(storage[threadIdx.x / LANES]).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x % LANES == 0) y[(blockIdx.x * 128 + threadIdx.x) / LANES] = sum;
}

template <class T, int LANES>
__global__ void warp_segments(const T* x, const int* heads, T* y) {
    using Reduce = cub::WarpReduce<T, LANES>;
    __shared__ typename Reduce::TempStorage storage[128 / LANES];
    const int i = blockIdx.x * 128 + threadIdx.x;
    y[i] = Reduce(storage[threadIdx.x / LANES]).HeadSegmentedReduce(x[i], heads[i], Larger());
}

template <class T, int LANES>
__global__ void warp_scan(const T* x, T* y) {
    using Scan = cub::WarpScan<T, LANES>;
    __shared__ typename Scan::TempStorage storage[128 / LANES];
    const int i = blockIdx.x * 128 + threadIdx.x;
    T before, through;
    Scan(storage[threadIdx.x / LANES]).Scan(x[i], through, before, Larger());
    y[i] = before + through;
}

template <class T>
__global__ void warp_sort(const T* x, T* y) {
    using Sort = cub::WarpMergeSort<T, 2, 32>;
    __shared__ typename Sort::TempStorage storage[2];
    const int i = 2 * (blockIdx.x * 64 + threadIdx.x);
    T items[2] = {x[i], x[i + 1]};
    Sort(storage[threadIdx.x / 32]).Sort(items, Less());
    y[i] = items[0];
    y[i + 1] = items[1];
}

template <class T>
__global__ void warp_exchange(const T* x, T* y) {
    using Exchange = cub::WarpExchange<T, 4, 32>;
    __shared__ typename Exchange::TempStorage storage;
    T items[4];
    for (int i = 0; i < 4; ++i) items[i] = x[i * 32 + threadIdx.x];
    Exchange(storage).StripedToBlocked(items, items);
    for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = items[i];
}

template <class T, cub::WarpLoadAlgorithm ALGORITHM>
__global__ void warp_load(const T* x, T* y) {
    using Load = cub::WarpLoad<T, 4, ALGORITHM>;
    __shared__ typename Load::TempStorage storage;
    T items[4];
    Load(storage).Load(x, items);
    T sum = cub::ThreadReduce(items, Larger());
    y[threadIdx.x] = sum;
}

template <class T, cub::CacheLoadModifier LOAD, cub::CacheStoreModifier STORE>
__global__ void cached(T* x, T* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    cub::ThreadStore<STORE>(y + i, cub::ThreadLoad<LOAD>(x + i));
}

template __global__ void warp_sum<int, 32>(const int*, int*);
template __global__ void warp_sum<int, 8>(const int*, int*);
template __global__ void warp_segments<int, 32>(const int*, const int*, int*);
template __global__ void warp_scan<int, 32>(const int*, int*);
template __global__ void warp_scan<int, 16>(const int*, int*);
template __global__ void warp_sort<int>(const int*, int*);
template __global__ void warp_exchange<int>(const int*, int*);
template __global__ void warp_load<int, cub::WARP_LOAD_TRANSPOSE>(const int*, int*);
template __global__ void warp_sum<float, 32>(const float*, float*);
template __global__ void warp_sum<float, 8>(const float*, float*);
template __global__ void warp_segments<float, 32>(const float*, const int*, float*);
template __global__ void warp_scan<float, 32>(const float*, float*);
template __global__ void warp_scan<float, 16>(const float*, float*);
template __global__ void warp_sort<float>(const float*, float*);
template __global__ void warp_exchange<float>(const float*, float*);
template __global__ void warp_load<float, cub::WARP_LOAD_TRANSPOSE>(const float*, float*);
template __global__ void warp_sum<double, 32>(const double*, double*);
template __global__ void warp_sum<double, 8>(const double*, double*);
template __global__ void warp_segments<double, 32>(const double*, const int*, double*);
template __global__ void warp_scan<double, 32>(const double*, double*);
template __global__ void warp_scan<double, 16>(const double*, double*);
template __global__ void warp_sort<double>(const double*, double*);
template __global__ void warp_exchange<double>(const double*, double*);
template __global__ void warp_load<double, cub::WARP_LOAD_TRANSPOSE>(const double*, double*);
template __global__ void warp_sum<unsigned short, 32>(const unsigned short*, unsigned short*);
template __global__ void warp_sum<unsigned short, 8>(const unsigned short*, unsigned short*);
template __global__ void warp_segments<unsigned short, 32>(const unsigned short*, const int*, unsigned short*);
template __global__ void warp_scan<unsigned short, 32>(const unsigned short*, unsigned short*);
template __global__ void warp_scan<unsigned short, 16>(const unsigned short*, unsigned short*);
template __global__ void warp_sort<unsigned short>(const unsigned short*, unsigned short*);
template __global__ void warp_exchange<unsigned short>(const unsigned short*, unsigned short*);
template __global__ void warp_load<unsigned short, cub::WARP_LOAD_TRANSPOSE>(const unsigned short*, unsigned short*);
template __global__ void warp_sum<unsigned long long, 32>(const unsigned long long*, unsigned long long*);
template __global__ void warp_sum<unsigned long long, 8>(const unsigned long long*, unsigned long long*);
template __global__ void warp_segments<unsigned long long, 32>(const unsigned long long*, const int*, unsigned long long*);
template __global__ void warp_scan<unsigned long long, 32>(const unsigned long long*, unsigned long long*);
template __global__ void warp_scan<unsigned long long, 16>(const unsigned long long*, unsigned long long*);
template __global__ void warp_sort<unsigned long long>(const unsigned long long*, unsigned long long*);
template __global__ void warp_exchange<unsigned long long>(const unsigned long long*, unsigned long long*);
template __global__ void warp_load<unsigned long long, cub::WARP_LOAD_TRANSPOSE>(const unsigned long long*, unsigned long long*);
template __global__ void cached<int, cub::LOAD_CA, cub::STORE_WB>(int*, int*);
template __global__ void cached<int, cub::LOAD_CG, cub::STORE_CG>(int*, int*);
template __global__ void cached<int, cub::LOAD_CS, cub::STORE_CS>(int*, int*);
template __global__ void cached<int, cub::LOAD_CV, cub::STORE_WT>(int*, int*);
template __global__ void cached<double, cub::LOAD_LDG, cub::STORE_VOLATILE>(double*, double*);
