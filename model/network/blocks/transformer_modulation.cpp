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

/// Numbers of a sample through two matrices to the stream's width.
int TransformerBuilder::embedded(const std::string& name, int x) {
  const Tags tags{"condition"};
  int inner = activation(name + ".inner", {b_, hb_});
  const int made = activation("condition." + name, {b_, h_});
  const std::string first = "condition." + name + "1", second = "condition." + name + "2";
  product(first, tags, inner, x, weight("W." + name + "1", {net_.tensors[x].dims.back(), hb_}));
  inner = silu(first, biased(first, inner, {hb_}, tags, "condition"));
  product(second, tags, made, inner, weight("W." + name + "2", {hb_, h_}));
  return biased(second, made, {h_}, tags, "condition");
}

/// A sample's step in time, as waves of so many frequencies; what else is said of it is added. Shared by all layers are
/// also the products that make their vectors of it.
void TransformerBuilder::condition() {
  const Modulation& form = whole_.modulation;
  if (form.frequencies == 0) return;
  start_block("condition", 1, Block::Place::first);
  const Tags tags{"condition"};
  hb_ = dim("h2", whole_.hidden);
  const int waves = dim("tf", form.frequencies);
  const auto given = [&](const char* name, int numbers) {
    return tensor(name, {b_, numbers}, batch_.activation_bytes, TensorRole::data);
  };
  int made = embedded("time", given("time", waves));
  const auto add_to = [&](const std::string& name, int more) {
    const int sum = activation("condition.with_" + name, {b_, h_});
    add("condition.with_" + name, tags, OperatorKind::linear, "add", sum, {made, more}, "condition");
    made = sum;
  };
  if (form.guidance) add_to("guidance", embedded("guidance", given("guidance", waves)));
  if (form.pooled > 0) add_to("pooled", embedded("pooled", given("pooled", dim("pt", form.pooled))));
  if (form.classes > 0) {
    const int looked_up = activation("condition.class", {b_, h_}),
              labels = tensor("classes", {b_}, 8, TensorRole::data);
    add("condition.class", tags, OperatorKind::select, "", looked_up,
        {weight("E.classes", {dim("cl", form.classes), h_}), labels})
        .monoid = Monoid::sum;
    add_to("class", looked_up);
  }
  net_.tensors[made].name = "condition";
  net_.blocks.back().output = condition_ = made;
  if (!form.shared) return;
  start_block("modulation", 1, Block::Place::first);
  net_.blocks.back().reads = {condition_};
  const int active = silu("modulation", condition_);
  for (std::size_t i = 0; i < layer_parts; ++i) shared_.push_back(vector_of(parts[i], active));
  net_.blocks.back().output = shared_.back();
}

int TransformerBuilder::silu(const std::string& name, int x) {
  const int y = activation(name + ".active", net_.tensors[x].dims);
  add(name + ".act", {"condition"}, OperatorKind::nonlinear, "silu", y, {x}, "condition");
  return y;
}

/// A matrix and a bias over a sample's condition.
int TransformerBuilder::vector_of(const std::string& name, int active) {
  const Tags tags{"condition"};
  const int y = activation("modulation." + name, {b_, h_});
  product("modulation." + name, tags, y, active, weight("W.modulation." + name, {hb_, h_}), "modulation")
      .inputs[0]
      .loops.back() = hb_;  // contracted; the output walks h
  return biased("modulation." + name, y, {h_}, tags, "condition");
}

/// The vectors of the layer that begins, three for each sublayer: products of its own, or the shared ones and a table
/// of its own.
void TransformerBuilder::modulate_layer(std::size_t vectors, const std::string& suffix) {
  vectors_.clear();
  if (condition_ < 0) return;
  std::vector<int>& reads = net_.blocks.back().reads;
  if (whole_.modulation.shared) {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      reads.push_back(shared_[i]);
      vectors_.push_back(biased(std::string("table.") + parts[i], shared_[i], {h_}, {"condition"}, "condition"));
    }
    return;
  }
  if (reads.empty()) reads.push_back(condition_);
  const int active = silu("modulation" + suffix, condition_);
  if (whole_.modulation.gates) {
    vectors_.assign(layer_parts, -1);
    for (const std::size_t gate : {2, 5}) vectors_[gate] = vector_of(parts[gate], active);
    return;
  }
  for (std::size_t i = 0; i < vectors; ++i) vectors_.push_back(vector_of(parts[i] + suffix, active));
}

/// Those of the last norm.
void TransformerBuilder::modulate_head() {
  vectors_.clear();
  if (condition_ < 0) return;
  net_.blocks.back().reads.push_back(condition_);
  const int active = whole_.modulation.shared ? condition_ : silu("modulation3", condition_);
  for (const char* part : last_parts)
    vectors_.push_back(whole_.modulation.shared
                           ? biased(std::string("table.") + part, active, {h_}, {"condition"}, "condition")
                           : vector_of(part, active));
}

/// The norm, without weights of its own, times (1 + scale), plus shift. `first`: the place of its shift.
int TransformerBuilder::modulated_norm(const std::string& name, int x, Tags tags, std::size_t first) {
  if (vectors_.empty() || vectors_[first] < 0) return norm(name, x, std::move(tags));
  return modulated(name, norm(name, x, tags, 1, false), std::move(tags), first);
}

/// What was normed already.
int TransformerBuilder::modulated(const std::string& name, int normed, Tags tags, std::size_t first) {
  const int y = activation(name + ".modulated", net_.tensors[normed].dims);
  add(name + ".modulate", std::move(tags), OperatorKind::nonlinear, "modulate", y,
      {normed, vectors_[first + 1], vectors_[first]}, "norm");
  return y;
}

}  // namespace stepcast
