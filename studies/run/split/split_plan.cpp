#include "studies/run/split/split_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::run {
namespace {

const ScheduleKind* kind_called(const std::string& schedule) {
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.id == schedule) return &kind;
  return nullptr;
}

/// One stage interleaves nothing (Megatron-LM's core/parallel_state.py refuses it): without a schedule that is said, it
/// has one chunk.
void take_schedule(Split& split, const SplitWishes& wishes) {
  split.chunks = wishes.schedule.empty() && wishes.pp == 1 ? 1 : wishes.chunks;
  split.schedule = !wishes.schedule.empty() ? wishes.schedule : split.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  const ScheduleKind* kind = kind_called(split.schedule);
  if (kind != nullptr && split.chunks == 1 && kind->own_chunks > 1) split.chunks = kind->own_chunks;
}

void take_experts(Split& split, const SplitWishes& wishes, const NetworkSpec& network) {
  split.experts = network.experts.count > 0;
  split.ep = wishes.ep;
  split.etp = wishes.etp;
}

void take_layers(Split& split, const SplitWishes& wishes, const NetworkSpec& network) {
  split.attention = has_attention(network);
  split.plain_mlp = has_plain_mlp(network);
  split.pooled = network.pooled_outputs > 0;
  const auto add = [](std::vector<std::string>& parts, const std::string& part) {
    if (!contains(parts, part)) parts.push_back(part);
  };
  for (const Mixer& mixer : mixers(network)) {
    split.mixer = true;
    if (wishes.copies_groups && mixer.extent("u") % split.tp != 0) split.copies_groups = true;
    if (mixer.extent("m") > 0) split.mixer_heads = "u*m";
    for (const std::string& part : mixer.form->recompute) add(split.mixer_recompute, part);
    for (const MixerOperator& op : mixer.form->operators)
      if (contains(op.whole, "s")) add(split.mixer_along, op.part);
  }
}

/// Tensors that products read gathered over tp where sequence parallelism splits the stream (model/network/blocks).
std::vector<std::string> gathered_inputs(const NetworkSpec& network) {
  std::vector<std::string> names;
  const LayerKinds all = layer_kinds(network, network.sequence);
  const auto has = [&](auto what) { return std::ranges::any_of(all.kinds, what); };
  const bool feeds = has([](const LayerKind& kind) { return kind.feed != Feed::none; });
  const bool mixes = has([](const LayerKind& kind) { return kind.mixer || kind.attention; });
  if (network.norm_place == NormPlace::behind_sum) {
    if (mixes && feeds) names.emplace_back("norm1.y");
  } else if (network.norm_place != NormPlace::behind) {
    if (mixes) names.emplace_back("norm1.y");
    if (feeds && (!network.parallel_block || network.norms_per_layer > 1)) names.emplace_back("norm2.y");
  }
  if (network.norm_place != NormPlace::behind_sum) names.emplace_back("norm3.y");
  if (network.modulation.frequencies > 0)
    for (std::string& name : names) name.replace(name.size() - 1, 1, "modulated");
  if (std::ranges::any_of(network.shapes, &LayerShape::joint))
    names.insert(names.end(), {"norm1.other.modulated", "norm2.other.modulated"});
  if (std::ranges::any_of(network.shapes, &LayerShape::second)) names.emplace_back("norm1.second.modulated");
  if (has(&LayerKind::crosses)) names.emplace_back("norm.cross.y");
  if (network.latent.kv_rank > 0) names.emplace_back("attn.norm.ckv.y");
  if (network.latent.q_rank > 0) names.emplace_back("attn.norm.cq.y");
  if (network.mtp_layers > 0) names.emplace_back("mtp.norm3.y");
  return names;
}

Scatter scatter_of(const SplitWishes& wishes, const Split& split, const Stack& stack) {
  if (!wishes.scatter_boundary.value_or(true)) return Scatter::none;
  if (implies_scatter(stack)) return Scatter::implied;
  return wishes.scatter_boundary && crosses_repeated(split) ? Scatter::stated : Scatter::none;
}

}  // namespace

Split split_of(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack) {
  Split split;
  split.tp = wishes.tp;
  split.cp = wishes.cp;
  split.pp = wishes.pp;
  split.dp = wishes.dp();
  take_experts(split, wishes, network);
  take_layers(split, wishes, network);
  split.zero = wishes.zero;
  split.replicas = wishes.zero > 0 ? wishes.replicas : 1;
  split.sequence = split.tp > 1 && wishes.sp.value_or(sequence_divides(wishes));
  take_schedule(split, wishes);
  split.recompute = wishes.recompute;
  split.recompute_whole = stack.recompute_whole;
  split.vocabulary = split.tp > 1 && network.vocab % split.tp == 0;
  split.context = wishes.context;
  split.order = wishes.order;
  split.scatter = scatter_of(wishes, split, stack);
  if (wishes.save_gathered && keeps_gathers(split)) split.kept_gathers = gathered_inputs(network);
  split.micro_batches = wishes.global_batch / (wishes.micro_batch * split.dp);
  return split;
}

bool sequence_divides(const SplitWishes& wishes) {
  const std::int64_t ways = wishes.cp * wishes.tp;
  return wishes.sequence % ways == 0 && wishes.encoder_sequence % ways == 0;
}

bool keeps_gathers(const Split& split) { return split.sequence && split.recompute.kind != Recompute::Kind::full; }

bool crosses_repeated(const Split& split) { return split.tp > 1 && split.pp > 1 && !split.sequence; }

Expected<void> lay_layers(Split& split, const LayoutChoice& choice, const NetworkSpec& network,
    const std::string& layout_where, const std::string& stages_where) {
  if (choice.kind == LayoutChoice::Kind::even) return {};
  TRY(auto layers, choice.kind == LayoutChoice::Kind::given
                       ? given_layers(choice, network, split.pp, split.chunks, layout_where)
                       : nearly_even_layers(network.layers, split.pp * split.chunks, stages_where));
  split.layers = std::move(layers);
  return {};
}

void drop_even_layers(Split& split) {
  const auto other = [&](std::int64_t count) { return count != split.layers.front(); };
  if (std::ranges::none_of(split.layers, other)) split.layers.clear();
}

namespace {

std::string recompute_statement_words(const Recompute& recompute) {
  if (recompute.kind == Recompute::Kind::none) return "";
  if (recompute.kind == Recompute::Kind::selective) return ", recompute selective";
  return recompute.layers > 0 ? fmt::format(", recompute full on {} layers", recompute.layers) : ", recompute full";
}

}  // namespace

std::string in_words(const Split& split) {
  std::string words = fmt::format("tp {}, cp {}, pp {}, dp {}", split.tp, split.cp, split.pp, split.dp);
  if (split.chunks > 1) words += fmt::format(", {} chunks", split.chunks);
  if (!split.layers.empty()) words += ", uneven layers";
  if (split.experts) words += fmt::format(", ep {}, etp {}", split.ep, split.etp);
  if (split.cp > 1 && split.context != ContextKind::ring) words += fmt::format(", cp by {}", to_text(split.context));
  if (split.order != usual_order) words += fmt::format(", order {}", to_text(split.order));
  if (split.sequence) words += ", sp";
  if (!split.kept_gathers.empty()) words += ", gathers kept";
  if (split.scatter == Scatter::stated) words += ", boundary in pieces";
  if (split.zero > 0) words += fmt::format(", zero {}", split.zero);
  if (split.replicas > 1) words += fmt::format(" in {} copies", split.replicas);
  return words + fmt::format(", {}", split.schedule) + recompute_statement_words(split.recompute);
}

void set_size(Plan& plan, const SplitSize& size) {
  plan.gpus = size.gpus;
  plan.micro_batch = size.micro_batch;
  plan.global_batch = size.global_batch;
  plan.sequence = size.sequence;
}

Plan plan_of(const Split& split, const SplitSize& size, Plan base) {
  base.mapping = mapping_text(split);
  base.mapping_where = "mapping made from the flags";
  set_size(base, size);
  return base;
}

}  // namespace stepcast::run
