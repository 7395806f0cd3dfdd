// What is used here of DLPack 1.3 (https://dmlc.github.io/dlpack): memory of a tensor, and a table
// of functions by which a library tells it without an object of Python for each answer.
#pragma once

#include <cstdint>

namespace oneread::dlpack {

enum DeviceType : int32_t { CPU = 1, CUDA = 2 };
enum TypeCode : uint8_t { INT = 0, FLOAT = 2, BFLOAT = 4 };

struct Tensor {
  void* data;
  int32_t device_type, device;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

// Returns other than 0 with an error of Python set.
using Describe = int (*)(void* object, Tensor* tensor);
using CurrentStream = int (*)(int32_t device_type, int32_t device, void** stream);

struct Exchange {
  static constexpr const char* CAPSULE = "dlpack_exchange_api";
  static constexpr uint32_t MAJOR = 1;

  uint32_t major, minor;
  Exchange* before;  // for an older major version
  void* unused[3];
  Describe describe;
  CurrentStream current_stream;
};

}  // namespace oneread::dlpack
