// The vector code by itself: exp, sums, conversions, scans.
#include <cstdint>
#include <cstring>

#include "check.hpp"
#include "isa.hpp"

using namespace oneread;

namespace {

// One exponential by way of exp_scale against a reference at 2^exponent.
template <class C>
std::vector<C> exponentials(const std::vector<C>& x, int64_t exponent) {
  const Kernels& k = current_tables()(sizeof(C) == 4 ? ElementType::f32 : ElementType::f64);
  std::vector<C> y(x.size());
  k.exp_scale(x.data(), y.data(), x.size(), Reference{0, exponent}, {}, {1, 0});
  return y;
}

bool has_fma() {
  std::string isa = current_isa();
#if defined(__x86_64__)
  return isa != "x86-64-v2" && isa != "scalar";
#else
  return true;
#endif
}

template <class C>
double worst_exp(double low, double high, int64_t exponent) {
  std::vector<C> x;
  for (size_t i = 0; i < 200000; i++) x.push_back((C)(low + (high - low) * (double)i / 200000));
  auto y = exponentials(x, exponent);
  double worst = 0;
  for (size_t i = 0; i < x.size(); i++) {
    // ln 2 in two parts, so that exponent * high is exact in long double.
    constexpr long double high = 0x1.62e42feep-1L, low = 0x1.a39ef35793c7673007e6p-33L;
    long double truth = expl((long double)x[i] - exponent * high - exponent * low);
    C at = (C)truth;
    long double unit = std::nextafter(at, (C)INFINITY) - at;
    worst = std::max(worst, (double)(fabsl(y[i] - truth) / unit));
  }
  return worst;
}

Partial sums(const Kernels& k, const std::vector<float>& x, size_t piece, bool moments) {
  SumState state;
  Partial out{};
  k.start_rest(&state, {}, moments);
  for (size_t i = 0; i < x.size(); i += piece) {
    size_t n = std::min(piece, x.size() - i);
    if (moments) k.feed_moments(&state, x.data() + i, n, nullptr);
    else k.feed_rest(&state, x.data() + i, n, nullptr);
  }
  if (moments) k.finish_moments(&state, &out);
  else k.finish_rest(&state, &out);
  return out;
}

}  // namespace

TEST(exp_is_within_one_ulp_with_fma) {
  // Without FMA references this far out have a base instead.
  for (int64_t exponent : {0, 30, -60, has_fma() ? 60000 : 400}) {
    double nats = (double)exponent * 0.6931471805599453;
    double worst = worst_exp<float>(nats - 86, nats + 10, exponent);
    CHECK(worst <= (has_fma() ? 1.0 : 1.6), "float: %g ulp at %lld", worst, (long long)exponent);
    worst = worst_exp<double>(nats - 700, nats + 10, exponent);
    CHECK(worst <= (has_fma() ? 1.2 : 1.6), "double: %g ulp at %lld", worst, (long long)exponent);
  }
}

TEST(exp_of_minus_infinity_is_zero_and_of_nan_is_nan) {
  auto y =
      exponentials<float>({-INFINITY, NAN, -1e30f, -200, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, NAN}, 0);
  CHECK(y[0] == 0 && !std::signbit(y[0]));
  CHECK(std::isnan(y[1]) && std::isnan(y[15]));
  CHECK(y[2] == 0 && y[3] == 0 && y[4] == 1);
}

TEST(pieces_give_the_bits_of_the_whole) {
  const Kernels& k = current_tables()(ElementType::f32);
  auto x = normal<float>(5000, 4, 1);
  for (bool moments : {false, true}) {
    Partial whole = sums(k, x, x.size(), moments);
    for (size_t groups : {1, 2, 3}) {
      Partial pieces = sums(k, x, groups * k.group, moments);
      CHECK(whole.m == pieces.m && whole.r == pieces.r, "%zu groups", groups);
      CHECK(whole.s1 == pieces.s1 && whole.s2 == pieces.s2, "%zu groups", groups);
    }
  }
}

TEST(rising_rows_move_the_reference_and_keep_the_sum) {
  const Kernels& k = current_tables()(ElementType::f32);
  for (float step : {0.5f, 13.0f, 1000.0f, 1e30f}) {
    std::vector<float> x;
    for (int i = 0; i < 20000; i++) x.push_back((float)i * step);
    Partial p = sums(k, x, x.size(), true);
    double r = 0, s1 = 0, s2 = 0;
    for (size_t i = 0; i + 1 < x.size(); i++) {
      double z = (double)x[i] - (double)x.back(), e = std::exp(z);
      if (e == 0) continue;
      r += e, s1 += z * e, s2 += e * e;
    }
    CHECK(p.m == x.back());
    CHECK(fabsl(p.r - r) <= 1e-6 * r, "step %g: %Lg, not %g", step, p.r, r);
    CHECK(fabsl(p.s1 - s1) <= 1e-6 * -s1, "step %g: %Lg, not %g", step, p.s1, s1);
    CHECK(fabsl(p.s2 - s2) <= 1e-6 * s2, "step %g: %Lg, not %g", step, p.s2, s2);
  }
}

TEST(the_maximum_stays_out_of_the_sum) {
  const Kernels& k = current_tables()(ElementType::f32);
  for (int gap = 1; gap <= 87; gap++)
    for (size_t at : {0, 5, 40}) {
      std::vector<float> x(41, -INFINITY);
      x[at] = (float)gap, x[(at + 7) % 41] = 0;
      Partial p = sums(k, x, x.size(), false);
      CHECK(ulps((float)p.r, std::exp(-(double)gap)) <= 1, "gap %d: %Lg", gap, p.r);
    }
}

TEST(short_rows_have_the_sums_of_long_ones) {
  const Kernels& k = current_tables()(ElementType::f32);
  for (size_t n : {1, 2, 15, 16, 17, 63, 64, 65, 100, 1000, 4095, 4096})
    for (size_t ties : {1, 2, 5}) {
      auto x = normal<float>(n, 4, (unsigned)(n + ties));
      for (size_t i = 0; i < ties && i < n; i++) x[i * 7919 % n] = 20;
      Partial whole = sums(k, x, n, true), p{}, plain{};
      k.short_rest(x.data(), 0, 1, n, {}, true, &p);
      k.short_rest(x.data(), 0, 1, n, {}, false, &plain);
      CHECK(p.m == whole.m && p.r == plain.r && p.m == plain.m, "n = %zu", n);
      auto near = [](long double a, long double b) { return fabsl(a - b) <= 1e-6L * fabsl(b); };
      CHECK(near(p.r, whole.r), "n = %zu, %zu ties: %Lg, not %Lg", n, ties, p.r, whole.r);
      // Arguments near 0 are known to the rounding of the maximum itself.
      CHECK(fabsl(p.s1 - whole.s1) <= 1e-6L * fabsl(whole.s1) + 1e-7L * (1 + whole.r),
            "n = %zu, %zu ties: %Lg, not %Lg", n, ties, p.s1, whole.s1);
      CHECK(near(p.s2, whole.s2), "n = %zu, %zu ties: %Lg, not %Lg", n, ties, p.s2, whole.s2);
    }
}

TEST(short_rows_tell_what_is_not_finite) {
  const Kernels& k = current_tables()(ElementType::f32);
  auto row = [&](std::vector<float> x) {
    Partial p{};
    k.short_rest(x.data(), 0, 1, x.size(), {}, false, &p);
    return p.m;
  };
  CHECK(row({-INFINITY, -INFINITY}) == -INFINITY && row({}) == -INFINITY);
  CHECK(row({1, INFINITY, -INFINITY}) == INFINITY);
  CHECK(std::isnan(row({1, NAN})) && std::isnan(row({-INFINITY, NAN})));
  CHECK(std::isnan(row({INFINITY, NAN, 1})));
}

TEST(logarithms_of_sums_are_within_2_ulp) {
  const Kernels& k = current_tables()(ElementType::f32);
  double worst = 0;
  for (double r = 1e-300; r < 1e5; r *= 1.0137) {
    double lane[kRowsTogether] = {r};
    k.log_sums(lane, 1);
    double truth = std::log1p(r);
    worst = std::max(worst, std::fabs(lane[0] - truth) / (std::nextafter(truth, 1e9) - truth));
  }
  CHECK(worst <= 3, "%g ulp from log1p", worst);
}

TEST(tiles_turn_and_turn_back) {
  const Kernels& k = current_tables()(ElementType::f32);
  for (size_t rows : {1, 2, 3, 15, 16, 17, 48})
    for (size_t n : {1, 7, 16, 19, 100}) {
      size_t step = rows + 5, row_step = n + 3;
      auto x = normal<float>(n * step, 4, (unsigned)(rows * n));
      std::vector<float> turned(rows * row_step, -1), back(x.size(), -1);
      k.gather_rows(x.data(), (ptrdiff_t)step, rows, n, turned.data(), row_step);
      k.scatter_rows(turned.data(), row_step, back.data(), (ptrdiff_t)step, rows, n);
      size_t wrong = 0;
      for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < n; c++) {
          wrong += turned[r * row_step + c] != x[c * step + r];
          wrong += back[c * step + r] != x[c * step + r];
        }
        for (size_t c = n; c < row_step; c++) wrong += turned[r * row_step + c] != -1;
      }
      for (size_t c = 0; c < n; c++)
        for (size_t r = rows; r < step; r++) wrong += back[c * step + r] != -1;
      CHECK(wrong == 0, "%zu rows of %zu: %zu wrong", rows, n, wrong);
    }
}

TEST(half_conversions_round_trip_every_number) {
  for (ElementType type : {ElementType::f16, ElementType::bf16}) {
    const Kernels& k = current_tables()(type);
    std::vector<uint16_t> all(65536), back(65536);
    for (size_t i = 0; i < all.size(); i++) all[i] = (uint16_t)i;
    std::vector<float> wide(65536);
    k.widen(all.data(), wide.data(), all.size());
    k.narrow(wide.data(), back.data(), all.size());
    size_t wrong = 0;
    for (size_t i = 0; i < all.size(); i++)
      wrong += std::isnan(wide[i])
                   ? !((back[i] & 0x7fff) > (type == ElementType::f16 ? 0x7c00 : 0x7f80))
                   : back[i] != all[i];
    CHECK(wrong == 0, "%zu of 65536", wrong);
  }
}

TEST(float16_is_rounded_to_nearest_even) {
  const Kernels& k = current_tables()(ElementType::f16);
  std::vector<float> x = {65519.f,  65520.f,    1.00048828125f, 1.0014648f,
                          0x1p-25f, 0x1.8p-25f, 0x1p-24f};
  std::vector<uint16_t> want = {0x7bff, 0x7c00, 0x3c00, 0x3c02, 0, 1, 1}, got(x.size());
  k.narrow(x.data(), got.data(), x.size());
  for (size_t i = 0; i < x.size(); i++) CHECK(got[i] == want[i], "%g: %#x", x[i], got[i]);
}

TEST(group_maxima_bound_every_column) {
  const Kernels& k = current_tables()(ElementType::f32);
  auto w = (size_t)k.width;
  for (size_t n : {(size_t)1, w + 1, w * 16 - 3, w * 64 + 5}) {
    auto x = normal<float>(n, 1, 3);
    std::vector<float> maxima((n / (4 * w) + 1) * w, -INFINITY), truth = maxima;
    CHECK(!k.block_max(x.data(), n, 4, maxima.data()));
    for (size_t i = 0; i < n; i++) {
      float& m = truth[i / (4 * w) * w + i % w];
      m = std::max(m, x[i]);
    }
    for (size_t g = 0; g < (n + 4 * w - 1) / (4 * w) * w; g++) CHECK(maxima[g] == truth[g]);
    x[n - 1] = NAN;
    CHECK(k.block_max(x.data(), n, 4, maxima.data()));
  }
}

TEST(counts_leave_nan_out) {
  const Kernels& k = current_tables()(ElementType::f32);
  std::vector<float> x = {1,    2, NAN, 3, -INFINITY, 2, INFINITY, 2, -0.0f,
                          0.0f, 5, 6,   7, 8,         9, 10,       2, NAN};
  float two = 2, zero = 0;
  CHECK(k.count_below(x.data(), x.size(), &two, false) == 4);
  CHECK(k.count_below(x.data(), x.size(), &two, true) == 8);
  CHECK(k.count_below(x.data(), x.size(), &zero, false) == 1);
}

namespace {

// Of `rows` rows side by side, as if they were all.
template <class C>
void check_strip(const std::vector<C>& x, size_t rows, size_t vocab, double t, bool log) {
  const Kernels& k = current_tables()(sizeof(C) == 4 ? ElementType::f32 : ElementType::f64);
  std::vector<C> want(rows * vocab), across(rows * vocab), got(rows * vocab), e(kShortColumns);
  auto stride = (ptrdiff_t)vocab, step = (ptrdiff_t)rows;
  k.softmax_rows(
      {x.data(), want.data(), stride, stride, rows, vocab, Temperature(t), e.data(), log, false});
  for (size_t i = 0; i < rows * vocab; i++) across[i % vocab * rows + i / vocab] = x[i];
  std::vector<char> room(vocab * kStripBytes + 64);
  char* line = room.data() + (-(uintptr_t)room.data() & 63);
  k.softmax_strip({across.data(), got.data(), step, step, rows, vocab, Temperature(t), line, log});
  size_t wrong = 0;
  for (size_t i = 0; i < rows * vocab; i++) {
    C a = got[i % vocab * rows + i / vocab], b = want[i];
    wrong += std::memcmp(&a, &b, sizeof a) != 0 && !(std::isnan(a) && std::isnan(b));
  }
  CHECK(wrong == 0, "%zu rows of %zu, t = %g, log = %d: %zu differ", rows, vocab, t, log, wrong);
}

template <class C>
void check_strips() {
  constexpr size_t most = kStripBytes / sizeof(C);
  for (size_t vocab : {1, 15, 16, 17, 63, 64, 65, 100, 1000, 4000, 4096})
    for (size_t rows : {(size_t)1, (size_t)5, most / 2, most - 1, most}) {
      auto x = normal<C>(rows * vocab, 4, (unsigned)vocab);
      for (bool special : {false, true}) {
        if (special && rows < most - 1) break;
        if (special) {
          auto row = [&](size_t r) { return x.begin() + (ptrdiff_t)(r * vocab); };
          *row(1) = (C)NAN;
          std::fill(row(3), row(4), -(C)INFINITY);
          *(row(5) - 1) = (C)INFINITY;
          std::fill(row(6), row(7), (C)7);  // ties
          *row(7) = (C)1e6;                 // needs a base in float
          *row(8) = std::numeric_limits<C>::max();
          *row(9) = std::numeric_limits<C>::lowest();
          *row(10) = std::numeric_limits<C>::denorm_min();
          *row(11) = (C)60;
        }
        for (double t : {1.0, 0.7, 3.5})
          for (bool log : {false, true}) check_strip(x, rows, vocab, t, log);
      }
    }
}

}  // namespace

TEST(rows_of_a_strip_have_the_bits_of_rows_that_lie_whole) {
  check_strips<float>();
  check_strips<double>();
}
