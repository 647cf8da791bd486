// Norms that are scaled and shifted, and sublayers that are gated, by vectors of a sample (adaLN: Peebles and Xie 2022,
// arXiv 2212.09748, section 3.2).
#include "model/network/transformer_builder.h"

namespace stepcast {
namespace {

constexpr const char* parts[] = {"shift1", "scale1", "gate1", "shift2", "scale2", "gate2"};
constexpr const char* last_parts[] = {"shift3", "scale3"};

}  // namespace

/// A sample's step in time, as waves of so many frequencies, through two matrices; its class is added where it has one.
/// Shared by all layers are also the products that make their vectors of it.
void TransformerBuilder::condition() {
  const Modulation& form = whole_.modulation;
  if (form.frequencies == 0) return;
  start_block("condition", 1, Block::Place::first);
  const Tags tags{"condition"};
  hb_ = dim("h2", whole_.hidden);
  const int waves = dim("tf", form.frequencies);
  const int time = tensor("time", {b_, waves}, batch_.activation_bytes, TensorRole::data);
  int inner = activation("time.inner", {b_, hb_}), made = activation("condition.time", {b_, h_});
  product("condition.time1", tags, inner, time, weight("W.time1", {waves, hb_}));
  inner = silu("condition.time1", biased("condition.time1", inner, {hb_}, tags, "condition"));
  product("condition.time2", tags, made, inner, weight("W.time2", {hb_, h_}));
  made = biased("condition.time2", made, {h_}, tags, "condition");
  if (form.classes > 0) {
    const int looked_up = activation("condition.class", {b_, h_}), sum = activation("condition.sum", {b_, h_}),
              labels = tensor("classes", {b_}, 8, TensorRole::data);
    add("condition.class", tags, OperatorKind::select, "", looked_up,
        {weight("E.classes", {dim("cl", form.classes), h_}), labels})
        .monoid = Monoid::sum;
    add("condition.sum", tags, OperatorKind::linear, "add", sum, {made, looked_up}, "condition");
    made = sum;
  }
  net_.tensors[made].name = "condition";
  net_.blocks.back().output = condition_ = made;
  if (!form.shared) return;
  start_block("modulation", 1, Block::Place::first);
  net_.blocks.back().reads = {condition_};
  const int active = silu("modulation", condition_);
  for (const char* part : parts) shared_.push_back(vector_of(part, active));
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

/// The six vectors of the layer that begins: products of its own, or the shared ones and a table of its own.
void TransformerBuilder::modulate_layer() {
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
  reads.push_back(condition_);
  const int active = silu("modulation", condition_);
  for (const char* part : parts) vectors_.push_back(vector_of(part, active));
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
  if (vectors_.empty()) return norm(name, x, std::move(tags));
  const int normed = norm(name, x, tags, 1, false), y = activation(name + ".modulated", net_.tensors[x].dims);
  add(name + ".modulate", std::move(tags), OperatorKind::nonlinear, "modulate", y,
      {normed, vectors_[first + 1], vectors_[first]}, "norm");
  return y;
}

}  // namespace stepcast
