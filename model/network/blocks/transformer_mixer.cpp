// A layer's mixer: the operators of its form, over the network's dims and its own. Several residual streams: mixed
// around each sublayer (mHC), or predicted from each other around each layer (AltUp).
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

namespace {

constexpr const char* linear_functions[] = {"add", "bias", "scale", "cast", "dropout"};

OperatorKind kind_of(const std::string& function) {
  if (function == "product") return OperatorKind::einsum;
  if (function == "conv" || function == "rope" || function == "softmax" || find_scan(function) != nullptr)
    return OperatorKind::opaque;
  return std::ranges::find(linear_functions, function) != std::end(linear_functions) ? OperatorKind::linear
                                                                                     : OperatorKind::nonlinear;
}

}  // namespace

/// The shape's own, or the network's.
int TransformerBuilder::mixer_dim(const std::string& name) const {
  if (mixer_suffix_.empty()) return net_.find_dim(name);
  const int own = net_.find_dim(name + mixer_suffix_);
  return own >= 0 ? own : net_.find_dim(name);
}

int TransformerBuilder::mixer(int x, int y) {
  std::vector<std::pair<std::string_view, int>> made{{"x", x}, {"y", y}};
  const auto dims_of = [&](const std::vector<std::string>& names) {
    std::vector<int> dims;
    dims.reserve(names.size());
    for (const std::string& name : names) dims.push_back(mixer_dim(name));
    return dims;
  };
  /// One that was made before, or else a new one.
  const auto tensor_of = [&](const MixerTensor& named, const auto& make) {
    const auto before = std::ranges::find(made, named.name, &std::pair<std::string_view, int>::first);
    if (before != made.end()) return before->second;
    return made.emplace_back(named.name, make("mixer." + named.name, dims_of(named.dims))).second;
  };
  const auto new_weight = [&](std::string name, std::vector<int> dims) {
    return weight(std::move(name), std::move(dims));
  };
  for (const MixerOperator& row : spec_->mixer.form->operators) {
    const OperatorKind kind = kind_of(row.function);
    std::vector<int> inputs;
    inputs.reserve(row.inputs.size());
    for (const MixerTensor& input : row.inputs) inputs.push_back(tensor_of(input, new_weight));
    const int output = tensor_of(row.output, [&](std::string name, std::vector<int> dims) {
      return row.function == "square" ? statistic(std::move(name), std::move(dims))
                                      : activation(std::move(name), std::move(dims));
    });
    const std::string part = "mixer." + row.part;
    const std::string function = kind == OperatorKind::einsum ? "" : row.function;
    Operator& op = add(part + "." + row.output.name, {"mixer", part}, kind, function, output, {}, part);
    op.inputs.reserve(inputs.size());
    for (int input : inputs) op.inputs.push_back(whole(input));
    op.always_joined = true;  // kernels of libraries that all software calls
    if (find_scan(row.function) != nullptr) op.chunk = spec_->mixer.chunk();
    op.whole_loops = dims_of(row.whole);
    const bool reduces = std::ranges::any_of(loops_of(op), [&](int loop) { return !contains(op.output.loops, loop); });
    if (kind != OperatorKind::opaque && reduces) op.monoid = Monoid::sum;
  }
  return y;
}

/// All streams begin as what was embedded.
int TransformerBuilder::copied_streams(int x) {
  const int copies = activation("X0.streams", {b_, s_, n_, h_});
  add("embed.streams", {"embed"}, OperatorKind::linear, "scale", copies, {x}, "embedding");
  return copies;
}

/// Of each position, from all its streams: a product in fp32, its scale by their mean square, a Sinkhorn iteration
/// (mHC, arXiv 2512.24880, section 4.2). `scales`: what is learned beside the matrix. Forward it is one kernel with the
/// sum that the sublayer reads, as engines have it and as it was timed.
int TransformerBuilder::coefficients(const std::string& name, int x, int count, int scales) {
  const Tags tags{"streams"};
  const int scores = statistic(name + ".scores", {b_, s_, count}), q = statistic(name + ".q", {b_, s_}),
            mix = statistic(name + ".mix", {b_, s_, count});
  product(name + ".scores", tags, scores, x, weight("W." + name, {n_, h_, count}), name).joined_forward = true;
  Operator& square = add(name + ".q", tags, OperatorKind::nonlinear, "square", q, {x}, name);
  square.monoid = Monoid::sum, square.joined_forward = true;
  Operator& rounds = add(
      name + ".mix", tags, OperatorKind::opaque, "sinkhorn", mix, {scores, q, weight(name + ".scale", {scales})}, name);
  rounds.whole_loops = {count, scales}, rounds.joined_forward = true;
  return mix;
}

int TransformerBuilder::merged(const std::string& name, int x, int mix) {
  const int y = activation(name + ".in", {b_, s_, h_});
  Operator& sum = add(name + ".merge", {"streams"}, OperatorKind::opaque, "merge", y, {x, mix}, name);
  sum.whole_loops = {n_, net_.tensors[mix].dims.back()}, sum.joined_forward = true;
  return y;
}

int TransformerBuilder::spread(const std::string& name, int x, int y, int mix) {
  const int out = activation(name + ".x", {b_, s_, n_, h_});
  add(name + ".spread", {"streams"}, OperatorKind::opaque, "spread", out, {x, y, mix}, name).whole_loops = {
      n_, net_.tensors[mix].dims.back()};
  return out;
}

/// The stream that the sublayers read: where it lies, nothing is copied.
int TransformerBuilder::active_stream(const std::string& name, int x) {
  const int y = activation(name, {b_, s_, h_});
  add(name, {"streams"}, OperatorKind::opaque, "part", y, {x}).whole_loops = {n_};
  return y;
}

/// A square matrix over x, brought to the magnitude of `like`, whose squares are summed in `magnitude`.
int TransformerBuilder::projected_stream(const std::string& name, int x, int magnitude, const Tags& tags) {
  const int known = net_.find_dim("h2"), hidden_in = known >= 0 ? known : dim("h2", spec_->hidden);
  const int y = activation(name, {b_, s_, h_}), q = statistic(name + ".q", {b_, s_}),
            sized = activation(name + ".y", {b_, s_, h_});
  product(name, tags, y, x, weight("W." + name, {hidden_in, h_})).inputs[0].loops.back() =
      hidden_in;  // contracted; the output walks h
  add(name + ".q", tags, OperatorKind::nonlinear, "square", q, {y}, "norm").monoid = Monoid::sum;
  add(name + ".y", tags, OperatorKind::nonlinear, "rmsnorm", sized, {y, q, magnitude}, "norm");
  return sized;
}

int TransformerBuilder::magnitude(const std::string& name, int x, const Tags& tags) {
  const int q = statistic(name, {b_, s_});
  add(name, tags, OperatorKind::nonlinear, "square", q, {x}, "norm").monoid = Monoid::sum;
  return q;
}

/// What was embedded, and projections of it (gemma3n/modeling_gemma3n.py, altup_projections).
int TransformerBuilder::projected_streams(int x) {
  const Tags tags{"embed"};
  const int size = magnitude("streams.in.q", x, tags);
  std::vector<int> streams{x};
  for (std::int64_t i = 1; i < whole_.predicted_streams; ++i)
    streams.push_back(projected_stream(fmt::format("streams.in{}", i), x, size, tags));
  const int all = activation("X0.streams", {b_, s_, n_, h_});
  Operator& join = add("embed.streams", tags, OperatorKind::opaque, "join", all, {}, "embed.streams");
  for (const int stream : streams) join.inputs.push_back(whole(stream));
  join.whole_loops = {n_};
  return all;
}

/// Behind the last layer: the mean of the active stream and projections of the others (altup_unembed_projections).
int TransformerBuilder::unprojected_streams(int x) {
  const Tags tags{"streams"};
  const int active = active_stream("streams.out0", x), size = magnitude("streams.out.q", active, tags);
  std::vector<int> streams{active};
  for (std::int64_t i = 1; i < whole_.predicted_streams; ++i) {
    const std::string name = fmt::format("streams.out{}", i);
    streams.push_back(projected_stream(name, active_stream(name + ".part", x), size, tags));
  }
  const int sum = activation("X.summed", {b_, s_, h_}), mean = activation("X.mean", {b_, s_, h_});
  Operator& op = add("streams.out.add", tags, OperatorKind::linear, "add", sum, {}, "bias_dropout_add");
  for (const int stream : streams) op.inputs.push_back(whole(stream));
  add("streams.out.scale", tags, OperatorKind::linear, "scale", mean, {sum}, "bias_dropout_add");
  return mean;
}

/// Numbers of each position, one for each stream: tanh of a product with the normed stream, in fp32. Both uses in a
/// layer share one norm and one matrix.
int TransformerBuilder::routed_streams(const std::string& name, int x) {
  const Tags tags{"streams"};
  const int scores = statistic(name + ".scores", {b_, s_, hr_}), said = statistic(name + ".said", {b_, s_, hr_});
  product(name + ".scores", tags, scores, norm_by(name + ".norm", x, tags, router_norm_), router_);
  add(name + ".said", tags, OperatorKind::nonlinear, "softcap", said, {scores}, name);
  return said;
}

/// Each stream as it is, and a sum of all by coefficients of the position (AltUp, Baykal et al. 2023, arXiv 2301.13310,
/// algorithm 1; coefficients of the position as in gemma3n/modeling_gemma3n.py). The sum goes along with reading the
/// streams, and counts as no product.
int TransformerBuilder::predicted(int x) {
  const Tags tags{"streams"};
  router_ = weight("W.streams.router", {h_, hr_}), router_norm_ = weight("streams.norm.gamma", {h_});
  const int mix = statistic("predict.mix", {b_, s_, hm_, n_}), mixed = activation("predict.mixed", {b_, s_, n_, h_}),
            y = activation("predict.x", {b_, s_, n_, h_});
  product("predict.mix", tags, mix, routed_streams("predict", active_stream("predict.active", x)),
      weight("W.predict", {hr_, hm_, n_}));
  Operator& merge = add("predict.merge", tags, OperatorKind::opaque, "merge", mixed, {x, mix}, "predict");
  merge.inputs[0].loops[2] = hm_;  // all streams, for each that is made
  merge.whole_loops = {hm_, n_};
  add("predict.add", tags, OperatorKind::linear, "add", y, {mixed, x}, "predict");
  return y;
}

/// All streams follow, each by a factor of its own, what the sublayers changed of the prediction of theirs.
int TransformerBuilder::corrected(int guessed, int made) {
  const Tags tags{"streams"};
  const int factors = statistic("correct.factors", {b_, s_, n_}), news = activation("correct.news", {b_, s_, h_}),
            y = activation("correct.x", {b_, s_, n_, h_});
  product("correct.factors", tags, factors, routed_streams("correct", made), weight("W.correct", {hr_, n_}));
  add("correct.news", tags, OperatorKind::linear, "add", news, {made, active_stream("correct.active", guessed)},
      "correct");
  add("correct", tags, OperatorKind::nonlinear, "modulate", y, {news, factors, guessed}, "correct");
  return y;
}

/// y is added to all streams but the active one: `others` is -1 there, and 0.
int TransformerBuilder::added_to_others(const std::string& name, int x, int y) {
  if (others_ < 0) others_ = tensor("others", {n_}, 4, TensorRole::data);
  const int sum = activation(name + ".x", {b_, s_, n_, h_});
  add(name + ".add", {"streams"}, OperatorKind::nonlinear, "modulate", sum, {y, others_, x}, "bias_dropout_add");
  return sum;
}

}  // namespace stepcast
