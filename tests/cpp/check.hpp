// A test is a function that is registered by its definition and fails by CHECK.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

struct Test {
  const char* name;
  void (*run)();
};
std::vector<Test>& tests();
extern int failures;

struct Register {
  Register(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

#define TEST(name)                              \
  static void name();                           \
  static Register register_##name(#name, name); \
  static void name()

#define CHECK(condition, ...)                                     \
  do {                                                            \
    if (!(condition)) {                                           \
      failures++;                                                 \
      std::printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      std::printf("" __VA_ARGS__);                                \
      std::printf("\n");                                          \
    }                                                             \
  } while (0)

// Distance in units in the last place of T at the truth.
template <class T>
double ulps(T got, double truth) {
  T at = (T)std::fabs(truth);
  double unit = (double)(std::nextafter(at, (T)INFINITY) - at);
  return std::fabs((double)got - truth) / unit;
}

template <class T>
std::vector<T> normal(size_t n, double sigma, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss(0, sigma);
  std::vector<T> x(n);
  for (T& v : x) v = (T)gauss(random);
  return x;
}
