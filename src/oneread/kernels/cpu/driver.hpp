// What Python asks for, how it will be done, and the two drivers that do it.
#pragma once

#include <optional>
#include <string>

#include "count.hpp"
#include "isa.hpp"
#include "layout.hpp"
#include "state.hpp"

namespace oneread {

// How the k best of a row are found: see select.hpp.
enum class Selection { any, block_max, radix, sort, none };
const char* selection_name(Selection);

struct Request {
  std::string op;
  Operand x;
  std::optional<Operand> y;      // softmax and log_softmax only
  std::optional<Operand> where;  // bool, x's shape
  std::vector<int> axes;
  const int64_t* lengths = nullptr;  // (rows,)
  double temperature = 1;
  const double* temperatures = nullptr;  // (rows,), in place of `temperature`
  bool double_outputs = false;           // some float output is float64
  bool log = false;
  bool fresh = false;  // y was just allocated
  int threads = 1;
  Selection selection = Selection::any;  // forced
  size_t top_k = 0;
  std::string textbook;  // algorithm of textbook.hpp to run in place of ours
};

// Outputs of `reduce`, all contiguous; null: not asked for.
struct FloatArray {
  void* data = nullptr;
  bool is_double = false;
  explicit operator bool() const { return data != nullptr; }
  void set(size_t i, double v) const {
    if (is_double) ((double*)data)[i] = v;
    else ((float*)data)[i] = (float)v;
  }
};
struct Outputs {
  FloatArray lse, max, scores, selected, entropy, sum_p2;
  int64_t *argmax = nullptr, *indices = nullptr, *rank = nullptr;
  char* values = nullptr;  // x's type for floats, else the compute type
  double* state_m = nullptr;
  double *state_r = nullptr, *state_s1 = nullptr, *state_s2 = nullptr;  // (rows, 2): high, low
  int kind = 0;  // of scores: 1 probability, 2 log-probability, 3 and 4 over the winners alone
  size_t selects = 0;
  const int64_t* select = nullptr;     // (rows, selects)
  const double* rank_logit = nullptr;  // (rows, selects)
};

// Longest row whose exponentials a thread keeps in its own room; longer ones go to y, or are
// computed again.
inline constexpr size_t kKeptBytes = (size_t)768 << 10;

// How a request will be carried out. Everything that could change a bit of the result depends on V,
// the types and the layout of x alone.
struct Plan {
  const char* kernel;
  const char* isa;
  Tables tables;
  ElementType element;  // of the table in use: what the vector code loads
  bool in_double;       // the compute type
  bool staged;          // columns are gathered or converted block by block
  bool by_span;         // threads share rows
  bool is_short;        // rows of up to kShortColumns columns
  bool in_strips;       // such rows, staged by vectors that lie across them
  size_t kept;          // columns whose exponentials each thread keeps, from the first one on
  bool streaming;       // they go past the caches to y, a row while the next one is summed
  Selection selection;  // of top-k
  int threads;
  size_t span_columns, spans;
  size_t group_vectors, groups;  // top-k: vectors of one group of maxima; groups of a row
};

// What ran last on this thread.
struct Record {
  const char *kernel, *isa, *dtype, *layout, *stores;
  int threads = 0;
  size_t spans = 0;
  const char* selection = "none";
  size_t radix_rows = 0;  // that block maxima left to radix selection, for a NaN
};

Plan make_plan(const Request&, const Layout&);
// Throws std::invalid_argument, with what is allowed, where the textbook algorithm cannot run.
Plan make_textbook_plan(const Request&, const Layout&);
Record make_record(const Request&, const Plan&);
const std::optional<Record>& last_record();
void set_last_record(Record);
void forget_last_record();

inline namespace ONEREAD_DRIVERS {
void softmax(const Request&);
void reduce(const Request&, const Outputs&);
void textbook(const Request&, const Outputs&);
}  // namespace ONEREAD_DRIVERS

}  // namespace oneread
