// Attention cores: scores, the softmax over the keys that a query sees, and the sum of their values.
#include <algorithm>
#include <cmath>

#include "tests/dataflow/operators/meanings.h"

namespace stepcast::dataflow::operators {
namespace {

/// Which input is what to a core. Keys that are values, too, stand once.
struct Roles {
  int keys = -1, values = -1, rotary = -1, compressed = -1, chosen = -1, sinks = -1, distances = -1;
};

Roles roles_of(const OperatorRun& run) {
  Roles r;
  for (int i = 1; i < run.inputs(); ++i) {
    const Access& access = run.op.inputs[i];
    if (contains(access.loops, run.op.key_loop)) (r.keys < 0 ? r.keys : r.values < 0 ? r.values : r.rotary) = i;
    else if (run.net.tensors[access.tensor].role == TensorRole::weight)
      (access.loops.size() == 2 ? r.sinks : r.distances) = i;
    else (contains(access.loops, run.op.query_loop) ? r.chosen : r.compressed) = i;
  }
  if (r.values < 0) r.values = r.keys;
  return r;
}

/// A key that a query sees: of the plain ones, or of compressed ones.
struct Key {
  int input, values, at;  ///< inputs of its keys and values; its number
  double p = 0;           ///< its probability
};

/// What one query sees.
struct Seen {
  std::vector<Key> keys;
  double sink = 0;  ///< probability that the sink takes
  double sum = 0;   ///< what the row was divided by
};

class Core {
 public:
  explicit Core(OperatorRun& run) : run_(run), r(roles_of(run)), query_(run.walk.index_of(run.op.query_loop)) {
    // Queries behind what stands in a cache are the last ones.
    if (run.net.tensors[run.op.inputs[1].tensor].role == TensorRole::cache)
      before_ = run.extent(run.op.key_loop) - run.extent(run.op.query_loop);
  }

  /// Over query rows: visit(at, what the query sees).
  template <typename Visit> void each_query(const Visit& visit) {
    std::vector<int> inner{run_.op.key_loop, run_.op.output.loops.back()};
    for (int i = 0; i < run_.inputs(); ++i)
      if (i != r.sinks) inner.push_back(i == r.distances ? run_.op.inputs[i].loops.front() : run_.last_loop(i));
    if (r.compressed >= 0) inner.push_back(run_.op.inputs[r.compressed].loops[1]);
    run_.walk.each([&](int loop) { return !contains(inner, loop); },
        [&](const Offsets& at) {
          Seen seen{keys_of(at)};
          for (Key& key : seen.keys) seen.sum += key.p = std::exp(score(at, key));
          seen.sink = r.sinks >= 0 ? std::exp(run_.at_offset(r.sinks, at[1 + r.sinks])) : 0;
          seen.sum += seen.sink;
          if (seen.sum > 0) {  // a part of the keys may have none that the query sees
            seen.sink /= seen.sum;
            for (Key& key : seen.keys) key.p /= seen.sum;
          }
          visit(at, seen);
        });
  }
  /// Where the key's row begins in an input of keys or values.
  [[nodiscard]] int row_at(const Offsets& at, int input, const Key& key) const {
    const int loop =
        input >= 0 && input == r.compressed && key.input == input ? run_.op.inputs[input].loops[1] : run_.op.key_loop;
    return at[1 + input] + key.at * run_.walk.stride(loop, 1 + input);
  }
  /// Place of the number of this head and distance between query and key; the last is of all that are farther.
  [[nodiscard]] int distance(const Offsets& at, int key) const {
    const int row = run_.op.inputs[r.distances].loops.front();
    return at[1 + r.distances] +
           std::min(std::abs(at[query_] - key), run_.extent(row) - 1) * run_.walk.stride(row, 1 + r.distances);
  }
  [[nodiscard]] int size_of(int input) const { return run_.extent(run_.last_loop(input)); }

 private:
  [[nodiscard]] std::vector<Key> keys_of(const Offsets& at) {
    const int asks = before_ + at[query_];
    const std::vector<int> chosen = chosen_of(at);
    std::vector<Key> keys;
    for (int j : run_.walk.walked(run_.op.key_loop)) {
      // Choices are of compressed keys where there are any.
      const bool picked = r.chosen < 0 || r.compressed >= 0 || contains(chosen, j / picked_together());
      if (sees(asks, j) && picked) keys.push_back({r.keys, r.values, j});
    }
    if (r.compressed >= 0)
      for (int c : run_.walk.walked(run_.op.inputs[r.compressed].loops[1]))
        if ((c + 1) * run_.op.beside.ratio <= asks + 1 && (r.chosen < 0 || contains(chosen, c)))
          keys.push_back({r.compressed, r.compressed, c});
    return keys;
  }
  [[nodiscard]] std::vector<int> chosen_of(const Offsets& at) {
    std::vector<int> chosen;
    for (int k = 0; r.chosen >= 0 && k < size_of(r.chosen); ++k)
      chosen.push_back(static_cast<int>(
          run_.at_offset(r.chosen, at[1 + r.chosen] + k * run_.walk.stride(run_.last_loop(r.chosen), 1 + r.chosen))));
    return chosen;
  }
  /// Neighbours that are chosen as one.
  [[nodiscard]] int picked_together() const {
    return r.chosen < 0 ? 1 : std::max(1, static_cast<int>(run_.op.reach) / size_of(r.chosen));
  }
  [[nodiscard]] bool sees(int query, int key) const {
    const auto reach = static_cast<int>(run_.op.reach);
    if (run_.op.domain == Domain::window) return key <= query && key > query - reach;
    if (run_.op.domain == Domain::band) return std::abs(query - key) < reach;
    if (run_.op.domain == Domain::chunk) return key <= query && key / reach == query / reach;
    if (run_.op.domain == Domain::tile)  // of fewer queries as many of each tile
      return key / reach == query * run_.extent(run_.op.key_loop) / run_.extent(run_.op.query_loop) / reach;
    return run_.op.domain == Domain::all || key <= query;
  }
  [[nodiscard]] double score(const Offsets& at, const Key& key) {
    double score = 0;
    const int row = row_at(at, key.input, key), size = size_of(key.input);
    for (int e = 0; e < size; ++e) score += run_.at_offset(0, at[1] + e) * run_.at_offset(key.input, row + e);
    for (int e = 0; r.rotary >= 0 && e < size_of(r.rotary); ++e)
      score += run_.at_offset(0, at[1] + size + e) * run_.at_offset(r.rotary, row_at(at, r.rotary, key) + e);
    if (r.distances >= 0) score += run_.at_offset(r.distances, distance(at, key.at));
    return score;
  }

  OperatorRun& run_;

 public:
  const Roles r;

 private:
  int query_, before_ = 0;
};

/// How many keys a core that reads the choice takes as one.
int taken_together(const OperatorRun& run, int picks) {
  int together = 1;
  for (const Block& block : run.net.blocks)
    for (const Operator& op : block.operators)
      for (const Access& input : op.inputs)
        if (input.tensor == run.op.output.tensor && op.beside.ratio == 0)
          together = std::max(1, static_cast<int>(op.reach) / picks);
  return together;
}

}  // namespace

void attention(OperatorRun& run, Part& out) {
  Core core(run);
  const int t = run.op.key_loop, d = run.op.output.loops.back();
  const bool of_part = run.walk.walked(t).size() < static_cast<std::size_t>(run.extent(t));
  if (of_part) out.sums.assign(out.value.size(), 0);
  core.each_query([&](const Offsets& at, const Seen& seen) {
    if (of_part)
      for (int e : run.walk.walked(d)) out.sums[at[0] + e] = seen.sum;
    for (const Key& key : seen.keys)
      for (int e : run.walk.walked(d))
        out.value[at[0] + e] += key.p * run.at_offset(key.values, core.row_at(at, key.values, key) + e);
  });
}

void attention_gradient(OperatorRun& run, int i, Part& grad) {
  Core core(run);
  if (i == core.r.chosen) return;  // what is chosen does not change by little
  const std::vector<int>& columns = run.walk.walked(run.op.output.loops.back());
  core.each_query([&](const Offsets& at, const Seen& seen) {
    double along = 0;  // sum of dO * O over the columns: the row term of the softmax's gradient
    for (int e : columns) along += run.up_at(at[0] + e) * run.made(at[0] + e);
    if (i == core.r.sinks) {
      grad.value[at[1 + i]] -= seen.sink * along;
      return;
    }
    for (const Key& key : seen.keys) {
      const int row = core.row_at(at, key.input, key), value = core.row_at(at, key.values, key),
                size = core.size_of(key.input), rotary = core.r.rotary;
      double dp = 0;
      for (int e : columns) dp += run.up_at(at[0] + e) * run.at_offset(key.values, value + e);
      const double ds = key.p * (dp - along);
      if (i == core.r.distances) grad.value[core.distance(at, key.at)] += ds;
      for (int e = 0; e < size; ++e) {
        if (i == 0) grad.value[at[1] + e] += ds * run.at_offset(key.input, row + e);
        if (i == key.input) grad.value[row + e] += ds * run.at_offset(0, at[1] + e);
      }
      for (int e = 0; rotary >= 0 && e < core.size_of(rotary); ++e) {
        const int turned = core.row_at(at, rotary, key) + e;
        if (i == 0) grad.value[at[1] + size + e] += ds * run.at_offset(rotary, turned);
        if (i == rotary) grad.value[turned] += ds * run.at_offset(0, at[1] + size + e);
      }
      if (i == key.values)
        for (int e : columns) grad.value[value + e] += key.p * run.up_at(at[0] + e);
    }
  });
}

/// The best of each row by the sum of products over heads and their size, of blocks by their best key; -1: a row sees
/// fewer. Where a row has no place for what is picked, the sum over all that it sees.
void pick_keys(OperatorRun& run, Part& out) {
  const std::vector<int>& made = run.op.output.loops;
  const int t = run.op.key_loop, query = run.walk.index_of(run.op.query_loop), d = run.last_loop(0),
            ratio = run.extent(run.op.query_loop) / run.extent(t),
            weighed = run.inputs() > 2 ? run.last_loop(2) : -1;  // heads that have a weight each
  int heads = weighed;                                           // whose scores are summed
  for (const int loop : run.op.inputs[0].loops)
    if (loop != d && loop != t && !contains(made, loop)) heads = loop;
  const int picks = contains(run.op.inputs[0].loops, made.back()) ? -1 : made.back(),
            together = picks < 0 ? 1 : taken_together(run, run.extent(picks));
  const auto score = [&](const Offsets& at, int key) {
    double score = 0;
    for (int h = 0; h < (heads < 0 ? 1 : run.extent(heads)); ++h)
      for (int e = 0; e < run.extent(d); ++e)
        score += run.at_offset(0, at[1] + (heads < 0 ? 0 : h * run.walk.stride(heads, 1)) + e) *
                 run.at_offset(1, at[2] + key * run.walk.stride(t, 2) + e) *
                 (weighed < 0 ? 1 : run.at_offset(2, at[3] + h * run.walk.stride(heads, 3)));
    return score;
  };
  run.walk.each([&](int loop) { return loop != t && loop != d && loop != picks && loop != heads; },
      [&](const Offsets& at) {
        std::vector<std::pair<double, int>> best;  // minus the score, and the block
        for (int j = 0; j < run.extent(t) && (j + 1) * ratio <= at[query] + 1; ++j)
          best.emplace_back(-score(at, j), together > 1 ? j * ratio / together : j);
        if (picks < 0) {
          for (const auto& [minus_score, block] : best) out.value[at[0]] -= minus_score;
          return;
        }
        std::sort(best.begin(), best.end());
        std::vector<int> taken;
        for (const auto& [minus_score, block] : best)
          if (!contains(taken, block)) taken.push_back(block);
        taken.resize(static_cast<std::size_t>(run.extent(picks)), -1);
        for (int k = 0; k < run.extent(picks); ++k)
          out.value[at[0] + k * run.walk.stride(picks, 0)] = taken[static_cast<std::size_t>(k)];
      });
}

}  // namespace stepcast::dataflow::operators
