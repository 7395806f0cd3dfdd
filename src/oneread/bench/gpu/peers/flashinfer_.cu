// C entry points of what FlashInfer's headers have for this comparison: softmax, and top-k.
#include <flashinfer/math.cuh>

#include <flashinfer/topk.cuh>

#if __has_include(<curand.h>)  // which some toolkits lack: no softmax then
#include <flashinfer/sampling.cuh>
#endif

#include <cstdint>

namespace sampling = flashinfer::sampling;

namespace {
template <typename T>
int top_k(void* x, int32_t* indices, void* values, uint32_t rows, uint32_t k, uint32_t vocab,
          void* states, int sorted, cudaStream_t stream) {
    return sampling::TopKDispatch<T, int32_t>(
        static_cast<T*>(x), indices, static_cast<T*>(values), rows, k, vocab,
        static_cast<sampling::RadixRowState*>(states), sorted != 0, false,
        sampling::TopKTieBreak::None, stream);
}
}  // namespace

#if __has_include(<curand.h>)
extern "C" int flashinfer_softmax(void* x, void* y, uint32_t rows, uint32_t vocab, void* workspace,
                                  uint64_t bytes, cudaStream_t stream) {
    return sampling::OnlineSoftmax<float>(static_cast<float*>(x), static_cast<float*>(y), rows, vocab,
                                          nullptr, 1.0f, workspace, bytes, false, stream);
}
#endif

extern "C" int flashinfer_top_k(int bfloat16, void* x, int32_t* indices, void* values,
                                uint32_t rows, uint32_t k, uint32_t vocab, void* states, int sorted,
                                cudaStream_t stream) {
    if (bfloat16)
        return top_k<__nv_bfloat16>(x, indices, values, rows, k, vocab, states, sorted, stream);
    return top_k<float>(x, indices, values, rows, k, vocab, states, sorted, stream);
}
