// A kernel on a GPU with all of its arguments but the few that change from call to call.
//
// Knows the driver by addresses: it neither loads it nor needs its headers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace oneread {

// Functions of the driver. A context is a GPU as this process uses it.
struct CudaDriver {
  // cuLaunchKernel: function, grid, block, shared bytes, stream, arguments, extra.
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  using Context = int (*)(void**);
  using Push = int (*)(void*);

  Launch launch;
  Context current;
  Push push;
  Context pop;
};

// What the kernel of an op takes beside x, y and the numbers, as kernels/cuda/row.cuh has it.
struct CudaBeside {
  static constexpr size_t STRIDES = 6;

  uintptr_t where = 0;
  uintptr_t lengths = 0;
  int64_t strides[STRIDES] = {};
};

class CudaLaunch {
 public:
  static constexpr size_t MOST_NUMBERS = 24;
  using Numbers = std::array<int64_t, MOST_NUMBERS>;

  // Counts and strides, and addresses of what some kernels take beside x and y.
  const Numbers& numbers() const { return numbers_; }

  CudaLaunch(CudaDriver driver, uintptr_t context, uintptr_t function, unsigned grid,
             unsigned block, unsigned shared, const std::vector<int64_t>& numbers,
             const std::vector<int64_t>& strides, int record)
      : record(record),
        driver_(driver),
        context_(reinterpret_cast<void*>(context)),
        function_(reinterpret_cast<void*>(function)),
        grid_(grid),
        block_(block),
        shared_(shared),
        count_(numbers.size()) {
    std::copy(numbers.begin(), numbers.end(), numbers_.begin());
    if (!strides.empty())
      std::memcpy(beside_.strides, strides.data(), strides.size() * sizeof(int64_t));
  }

  int operator()(uintptr_t stream, uintptr_t x, uintptr_t y, double temperature = 1.0,
                 uintptr_t temperatures = 0, uintptr_t where = 0, uintptr_t lengths = 0) const {
    return (*this)(numbers_, stream, x, y, temperature, temperatures, where, lengths);
  }

  // Other numbers in the place of its own, input, result, the temperature and where those of the
  // rows are, the mask and the lengths. Returns the driver's error code. The driver copies the
  // arguments before it returns. Whichever GPU is the calling thread's current one stays so.
  int operator()(const Numbers& numbers, uintptr_t stream, uintptr_t x, uintptr_t y,
                 double temperature = 1.0, uintptr_t temperatures = 0, uintptr_t where = 0,
                 uintptr_t lengths = 0) const {
    void* current = nullptr;
    if (int status = driver_.current(&current)) return status;
    const bool elsewhere = current != context_;
    if (elsewhere)
      if (int status = driver_.push(context_)) return status;
    CudaBeside beside = beside_;
    beside.where = where;
    beside.lengths = lengths;
    void* arguments[MOST_NUMBERS + 5];
    size_t n = 0;
    arguments[n++] = &x;
    arguments[n++] = &y;
    for (size_t i = 0; i < count_; ++i) arguments[n++] = const_cast<int64_t*>(&numbers[i]);
    arguments[n++] = &temperature;
    arguments[n++] = &temperatures;
    arguments[n++] = &beside;
    int status = driver_.launch(function_, grid_, 1, 1, block_, 1, 1, shared_,
                                reinterpret_cast<void*>(stream), arguments, nullptr);
    if (elsewhere) driver_.pop(&current);
    return status;
  }

  // Whether its GPU is the calling thread's current one.
  bool is_here() const {
    void* current = nullptr;
    return !driver_.current(&current) && current == context_;
  }

  const int record;  // the number of what `last_launch` then says

 private:
  CudaDriver driver_;
  void* context_;
  void* function_;
  unsigned grid_, block_, shared_;
  size_t count_;
  Numbers numbers_ = {};
  CudaBeside beside_;
};

}  // namespace oneread
