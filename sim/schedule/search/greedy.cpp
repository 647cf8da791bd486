#include "sim/schedule/search/greedy.h"

#include "sim/schedule/search/greedy_rounds.h"

namespace stepcast::sim::greedy {
namespace {

using Shower = std::function<void(Layout)>;

void try_plain_rounds(const Problem& problem, const Shower& show) {
  for (const bool wait : {false, true}) {
    for (const bool prefer : {false, true}) {
      for (const bool fill : {false, true}) show(rounds_plain(problem, {wait, prefer, fill, fill}));
    }
  }
}

void try_v_rounds(const Problem& problem, const Shower& show) {
  for (const bool fill_forward : {false, true}) {
    for (const bool fill_backward : {false, true}) {
      auto layout = rounds_v(problem, {.fill_forward = fill_forward, .fill_backward = fill_backward});
      if (layout) show(std::move(*layout));
    }
  }
}

}  // namespace

bool better(const Layout& a, const Layout& b) {
  return less(a.makespan, b.makespan) || (!less(b.makespan, a.makespan) && less(a.span, b.span));
}

bool Choice::show(Layout layout, const char* from) {
  if (best_ && !better(layout, *best_)) return false;
  best_ = std::move(layout);
  from_ = from;
  return true;
}

void try_rounds(const Problem& problem, const Shower& show) {
  if (problem.placement == orders::Placement::v_shape) {
    try_v_rounds(problem, show);
  } else if (problem.size.chunks == 1) {
    try_plain_rounds(problem, show);
  }
}

}  // namespace stepcast::sim::greedy
