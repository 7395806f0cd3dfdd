// What CI compiles, on both cores at once, to tell how fast a machine compiles (.ci/run): standard
// headers, templates, loops to optimise. Changing it changes the limit that is measured by it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

template <int kWidth, class T>
T folded(const std::vector<T>& x) {
  T lane[kWidth] = {};
  for (size_t i = 0; i + kWidth <= x.size(); i += kWidth)
    for (int j = 0; j < kWidth; j++) lane[j] = std::fma(x[i + j], lane[(j + 1) % kWidth], lane[j]);
  return std::accumulate(lane, lane + kWidth, T());
}

template <class T, int... kWidths>
T all(std::vector<T> x, std::integer_sequence<int, kWidths...>) {
  std::sort(x.begin(), x.end(), std::greater<T>());
  return (folded<kWidths + 1>(x) + ... + T());
}

double measure(const std::string& text) {
  std::map<std::string, std::vector<double>> numbers;
  std::unordered_map<std::string, size_t> counts;
  const std::regex word("([a-z]+)[ \\t]*=[ \\t]*([-+0-9.e]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
    numbers[(*it)[1].str()].push_back(std::stod((*it)[2].str()));
    counts[(*it)[1].str()]++;
  }
  double total = 0;
  for (auto& [name, x] : numbers) {
    total += all(x, std::make_integer_sequence<int, 32>());
    total += all(std::vector<float>(x.begin(), x.end()), std::make_integer_sequence<int, 32>());
    total += (double)counts[name];
  }
  return total;
}
