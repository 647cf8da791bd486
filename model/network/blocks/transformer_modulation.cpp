// Norms that are scaled and shifted, and sublayers that are gated, by vectors of a sample (adaLN: Peebles and Xie 2022,
// arXiv 2212.09748, section 3.2).
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {
namespace {

/// Of both sublayers, and of a second attention.
constexpr const char* parts[] = {
    "shift1", "scale1", "gate1", "shift2", "scale2", "gate2", "shift.second", "scale.second", "gate.second"};
constexpr std::size_t layer_parts = 6;
constexpr const char* last_parts[] = {"shift3", "scale3"};

}  // namespace

/// Numbers of a sample through two matrices to as many as its condition has.
int TransformerBuilder::embedded(const std::string& name, int x) {
  const Tags tags{"condition"};
  int inner = activation(name + ".inner", {b_, ci_});
  const int made = activation("condition." + name, {b_, cw_});
  const std::string first = "condition." + name + "1", second = "condition." + name + "2";
  product(first, tags, inner, x, weight("W." + name + "1", {net_.tensors[x].dims.back(), ci_}));
  inner = silu(first, with_bias(first, inner));
  product(second, tags, made, inner, weight("W." + name + "2", {ci_, cw_}));
  return with_bias(second, made);
}

/// Of a product over a sample's numbers.
int TransformerBuilder::with_bias(const std::string& name, int x) {
  return whole_.modulation.no_bias ? x : biased(name, x, {net_.tensors[x].dims.back()}, {"condition"}, "condition");
}

/// A sample's step in time, as waves of so many frequencies; what else is said of it is added. Shared by all layers are
/// also the products that make their vectors of it, or by layers of a kind.
void TransformerBuilder::condition() {
  const Modulation& form = whole_.modulation;
  if (form.frequencies == 0) return;
  start_block("condition", 1, Block::Place::first);
  const Tags tags{"condition"};
  if (form.approximator_layers > 0) return void(net_.blocks.back().output = condition_ = approximated());
  hb_ = dim("h2", whole_.hidden);
  cw_ = form.width > 0 ? dim("cw", form.width) : h_;
  ci_ = form.inner > 0 ? dim("ci", form.inner) : form.width > 0 ? dim("ci", form.width) : hb_;
  const int waves = dim("tf", form.frequencies);
  const auto given = [&](const char* name, int numbers) {
    return tensor(name, {b_, numbers}, batch_.activation_bytes, TensorRole::data);
  };
  int made = embedded("time", given("time", waves));
  const auto add_to = [&](const std::string& name, int more) {
    const int sum = activation("condition.with_" + name, {b_, cw_});
    add("condition.with_" + name, tags, OperatorKind::linear, "add", sum, {made, more}, "condition");
    made = sum;
  };
  if (form.guidance) add_to("guidance", embedded("guidance", given("guidance", waves)));
  if (form.pooled > 0) add_to("pooled", embedded("pooled", given("pooled", dim("pt", form.pooled))));
  if (form.classes > 0) {
    const int looked_up = activation("condition.class", {b_, cw_}),
              labels = tensor("classes", {b_}, 8, TensorRole::data);
    add("condition.class", tags, OperatorKind::select, "", looked_up,
        {weight("E.classes", {dim("cl", form.classes), cw_}), labels})
        .monoid = Monoid::sum;
    add_to("class", looked_up);
  }
  net_.tensors[made].name = "condition";
  net_.blocks.back().output = condition_ = made;
  if (!form.shared && !form.common) return;
  start_block("modulation", 1, Block::Place::first);
  net_.blocks.back().reads = {condition_};
  const int active = silu("modulation", condition_);
  if (form.shared) {
    for (std::size_t i = 0; i < layer_parts; ++i) shared_.push_back(vector_of(parts[i], active));
    net_.blocks.back().output = shared_.back();
    return;
  }
  for (const LayerKind& kind : layer_kinds(whole_, batch_.positions).kinds) {
    const LayerShape shape = kind.shape > 0 ? whole_.shapes[kind.shape - 1U] : LayerShape{};
    const std::size_t count = shape.parallel ? layer_parts / 2 : layer_parts;
    for (const char* rows : {"", ".other"}) {
      if (*rows != '\0' && !shape.joint) continue;
      const std::string of = shape.name + rows;
      std::vector<int>& made_once = common_[of];
      if (!made_once.empty()) continue;
      for (std::size_t i = 0; i < count; ++i) made_once.push_back(vector_of(std::string(parts[i]) + "." + of, active));
      net_.blocks.back().output = made_once.back();
    }
  }
}

/// Every vector of every layer, and two of the last norm, as rows: a matrix, layers of a norm and two matrices with a
/// sum behind, a matrix (ChromaApproximator of diffusers' transformer_chroma.py).
int TransformerBuilder::approximated() {
  const Modulation& form = whole_.modulation;
  const Tags tags{"condition"};
  nv_ = dim("vectors", modulation_vectors(whole_));
  const int wide = dim("aw", form.approximator_width), inner = dim("aw2", form.approximator_width);
  const auto made = [&](const std::string& name, int x, int in, int out) {
    const int y = activation(name, {b_, nv_, out});
    product(name, tags, y, x, weight("W." + name, {in, out}));
    return with_bias(name, y);
  };
  const int numbers = dim("tf", form.frequencies);
  int x = made(
      "approximator.in", tensor("asked", {b_, nv_, numbers}, batch_.activation_bytes, TensorRole::data), numbers, wide);
  for (std::int64_t layer = 0; layer < form.approximator_layers; ++layer) {
    const std::string name = "approximator." + std::to_string(layer);
    const int normed = norm(name + ".norm", x, {"condition"}, 1, true, Norm::rmsnorm);
    const int y = made(name + ".down", silu(name + ".up", made(name + ".up", normed, wide, inner)), inner, wide);
    const int sum = activation(name + ".x", {b_, nv_, wide});
    add(name + ".add", tags, OperatorKind::linear, "add", sum, {x, y}, "condition");
    x = sum;
  }
  return made("approximator.out", x, wide, h_);
}

/// One of the approximated rows.
int TransformerBuilder::row_of(const std::string& name) {
  const int y = activation("modulation." + name, {b_, h_});
  add("modulation." + name, {"condition"}, OperatorKind::opaque, "part", y, {condition_}).whole_loops = {nv_};
  return y;
}

int TransformerBuilder::silu(const std::string& name, int x) {
  const int y = activation(name + ".active", net_.tensors[x].dims);
  add(name + ".act", {"condition"}, OperatorKind::nonlinear, "silu", y, {x}, "condition");
  return y;
}

/// A matrix and a bias over a sample's condition.
int TransformerBuilder::vector_of(const std::string& name, int active) {
  const Tags tags{"condition"};
  const int y = activation("modulation." + name, {b_, h_}), in = cw_ == h_ ? hb_ : cw_;
  product("modulation." + name, tags, y, active, weight("W.modulation." + name, {in, h_}), "modulation")
      .inputs[0]
      .loops.back() = in;  // contracted; the output walks h
  return with_bias("modulation." + name, y);
}

/// The vectors of the layer that begins, three for each sublayer: products of its own, those of its kind, or the shared
/// ones and a table of its own.
void TransformerBuilder::modulate_layer(std::size_t vectors, const std::string& suffix) {
  vectors_.clear();
  if (condition_ < 0) return;
  std::vector<int>& reads = net_.blocks.back().reads;
  const Modulation& form = whole_.modulation;
  if (form.shared) {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      reads.push_back(shared_[i]);
      vectors_.push_back(biased(std::string("table.") + parts[i], shared_[i], {h_}, {"condition"}, "condition"));
    }
    return;
  }
  if (form.common) {
    vectors_ = common_.at((shape_ > 0 ? whole_.shapes[shape_ - 1].name : "") + suffix);
    reads.insert(reads.end(), vectors_.begin(), vectors_.end());
    return;
  }
  if (reads.empty()) reads.push_back(condition_);
  if (nv_ >= 0) {
    for (std::size_t i = 0; i < vectors; ++i) vectors_.push_back(row_of(parts[i] + suffix));
    return;
  }
  const int active = silu("modulation" + suffix, condition_);
  vectors_.assign(vectors, -1);
  for (std::size_t i = 0; i < vectors; ++i) {
    const bool gate = i % 3 == 2, shift = i % 3 == 0;
    if (form.gates ? gate : !form.gains || !shift) vectors_[i] = vector_of(parts[i] + suffix, active);
  }
}

/// Those of the last norm.
void TransformerBuilder::modulate_head() {
  vectors_.clear();
  if (condition_ < 0) return;
  const Modulation& form = whole_.modulation;
  net_.blocks.back().reads.push_back(condition_);
  const int active = form.shared || nv_ >= 0 ? condition_ : silu("modulation3", condition_);
  for (const char* part : last_parts) {
    if (form.gains && part == last_parts[0]) vectors_.push_back(-1);
    else if (form.shared)
      vectors_.push_back(biased(std::string("table.") + part, active, {h_}, {"condition"}, "condition"));
    else vectors_.push_back(nv_ >= 0 ? row_of(part) : vector_of(part, active));
  }
}

/// The norm times (1 + scale), plus shift. `first`: the place of its shift. It has weights of its own where none shifts
/// it, but for the last.
int TransformerBuilder::modulated_norm(const std::string& name, int x, Tags tags, std::size_t first) {
  const bool none = vectors_.empty() || (vectors_[first] < 0 && vectors_[first + 1] < 0);
  if (none) return norm(name, x, std::move(tags));
  const bool last = vectors_.size() == std::size(last_parts);
  return modulated(name, norm(name, x, tags, 1, vectors_[first] < 0 && !last), std::move(tags), first);
}

/// What was normed already.
int TransformerBuilder::modulated(const std::string& name, int normed, Tags tags, std::size_t first) {
  const int y = activation(name + ".modulated", net_.tensors[normed].dims);
  Operator& op = add(name + ".modulate", std::move(tags), OperatorKind::nonlinear, "modulate", y,
      {normed, vectors_[first + 1]}, "norm");
  if (vectors_[first] >= 0) op.inputs.push_back(whole(vectors_[first]));
  return y;
}

}  // namespace stepcast
