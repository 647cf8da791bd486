// What words, or numbers in place of words, become in front of the layers.
#include <fmt/format.h>

#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

void TransformerBuilder::embedding() {
  start_block("embedding", 1, Block::Place::first);
  int x = -1;
  if (all_ >= 0) {
    s_ = own_;
    x = features_in();
    s_ = all_;
    x = together("X0.joined", "join", x, memory_);
    net_.blocks.back().reads.push_back(memory_);
  } else if (spec_->features > 0) {
    x = features_in();
  } else {
    x = activation("X0", {b_, s_, h_});
    add("embed", {"embed"}, OperatorKind::select, "", x, {embedding_table_, tokens_}, "embedding").monoid = Monoid::sum;
    if (image_positions(whole_) > 0) x = filled(x);
  }
  if (spec_->token_types > 0) {
    const int types = tensor("types", {b_, s_}, 8, TensorRole::data), looked_up = activation("X0.types", {b_, s_, h_}),
              y = activation("X0.typed", {b_, s_, h_});
    add("embed.types", {"embed"}, OperatorKind::select, "", looked_up,
        {weight("E.types", {dim("tt", spec_->token_types), h_}), types}, "embedding")
        .monoid = Monoid::sum;
    add("embed.typed", {"embed"}, OperatorKind::linear, "add", y, {x, looked_up}, "embedding");
    x = y;
  }
  if (spec_->positions == Positions::learned && !spec_->projectors.empty()) {
    // Each image has the same positions, whose table may be of another size.
    const int where = tensor("positions", {b_, s_}, 8, TensorRole::data), y = activation("X0.positioned", {b_, s_, h_});
    int looked_up = activation("X0.where", {b_, s_, h_});
    add("embed.where", {"embed"}, OperatorKind::select, "", looked_up,
        {weight("P", {dim("pt", spec_->max_positions), h_}), where}, "embedding")
        .monoid = Monoid::sum;
    for (std::int64_t i = 1; i <= spec_->position_gates; ++i)
      looked_up = scaled(fmt::format("embed.where.gate{}", i), looked_up, {one_}, {"embed"}, "embedding");
    add("embed.positions", {"embed"}, OperatorKind::linear, "add", y, {x, looked_up}, "embedding");
    x = y;
  } else if (spec_->positions == Positions::learned) {
    const int table = weight("P", {s_, h_});
    const int y = activation("X0.positioned", {b_, s_, h_});
    add("embed.positions", {"embed"}, OperatorKind::linear, "bias", y, {x, table}, "embedding");
    x = y;
  }
  if (spec_->embedding_norm) x = norm("norm0", x, {"norm", "embed"});
  if (!spec_->no_hidden_dropout) x = dropped("embed", x, {"embed"}, "embedding_dropout");
  if (iw_ >= 0) {
    embedded_ = activation("X0.lent", {b_, s_, h_});
    add("embed.lent", {"embed"}, OperatorKind::linear, "scale", embedded_, {x}, "embedding");
  }
  if (mixes_streams()) x = copied_streams(x);
  if (predicts_streams()) x = projected_streams(x);
  net_.blocks.back().output = x;
}

}  // namespace stepcast
