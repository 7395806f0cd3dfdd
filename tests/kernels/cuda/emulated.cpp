// One kernel of kernels/cuda with the thread blocks of gpu.hpp around it, to be called from Python.
//
// KERNEL   its name; the file is given by SOURCE
// DYNAMIC  its array of shared memory whose size the launch gives, if it has one
#include "intrinsics.hpp"

#include SOURCE

#ifdef DYNAMIC
alignas(16) thread_local DYNAMIC_TYPE DYNAMIC[gpu::MOST_SHARED_BYTES / sizeof(DYNAMIC_TYPE)];
#endif

static void** arguments;

template <typename... A, std::size_t... I>
void call(void (*kernel)(A...), std::index_sequence<I...>) {
  kernel(*(A*)arguments[I]...);
}

template <typename... A>
void call(void (*kernel)(A...)) {
  call(kernel, std::index_sequence_for<A...>{});
}

static void body() {
  call(KERNEL);
  gpu::leave();
}

// Run a launch; null, or what went wrong. `order` is that of the threads: 0 ascending, 1
// descending, another a different one at each turn.
extern "C" const char* launch(int grid, int threads, int cluster, void** given, int order) {
  static std::string failure;
  failure.clear();
  arguments = given;
  for (int first = 0; first < grid && failure.empty(); first += cluster) {
    gpu::Cluster together;
    together.threads = threads * cluster;
    together.anchors.resize(cluster);
    std::atomic<int> ready{0};
    std::vector<std::string> failures(cluster);
    auto run = [&](int rank) {
      together.anchors[rank] = &gpu::anchor;
      for (++ready; ready < cluster;) std::this_thread::yield();
      blockIdx = uint3{(unsigned)(first + rank), 0, 0};
      blockDim = uint3{(unsigned)threads, 1, 1};
      gridDim = uint3{(unsigned)grid, 1, 1};
      failures[rank] = gpu::Run(together, rank, threads, order).to_end(body);
    };
    if (cluster == 1) {
      run(0);
    } else {
      std::vector<std::thread> blocks;
      for (int rank = 0; rank < cluster; ++rank) blocks.emplace_back(run, rank);
      for (std::thread& one : blocks) one.join();
    }
    for (const std::string& one : failures)
      if (failure.empty()) failure = one;
  }
  return failure.empty() ? nullptr : failure.c_str();
}
