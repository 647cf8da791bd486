// What moves whole rows: looked up, appended to a cache, summed to fewer rows, joined.
#include <cmath>

#include "tests/dataflow/operators/meanings.h"

namespace stepcast::dataflow::operators {
namespace {

/// visit(at) where the index that input 1 holds is that of the row walked.
template <typename Visit> void each_selected(OperatorRun& run, const Visit& visit) {
  int looked_up = -1;
  for (int loop : run.op.inputs[0].loops)
    if (!contains(run.op.output.loops, loop)) looked_up = loop;
  const int index = run.walk.index_of(looked_up);
  run.walk.all([&](const Offsets& at) {
    if (run.in(1, at) == at[index]) visit(at);
  });
}

/// Output rows that stand for rows of the input: a rank has those of its own input rows.
class MadeRows {
 public:
  explicit MadeRows(OperatorRun& run)
      : run_(run), from_(run.op.output.row_loops.front()), to_(run.op.output.loops[1]) {}

  [[nodiscard]] int from() const { return from_; }
  [[nodiscard]] int to() const { return to_; }
  [[nodiscard]] int count() const { return run_.extent(to_); }
  [[nodiscard]] int first_of(int made) const { return made * run_.extent(from_) / run_.extent(to_); }
  [[nodiscard]] bool has(int made) const { return contains(run_.walk.walked(from_), first_of(made)); }
  /// Other rows are not this rank's.
  void only_these(Part& out) const {
    const int stride = run_.walk.stride(to_, 0);
    for (std::size_t e = 0; e < out.held.size(); ++e)
      out.held[e] = out.held[e] && has(static_cast<int>(e) / stride % count());
  }

 private:
  OperatorRun& run_;
  int from_, to_;
};

struct CompressStep {
  int out, sums, gates, place;
};
/// Each made row sums its neighbours; where they are twice as wide, the first half is of the neighbours before.
template <typename Visit> void each_compressed(OperatorRun& run, const MadeRows& rows, const Visit& visit) {
  const int places = run.op.inputs[2].loops.front(), ratio = run.extent(places),
            width = run.extent(run.op.output.loops.back());
  const bool overlaps = run.extent(run.last_loop(0)) != width;
  const auto of_row = [&](const Offsets& at, int made, int row, int i, int part) {
    for (int e = 0; e < width; ++e) {
      const int channel = part * width + e;
      visit(CompressStep{at[0] + made * run.walk.stride(rows.to(), 0) + e,
          at[1] + row * run.walk.stride(rows.from(), 1) + channel,
          at[2] + row * run.walk.stride(rows.from(), 2) + channel, at[3] + i * run.walk.stride(places, 3) + channel});
    }
  };
  run.walk.each([&](int loop) { return loop == run.op.output.loops.front(); },
      [&](const Offsets& at) {
        for (int made = 0; made < rows.count(); ++made)
          for (int part = 0; rows.has(made) && part < (overlaps ? 2 : 1); ++part)
            for (int i = 0; i < ratio; ++i)
              if (const int row = (made - (overlaps ? 1 - part : 0)) * ratio + i; row >= 0)
                of_row(at, made, row, i, part);
      });
}

[[nodiscard]] bool picks_rows(const OperatorRun& run) { return run.op.output.row_dim >= 0; }

/// Rows of two kinds in one sequence, on a rank that has all of them: the network's own in front, the encoder's behind.
/// `several` and `one`: the accesses of both together and of one kind; visit(place in the one, place in all).
template <typename Visit> void each_of_kind(OperatorRun& run, int several, int one, int before, const Visit& visit) {
  const auto loops_of_access = [&](int access) -> const std::vector<int>& {
    return access == 0 ? run.op.output.loops : run.op.inputs[access - 1].loops;
  };
  const int all = loops_of_access(several)[1], own = loops_of_access(one)[1];
  run.walk.each([&](int loop) { return loop != own && contains(loops_of_access(one), loop); },
      [&](const Offsets& at) {
        for (int row = 0; row < run.extent(own); ++row)
          visit(
              at[one] + row * run.walk.stride(own, one), at[several] + (before + row) * run.walk.stride(all, several));
      });
}
[[nodiscard]] bool joins_rows(const OperatorRun& run) { return run.op.inputs.front().row_dim >= 0; }
/// Of the part that an operator takes out: the encoder's rows end where all end.
[[nodiscard]] int rows_before_part(const OperatorRun& run) {
  const int own = run.op.output.loops[1];
  return run.net.dims[own].name == "s.own" ? 0 : run.extent(run.op.inputs[0].loops[1]) - run.extent(own);
}

/// Rows side by side become one: as many as it stands for, and where they are more, of those before, too.
template <typename Visit>
void each_neighbour(OperatorRun& run, const MadeRows& rows, int together, const Visit& visit) {
  const int width = run.extent(run.last_loop(0)), apart = run.extent(rows.from()) / rows.count();
  run.walk.each([&](int loop) { return loop == run.op.output.loops.front(); },
      [&](const Offsets& at) {
        for (int made = 0; made < rows.count(); ++made)
          for (int i = 0; rows.has(made) && i < together; ++i)
            if (const int row = (made + 1) * apart - together + i; row >= 0)
              for (int e = 0; e < width; ++e)
                visit(at[0] + made * run.walk.stride(rows.to(), 0) + i * width + e, 0,
                    at[1] + row * run.walk.stride(rows.from(), 1) + e);
      });
}

/// visit(place of the output, input, its place): rows picked from the one input, or inputs side by side along the dim
/// that they lack, or along the last.
template <typename Visit> void each_joined(OperatorRun& run, const Visit& visit) {
  if (joins_rows(run)) {
    for (int i = 0, before = 0; i < run.inputs(); before += run.extent(run.op.inputs[i++].loops[1]))
      each_of_kind(run, 0, 1 + i, before, [&](int from, int to) { visit(to, i, from); });
    return;
  }
  if (picks_rows(run)) {
    const MadeRows rows(run);
    const int made_of = run.last_loop(0), width = run.extent(made_of), beside = run.extent(run.op.output.loops.back());
    if (beside > width) return each_neighbour(run, rows, beside / width, visit);
    run.walk.each([&](int loop) { return loop != rows.to() && loop != rows.from(); },
        [&](const Offsets& at) {
          for (int made = 0; made < rows.count(); ++made)
            if (rows.has(made))
              visit(at[0] + made * run.walk.stride(rows.to(), 0), 0,
                  at[1] + rows.first_of(made) * run.walk.stride(rows.from(), 1));
        });
    return;
  }
  if (run.inputs() == 1 && !contains(run.op.output.loops, run.op.whole_loops.front())) {
    // the first position alone
    const int row = run.walk.index_of(run.op.whole_loops.front());
    run.walk.all([&](const Offsets& at) {
      if (at[row] == 0) visit(at[0], 0, at[1]);
    });
    return;
  }
  if (run.inputs() == 2 && run.op.whole_loops.empty() && run.op.inputs[1].loops.size() == 1) {
    // one row stands at the first position in place of what is there
    const int row = run.walk.index_of(run.op.output.loops[1]);
    run.walk.all([&](const Offsets& at) {
      const int i = at[row] == 0 ? 1 : 0;
      visit(at[0], i, at[1 + i]);
    });
    return;
  }
  int before = 0;
  for (int i = 0; i < run.inputs(); ++i) {
    const std::vector<int>& read = run.op.inputs[i].loops;
    const bool rows = read.size() < run.op.output.loops.size() && read.back() == run.op.output.loops.back();
    const int along = rows ? run.op.whole_loops.front() : run.op.output.loops.back(),
              count = rows ? 1 : run.extent(run.last_loop(i));
    run.walk.each([&](int loop) { return contains(run.op.output.loops, loop) && loop != along; },
        [&](const Offsets& at) {
          for (int e = 0; e < count; ++e)
            visit(at[0] + (before + e) * run.walk.stride(along, 0), i, at[1 + i] + (rows ? 0 : e));
        });
    before += count;
  }
}

/// Neighbours side by side where they lie: rows of more numbers than those that are read.
[[nodiscard]] bool lies_beside(const OperatorRun& run) {
  return picks_rows(run) && run.extent(run.op.output.loops.back()) > run.extent(run.last_loop(0));
}

}  // namespace

void select(OperatorRun& run, Part& out) {
  each_selected(run, [&](const Offsets& at) { out.value[at[0]] += run.in(0, at); });
}

void select_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  each_selected(run, [&](const Offsets& at) { grad.value[at[1]] += run.up(at); });
}

/// What stands in the cache is some function of its place; the input's rows come behind.
void append(OperatorRun& run, Part& out) {
  const int t = run.op.output.loops[1], s = run.op.inputs[0].loops[1], before = run.extent(t) - run.extent(s);
  const auto index = [&](int offset, int loop, int access) {
    return offset / run.walk.stride(loop, access) % run.extent(loop);
  };
  run.walk.all([&](const Offsets& at) {
    const int position = index(at[0], t, 0), row = index(at[1], s, 1);
    if (position < before) out.value[at[0]] = std::sin(1.0 + at[0]);
    else if (position - before == row) out.value[at[0]] = run.in(0, at);
  });
}

void compress(OperatorRun& run, Part& out) {
  const MadeRows rows(run);
  rows.only_these(out);
  each_compressed(run, rows, [&](const CompressStep& step) {
    out.value[step.out] +=
        run.at_offset(0, step.sums) * logistic(run.at_offset(1, step.gates) + run.at_offset(2, step.place));
  });
}

void compress_gradient(OperatorRun& run, int i, Part& grad) {
  each_compressed(run, MadeRows(run), [&](const CompressStep& step) {
    const double sum = run.at_offset(0, step.sums), u = run.up_at(step.out),
                 gate = logistic(run.at_offset(1, step.gates) + run.at_offset(2, step.place));
    if (i == 0) grad.value[step.sums] += u * gate;
    else grad.value[i == 1 ? step.gates : step.place] += u * sum * gate * (1 - gate);
  });
}

/// The last of the positions that the output lacks.
void part(OperatorRun& run, Part& out) {
  if (lies_beside(run)) return join(run, out);
  if (picks_rows(run))
    return each_of_kind(
        run, 1, 0, rows_before_part(run), [&](int to, int from) { out.value[to] = run.at_offset(0, from); });
  run.walk.all([&](const Offsets& at) { out.value[at[0]] = run.in(0, at); });
}

/// To the row that was picked.
void part_gradient(OperatorRun& run, int i, Part& grad) {
  if (lies_beside(run)) return join_gradient(run, i, grad);
  if (picks_rows(run))
    return each_of_kind(run, 1, 0, rows_before_part(run), [&](int from, int to) { grad.value[to] += run.up_at(from); });
  const int along = run.op.whole_loops.empty() ? -1 : run.op.whole_loops.front(),
            row = along < 0 ? -1 : run.walk.index_of(along), last = along < 0 ? 0 : run.extent(along) - 1;
  run.walk.all([&](const Offsets& at) {
    if (row < 0 || at[row] == last) grad.value[at[1]] += run.up(at);
  });
}

void join(OperatorRun& run, Part& out) {
  if (picks_rows(run)) MadeRows(run).only_these(out);
  each_joined(run, [&](int to, int i, int from) { out.value[to] = run.at_offset(i, from); });
}

void join_gradient(OperatorRun& run, int i, Part& grad) {
  each_joined(run, [&](int to, int input, int from) {
    if (input == i) grad.value[from] += run.up_at(to);
  });
}

namespace {

/// visit(place of the mean, of one of its neighbours, their number).
template <typename Visit> void each_of_mean(OperatorRun& run, const MadeRows& rows, const Visit& visit) {
  const int apart = run.extent(rows.from()) / rows.count();
  run.walk.each([&](int loop) { return loop != rows.to() && loop != rows.from(); },
      [&](const Offsets& at) {
        for (int made = 0; made < rows.count(); ++made)
          for (int i = 0; rows.has(made) && i < apart; ++i)
            visit(at[0] + made * run.walk.stride(rows.to(), 0),
                at[1] + (made * apart + i) * run.walk.stride(rows.from(), 1), apart);
      });
}

/// Rows of input 1 stand at positions of the output, spread over all of them, in place of those of input 0.
class FilledRows {
 public:
  explicit FilledRows(OperatorRun& run) : run_(run), s_(run.op.output.loops[1]), rows_(run.op.inputs[1].loops[1]) {}

  /// visit(place of the output, the input whose row it is, its place there).
  template <typename Visit> void each(const Visit& visit) const {
    const int s = run_.walk.index_of(s_);
    run_.walk.each([&](int loop) { return loop != rows_; },
        [&](const Offsets& at) {
          const int row = row_at(at[s]);
          if (row < 0) visit(at[0], 0, at[1]);
          else visit(at[0], 1, at[2] + row * run_.walk.stride(rows_, 2));
        });
  }
  void only_these(Part& part) const {
    for (std::size_t e = 0; e < part.held.size(); ++e)
      part.held[e] =
          part.held[e] && contains(run_.walk.walked(s_),
                              position_of(static_cast<int>(e) / run_.walk.stride(rows_, 2) % run_.extent(rows_)));
  }

 private:
  [[nodiscard]] int position_of(int row) const { return row * run_.extent(s_) / run_.extent(rows_); }
  /// -1: a word stands there.
  [[nodiscard]] int row_at(int position) const {
    const int row = (position * run_.extent(rows_) + run_.extent(s_) - 1) / run_.extent(s_);
    return row < run_.extent(rows_) && position_of(row) == position ? row : -1;
  }

  OperatorRun& run_;
  int s_, rows_;
};

}  // namespace

void mean(OperatorRun& run, Part& out) {
  const MadeRows rows(run);
  rows.only_these(out);
  each_of_mean(run, rows, [&](int to, int from, int count) { out.value[to] += run.at_offset(0, from) / count; });
}

void mean_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  each_of_mean(run, MadeRows(run), [&](int from, int to, int count) { grad.value[to] += run.up_at(from) / count; });
}

void fill(OperatorRun& run, Part& out) {
  FilledRows(run).each([&](int to, int i, int from) { out.value[to] = run.at_offset(i, from); });
}

void fill_gradient(OperatorRun& run, int i, Part& grad) {
  const FilledRows rows(run);
  if (i == 1) rows.only_these(grad);
  rows.each([&](int from, int input, int to) {
    if (input == i) grad.value[to] += run.up_at(from);
  });
}

}  // namespace stepcast::dataflow::operators
