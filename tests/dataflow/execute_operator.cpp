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
/// rmsnorm's constants are left out.
double value_of(const std::string& f, const double* x, std::size_t n) {
  if (f == "square") return x[0] * x[0];
  if (f == "rmsnorm") return x[0] * x[2] / std::sqrt(1 + x[1]);
  if (f == "swiglu") return x[0] * logistic(x[0]) * x[1];
  if (f == "gelu") return x[0] * logistic(1.702 * x[0]);
  if (f == "layernorm") return x[0] * x[2] / std::sqrt(1 + x[1]);
  if (f == "sigmoid_gate") return logistic(x[0]) * x[1];
  if (f == "multiply") return x[0] * x[1];
  if (f == "silu") return x[0] * logistic(x[0]);
  if (f == "modulate") return x[0] * (1 + x[1]) + x[2];
  if (f == "softcap") return 3 * std::tanh(x[0] / 3);
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
  if (f == "multiply") return x[1 - i];
  if (f == "silu") return logistic(x[0]) * (1 + x[0] * (1 - logistic(x[0])));
  if (f == "modulate") return i == 0 ? 1 + x[1] : i == 1 ? x[0] : 1;
  if (f == "rmsnorm" || f == "layernorm") {
    const double r = 1 / std::sqrt(1 + x[1]);
    return i == 0 ? x[2] * r : i == 1 ? -0.5 * x[0] * x[2] * r * r * r : x[0] * r;
  }
  if (f == "swiglu") return i == 1 ? x[0] * logistic(x[0]) : x[1] * logistic(x[0]) * (1 + x[0] * (1 - logistic(x[0])));
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
      double sum = 0;
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
    const auto up_at = [&](int offset) {
      Offsets at{};
      at[0] = offset;
      return up(at);
    };
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

  /// Over query rows: visit(at, probabilities); keys up to the query's own position.
  template <typename Visit> void attention_rows(const Visit& visit) {
    const int t = op_.key_loop, d = op_.output.loops.back(), query = walk_.add_index(op_.query_loop);
    const auto& keys = walk_.walked(t);
    std::vector<double> p(keys.size());
    // Queries behind what stands in a cache are the last ones.
    const bool cached = on_.net.tensors[op_.inputs[1].tensor].role == TensorRole::cache;
    const int before = cached ? static_cast<int>(on_.net.dims[t].extent - on_.net.dims[op_.query_loop].extent) : 0;
    const int row = has_distances() ? op_.inputs[3].loops.front() : -1;
    walk_.each([&](int loop) { return loop != t && loop != d && loop != row; },
        [&](const Offsets& at) {
          double sum = 0;
          for (std::size_t j = 0; j < keys.size(); ++j) {
            double score = 0;
            if (sees(before + at[query], keys[j]))
              for (int e : walk_.walked(d))
                score += at_offset(0, at[1] + e) * at_offset(1, at[2] + keys[j] * walk_.stride(t, 2) + e);
            if (has_distances()) score += at_offset(3, distance(at, at[query], keys[j]));
            sum += p[j] = sees(before + at[query], keys[j]) ? std::exp(score) : 0;
          }
          sink_ = has_sinks() ? std::exp(at_offset(3, at[4])) : 0;
          sum += sink_;
          row_sum_ = sum;
          if (sum > 0) {  // a part of the keys may have none that the query sees
            sink_ /= sum;
            for (double& q : p) q /= sum;
          }
          visit(at, p);
        });
  }

  [[nodiscard]] bool sees(int query, int key) const {
    const auto reach = static_cast<int>(op_.reach);
    if (op_.domain == Domain::window) return key <= query && key > query - reach;
    if (op_.domain == Domain::band) return std::abs(query - key) < reach;
    if (op_.domain == Domain::chunk) return key <= query && key / reach == query / reach;
    if (op_.domain == Domain::tile) return key / reach == query / reach;
    return op_.domain == Domain::all || key <= query;
  }
  /// A number per head that takes part in the softmax beside the keys.
  [[nodiscard]] bool has_sinks() const { return has_weight() && op_.inputs[3].loops.size() == 2; }
  /// A number per head and distance between query and key, the last for all that are farther.
  [[nodiscard]] bool has_distances() const { return has_weight() && !has_sinks(); }
  [[nodiscard]] bool has_weight() const {
    return op_.inputs.size() == 4 && on_.net.tensors[op_.inputs[3].tensor].role == TensorRole::weight;
  }
  [[nodiscard]] int distance(const Offsets& at, int query, int key) const {
    const int row = op_.inputs[3].loops.front(), rows = static_cast<int>(on_.net.dims[row].extent);
    return at[4] + std::min(std::abs(query - key), rows - 1) * walk_.stride(row, 4);
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
    const int t = op_.key_loop, d = op_.output.loops.back();
    const bool of_part = walk_.walked(t).size() < static_cast<std::size_t>(on_.net.dims[t].extent);
    if (of_part) out.sums.assign(out.value.size(), 0);
    attention_rows([&](const Offsets& at, const std::vector<double>& p) {
      if (of_part)
        for (int e : walk_.walked(d)) out.sums[at[0] + e] = row_sum_;
      for (std::size_t j = 0; j < p.size(); ++j)
        for (int e : walk_.walked(d))
          if (p[j] != 0)
            out.value[at[0] + e] += p[j] * at_offset(2, at[3] + walk_.walked(t)[j] * walk_.stride(t, 3) + e);
    });
  }

  void attention_gradient(int target, Part& grad) {
    const int t = op_.key_loop, d = op_.output.loops.back(), query = walk_.add_index(op_.query_loop);
    const auto up_at = [&](int offset) {
      Offsets at{};
      at[0] = offset;
      return up(at);
    };
    attention_rows([&](const Offsets& at, const std::vector<double>& p) {
      double along = 0;  // sum of dO * O over d: the row term of the softmax's gradient
      for (int e : walk_.walked(d)) along += up_at(at[0] + e) * made(at[0] + e);
      if (target == 3 && has_sinks()) {
        grad.value[at[4]] -= sink_ * along;
        return;
      }
      for (std::size_t j = 0; j < p.size(); ++j) {
        if (p[j] == 0) continue;
        const int key = at[2] + walk_.walked(t)[j] * walk_.stride(t, 2),
                  value = at[3] + walk_.walked(t)[j] * walk_.stride(t, 3);
        double dp = 0;
        for (int e : walk_.walked(d)) dp += up_at(at[0] + e) * at_offset(2, value + e);
        const double ds = p[j] * (dp - along);
        if (target == 3) grad.value[distance(at, at[query], walk_.walked(t)[j])] += ds;
        for (int e : walk_.walked(d)) {
          if (target == 0) grad.value[at[1] + e] += ds * at_offset(1, key + e);
          if (target == 1) grad.value[key + e] += ds * at_offset(0, at[1] + e);
          if (target == 2) grad.value[value + e] += p[j] * up_at(at[0] + e);
        }
      }
    });
  }

  void softmax_gradient(Part& grad) {
    const int t = op_.whole_loops.front(), stride = walk_.stride(t, 0);
    rows(t, [&](const Offsets& at) {
      double along = 0;
      const auto up_at = [&](int offset) {
        Offsets o{};
        o[0] = offset;
        return up(o);
      };
      for (int j : walk_.walked(t)) along += made(at[0] + j * stride) * up_at(at[0] + j * stride);
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
    else if (op_.function == "softmax") softmax_gradient(grad);
    else if (op_.function == "softcap")
      walk_.all([&](const Offsets& at) { grad.value[at[1]] += up(at) * (1 - made(at[0]) * made(at[0]) / 9); });
    else if (op_.function == "conv") convolution_gradient(i, grad);
    else if (find_scan(op_.function) != nullptr) scan_gradient(i, grad);
    else if (op_.function == "dropout")
      walk_.all([&](const Offsets& at) { grad.value[at[1]] += up(at) * dropout_mask(at[0]); });
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
