// What mixes the elements of one row: rotary embeddings and the softmax.
#include <cmath>

#include "tests/dataflow/operators/meanings.h"

namespace stepcast::dataflow::operators {
namespace {

/// Rotary embedding as some linear map along d that depends on the position: y[d] = a x[d] + b x[D-1-d].
struct Rotation {
  double own, mirrored;
};
Rotation rotation(int position, int d) {
  return {1 + 0.1 * std::sin(7.0 * position + d), 0.5 * std::cos(3.0 * position + 2.0 * d)};
}

/// visit(at, place of the mirrored element, rotation).
template <typename Visit> void each_rotation(OperatorRun& run, const Visit& visit) {
  const int along = run.op.whole_loops.front(), d = run.walk.index_of(along),
            s = run.walk.index_of(run.op.output.loops[1]), last = run.extent(along) - 1;
  run.walk.all([&](const Offsets& at) {
    visit(at, at[1] + (last - 2 * at[d]) * run.walk.stride(along, 1), rotation(at[s], at[d]));
  });
}

template <typename Visit> void each_row(OperatorRun& run, const Visit& visit) {
  const int along = run.op.whole_loops.front();
  run.walk.each([&](int loop) { return loop != along; },
      [&](const Offsets& at) { visit(at, run.walk.walked(along), run.walk.stride(along, 0)); });
}

}  // namespace

void rotate(OperatorRun& run, Part& out) {
  each_rotation(run, [&](const Offsets& at, int mirror, Rotation r) {
    out.value[at[0]] += r.own * run.in(0, at) + r.mirrored * run.at_offset(0, mirror);
  });
}

void rotate_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  each_rotation(run, [&](const Offsets& at, int mirror, Rotation r) {
    grad.value[at[1]] += r.own * run.up(at);
    grad.value[mirror] += r.mirrored * run.up(at);
  });
}

void softmax(OperatorRun& run, Part& out) {
  each_row(run, [&](const Offsets& at, const std::vector<int>& walked, int stride) {
    double sum = run.inputs() > 1 ? std::exp(run.at_offset(1, at[2])) : 0;  // a sink of the head
    for (int j : walked) sum += out.value[at[0] + j * stride] = std::exp(run.at_offset(0, at[1] + j * stride));
    for (int j : walked) out.value[at[0] + j * stride] /= sum;
  });
}

/// What the probabilities leave of 1 is the sink's.
void softmax_gradient(OperatorRun& run, int i, Part& grad) {
  each_row(run, [&](const Offsets& at, const std::vector<int>& walked, int stride) {
    double along = 0, sink = 1;
    for (int j : walked) {
      const int place = at[0] + j * stride;
      along += run.made(place) * run.up_at(place);
      sink -= run.made(place);
    }
    if (i == 1) grad.value[at[2]] -= sink * along;
    for (int j : walked)
      if (const int place = at[0] + j * stride; i == 0)
        grad.value[at[1] + j * stride] += run.made(place) * (run.up_at(place) - along);
  });
}

}  // namespace stepcast::dataflow::operators
