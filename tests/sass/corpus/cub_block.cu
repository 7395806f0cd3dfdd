// Primitives of a block, of NVIDIA's CCCL, for several types, sizes and algorithms.

#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

struct Less {
    template <class T>
    __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};

struct Larger {
    template <class T>
    __device__ T operator()(const T& a, const T& b) const { return a > b ? a : b; }
};

template <class T, int THREADS, cub::BlockReduceAlgorithm ALGORITHM>
__global__ void block_reduce(const T* x, T* y) {
    using Reduce = cub::BlockReduce<T, THREADS, ALGORITHM>;
    __shared__ typename Reduce::TempStorage storage;
    const T sum = Reduce(storage).Sum(x[blockIdx.x * THREADS + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

template <class T, int THREADS>
__global__ void block_max(const T* x, T* y, int count) {
    using Reduce = cub::BlockReduce<T, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const T value = i < count ? x[i] : T();
    const T largest = Reduce(storage).Reduce(value, Larger(), count);
    if (threadIdx.x == 0) y[blockIdx.x] = largest;
}

template <class T, int THREADS, cub::BlockScanAlgorithm ALGORITHM>
__global__ void block_scan(const T* x, T* y) {
    using Scan = cub::BlockScan<T, THREADS, ALGORITHM>;
    __shared__ typename Scan::TempStorage storage;
    T value = x[blockIdx.x * THREADS + threadIdx.x], total;
    Scan(storage).ExclusiveSum(value, value, total);
    y[blockIdx.x * THREADS + threadIdx.x] = value + total;
}

template <class T, int THREADS, int ITEMS>
__global__ void block_radix_sort(const T* x, T* y) {
    using Sort = cub::BlockRadixSort<T, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    T items[ITEMS];
    for (int i = 0; i < ITEMS; ++i) items[i] = x[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + i];
    Sort(storage).Sort(items);
    for (int i = 0; i < ITEMS; ++i) y[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + i] = items[i];
}

template <class T, int THREADS, int ITEMS>
__global__ void block_merge_sort(const T* x, T* y) {
    using Sort = cub::BlockMergeSort<T, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    T items[ITEMS];
    for (int i = 0; i < ITEMS; ++i) items[i] = x[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + i];
    Sort(storage).Sort(items, Less());
    for (int i = 0; i < ITEMS; ++i) y[(blockIdx.x * THREADS + threadIdx.x) * ITEMS + i] = items[i];
}

template <class T, int ITEMS, cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE>
__global__ void block_copy(const T* x, T* y, int count) {
    using Load = cub::BlockLoad<T, 128, ITEMS, LOAD>;
    using Store = cub::BlockStore<T, 128, ITEMS, STORE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    T items[ITEMS];
    const int first = blockIdx.x * 128 * ITEMS;
    Load(storage.load).Load(x + first, items, count - first, T());
    __syncthreads();
    for (int i = 0; i < ITEMS; ++i) items[i] = items[i] + items[i];
    Store(storage.store).Store(y + first, items, count - first);
}

template <class T, cub::BlockHistogramAlgorithm ALGORITHM>
__global__ void block_histogram(const T* x, unsigned* y) {
    using Histogram = cub::BlockHistogram<T, 128, 4, 256, ALGORITHM>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned counts[256];
    T items[4];
    for (int i = 0; i < 4; ++i) items[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    Histogram(storage).Histogram(items, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) y[blockIdx.x * 256 + i] = counts[i];
}

template <class T>
__global__ void block_exchange(const T* x, T* y) {
    using Exchange = cub::BlockExchange<T, 128, 4>;
    __shared__ typename Exchange::TempStorage storage;
    T items[4];
    for (int i = 0; i < 4; ++i) items[i] = x[blockIdx.x * 512 + i * 128 + threadIdx.x];
    Exchange(storage).StripedToBlocked(items, items);
    for (int i = 0; i < 4; ++i) y[blockIdx.x * 512 + threadIdx.x * 4 + i] = items[i];
}

template <class T>
__global__ void block_heads(const T* x, int* y) {
    using Heads = cub::BlockDiscontinuity<T, 128>;
    __shared__ typename Heads::TempStorage storage;
    T items[2] = {x[blockIdx.x * 256 + threadIdx.x * 2], x[blockIdx.x * 256 + threadIdx.x * 2 + 1]};
    int flags[2];
    Heads(storage).FlagHeads(flags, items, Less());
    y[blockIdx.x * 128 + threadIdx.x] = flags[0] + 2 * flags[1];
}

struct Minus {
    template <class T>
    __device__ T operator()(const T& a, const T& b) const { return a - b; }
};

template <class T>
__global__ void block_difference(const T* x, T* y) {
    using Difference = cub::BlockAdjacentDifference<T, 128>;
    __shared__ typename Difference::TempStorage storage;
    T items[2] = {x[blockIdx.x * 256 + threadIdx.x * 2], x[blockIdx.x * 256 + threadIdx.x * 2 + 1]};
    Difference(storage).SubtractLeft(items, items, Minus());
    y[blockIdx.x * 128 + threadIdx.x] = items[0] * items[1];
}

template __global__ void block_reduce<int, 128, cub::BLOCK_REDUCE_RAKING>(const int*, int*);
template __global__ void block_reduce<int, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const int*, int*);
template __global__ void block_reduce<int, 96, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const int*, int*);
template __global__ void block_max<int, 128>(const int*, int*, int);
template __global__ void block_reduce<float, 128, cub::BLOCK_REDUCE_RAKING>(const float*, float*);
template __global__ void block_reduce<float, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const float*, float*);
template __global__ void block_reduce<float, 96, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const float*, float*);
template __global__ void block_max<float, 128>(const float*, float*, int);
template __global__ void block_reduce<double, 128, cub::BLOCK_REDUCE_RAKING>(const double*, double*);
template __global__ void block_reduce<double, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const double*, double*);
template __global__ void block_reduce<double, 96, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const double*, double*);
template __global__ void block_max<double, 128>(const double*, double*, int);
template __global__ void block_reduce<long long, 128, cub::BLOCK_REDUCE_RAKING>(const long long*, long long*);
template __global__ void block_reduce<long long, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const long long*, long long*);
template __global__ void block_reduce<long long, 96, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const long long*, long long*);
template __global__ void block_max<long long, 128>(const long long*, long long*, int);
template __global__ void block_reduce<unsigned char, 128, cub::BLOCK_REDUCE_RAKING>(const unsigned char*, unsigned char*);
template __global__ void block_reduce<unsigned char, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const unsigned char*, unsigned char*);
template __global__ void block_reduce<unsigned char, 96, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const unsigned char*, unsigned char*);
template __global__ void block_max<unsigned char, 128>(const unsigned char*, unsigned char*, int);
template __global__ void block_scan<int, 128, cub::BLOCK_SCAN_RAKING>(const int*, int*);
template __global__ void block_scan<int, 256, cub::BLOCK_SCAN_WARP_SCANS>(const int*, int*);
template __global__ void block_scan<int, 64, cub::BLOCK_SCAN_RAKING_MEMOIZE>(const int*, int*);
template __global__ void block_scan<float, 128, cub::BLOCK_SCAN_RAKING>(const float*, float*);
template __global__ void block_scan<float, 256, cub::BLOCK_SCAN_WARP_SCANS>(const float*, float*);
template __global__ void block_scan<float, 64, cub::BLOCK_SCAN_RAKING_MEMOIZE>(const float*, float*);
template __global__ void block_scan<double, 128, cub::BLOCK_SCAN_RAKING>(const double*, double*);
template __global__ void block_scan<double, 256, cub::BLOCK_SCAN_WARP_SCANS>(const double*, double*);
template __global__ void block_scan<double, 64, cub::BLOCK_SCAN_RAKING_MEMOIZE>(const double*, double*);
template __global__ void block_scan<unsigned long long, 128, cub::BLOCK_SCAN_RAKING>(const unsigned long long*, unsigned long long*);
template __global__ void block_scan<unsigned long long, 256, cub::BLOCK_SCAN_WARP_SCANS>(const unsigned long long*, unsigned long long*);
template __global__ void block_scan<unsigned long long, 64, cub::BLOCK_SCAN_RAKING_MEMOIZE>(const unsigned long long*, unsigned long long*);
template __global__ void block_radix_sort<unsigned, 128, 4>(const unsigned*, unsigned*);
template __global__ void block_radix_sort<float, 64, 2>(const float*, float*);
template __global__ void block_radix_sort<unsigned char, 64, 4>(const unsigned char*,
                                                                unsigned char*);
template __global__ void block_merge_sort<int, 64, 2>(const int*, int*);
template __global__ void block_merge_sort<double, 64, 3>(const double*, double*);

template __global__ void block_copy<float, 4, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(const float*, float*, int);
template __global__ void block_copy<float, 4, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(const float*, float*, int);
template __global__ void block_copy<float, 3, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(const float*, float*, int);
template __global__ void block_copy<float, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_STRIPED>(const float*, float*, int);
template __global__ void block_copy<short, 4, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(const short*, short*, int);
template __global__ void block_copy<short, 4, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(const short*, short*, int);
template __global__ void block_copy<short, 3, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(const short*, short*, int);
template __global__ void block_copy<short, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_STRIPED>(const short*, short*, int);
template __global__ void block_copy<double, 4, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(const double*, double*, int);
template __global__ void block_copy<double, 4, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(const double*, double*, int);
template __global__ void block_copy<double, 3, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(const double*, double*, int);
template __global__ void block_copy<double, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_STRIPED>(const double*, double*, int);
template __global__ void block_histogram<unsigned char, cub::BLOCK_HISTO_ATOMIC>(
    const unsigned char*, unsigned*);
template __global__ void block_histogram<unsigned char, cub::BLOCK_HISTO_SORT>(
    const unsigned char*, unsigned*);
template __global__ void block_exchange<float>(const float*, float*);
template __global__ void block_exchange<char>(const char*, char*);
template __global__ void block_heads<int>(const int*, int*);
template __global__ void block_heads<float>(const float*, int*);
template __global__ void block_difference<int>(const int*, int*);
template __global__ void block_difference<double>(const double*, double*);
