// What moves along the sequence: short convolutions and scans over states.
#include "tests/dataflow/operators/meanings.h"

namespace stepcast::dataflow::operators {
namespace {

/// y[s] = sum over taps w of x[s - (taps - 1 - w)] W[w] + b, before the sequence nothing.
template <typename Visit> void each_tap(OperatorRun& run, const Visit& visit) {
  const int s = run.op.whole_loops.front(), w = run.last_loop(1), taps = run.extent(w);
  const int position = run.walk.index_of(s), tap = run.walk.index_of(w);
  run.walk.all([&](const Offsets& at) {
    const int back = taps - 1 - at[tap];
    if (at[position] >= back) visit(at, at[1] - back * run.walk.stride(s, 1));
  });
}

/// A state [p, n] per row of the other loops: it decays by a smooth function of all inputs behind the third, takes in
/// value x key, and gives its product with the query. Roles of the operands as in every scan.
class StateScan {
 public:
  explicit StateScan(OperatorRun& run)
      : run_(run), s_(run.op.whole_loops.front()), p_(run.last_loop(0)), n_(run.last_loop(1)) {
    if (!contains(run.op.whole_loops, p_)) p_ = -1;  // the state is a vector
  }

  /// One element of the state at one position: where its operands and its result stand.
  struct At {
    int value, key, query, out;
    std::vector<int> decays;
  };

  /// visit(the places of one state's element, by position in order).
  template <typename Visit> void each_state(const Visit& visit) const {
    run_.walk.each([&](int loop) { return loop != s_ && loop != p_ && loop != n_; },
        [&](const Offsets& row) {
          for (int p : over(p_))
            for (int n : over(n_)) {
              std::vector<At> steps;
              for (int s : run_.walk.walked(s_)) steps.push_back(at(row, s, p, n));
              visit(steps);
            }
        });
  }
  [[nodiscard]] double decay(const At& at) const {
    double drive = 0;
    for (std::size_t i = 0; i < at.decays.size(); ++i) drive += run_.at_offset(static_cast<int>(3 + i), at.decays[i]);
    return logistic(drive);
  }
  [[nodiscard]] double next(double state, const At& at) const {
    return state * decay(at) + run_.at_offset(0, at.value) * run_.at_offset(1, at.key);
  }

 private:
  [[nodiscard]] std::vector<int> over(int loop) const {
    return loop < 0 ? std::vector<int>{0} : run_.walk.walked(loop);
  }
  [[nodiscard]] int along(int loop, int index, int access) const {
    return loop < 0 ? 0 : index * run_.walk.stride(loop, access);
  }
  [[nodiscard]] At at(const Offsets& row, int s, int p, int n) const {
    const auto place = [&](int access, int loop, int index) {
      return row[access] + along(s_, s, access) + along(loop, index, access);
    };
    At at{place(1, p_, p), place(2, n_, n), place(3, n_, n), place(0, p_, p), {}};
    for (int i = 3; i < run_.inputs(); ++i) at.decays.push_back(place(1 + i, n_, n));
    return at;
  }

  OperatorRun& run_;
  int s_, p_, n_;
};

}  // namespace

void convolve(OperatorRun& run, Part& out) {
  each_tap(run, [&](const Offsets& at, int from) {
    out.value[at[0]] += run.at_offset(0, from) * run.in(1, at) + (run.inputs() > 2 ? run.in(2, at) : 0);
  });
}

void convolve_gradient(OperatorRun& run, int i, Part& grad) {
  each_tap(run, [&](const Offsets& at, int from) {
    if (i == 0) grad.value[from] += run.up(at) * run.in(1, at);
    else grad.value[at[1 + i]] += run.up(at) * (i == 1 ? run.at_offset(0, from) : 1);
  });
}

void scan(OperatorRun& run, Part& out) {
  const StateScan states(run);
  states.each_state([&](const std::vector<StateScan::At>& steps) {
    double state = 0;
    for (const StateScan::At& at : steps) {
      state = states.next(state, at);
      out.value[at.out] += state * run.at_offset(2, at.query);
    }
  });
}

void scan_gradient(OperatorRun& run, int i, Part& grad) {
  const StateScan scan(run);
  scan.each_state([&](const std::vector<StateScan::At>& steps) {
    std::vector<double> states{0};
    for (const StateScan::At& at : steps) states.push_back(scan.next(states.back(), at));
    double carried = 0;  // gradient of the state behind this position
    for (std::size_t t = steps.size(); t-- > 0;) {
      const StateScan::At& at = steps[t];
      const double dy = run.up_at(at.out), decay = scan.decay(at), ds = carried + dy * run.at_offset(2, at.query);
      if (i == 0) grad.value[at.value] += ds * run.at_offset(1, at.key);
      else if (i == 1) grad.value[at.key] += ds * run.at_offset(0, at.value);
      else if (i == 2) grad.value[at.query] += dy * states[t + 1];
      else grad.value[at.decays[i - 3]] += ds * states[t] * decay * (1 - decay);
      carried = ds * decay;
    }
  });
}

}  // namespace stepcast::dataflow::operators
