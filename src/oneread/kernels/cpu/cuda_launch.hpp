// A kernel on a GPU with all of its arguments but the few that change from call to call.
//
// Knows the driver by one address: it neither loads it nor needs its headers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace oneread {

class CudaLaunch {
 public:
  // cuLaunchKernel: function, grid, block, shared bytes, stream, arguments, extra.
  using Start = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void*, void**, void**);

  CudaLaunch(uintptr_t start, uintptr_t function, unsigned grid, unsigned block, unsigned shared,
             std::vector<int64_t> numbers)
      : start_(reinterpret_cast<Start>(start)),
        function_(reinterpret_cast<void*>(function)),
        grid_(grid),
        block_(block),
        shared_(shared),
        numbers_(std::move(numbers)) {}

  // Input, result, the numbers, the temperature and where those of the rows are. Returns
  // the driver's error code. The driver copies the arguments before it returns.
  int operator()(uintptr_t stream, uintptr_t x, uintptr_t y, double temperature,
                 uintptr_t temperatures) const {
    void* arguments[MOST];
    size_t n = 0;
    arguments[n++] = &x;
    arguments[n++] = &y;
    for (const int64_t& number : numbers_) arguments[n++] = const_cast<int64_t*>(&number);
    arguments[n++] = &temperature;
    arguments[n++] = &temperatures;
    return start_(function_, grid_, 1, 1, block_, 1, 1, shared_, reinterpret_cast<void*>(stream),
                  arguments, nullptr);
  }

  static constexpr size_t MOST = 20;
  static constexpr size_t MOST_NUMBERS = MOST - 4;

 private:
  Start start_;
  void* function_;
  unsigned grid_, block_, shared_;
  std::vector<int64_t> numbers_;
};

}  // namespace oneread
