#include "tests/dataflow/execute_operator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace stepcast::dataflow {
namespace {

constexpr int kMostAccesses = 12;
using Offsets = std::array<int, kMostAccesses>;
constexpr double kNotRead = std::numeric_limits<double>::quiet_NaN();

/// Walks the loops; each access is followed by its offset into its tensor.
class Walk {
 public:
  explicit Walk(const RankOperator& on) : on_(on), loops_(loops_of(on.op)), strides_(loops_.size()) {
    for (auto& s : strides_) s.fill(0);
    add(on.op.output);
    for (const Access& input : on.op.inputs) add(input);
  }
  /// The number of `loop` itself as a further offset. Returns its position.
  int add_index(int loop) {
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (loops_[l] == loop) strides_[l][count_] = 1;
    return count_++;
  }
  /// Over the loops for which `take` holds; the others stay at offset 0.
  template <typename Take, typename Visit> void each(const Take& take, const Visit& visit) const {
    std::vector<int> chosen;
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (take(loops_[l])) chosen.push_back(static_cast<int>(l));
    go(chosen, 0, Offsets{}, visit);
  }
  template <typename Visit> void all(const Visit& visit) const {
    each([](int) { return true; }, visit);
  }
  [[nodiscard]] const std::vector<int>& walked(int loop) const { return on_.walked[position(loop)]; }
  [[nodiscard]] int stride(int loop, int access) const { return strides_[position(loop)][access]; }

 private:
  [[nodiscard]] int position(int loop) const {
    return static_cast<int>(std::find(loops_.begin(), loops_.end(), loop) - loops_.begin());
  }
  void add(const Access& access) {
    int stride = 1;
    for (std::size_t i = access.loops.size(); i-- > 0;) {
      strides_[position(access.loops[i])][count_] += stride;
      stride *= static_cast<int>(on_.net.dims[access.loops[i]].extent);
    }
    ++count_;
  }
  template <typename Visit>
  void go(const std::vector<int>& chosen, std::size_t level, const Offsets& at, const Visit& visit) const {
    if (level == chosen.size()) return visit(at);
    const Offsets& stride = strides_[chosen[level]];
    for (int index : on_.walked[chosen[level]]) {
      Offsets next = at;
      for (int k = 0; k < count_; ++k) next[k] += index * stride[k];
      go(chosen, level + 1, next, visit);
    }
  }

  const RankOperator& on_;
  std::vector<int> loops_;
  std::vector<Offsets> strides_;
  int count_ = 0;
};

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Zero (or another start) on every element the rank writes.
Part blank(const Walk& walk, const Network& net, const Access& access, int position, double start) {
  Part part;
  part.value.assign(static_cast<std::size_t>(net.elements(access.tensor)), 0);
  part.held.assign(part.value.size(), 0);
  walk.each([&](int loop) { return contains(access.loops, loop); },
      [&](const Offsets& at) {
        part.value[at[position]] = start;
        part.held[at[position]] = 1;
      });
  return part;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Pointwise functions and their derivatives. Any smooth function with the operands' roles of the real one will do:
/// rmsnorm's constants are left out, and what mixes residual streams sums over all coefficients.
double value_of(const std::string& f, const double* x, std::size_t n) {
  if (f == "square") return x[0] * x[0];
  if (f == "rmsnorm") return x[0] * x[2] / std::sqrt(1 + x[1]);
  if (f == "swiglu" || f == "geglu") return x[0] * logistic(x[0]) * x[1];
  if (f == "gelu") return x[0] * logistic(1.702 * x[0]);
  if (f == "layernorm") return x[0] * x[2] / std::sqrt(1 + x[1]) + (n > 3 ? x[3] : 0);
  if (f == "sigmoid_gate") return logistic(x[0]) * x[1];
  if (f == "multiply" || f == "merge") return x[0] * x[1];
  if (f == "spread") return (x[0] + x[1]) * x[2];
  if (f == "sinkhorn") return x[0] * x[2] / std::sqrt(1 + x[1]);
  if (f == "silu") return x[0] * logistic(x[0]);
  if (f == "modulate") return x[0] * (1 + x[1]) + x[2];
  if (f == "softcap") return 3 * std::tanh(x[0] / 3);
  if (f == "cutoff") return std::log1p(std::exp(x[0] - 0.1 * x[1]));
  if (f == "scale") return 0.5 * x[0];
  if (f == "identity" || f == "sample") return x[0];
  if (f == "shifted_exp") return std::exp(x[0] - x[1]);
  if (f == "cross_entropy") return std::log(x[0]) + x[1] - x[2];
  if (f == "add" || f == "bias") {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
  return kNotRead;
}

double derivative_of(const std::string& f, const double* x, int i) {
  if (f == "square") return 2 * x[0];
  if (f == "sigmoid_gate") return i == 1 ? logistic(x[0]) : x[1] * logistic(x[0]) * (1 - logistic(x[0]));
  if (f == "multiply" || f == "merge") return x[1 - i];
  if (f == "spread") return i == 2 ? x[0] + x[1] : x[2];
  if (f == "silu") return logistic(x[0]) * (1 + x[0] * (1 - logistic(x[0])));
  if (f == "modulate") return i == 0 ? 1 + x[1] : i == 1 ? x[0] : 1;
  if (f == "cutoff") return (i == 0 ? 1 : -0.1) * logistic(x[0] - 0.1 * x[1]);
  if (f == "rmsnorm" || f == "layernorm" || f == "sinkhorn") {
    const double r = 1 / std::sqrt(1 + x[1]);
    return i == 0 ? x[2] * r : i == 1 ? -0.5 * x[0] * x[2] * r * r * r : i == 2 ? x[0] * r : 1;
  }
  if (f == "swiglu" || f == "geglu")
    return i == 1 ? x[0] * logistic(x[0]) : x[1] * logistic(x[0]) * (1 + x[0] * (1 - logistic(x[0])));
  if (f == "gelu") return logistic(1.702 * x[0]) * (1 + 1.702 * x[0] * (1 - logistic(1.702 * x[0])));
  if (f == "scale") return 0.5;
  if (f == "add" || f == "bias") return 1;
  if (f == "shifted_exp") return std::exp(x[0] - x[1]);
  if (f == "cross_entropy") return i == 0 ? 1 / x[0] : -1;
  return kNotRead;
}

/// Kept or dropped by the element's number, whoever computes it.
double dropout_mask(int element) {
  return (static_cast<unsigned>(element) * 2654435761U >> 16 & 3U) == 0 ? 0 : 4.0 / 3;
}

/// Rotary embedding as some linear map along d that depends on the position: y[d] = a x[d] + b x[D-1-d].
struct Rotation {
  double own, mirrored;
};
Rotation rotation(int position, int d) {
  return {1 + 0.1 * std::sin(7.0 * position + d), 0.5 * std::cos(3.0 * position + 2.0 * d)};
}

class Runner {
 public:
  Runner(const RankOperator& on, const std::vector<const Part*>& inputs, std::string& error)
      : on_(on), op_(on.op), walk_(on), inputs_(inputs), error_(error) {}

  Part forward() {
    Part out =
        blank(walk_, on_.net, op_.output, 0, op_.monoid == Monoid::max ? -std::numeric_limits<double>::infinity() : 0);
    if (op_.kind == OperatorKind::attention) attention(out);
    else if (op_.kind == OperatorKind::select) select([&](const Offsets& at) { out.value[at[0]] += in(0, at); });
    else if (op_.kind == OperatorKind::einsum)
      walk_.all([&](const Offsets& at) { out.value[at[0]] += product(at, -1); });
    else if (op_.function == "rope")
      rope([&](const Offsets& at, int mirror, Rotation r) {
        out.value[at[0]] += r.own * in(0, at) + r.mirrored * at_offset(0, mirror);
      });
    else if (op_.function == "softmax") softmax(out);
    else if (op_.function == "conv")
      convolution([&](const Offsets& at, int from) { out.value[at[0]] += at_offset(0, from) * in(1, at) + bias(at); });
    else if (find_scan(op_.function) != nullptr) scan(out);
    else if (op_.function == "append") append(out);
    else if (op_.function == "index") index(out);
    else if (op_.function == "compress") {
      only_rows(out);
      compress([&](const CompressStep& step) {
        out.value[step.out] += at_offset(0, step.sums) * logistic(at_offset(1, step.gates) + at_offset(2, step.place));
      });
    } else if (picks_rows()) {
      only_rows(out);
      picked_rows([&](const Offsets& at, int to, int from) { out.value[at[0] + to] = at_offset(0, at[1] + from); });
    } else if (op_.function == "join") joined([&](int to, int i, int from) { out.value[to] = at_offset(i, from); });
    else if (op_.function == "part")  // the last of the positions that the output lacks
      walk_.all([&](const Offsets& at) { out.value[at[0]] = in(0, at); });
    else if (op_.function == "dropout")
      walk_.all([&](const Offsets& at) { out.value[at[0]] = in(0, at) * dropout_mask(at[0]); });
    else if (op_.monoid == Monoid::max)
      walk_.all([&](const Offsets& at) { out.value[at[0]] = std::max(out.value[at[0]], function(at)); });
    else walk_.all([&](const Offsets& at) { out.value[at[0]] += function(at); });
    return out;
  }

  std::vector<Part> backward(const Part* upstream, const Part* output, const std::vector<int>& targets) {
    upstream_ = upstream;
    output_ = output;
    std::vector<Part> grads;
    for (int i : targets) grads.push_back(blank(walk_, on_.net, op_.inputs[i], 1 + i, 0));
    for (std::size_t n = 0; n < targets.size(); ++n) gradient(targets[n], grads[n]);
    return grads;
  }

 private:
  double at_offset(int input, int offset) {
    const Part* part = inputs_[input];
    if (!part) return kNotRead;
    if (!part->held[offset]) return missing(op_.inputs[input].tensor, offset);
    return part->value[offset];
  }
  double in(int input, const Offsets& at) { return at_offset(input, at[1 + input]); }
  double up(const Offsets& at) {
    if (!upstream_) return 1;
    return upstream_->held[at[0]] ? upstream_->value[at[0]] : missing(op_.output.tensor, at[0]);
  }
  double up_at(int offset) {
    Offsets at{};
    at[0] = offset;
    return up(at);
  }
  double made(int offset) {
    if (!output_) return kNotRead;
    return output_->held[offset] ? output_->value[offset] : missing(op_.output.tensor, offset);
  }
  double missing(int tensor, int offset) {
    if (error_.empty())
      error_ = op_.name + " reads element " + std::to_string(offset) + " of " + on_.net.tensors[tensor].name +
               ", which its rank does not hold";
    return kNotRead;
  }
  double product(const Offsets& at, int except) {
    double p = 1;
    for (int i = 0; i < static_cast<int>(op_.inputs.size()); ++i)
      if (i != except) p *= in(i, at);
    return p;
  }
  std::array<double, kMostAccesses> operands(const Offsets& at) {
    std::array<double, kMostAccesses> x{};
    x.fill(1);  // the scale of a norm that has none
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) x[i] = in(static_cast<int>(i), at);
    return x;
  }
  double function(const Offsets& at) { return value_of(op_.function, operands(at).data(), op_.inputs.size()); }

  template <typename Visit> void select(const Visit& visit) {
    int looked_up = -1;
    for (int loop : op_.inputs[0].loops)
      if (!contains(op_.output.loops, loop)) looked_up = loop;
    const int index = walk_.add_index(looked_up);
    walk_.all([&](const Offsets& at) {
      if (in(1, at) == at[index]) visit(at);
    });
  }

  template <typename Visit> void rope(const Visit& visit) {
    const int whole = op_.whole_loops.front(), d = walk_.add_index(whole), s = walk_.add_index(op_.output.loops[1]);
    const int last = static_cast<int>(on_.net.dims[whole].extent) - 1;
    walk_.all([&](const Offsets& at) {
      visit(at, at[1] + (last - 2 * at[d]) * walk_.stride(whole, 1), rotation(at[s], at[d]));
    });
  }

  template <typename Visit> void rows(int along, const Visit& visit) {
    walk_.each([&](int loop) { return loop != along; }, visit);
  }

  void softmax(Part& out) {
    const int t = op_.whole_loops.front(), stride = walk_.stride(t, 0);
    rows(t, [&](const Offsets& at) {
      double sum = op_.inputs.size() > 1 ? std::exp(at_offset(1, at[2])) : 0;  // a sink of the head
      for (int j : walk_.walked(t)) sum += out.value[at[0] + j * stride] = std::exp(at_offset(0, at[1] + j * stride));
      for (int j : walk_.walked(t)) out.value[at[0] + j * stride] /= sum;
    });
  }

  double bias(const Offsets& at) { return op_.inputs.size() > 2 ? in(2, at) : 0; }

  /// y[s] = sum over taps w of x[s - (taps - 1 - w)] W[w] + b, before the sequence nothing.
  template <typename Visit> void convolution(const Visit& visit) {
    const int s = op_.whole_loops.front(), w = op_.inputs[1].loops.back();
    const int position = walk_.add_index(s), tap = walk_.add_index(w), taps = static_cast<int>(on_.net.dims[w].extent);
    walk_.all([&](const Offsets& at) {
      const int back = taps - 1 - at[tap];
      if (at[position] >= back) visit(at, at[1] - back * walk_.stride(s, 1));
    });
  }

  void convolution_gradient(int target, Part& grad) {
    convolution([&](const Offsets& at, int from) {
      if (target == 0) grad.value[from] += up(at) * in(1, at);
      else grad.value[at[1 + target]] += up(at) * (target == 1 ? at_offset(0, from) : 1);
    });
  }

  /// A state [p, n] per row of the other loops: it decays by a smooth function of all inputs behind the third, takes in
  /// value x key, and gives its product with the query. Roles of the operands as in every scan.
  struct ScanLoops {
    int s, p, n;
  };
  [[nodiscard]] ScanLoops scan_loops() const {
    const int n = op_.inputs[1].loops.back(), last = op_.inputs[0].loops.back();
    return {op_.whole_loops.front(), contains(op_.whole_loops, last) ? last : -1, n};
  }
  /// Over rows and positions in order; at[] is that of p = n = 0.
  template <typename Visit> void scan_rows(const Visit& visit) {
    const ScanLoops l = scan_loops();
    rows_of([&](int loop) { return loop != l.s && loop != l.p && loop != l.n; }, visit);
  }
  template <typename Keep, typename Visit> void rows_of(const Keep& keep, const Visit& visit) {
    walk_.each(keep, visit);
  }

  struct ScanStep {
    std::vector<int> offset;  ///< of each input, at p = n = 0
    int out = 0;
  };
  [[nodiscard]] ScanStep step_at(const Offsets& at, int s) {
    const int loop = scan_loops().s;
    ScanStep step;
    step.out = at[0] + s * walk_.stride(loop, 0);
    for (std::size_t i = 0; i < op_.inputs.size(); ++i)
      step.offset.push_back(at[1 + i] + s * walk_.stride(loop, static_cast<int>(1 + i)));
    return step;
  }
  /// What decays the state: every further input, at this state's own n where it has that loop.
  double drive(const ScanStep& step, int n) {
    double sum = 0;
    for (std::size_t i = 3; i < op_.inputs.size(); ++i)
      sum += at_offset(static_cast<int>(i), step.offset[i] + n * walk_.stride(scan_loops().n, static_cast<int>(1 + i)));
    return sum;
  }
  [[nodiscard]] std::vector<int> over(int loop) const { return loop < 0 ? std::vector<int>{0} : walk_.walked(loop); }
  int along(int loop, int access) const { return loop < 0 ? 0 : walk_.stride(loop, access); }

  void scan(Part& out) {
    const ScanLoops l = scan_loops();
    scan_rows([&](const Offsets& at) {
      for (int p : over(l.p))
        for (int n : over(l.n)) {
          double state = 0;
          for (int s : walk_.walked(l.s)) {
            const ScanStep step = step_at(at, s);
            state = state * logistic(drive(step, n)) +
                    at_offset(0, step.offset[0] + p * along(l.p, 1)) * at_offset(1, step.offset[1] + n * along(l.n, 2));
            out.value[step.out + p * along(l.p, 0)] += state * at_offset(2, step.offset[2] + n * along(l.n, 3));
          }
        }
    });
  }

  void scan_gradient(int target, Part& grad) {
    const ScanLoops l = scan_loops();
    scan_rows([&](const Offsets& at) {
      const auto& positions = walk_.walked(l.s);
      for (int p : over(l.p))
        for (int n : over(l.n)) {
          std::vector<double> states(positions.size() + 1, 0);
          for (std::size_t i = 0; i < positions.size(); ++i) {
            const ScanStep step = step_at(at, positions[i]);
            states[i + 1] = states[i] * logistic(drive(step, n)) + at_offset(0, step.offset[0] + p * along(l.p, 1)) *
                                                                       at_offset(1, step.offset[1] + n * along(l.n, 2));
          }
          double carried = 0;  // gradient of the state behind this position
          for (std::size_t i = positions.size(); i-- > 0;) {
            const ScanStep step = step_at(at, positions[i]);
            const int v = step.offset[0] + p * along(l.p, 1), k = step.offset[1] + n * along(l.n, 2),
                      q = step.offset[2] + n * along(l.n, 3);
            const double dy = up_at(step.out + p * along(l.p, 0)), decay = logistic(drive(step, n));
            const double ds = carried + dy * at_offset(2, q);
            if (target == 0) grad.value[v] += ds * at_offset(1, k);
            if (target == 1) grad.value[k] += ds * at_offset(0, v);
            if (target == 2) grad.value[q] += dy * states[i + 1];
            if (target >= 3)
              grad.value[step.offset[target] + n * walk_.stride(l.n, 1 + target)] +=
                  ds * states[i] * decay * (1 - decay);
            carried = ds * decay;
          }
        }
    });
  }

  /// Which input is what to an attention core. Keys that are values, too, stand once.
  struct Roles {
    int keys = -1, values = -1, rotary = -1, small = -1, chosen = -1, sinks = -1, distances = -1;
  };
  [[nodiscard]] Roles roles() const {
    Roles r;
    for (int i = 1; i < static_cast<int>(op_.inputs.size()); ++i) {
      const Access& access = op_.inputs[i];
      if (contains(access.loops, op_.key_loop)) (r.keys < 0 ? r.keys : r.values < 0 ? r.values : r.rotary) = i;
      else if (on_.net.tensors[access.tensor].role == TensorRole::weight)
        (access.loops.size() == 2 ? r.sinks : r.distances) = i;
      else (contains(access.loops, op_.query_loop) ? r.chosen : r.small) = i;
    }
    if (r.values < 0) r.values = r.keys;
    return r;
  }
  /// A key that a query sees: of the plain ones, or of compressed ones.
  struct Key {
    int input, values, at;  ///< inputs of its keys and values; its number
    double p = 0;
  };
  [[nodiscard]] int last_loop(int input) const { return op_.inputs[input].loops.back(); }
  [[nodiscard]] int extent(int loop) const { return static_cast<int>(on_.net.dims[loop].extent); }
  /// Where the key's row begins in an input of keys or values.
  [[nodiscard]] int row_at(const Offsets& at, int input, const Key& key, const Roles& r) const {
    const int loop = key.input == r.small && r.small >= 0 ? op_.inputs[input].loops[1] : op_.key_loop;
    return at[1 + input] + key.at * walk_.stride(loop, 1 + input);
  }

  /// Over query rows: visit(at, keys with their probabilities).
  template <typename Visit> void attention_rows(const Visit& visit) {
    const Roles r = roles();
    const int t = op_.key_loop, query = query_index();
    std::vector<int> inner{t, op_.output.loops.back()};
    for (int i = 0; i < static_cast<int>(op_.inputs.size()); ++i)
      if (i != r.sinks) inner.push_back(i == r.distances ? op_.inputs[i].loops.front() : last_loop(i));
    if (r.small >= 0) inner.push_back(op_.inputs[r.small].loops[1]);
    // Queries behind what stands in a cache are the last ones.
    const bool cached = on_.net.tensors[op_.inputs[1].tensor].role == TensorRole::cache;
    const int before = cached ? extent(t) - extent(op_.query_loop) : 0;
    walk_.each([&](int loop) { return !contains(inner, loop); },
        [&](const Offsets& at) {
          const int asks = before + at[query];
          const std::vector<int> chosen = r.chosen >= 0 ? chosen_of(at, r) : std::vector<int>{};
          std::vector<Key> keys;
          for (int j : walk_.walked(t)) {
            // Choices are of compressed keys where there are any.
            const bool picked = r.chosen < 0 || r.small >= 0 || contains(chosen, j / picked_together(r.chosen));
            if (sees(asks, j) && picked) keys.push_back({r.keys, r.values, j});
          }
          if (r.small >= 0)
            for (int c : walk_.walked(op_.inputs[r.small].loops[1]))
              if ((c + 1) * op_.beside.ratio <= asks + 1 && (r.chosen < 0 || contains(chosen, c)))
                keys.push_back({r.small, r.small, c});
          double sum = 0;
          for (Key& key : keys) {
            double score = 0;
            const int row = row_at(at, key.input, key, r), size = extent(last_loop(key.input));
            for (int e = 0; e < size; ++e) score += at_offset(0, at[1] + e) * at_offset(key.input, row + e);
            if (r.rotary >= 0)
              for (int e = 0; e < extent(last_loop(r.rotary)); ++e)
                score += at_offset(0, at[1] + size + e) * at_offset(r.rotary, row_at(at, r.rotary, key, r) + e);
            if (r.distances >= 0) score += at_offset(r.distances, distance(at, at[query], key.at));
            sum += key.p = std::exp(score);
          }
          sink_ = r.sinks >= 0 ? std::exp(at_offset(r.sinks, at[1 + r.sinks])) : 0;
          sum += sink_;
          row_sum_ = sum;
          if (sum > 0) {  // a part of the keys may have none that the query sees
            sink_ /= sum;
            for (Key& key : keys) key.p /= sum;
          }
          visit(at, keys);
        });
  }
  std::vector<int> chosen_of(const Offsets& at, const Roles& r) {
    std::vector<int> chosen;
    const int loop = last_loop(r.chosen);
    for (int k = 0; k < extent(loop); ++k)
      chosen.push_back(static_cast<int>(at_offset(r.chosen, at[1 + r.chosen] + k * walk_.stride(loop, 1 + r.chosen))));
    return chosen;
  }
  /// Neighbours that are chosen as one.
  [[nodiscard]] int picked_together(int chosen) const {
    return chosen < 0 ? 1 : std::max(1, static_cast<int>(op_.reach) / extent(last_loop(chosen)));
  }

  [[nodiscard]] bool sees(int query, int key) const {
    const auto reach = static_cast<int>(op_.reach);
    if (op_.domain == Domain::window) return key <= query && key > query - reach;
    if (op_.domain == Domain::band) return std::abs(query - key) < reach;
    if (op_.domain == Domain::chunk) return key <= query && key / reach == query / reach;
    if (op_.domain == Domain::tile) return key / reach == query / reach;
    return op_.domain == Domain::all || key <= query;
  }
  /// A number per head and distance between query and key, the last for all that are farther.
  [[nodiscard]] int distance(const Offsets& at, int query, int key) const {
    const int input = roles().distances, row = op_.inputs[input].loops.front();
    return at[1 + input] + std::min(std::abs(query - key), extent(row) - 1) * walk_.stride(row, 1 + input);
  }

  /// The best of each row by the sum of products over heads and their size, of blocks by their best key; -1: a row sees
  /// fewer. A core that reads the choice tells how many neighbours are one.
  void index(Part& out) {
    const int t = op_.key_loop, query = query_index(), d = last_loop(0), picks = op_.output.loops.back();
    const bool weighed = op_.inputs.size() > 2;
    const int heads = weighed ? last_loop(2) : -1, ratio = extent(op_.query_loop) / extent(t);
    int together = 1;
    for (const Block& block : on_.net.blocks)
      for (const Operator& op : block.operators)
        for (const Access& input : op.inputs)
          if (input.tensor == op_.output.tensor && op.beside.ratio == 0)
            together = std::max(1, static_cast<int>(op.reach) / extent(picks));
    walk_.each([&](int loop) { return loop != t && loop != d && loop != picks && loop != heads; },
        [&](const Offsets& at) {
          std::vector<std::pair<double, int>> best;  // minus the score, and the block
          for (int j = 0; j < extent(t); ++j) {
            if ((j + 1) * ratio > at[query] + 1) continue;
            double score = 0;
            for (int h = 0; h < (weighed ? extent(heads) : 1); ++h)
              for (int e = 0; e < extent(d); ++e)
                score += at_offset(0, at[1] + (weighed ? h * walk_.stride(heads, 1) : 0) + e) *
                         at_offset(1, at[2] + j * walk_.stride(t, 2) + e) *
                         (weighed ? at_offset(2, at[3] + h * walk_.stride(heads, 3)) : 1);
            best.emplace_back(-score, j / together);
          }
          std::sort(best.begin(), best.end());
          std::vector<int> taken;
          for (const auto& [score, block] : best)
            if (!contains(taken, block)) taken.push_back(block);
          taken.resize(static_cast<std::size_t>(extent(picks)), -1);
          for (int k = 0; k < extent(picks); ++k)
            out.value[at[0] + k * walk_.stride(picks, 0)] = taken[static_cast<std::size_t>(k)];
        });
  }

  /// Output rows that stand for rows of the input: a rank has those of its own input rows.
  [[nodiscard]] bool picks_rows() const { return op_.function == "join" && op_.output.row_dim >= 0; }
  [[nodiscard]] int first_row_of(int made) const {
    const int from = op_.output.row_loops.front(), to = op_.output.loops[1];
    return made * extent(from) / extent(to);
  }
  [[nodiscard]] bool has_row(int made) const {
    return contains(walk_.walked(op_.output.row_loops.front()), first_row_of(made));
  }
  void only_rows(Part& out) {
    const int loop = op_.output.loops[1], stride = walk_.stride(loop, 0);
    for (std::size_t e = 0; e < out.held.size(); ++e)
      out.held[e] = out.held[e] && has_row(static_cast<int>(e) / stride % extent(loop));
  }
  /// visit(at, offset of the row made, offset of the row that it is); at[] is that of the first rows.
  template <typename Visit> void picked_rows(const Visit& visit) {
    const int to = op_.output.loops[1], from = op_.output.row_loops.front();
    walk_.each([&](int loop) { return loop != to && loop != from; },
        [&](const Offsets& at) {
          for (int made = 0; made < extent(to); ++made)
            if (has_row(made)) visit(at, made * walk_.stride(to, 0), first_row_of(made) * walk_.stride(from, 1));
        });
  }

  /// Added once, however many gradients are asked for.
  int query_index() {
    if (query_index_ < 0) query_index_ = walk_.add_index(op_.query_loop);
    return query_index_;
  }

  struct CompressStep {
    int out, sums, gates, place;
  };
  /// Each made row sums its neighbours; where they are twice as wide, the first half is of the neighbours before.
  template <typename Visit> void compress(const Visit& visit) {
    const int s = op_.output.row_loops.front(), to = op_.output.loops[1], width = op_.output.loops.back(),
              wide = last_loop(0), places = op_.inputs[2].loops.front(), ratio = extent(places);
    const bool overlaps = wide != width;
    walk_.each([&](int loop) { return loop == op_.output.loops.front(); },
        [&](const Offsets& at) {
          for (int made = 0; made < extent(to); ++made)
            for (int part = 0; has_row(made) && part < (overlaps ? 2 : 1); ++part)
              for (int i = 0; i < ratio; ++i)
                for (int e = 0; e < extent(width); ++e) {
                  const int row = (made - (overlaps ? 1 - part : 0)) * ratio + i, channel = part * extent(width) + e;
                  if (row < 0) continue;
                  visit(CompressStep{at[0] + made * walk_.stride(to, 0) + e, at[1] + row * walk_.stride(s, 1) + channel,
                      at[2] + row * walk_.stride(s, 2) + channel, at[3] + i * walk_.stride(places, 3) + channel});
                }
        });
  }

  /// Inputs side by side along the dim that they lack, or along the last: visit(offset made, input, its offset).
  template <typename Visit> void joined(const Visit& visit) {
    int before = 0;
    for (int i = 0; i < static_cast<int>(op_.inputs.size()); ++i) {
      const std::vector<int>& read = op_.inputs[i].loops;
      const bool rows = read.size() < op_.output.loops.size() && read.back() == op_.output.loops.back();
      const int own = last_loop(i), all = rows ? op_.whole_loops.front() : op_.output.loops.back(),
                count = rows ? 1 : extent(own);
      walk_.each([&](int loop) { return contains(op_.output.loops, loop) && loop != all; },
          [&](const Offsets& at) {
            for (int e = 0; e < count; ++e)
              visit(at[0] + (before + e) * walk_.stride(all, 0), i, at[1 + i] + (rows ? 0 : e));
          });
      before += count;
    }
  }

  /// To the row that was picked.
  void part_gradient(Part& grad) {
    const int row = op_.whole_loops.empty() ? -1 : walk_.add_index(op_.whole_loops.front()),
              last = row < 0 ? 0 : extent(op_.whole_loops.front()) - 1;
    walk_.all([&](const Offsets& at) {
      if (row < 0 || at[row] == last) grad.value[at[1]] += up(at);
    });
  }

  /// What stands in the cache is some function of its place; the input's rows come behind.
  void append(Part& out) {
    const Access &cache = op_.output, &rows = op_.inputs[0];
    const auto extent = [&](int loop) { return static_cast<int>(on_.net.dims[loop].extent); };
    const int t = cache.loops[1], s = rows.loops[1], before = extent(t) - extent(s);
    const auto index = [](int offset, int stride, int size) { return offset / stride % size; };
    walk_.all([&](const Offsets& at) {
      const int position = index(at[0], walk_.stride(t, 0), extent(t)),
                row = index(at[1], walk_.stride(s, 1), extent(s));
      if (position < before) out.value[at[0]] = std::sin(1.0 + at[0]);
      else if (position - before == row) out.value[at[0]] = in(0, at);
    });
  }

  void attention(Part& out) {
    const Roles r = roles();
    const int t = op_.key_loop, d = op_.output.loops.back();
    const bool of_part = walk_.walked(t).size() < static_cast<std::size_t>(on_.net.dims[t].extent);
    if (of_part) out.sums.assign(out.value.size(), 0);
    attention_rows([&](const Offsets& at, const std::vector<Key>& keys) {
      if (of_part)
        for (int e : walk_.walked(d)) out.sums[at[0] + e] = row_sum_;
      for (const Key& key : keys)
        for (int e : walk_.walked(d))
          out.value[at[0] + e] += key.p * at_offset(key.values, row_at(at, key.values, key, r) + e);
    });
  }

  void attention_gradient(int target, Part& grad) {
    const Roles r = roles();
    if (target == r.chosen) return;  // what is chosen does not change by little
    const int d = op_.output.loops.back(), query = query_index();
    attention_rows([&](const Offsets& at, const std::vector<Key>& keys) {
      double along = 0;  // sum of dO * O over d: the row term of the softmax's gradient
      for (int e : walk_.walked(d)) along += up_at(at[0] + e) * made(at[0] + e);
      if (target == r.sinks) {
        grad.value[at[1 + target]] -= sink_ * along;
        return;
      }
      for (const Key& key : keys) {
        const int row = row_at(at, key.input, key, r), value = row_at(at, key.values, key, r),
                  size = extent(last_loop(key.input));
        double dp = 0;
        for (int e : walk_.walked(d)) dp += up_at(at[0] + e) * at_offset(key.values, value + e);
        const double ds = key.p * (dp - along);
        if (target == r.distances) grad.value[distance(at, at[query], key.at)] += ds;
        for (int e = 0; e < size; ++e) {
          if (target == 0) grad.value[at[1] + e] += ds * at_offset(key.input, row + e);
          if (target == key.input) grad.value[row + e] += ds * at_offset(0, at[1] + e);
        }
        for (int e = 0; r.rotary >= 0 && e < extent(last_loop(r.rotary)); ++e) {
          const int turned = row_at(at, r.rotary, key, r) + e;
          if (target == 0) grad.value[at[1] + size + e] += ds * at_offset(r.rotary, turned);
          if (target == r.rotary) grad.value[turned] += ds * at_offset(0, at[1] + size + e);
        }
        if (target == key.values)
          for (int e : walk_.walked(d)) grad.value[value + e] += key.p * up_at(at[0] + e);
      }
    });
  }

  /// What the probabilities leave of 1 is the sink's.
  void softmax_gradient(int i, Part& grad) {
    const int t = op_.whole_loops.front(), stride = walk_.stride(t, 0);
    rows(t, [&](const Offsets& at) {
      double along = 0, sink = 1;
      for (int j : walk_.walked(t)) along += made(at[0] + j * stride) * up_at(at[0] + j * stride);
      for (int j : walk_.walked(t)) sink -= made(at[0] + j * stride);
      if (i == 1) return void(grad.value[at[2]] -= sink * along);
      for (int j : walk_.walked(t))
        grad.value[at[1] + j * stride] += made(at[0] + j * stride) * (up_at(at[0] + j * stride) - along);
    });
  }

  void gradient(int i, Part& grad) {
    if (op_.kind == OperatorKind::attention) attention_gradient(i, grad);
    else if (op_.kind == OperatorKind::select) select([&](const Offsets& at) { grad.value[at[1]] += up(at); });
    else if (op_.kind == OperatorKind::einsum)
      walk_.all([&](const Offsets& at) { grad.value[at[1 + i]] += up(at) * product(at, i); });
    else if (op_.function == "rope")
      rope([&](const Offsets& at, int mirror, Rotation r) {
        grad.value[at[1]] += r.own * up(at);
        grad.value[mirror] += r.mirrored * up(at);
      });
    else if (op_.function == "softmax") softmax_gradient(i, grad);
    else if (op_.function == "softcap")
      walk_.all([&](const Offsets& at) { grad.value[at[1]] += up(at) * (1 - made(at[0]) * made(at[0]) / 9); });
    else if (op_.function == "conv") convolution_gradient(i, grad);
    else if (find_scan(op_.function) != nullptr) scan_gradient(i, grad);
    else if (op_.function == "dropout")
      walk_.all([&](const Offsets& at) { grad.value[at[1]] += up(at) * dropout_mask(at[0]); });
    else if (op_.function == "index") return;  // what it picks does not change by little
    else if (op_.function == "compress")
      compress([&](const CompressStep& step) {
        const double sum = at_offset(0, step.sums),
                     gate = logistic(at_offset(1, step.gates) + at_offset(2, step.place)), u = up_at(step.out);
        if (i == 0) grad.value[step.sums] += u * gate;
        if (i > 0) grad.value[i == 1 ? step.gates : step.place] += u * sum * gate * (1 - gate);
      });
    else if (picks_rows())
      picked_rows([&](const Offsets& at, int to, int from) { grad.value[at[1] + from] += up_at(at[0] + to); });
    else if (op_.function == "join")
      joined([&](int to, int input, int from) {
        if (input == i) grad.value[from] += up_at(to);
      });
    else if (op_.function == "part") part_gradient(grad);
    else
      walk_.all([&](const Offsets& at) {
        grad.value[at[1 + i]] += up(at) * derivative_of(op_.function, operands(at).data(), i);
      });
  }

  const RankOperator& on_;
  const Operator& op_;
  Walk walk_;
  const std::vector<const Part*>& inputs_;
  const Part* upstream_ = nullptr;
  const Part* output_ = nullptr;
  int query_index_ = -1;
  double sink_ = 0;     ///< probability that a row's sink takes
  double row_sum_ = 0;  ///< what a row was divided by
  std::string& error_;
};

}  // namespace

Part run_operator(const RankOperator& on, const std::vector<const Part*>& inputs, std::string& error) {
  return Runner(on, inputs, error).forward();
}

std::vector<Part> run_gradient(const RankOperator& on, const Part* upstream, const std::vector<const Part*>& inputs,
    const Part* output, const std::vector<int>& targets, std::string& error) {
  return Runner(on, inputs, error).backward(upstream, output, targets);
}

}  // namespace stepcast::dataflow
