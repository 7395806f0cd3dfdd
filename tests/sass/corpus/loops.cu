// Plain loops of one thread or one lane, for many types.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T>
__global__ void axpy(T a, const T* x, T* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

template <class T>
__global__ void dot(const T* __restrict__ x, const T* __restrict__ y, T* z, int n) {
    T sum = T(0);
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = sum + x[i] * y[i];
    z[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <class T>
__global__ void largest(const T* __restrict__ x, T* y, int* place, int n) {
    T best = x[0];
    int at = 0;
    for (int i = 1; i < n; ++i)
        if (x[i] > best) {
            best = x[i];
            at = i;
        }
    y[threadIdx.x] = best;
    place[threadIdx.x] = at;
}

template <class T>
__global__ void polynomial(const T* x, T* y, const T* __restrict__ factors, int degree) {
    const T v = x[blockIdx.x * blockDim.x + threadIdx.x];
    T value = T(0);
    for (int i = 0; i < degree; ++i) value = value * v + factors[i];
    y[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

template <class T>
__global__ void matrix_vector(const T* a, const T* x, T* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    T sum = T(0);
    for (int j = 0; j < columns; ++j) sum = sum + a[(size_t)row * columns + j] * x[j];
    y[row] = sum;
}

template <class T>
__global__ void running_mean(const T* x, T* y, int n, int width) {
    T sum = T(0);
    for (int i = 0; i < n; ++i) {
        sum = sum + x[i * 32 + threadIdx.x];
        if (i >= width) sum = sum - x[(i - width) * 32 + threadIdx.x];
        y[i * 32 + threadIdx.x] = sum / T(width);
    }
}

template <class T>
__global__ void bubble(T* x) {
    T items[8];
    for (int i = 0; i < 8; ++i) items[i] = x[threadIdx.x * 8 + i];
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 7; ++j)
            if (items[j + 1] < items[j]) {
                const T kept = items[j];
                items[j] = items[j + 1];
                items[j + 1] = kept;
            }
    for (int i = 0; i < 8; ++i) x[threadIdx.x * 8 + i] = items[i];
}

template __global__ void axpy<signed char>(signed char, const signed char*, signed char*, int);
template __global__ void dot<signed char>(const signed char*, const signed char*, signed char*, int);
template __global__ void largest<signed char>(const signed char*, signed char*, int*, int);
template __global__ void polynomial<signed char>(const signed char*, signed char*, const signed char*, int);
template __global__ void matrix_vector<signed char>(const signed char*, const signed char*, signed char*, int, int);
template __global__ void running_mean<signed char>(const signed char*, signed char*, int, int);
template __global__ void bubble<signed char>(signed char*);
template __global__ void axpy<unsigned short>(unsigned short, const unsigned short*, unsigned short*, int);
template __global__ void dot<unsigned short>(const unsigned short*, const unsigned short*, unsigned short*, int);
template __global__ void largest<unsigned short>(const unsigned short*, unsigned short*, int*, int);
template __global__ void polynomial<unsigned short>(const unsigned short*, unsigned short*, const unsigned short*, int);
template __global__ void matrix_vector<unsigned short>(const unsigned short*, const unsigned short*, unsigned short*, int, int);
template __global__ void running_mean<unsigned short>(const unsigned short*, unsigned short*, int, int);
template __global__ void bubble<unsigned short>(unsigned short*);
template __global__ void axpy<int>(int, const int*, int*, int);
template __global__ void dot<int>(const int*, const int*, int*, int);
template __global__ void largest<int>(const int*, int*, int*, int);
template __global__ void polynomial<int>(const int*, int*, const int*, int);
template __global__ void matrix_vector<int>(const int*, const int*, int*, int, int);
template __global__ void running_mean<int>(const int*, int*, int, int);
template __global__ void bubble<int>(int*);
template __global__ void axpy<long long>(long long, const long long*, long long*, int);
template __global__ void dot<long long>(const long long*, const long long*, long long*, int);
template __global__ void largest<long long>(const long long*, long long*, int*, int);
template __global__ void polynomial<long long>(const long long*, long long*, const long long*, int);
template __global__ void matrix_vector<long long>(const long long*, const long long*, long long*, int, int);
template __global__ void running_mean<long long>(const long long*, long long*, int, int);
template __global__ void bubble<long long>(long long*);
template __global__ void axpy<float>(float, const float*, float*, int);
template __global__ void dot<float>(const float*, const float*, float*, int);
template __global__ void largest<float>(const float*, float*, int*, int);
template __global__ void polynomial<float>(const float*, float*, const float*, int);
template __global__ void matrix_vector<float>(const float*, const float*, float*, int, int);
template __global__ void running_mean<float>(const float*, float*, int, int);
template __global__ void bubble<float>(float*);
template __global__ void axpy<double>(double, const double*, double*, int);
template __global__ void dot<double>(const double*, const double*, double*, int);
template __global__ void largest<double>(const double*, double*, int*, int);
template __global__ void polynomial<double>(const double*, double*, const double*, int);
template __global__ void matrix_vector<double>(const double*, const double*, double*, int, int);
template __global__ void running_mean<double>(const double*, double*, int, int);
template __global__ void bubble<double>(double*);
template __global__ void axpy<__half>(__half, const __half*, __half*, int);
template __global__ void dot<__half>(const __half*, const __half*, __half*, int);
template __global__ void largest<__half>(const __half*, __half*, int*, int);
template __global__ void polynomial<__half>(const __half*, __half*, const __half*, int);
template __global__ void matrix_vector<__half>(const __half*, const __half*, __half*, int, int);
template __global__ void running_mean<__half>(const __half*, __half*, int, int);
template __global__ void bubble<__half>(__half*);
template __global__ void axpy<__nv_bfloat16>(__nv_bfloat16, const __nv_bfloat16*, __nv_bfloat16*, int);
template __global__ void dot<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, int);
template __global__ void largest<__nv_bfloat16>(const __nv_bfloat16*, __nv_bfloat16*, int*, int);
template __global__ void polynomial<__nv_bfloat16>(const __nv_bfloat16*, __nv_bfloat16*, const __nv_bfloat16*, int);
template __global__ void matrix_vector<__nv_bfloat16>(const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*, int, int);
template __global__ void running_mean<__nv_bfloat16>(const __nv_bfloat16*, __nv_bfloat16*, int, int);
template __global__ void bubble<__nv_bfloat16>(__nv_bfloat16*);
