// Experts: each token's scores choose them, its row goes to those, and their sum comes back. Which expert a token
// chooses is a function of its number alone, so that all experts have as many rows and every split the same choice.
#include "tests/dataflow/operators/meanings.h"

namespace stepcast::dataflow::operators {
namespace {

/// Choice `j` of token `n` as the expert's number and the row there: in order over experts, then over their rows.
struct Choice {
  int expert, row;
};
Choice choice_of(int n, int j, int per_token, int experts) {
  const int place = n * per_token + j;
  return {place % experts, place / experts};
}

/// The accesses of routed rows [experts, rows, width] and of tokens [b, s, width]; 0 is the output.
class Routed {
 public:
  Routed(OperatorRun& run, int rows, int tokens) : run_(run), rows_(rows), tokens_(tokens) {
    const std::vector<int>&of_rows = loops(rows), &of_tokens = loops(tokens);
    e_ = of_rows[0], c_ = of_rows[1], width_ = of_rows[2], b_ = of_tokens[0], s_ = of_tokens[1];
    per_token_ = run.extent(c_) * run.extent(e_) / (run.extent(b_) * run.extent(s_));
  }

  /// visit(places of the row, of the token and of choice `j` in an access, by that access's number).
  template <typename Visit> void each(int choices, const Visit& visit) const {
    const int b = run_.walk.index_of(b_), s = run_.walk.index_of(s_);
    const std::vector<int>& experts = run_.walk.walked(e_);
    run_.walk.each([&](int loop) { return loop == b_ || loop == s_ || loop == width_; },
        [&](const Offsets& at) {
          for (int j = 0; j < per_token_; ++j) {
            if (choices >= 0 && !contains(run_.walk.walked(loops(choices)[2]), j)) continue;  // another rank's
            const Choice chosen = choice_of(at[b] * run_.extent(s_) + at[s], j, per_token_, run_.extent(e_));
            if (!contains(experts, chosen.expert)) continue;
            const int row = at[rows_] + chosen.expert * run_.walk.stride(e_, rows_) +
                            chosen.row * run_.walk.stride(c_, rows_),
                      gate = choices < 0 ? 0 : at[choices] + j * run_.walk.stride(loops(choices)[2], choices);
            visit(row, at[tokens_], gate);
          }
        });
  }
  /// Rows of other ranks' tokens are not this rank's.
  void only_these(Part& part) const {
    for (std::size_t i = 0; i < part.held.size(); ++i) {
      const auto place = static_cast<int>(i);
      const int expert = place / run_.walk.stride(e_, rows_) % run_.extent(e_),
                row = place / run_.walk.stride(c_, rows_) % run_.extent(c_),
                token = (row * run_.extent(e_) + expert) / per_token_;
      const bool mine = contains(run_.walk.walked(b_), token / run_.extent(s_)) &&
                        contains(run_.walk.walked(s_), token % run_.extent(s_));
      part.held[i] = part.held[i] && mine;
    }
  }

 private:
  [[nodiscard]] const std::vector<int>& loops(int access) const {
    return access == 0 ? run_.op.output.loops : run_.op.inputs[access - 1].loops;
  }

  OperatorRun& run_;
  int rows_, tokens_, e_ = -1, c_ = -1, width_ = -1, b_ = -1, s_ = -1, per_token_ = 1;
};

/// visit(places of a gate and of the score that it is made of).
template <typename Visit> void each_gate(OperatorRun& run, const Visit& visit) {
  const int e = run.last_loop(0), k = run.op.output.loops.back(), first = run.op.output.loops[0],
            second = run.op.output.loops[1], b = run.walk.index_of(first), s = run.walk.index_of(second);
  run.walk.each([&](int loop) { return loop != e && loop != k; },
      [&](const Offsets& at) {
        for (int j = 0; j < run.extent(k); ++j) {
          const Choice chosen = choice_of(at[b] * run.extent(second) + at[s], j, run.extent(k), run.extent(e));
          visit(at[0] + j * run.walk.stride(k, 0), at[1] + chosen.expert * run.walk.stride(e, 1));
        }
      });
}

}  // namespace

void choose(OperatorRun& run, Part& out) {
  each_gate(run, [&](int gate, int score) { out.value[gate] = logistic(run.at_offset(0, score)); });
}

void choose_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  each_gate(run, [&](int gate, int score) {
    const double y = logistic(run.at_offset(0, score));
    grad.value[score] += run.up_at(gate) * y * (1 - y);
  });
}

void dispatch(OperatorRun& run, Part& out) {
  const Routed routed(run, 0, 1);
  routed.only_these(out);
  routed.each(-1, [&](int row, int token, int) { out.value[row] = run.at_offset(0, token); });
}

void dispatch_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  Routed(run, 0, 1).each(-1, [&](int row, int token, int) { grad.value[token] += run.up_at(row); });
}

void combine(OperatorRun& run, Part& out) {
  Routed(run, 1, 0).each(
      2, [&](int row, int token, int gate) { out.value[token] += run.at_offset(0, row) * run.at_offset(1, gate); });
}

void combine_gradient(OperatorRun& run, int i, Part& grad) {
  const Routed routed(run, 1, 0);
  if (i == 0) routed.only_these(grad);
  routed.each(2, [&](int row, int token, int gate) {
    if (i == 0) grad.value[row] += run.up_at(token) * run.at_offset(1, gate);
    else grad.value[gate] += run.up_at(token) * run.at_offset(0, row);
  });
}

}  // namespace stepcast::dataflow::operators
