#include <algorithm>
#include <bit>
#include <stdexcept>

#include "driver.hpp"
#include "pool.hpp"
#include "stage.hpp"
#include "stores.hpp"

namespace oneread {

namespace {

// Pieces of a row that can be summed apart. A power of two, so that blocks and groups of maxima
// divide it; at most 64 of them.
size_t span_for(size_t vocab) {
  constexpr size_t kSpan = 32768;
  return std::max(kSpan, std::bit_ceil((vocab + 63) / 64));
}

// Exponentials on their way past the caches stay in the second one, 1 MiB on Zen 4, beside the
// logits that pass; what is left of a longer row goes to y itself.
constexpr size_t kStreamedBytes = (size_t)512 << 10;

// With fewer rows side by side too many lanes of a vector across them would be empty: of 4 rows of
// 1000 columns, 1860 instead of 1320 us; of 8, 950 instead of 1380 us.
constexpr size_t kLeastOfStrip = 6;

bool aligned(const Operand& a) {
  size_t size = item_size(a.dtype);
  if ((uintptr_t)a.data % size) return false;
  for (size_t i = 0; i < a.stride.size(); i++)
    if (a.shape[i] > 1 && a.stride[i] % (ptrdiff_t)size) return false;
  return true;
}

// Whether rows lie side by side, their columns one step apart.
bool neighbouring_rows(const Operand& a, const Layout& layout, ptrdiff_t Axis::* step) {
  return !a.swapped && is_float(a.dtype) && aligned(a) && layout.inner.size() == 1 &&
         !layout.outer.empty() && layout.outer.back().*step == (ptrdiff_t)item_size(a.dtype);
}

bool contiguous_rows(const Operand& a, const Layout& layout, ptrdiff_t Axis::* step) {
  if (a.swapped || !is_float(a.dtype) || !aligned(a)) return false;
  return layout.inner.empty() ||
         (layout.inner.size() == 1 && layout.inner[0].*step == (ptrdiff_t)item_size(a.dtype));
}

ElementType element_type(DType t) {
  switch (t) {
    case DType::f16:
      return ElementType::f16;
    case DType::bf16:
      return ElementType::bf16;
    case DType::f64:
      return ElementType::f64;
    default:
      return ElementType::f32;
  }
}

// Groups of maxima for the bound of the k-th value: as few as give four times k of them, and at
// most 256 KiB of them.
void choose_groups(const Request& request, const Layout& layout, size_t width, Plan& plan) {
  constexpr size_t kMostBlockK = 2048, kFewColumns = 4096;
  const size_t most_groups = ((size_t)256 << 10) / (plan.in_double ? 8 : 4);
  auto groups = [&](size_t vectors) {
    size_t columns = vectors * width;
    return (layout.vocab + columns - 1) / columns * width;
  };
  size_t vectors = 16;
  while (groups(vectors) > most_groups) vectors *= 2;
  while (vectors > 4 && groups(vectors) < 4 * request.top_k) vectors /= 2;
  plan.group_vectors = vectors;
  plan.groups = groups(vectors);
  bool few = layout.vocab <= kFewColumns;
  bool bounded = request.top_k <= kMostBlockK && plan.groups >= 2 * request.top_k;
  auto size = [&] {
    return "k = " + std::to_string(request.top_k) + " of " + std::to_string(layout.vocab) +
           " columns";
  };
  if (request.selection == Selection::block_max && !bounded)
    throw std::invalid_argument("block maxima cannot bound " + size() + "; use " +
                                (few ? "sort" : "radix"));
  if (request.selection == Selection::sort && !few)
    throw std::invalid_argument("rows of up to " + std::to_string(kFewColumns) +
                                " columns are sorted, not " + size() + "; use radix");
  plan.selection = request.selection != Selection::any ? request.selection
                   : bounded                           ? Selection::block_max
                   : few                               ? Selection::sort
                                                       : Selection::radix;
  if (plan.selection != Selection::block_max) plan.groups = 0;
}

// Whether y is stored past the caches, and how many exponentials of a row each thread keeps.
void choose_stores(const Request& request, const Layout& layout, Plan& plan) {
  size_t item = plan.in_double ? 8 : 4, row_bytes = layout.vocab * item;
  bool own_type = plan.element == ElementType::f32 || plan.element == ElementType::f64;
  bool pays = own_type && !plan.staged && !plan.by_span && !request.fresh &&
              row_bytes >= kLeastStreamedBytes && layout.rows * row_bytes >= streaming_from();
  if (request.log) {
    plan.streaming = pays && !plan.is_short;
    return;
  }
  size_t whole_spans = kStreamedBytes / item / plan.span_columns * plan.span_columns;
  size_t streamed = plan.is_short ? kShortColumns : std::min(layout.vocab, whole_spans);
  plan.streaming = pays && streamed > 0;
  // Exponentials go to y itself, so that its lines are fetched during the arithmetic: 830 instead
  // of 1000 us for 4000 rows of 1000; of rows of 100, 110 instead of 102 us. Past the caches
  // nothing is fetched.
  constexpr size_t kInY = 256;
  if (plan.streaming) plan.kept = streamed;
  else if (own_type && layout.vocab >= kInY) plan.kept = 0;
  else if (plan.is_short) plan.kept = kShortColumns;
  else if (row_bytes <= kKeptBytes) plan.kept = layout.vocab;
}

const char* kernel_name(const Request& request, const Plan& plan) {
  if (request.op == "softmax") return "lazy_softmax";
  if (request.op == "log_softmax") return "lazy_log_softmax";
  if (request.op == "logsumexp") return "lazy_logsumexp";
  if (request.op == "softmax_topk") return "lazy_softmax_topk";
  if (request.op == "top_k")
    return plan.selection == Selection::radix  ? "radix_top_k"
           : plan.selection == Selection::sort ? "sort_top_k"
                                               : "block_max_top_k";
  return "lazy_read";
}

}  // namespace

Plan make_plan(const Request& request, const Layout& layout) {
  Plan plan{};
  plan.isa = current_isa();
  plan.selection = Selection::none;
  plan.tables = current_tables();
  const Operand& x = request.x;
  bool wide_output = request.double_outputs || (request.y && request.y->dtype == DType::f64);
  plan.in_double = computes_in_double(x.dtype) || wide_output;
  bool direct = contiguous_rows(x, layout, &Axis::x) && !request.where &&
                plan.in_double == (x.dtype == DType::f64);
  if (request.y)
    direct = direct && request.y->dtype == x.dtype && contiguous_rows(*request.y, layout, &Axis::y);
  plan.staged = !direct;
  plan.is_short = layout.vocab <= kShortColumns;
  plan.in_strips =
      plan.staged && plan.is_short && request.y && request.y->dtype == x.dtype && !request.where &&
      !request.lengths && !request.temperatures && neighbouring_rows(x, layout, &Axis::x) &&
      neighbouring_rows(*request.y, layout, &Axis::y) && layout.outer.back().size >= kLeastOfStrip;
  plan.element = direct || plan.in_strips ? element_type(x.dtype)
                 : plan.in_double         ? ElementType::f64
                                          : ElementType::f32;
  plan.span_columns = span_for(layout.vocab);
  plan.spans = (layout.vocab + plan.span_columns - 1) / plan.span_columns;
  if (request.top_k) choose_groups(request, layout, (size_t)plan.tables(plan.element).width, plan);
  plan.threads = layout.rows * layout.vocab < kSmall ? 1 : std::max(1, request.threads);
  plan.by_span = plan.threads > 1 && plan.spans > 1 && layout.rows < 2 * (size_t)plan.threads;
  if (request.y) choose_stores(request, layout, plan);
  plan.kernel = kernel_name(request, plan);
  return plan;
}

Record make_record(const Request& request, const Plan& plan) {
  return {plan.kernel,
          plan.isa,
          dtype_name(request.x.dtype),
          plan.staged ? "staged" : "rows",
          !request.y       ? "none"
          : plan.streaming ? "streaming"
                           : "regular",
          plan.threads,
          plan.spans,
          selection_name(plan.selection)};
}

const char* selection_name(Selection selection) {
  switch (selection) {
    case Selection::block_max:
      return "block_max";
    case Selection::radix:
      return "radix";
    case Selection::sort:
      return "sort";
    case Selection::any:
    case Selection::none:
      break;
  }
  return "none";
}

namespace {
thread_local std::optional<Record> last;
}
const std::optional<Record>& last_record() { return last; }
void set_last_record(Record record) { last = record; }
void forget_last_record() { last.reset(); }

}  // namespace oneread
