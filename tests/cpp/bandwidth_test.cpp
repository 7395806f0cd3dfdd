// Plain traffic: that it moves and reads every byte, which its rates cannot show.
#include <cstdint>

#include "bandwidth.hpp"
#include "check.hpp"
#include "isa.hpp"

using namespace oneread;

namespace {

constexpr size_t kWords = 3 * 64;  // three turns of 256 bytes

}  // namespace

TEST(copies_move_every_byte) {
  const Kernels& k = current_tables()(ElementType::f32);
  alignas(64) uint32_t from[kWords], to[kWords + 1];
  for (size_t i = 0; i < kWords; i++) from[i] = (uint32_t)i * 2654435761u;
  for (bool streaming : {false, true}) {
    for (uint32_t& word : to) word = 7;
    k.copy(from, to, sizeof from, streaming);
    for (size_t i = 0; i < kWords; i++) CHECK(to[i] == from[i], "word %zu", i);
    CHECK(to[kWords] == 7);
  }
}

TEST(reads_see_every_word) {
  const Kernels& k = current_tables()(ElementType::f32);
  alignas(64) uint32_t from[kWords] = {};
  CHECK(k.read(from, sizeof from) == 0);
  for (size_t i = 0; i < kWords; i++) {
    from[i] = 1u << (i % 32);
    CHECK(k.read(from, sizeof from) == from[i], "word %zu", i);
    from[i] = 0;
  }
}

TEST(rates_are_numbers) {
  for (Traffic traffic : {Traffic::read, Traffic::copy, Traffic::streaming_copy})
    for (size_t bytes : {(size_t)0, (size_t)1000, (size_t)1 << 20})
      CHECK(bandwidth(traffic, bytes, 2) > 0);
}
