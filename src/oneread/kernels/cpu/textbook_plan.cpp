// How the textbook algorithms are carried out, or why they are not.
#include <stdexcept>

#include "driver.hpp"

namespace oneread {

namespace {

struct Name {
  const char *algorithm, *op, *kernel;
};
constexpr Name kNames[] = {
    {"naive", "softmax", "naive_softmax"},
    {"safe", "softmax", "safe_softmax"},
    {"online", "softmax", "online_softmax"},
    {"two_pass", "softmax", "two_pass_softmax"},
    {"safe_unfused", "softmax_topk", "safe_unfused_softmax_topk"},
    {"online_unfused", "softmax_topk", "online_unfused_softmax_topk"},
    {"safe_fused", "softmax_topk", "safe_fused_softmax_topk"},
    {"online_fused", "softmax_topk", "online_fused_softmax_topk"},
};

// A k-th column is found by insertion into a sorted list, whose cost grows with k.
constexpr size_t kMostTextbookK = 2048;

const char* kernel_name(const Request& request) {
  for (const Name& name : kNames)
    if (request.textbook == name.algorithm && request.op == name.op) return name.kernel;
  throw std::invalid_argument(request.op + " has no textbook kernel '" + request.textbook + "'");
}

}  // namespace

Plan make_textbook_plan(const Request& request, const Layout& layout) {
  const char* kernel = kernel_name(request);
  std::string who = "kernel='" + request.textbook + "'";
  if (request.top_k > kMostTextbookK)
    throw std::invalid_argument(who + " keeps its winners in a sorted list: k up to " +
                                std::to_string(kMostTextbookK) + " is allowed, not " +
                                std::to_string(request.top_k));
  Request own = request;
  own.selection = Selection::radix;  // needs no groups of maxima
  Plan plan = make_plan(own, layout);
  if (plan.staged)
    throw std::invalid_argument(who +
                                " reads and writes rows of floats in place: elements of one "
                                "float type, aligned, in this machine's byte order and side "
                                "by side along the axis are allowed");
  plan.kernel = kernel;
  plan.selection = Selection::none;
  plan.by_span = false;
  plan.span_columns = layout.vocab;
  plan.spans = layout.vocab ? 1 : 0;
  return plan;
}

}  // namespace oneread
