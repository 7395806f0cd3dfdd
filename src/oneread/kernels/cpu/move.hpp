// Plain traffic through the vectors of one instruction set: what bandwidth is measured with.
#pragma once

#include "element.hpp"

namespace oneread::ONEREAD_ISA {

struct Move {
  using V = Vec<float>;
  static constexpr size_t kStep = 4 * V::W;  // floats a turn: four independent loads in flight

  // `n` bytes, a multiple of 256; both ends aligned to the vector.
  static void copy(const void* from, void* to, size_t n, bool streaming) {
    const float* a = (const float*)from;
    float* b = (float*)to;
    size_t floats = n / sizeof(float);
    for (size_t i = 0; i < floats; i += kStep) {
      V::F v[4];
      for (int j = 0; j < 4; j++) v[j] = V::load(a + i + j * V::W);
      for (int j = 0; j < 4; j++) {
        if (streaming) V::stream(b + i + j * V::W, v[j]);
        else V::store(b + i + j * V::W, v[j]);
      }
    }
    if (streaming) V::end_stream();
  }

  // Loads them all; what comes back depends on each, so that none can be left out.
  static uint32_t read(const void* from, size_t n) {
    const float* a = (const float*)from;
    size_t floats = n / sizeof(float);
    V::I seen[4] = {};
    for (size_t i = 0; i < floats; i += kStep)
      for (int j = 0; j < 4; j++) seen[j] |= (V::I)V::load(a + i + j * V::W);
    V::I all = (seen[0] | seen[1]) | (seen[2] | seen[3]);
    uint32_t bits = 0;
    for (int lane = 0; lane < V::W; lane++) bits |= (uint32_t)all[lane];
    return bits;
  }
};

}  // namespace oneread::ONEREAD_ISA
