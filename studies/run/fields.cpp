#include "studies/run/fields.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/comma_list.h"
#include "model/base/contains.h"
#include "model/base/whole_number.h"
#include "sim/schedule/schedule_table.h"
#include "studies/cli/plain_size.h"
#include "studies/run/split/acts.h"

namespace stepcast::run {
namespace {

// Far above any machine, small enough that a product of four of them still fits in 64 bits.
constexpr std::int64_t most_ways = 32768;
constexpr std::int64_t most_gpus = 10'000'000;
constexpr std::int64_t most_rank = 65'536;
constexpr std::int64_t most_slices = 1024;
constexpr std::int64_t most_activations = 1 << 20;
constexpr std::int64_t most_in_micro_batch = 65'536;
constexpr std::int64_t most_sequences = 100'000'000;
constexpr std::int64_t most_positions = 100'000'000;

Expected<bool> read_word(const std::string& text, const std::string& where, const char* yes, const char* no) {
  if (text == yes || text == no) return text == yes;
  return fail(where, fmt::format("unknown value '{}'", text.substr(0, 60)), fmt::format("one of: {} {}", yes, no));
}
Expected<bool> parse_switch(const std::string& text, const std::string& where) {
  return read_word(text, where, "on", "off");
}
Expected<bool> parse_causal(const std::string& text, const std::string& where) {
  return read_word(text, where, "causal", "full");
}

/// "encoder,projector": the parts that are not trained.
Expected<Frozen> parse_frozen(const std::string& text, const std::string& where) {
  Frozen frozen;
  if (text == "none") return frozen;
  for (const std::string& word : split_at_commas(text)) {
    if (word == "encoder") frozen.encoder = true;
    else if (word == "projector") frozen.projector = true;
    else if (word == "language") frozen.language = true;
    else
      return fail(where, fmt::format("unknown value '{}'", word.substr(0, 60)),
          "one or more of: encoder,projector,language; or none");
  }
  return frozen;
}

/// A part of a whole: "0.15".
Expected<double> parse_share(const std::string& text, const std::string& where) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc{} || end != text.data() + text.size() || !(share > 0 && share <= 1))
    return fail(
        where, fmt::format("'{}' is no share of the positions", text.substr(0, 60)), "above 0 and up to 1: 0.15");
  return share;
}

Expected<std::string> parse_schedule(const std::string& text, const std::string& where) {
  const std::vector<std::string> ids = names_of(schedule_kinds(), &ScheduleKind::id);
  if (contains(ids, text)) return text;
  return fail(where, fmt::format("unknown schedule '{}'", text.substr(0, 60)), name_hint(text, ids));
}

template <auto member> void copy_member(RunWishes& into, const RunWishes& from) { into.*member = from.*member; }

template <auto parse> Expected<void> check_text(const std::string& text, const std::string& where) {
  TRY(parse(text, where));
  return {};
}

template <auto member, auto parse>
Expected<void> read_text(const std::string& text, const std::string& where, RunWishes& into) {
  TRY(into.*member, parse(text, where));
  return {};
}

template <auto member, auto parse> constexpr FieldType words_of() {
  return {.check = check_text<parse>, .read = read_text<member, parse>, .copy = copy_member<member>};
}

template <std::int64_t least, std::int64_t most>
Expected<std::int64_t> parse_number(const std::string& text, const std::string& where) {
  return parse_count(text, where, least, most);
}

template <auto member, std::int64_t most, std::int64_t least = 1> constexpr FieldType count_of() {
  FieldType type = words_of<member, parse_number<least, most>>();
  type.number = true, type.least = least, type.most = most;
  return type;
}

template <auto member, std::int64_t most> constexpr FieldType tokens_of() {
  FieldType type = count_of<member, most>();
  type.in_tokens = true;
  return type;
}

template <auto member> constexpr FieldType switch_of() { return words_of<member, parse_switch>(); }

using LeverWalk = FieldLever::Walk;

constexpr std::string_view stacks_way = "the stack's way";

// clang-format off
constexpr RunField field_table[] = {
    {.id = FieldId::machine, .key = "machine", .flag = "--machine", .value = "ID|FILE", .group = FieldGroup::hardware,
     .doc = "catalogue id or JSON file (default dgx-h100)"},
    {.id = FieldId::gpus, .key = "gpus", .flag = "--gpus", .value = "N", .group = FieldGroup::hardware,
     .doc = "GPUs of the run (default: whole nodes that hold tp x cp x pp)", .type = count_of<&RunWishes::gpus,
     most_gpus>(), .axis = {.usual = no_values, .all = no_values, .doc = "GPUs of the run; required"}},
    {.id = FieldId::nodes, .key = "nodes", .flag = "--nodes", .value = "N", .group = FieldGroup::hardware,
     .doc = "the same in nodes of the machine", .type = count_of<&RunWishes::nodes, most_gpus>()},
    {.id = FieldId::stack, .key = "stack", .flag = "--stack", .value = "ID|FILE", .group = FieldGroup::hardware,
     .doc = "training software; default: a usual one, as like:ID, less surely"},
    {.id = FieldId::profile, .key = "profile", .flag = "--profile", .value = "ID|FILE", .group = FieldGroup::hardware,
     .doc = "measured rates (default: the profile of the machine's GPU)"},
    {.id = FieldId::dp_overlap, .key = "dp_overlap", .flag = "--dp-overlap", .value = "on|off",
     .group = FieldGroup::hardware, .doc = "gradient reductions and weight gathers run beside compute (default: the "
                                           "stack's way)",
     .type = switch_of<&RunWishes::dp_overlap>(), .plain = stacks_way,
     .axis = {.own_word = "auto", .usual = auto_alone, .all = off_and_on,
              .doc = "gradient moves run beside compute; default: auto, the stack's way"},
     .lever = {.walk = LeverWalk::words, .place = 15, .name = "gradients beside compute", .words = {"on", "off"}},
     .applies = reduces_gradients, .why_not = "without dp or cp no gradients are reduced"},
    {.id = FieldId::param_overlap, .key = "param_overlap", .flag = "--param-overlap", .value = "on|off",
     .group = FieldGroup::hardware, .doc = "weight gathers alone, where they differ from gradient reductions (default: "
                                           "as --dp-overlap)",
     .type = switch_of<&RunWishes::param_overlap>(), .plain = stacks_way,
     .applies = gathers_weights, .why_not = "without shards over dp or cp no weights are gathered"},
    {.id = FieldId::tp_overlap, .key = "tp_overlap", .flag = "--tp-overlap", .value = "on|off",
     .group = FieldGroup::hardware, .doc = "moves of activations inside a layer run beside compute (default: the "
                                           "stack's way)",
     .type = switch_of<&RunWishes::tp_overlap>(), .plain = stacks_way,
     .axis = {.own_word = "auto", .usual = auto_alone, .all = off_and_on,
              .doc = "moves inside a layer run beside compute; default: auto, the stack's way"},
     .lever = {.walk = LeverWalk::words, .place = 16, .name = "activations beside compute", .words = {"on", "off"}},
     .applies = moves_in_layers, .why_not = "without tp, cp or ep nothing moves inside a layer"},
    {.id = FieldId::pp_overlap, .key = "pp_overlap", .flag = "--pp-overlap", .value = "on|off",
     .group = FieldGroup::hardware, .doc = "sends between stages run beside compute (default: the stack's way)",
     .type = switch_of<&RunWishes::pp_overlap>(), .plain = stacks_way,
     .applies = is_staged, .why_not = "without pp nothing is sent between stages"},

    {.id = FieldId::tp, .key = "tp", .flag = "--tp", .value = "N", .doc = "tensor parallelism (default 1)",
     .splits = true, .type = count_of<&RunWishes::tp, most_ways>(), .plain = "1",
     .axis = {.usual = usual_tp, .all = all_tp, .doc = "tensor parallelism; default: powers of two inside a node"},
     .lever = {.walk = LeverWalk::doubling, .place = 1, .name = "tensor parallelism"}},
    {.id = FieldId::pp, .key = "pp", .flag = "--pp", .value = "N", .doc = "pipeline stages (default 1)", .splits = true,
     .type = count_of<&RunWishes::pp, most_ways>(), .plain = "1",
     .axis = {.usual = usual_pp, .all = all_pp,
              .doc = "pipeline stages; default: divisors of the layers to 64, powers of two where they are few"},
     .lever = {.walk = LeverWalk::doubling, .place = 2, .name = "pipeline stages"}},
    {.id = FieldId::cp, .key = "cp", .flag = "--cp", .value = "N", .doc = "context parallelism (default 1)",
     .splits = true, .type = count_of<&RunWishes::cp, most_ways>(), .plain = "1",
     .axis = {.usual = usual_cp, .all = all_cp,
              .doc = "context parallelism; default: 1, from 16,384 positions on powers of two to 16"},
     .lever = {.walk = LeverWalk::doubling, .place = 3, .name = "context parallelism"}},
    {.id = FieldId::cp_kind, .key = "cp_kind", .flag = "--cp-kind", .value = "KIND",
     .doc = "ring, gather or ulysses: how cp brings keys and values together (default ring)", .splits = true,
     .type = words_of<&RunWishes::context, parse_context_kind>(), .plain = "ring",
     .axis = {.usual = ring_alone, .all = all_cp_kinds, .doc = "ring, gather or ulysses; default: ring"},
     .lever = {.walk = LeverWalk::words, .place = 13, .name = "context parallelism by", .words = {"ring", "gather",
                                                                                                  "ulysses"}},
     .applies = splits_context, .why_not = "without cp it does nothing"},
    {.id = FieldId::ep, .key = "ep", .flag = "--ep", .value = "N",
     .doc = "expert parallelism, folded over tp, cp and dp (default 1)", .splits = true,
     .type = count_of<&RunWishes::ep, most_ways>(), .plain = "1",
     .axis = {.usual = usual_ep, .all = all_ep,
              .doc = "expert parallelism; default: powers of two that divide the experts, to 64"},
     .lever = {.walk = LeverWalk::doubling, .place = 4, .name = "expert parallelism"},
     .applies = has_experts, .why_not = "the network has no experts"},
    {.id = FieldId::dp, .key = "dp", .flag = "--dp", .value = "N",
     .doc = "data parallelism: GPUs / (tp x cp x pp), checked where both are said", .splits = true,
     .type = count_of<&RunWishes::data_ways, most_gpus>()},
    {.id = FieldId::etp, .key = "etp", .flag = "--etp", .value = "N",
     .doc = "tensor parallelism inside an expert (default 1)", .splits = true, .type = count_of<&RunWishes::etp,
     most_ways>(), .plain = "1", .axis = {.usual = one_alone, .all = all_etp,
                                          .doc = "tensor parallelism inside an expert; default: 1"}},
    {.id = FieldId::chunks, .key = "chunks", .flag = "--chunks", .value = "N",
     .doc = "virtual stages per rank (default 1)", .splits = true, .type = count_of<&RunWishes::chunks, most_ways>(),
     .plain = "1", .axis = {.usual = usual_chunks, .all = all_chunks,
                            .doc = "virtual stages per rank; default: divisors of the layers to 8"},
     .applies = has_chunks, .why_not = "without pp it does nothing"},
    {.id = FieldId::schedule, .key = "schedule", .flag = "--schedule", .value = "ID",
     .doc = "pipeline schedule (default 1f1b, or interleaved-1f1b with chunks)", .splits = true,
     .type = words_of<&RunWishes::schedule, parse_schedule>(),
     .axis = {.own_word = "auto", .usual = auto_alone, .all = all_schedule_kinds,
              .doc = "pipeline schedule; default: auto, 1f1b or with chunks interleaved-1f1b"},
     .applies = is_scheduled, .why_not = "on one stage it does nothing"},
    {.id = FieldId::layout, .key = "layout", .flag = "--layout", .value = "WHAT",
     .doc = "layers on stages: even, balanced by cost, 9,8,8,7 or Ett|tt|tL (default even)", .splits = true,
     .type = words_of<&RunWishes::layout, parse_layout>(), .plain = "even",
     .axis = {.commas = true, .usual = usual_layouts, .all = all_layouts,
              .doc = "layers on stages, parted by ';'; default: even, balanced where few depths divide layers and GPUs"},
     .lever = {.walk = LeverWalk::words, .place = 17, .name = "layers on stages", .words = {"even", "balanced"}},
     .applies = is_staged, .why_not = "there is one stage"},
    {.id = FieldId::seq_splits, .key = "seq_splits", .flag = "--seq-splits", .value = "N",
     .doc = "slices of the sequence, for seq-1f1b and terapipe (default 1)", .type = count_of<&RunWishes::seq_splits,
     most_slices>(), .plain = "1"},
    {.id = FieldId::memory_cap, .key = "memory_cap", .flag = "--memory-cap", .value = "N",
     .doc = "activations that a rank may hold: micro-batches, or chunks or slices of them (default: no cap)",
     .type = count_of<&RunWishes::memory_cap, most_activations>(),
     .applies = keeps_to_cap, .why_not = "the schedule keeps an order of its own, and holds no more"},
    {.id = FieldId::sp, .key = "sp", .flag = "--sp", .value = "on|off",
     .doc = "sequence parallelism beside tp (default on when tp > 1)", .splits = true,
     .type = switch_of<&RunWishes::sp>(), .axis = {.own_word = "auto", .usual = auto_alone, .all = off_and_on,
              .doc = "sequence parallelism beside tp; default: auto, on where the sequence divides"},
     .lever = {.walk = LeverWalk::words, .place = 11, .name = "sequence parallelism", .words = {"on", "off"}},
     .applies = splits_tensors, .why_not = "without tp it does nothing"},
    {.id = FieldId::zero, .key = "zero", .flag = "--zero", .value = "0..3",
     .doc = "1 shards the optimizer, 2 gradients too, 3 weights too (default 1)", .splits = true,
     .type = count_of<&RunWishes::zero, 3, 0>(), .plain = "1",
     .axis = {.usual = one_alone, .all = all_zero, .doc = "what dp shards: 1 optimizer, 2 gradients too, 3 weights "
                                                          "too; default: 1"},
     .lever = {.walk = LeverWalk::steps_of_one, .place = 8, .name = "sharding stage"},
     .applies = has_shards, .why_not = "without dp or cp there is nothing to shard"},
    {.id = FieldId::replicas, .key = "dp_replicate", .flag = "--dp-replicate", .value = "N",
     .doc = "copies of what zero shards, on dp / N ranks each: hybrid sharding, HSDP (default 1)", .splits = true,
     .type = count_of<&RunWishes::replicas, most_ways>(), .plain = "1",
     .axis = {.usual = one_alone, .all = all_replicas, .doc = "copies of what zero shards (hybrid sharding, HSDP); "
                                                              "default: 1"},
     .lever = {.walk = LeverWalk::doubling, .place = 9, .name = "copies of what is sharded"},
     .applies = keeps_shards, .why_not = "with zero 0 it does nothing"},
    {.id = FieldId::order, .key = "order", .flag = "--order", .value = "AXES",
     .doc = "axes on the machine's ranks, fastest first (default tp-cp-dp-pp)", .splits = true,
     .type = words_of<&RunWishes::order, parse_order>(), .plain = "tp-cp-dp-pp",
     .axis = {.usual = usual_orders, .all = all_orders,
              .doc = "axes on the machine's ranks, fastest first; default: tp-cp-dp-pp"},
     .lever = {.walk = LeverWalk::words, .place = 14, .name = "axes on the ranks", .words = {"tp-cp-dp-pp",
                                                                                             "tp-cp-pp-dp"}},
     .applies = has_axes, .why_not = "with one axis of several ranks all orders are the same"},
    {.id = FieldId::scatter_boundary, .key = "scatter_boundary", .flag = "--scatter-boundary", .value = "on|off",
     .doc = "stages send tp pieces, gathered behind; without sp (default: the stack's way)",
     .type = switch_of<&RunWishes::scatter_boundary>(), .plain = stacks_way,
     .axis = {.own_word = "auto", .usual = auto_alone, .all = off_and_on,
              .doc = "stages send tp pieces; default: auto, the stack's way"},
     .applies = sends_repeated, .why_not = "without tp and pp, or with sp, it does nothing"},
    {.id = FieldId::save_gathered, .key = "save_gathered", .flag = "--save-gathered", .value = "on|off",
     .doc = "keep what sp gathered for backward instead of gathering again (default off)", .splits = true,
     .type = switch_of<&RunWishes::save_gathered>(), .plain = "off",
     .axis = {.usual = off_alone, .all = off_and_on, .doc = "keep what sp gathered for backward; default: off"},
     .lever = {.walk = LeverWalk::words, .place = 12, .name = "gathered activations kept", .words = {"on", "off"}},
     .applies = gathers_again, .why_not = "without sp, or with full recomputation, it does nothing"},
    {.id = FieldId::recompute, .key = "recompute", .flag = "--recompute", .value = "WHAT",
     .doc = "none, selective, full, or full:N on N layers of each stage (default none)", .splits = true,
     .type = words_of<&RunWishes::recompute, parse_recompute>(), .plain = "none",
     .axis = {.usual = usual_recompute, .all = all_recompute,
              .doc = "none, selective, full, full:N; default: none,full, with unfused attention selective too"},
     .lever = {.walk = LeverWalk::words, .place = 10, .name = "recompute", .words = {"none", "selective", "full"}}},

    {.id = FieldId::micro_batch, .key = "micro_batch", .flag = "--micro-batch", .value = "N",
     .group = FieldGroup::batch, .doc = "sequences per rank and micro-batch (default 1)",
     .type = count_of<&RunWishes::micro_batch, most_in_micro_batch>(), .plain = "1",
     .axis = {.usual = usual_micro_batches, .all = all_micro_batches,
              .doc = "sequences per rank and micro-batch; default: of 1,2,4,8 those that divide the batch"},
     .lever = {.walk = LeverWalk::doubling, .place = 5, .name = "micro-batch"}},
    {.id = FieldId::global_batch, .key = "global_batch", .flag = "--global-batch", .value = "N",
     .group = FieldGroup::batch, .doc = "sequences per step (default 4 x pp micro-batches)",
     .type = count_of<&RunWishes::global_batch, most_sequences>(), .lever = {.walk = LeverWalk::doubling, .place = 6,
                                                                             .name = "global batch"}},
    {.id = FieldId::sequence, .key = "sequence", .flag = "--seq", .value = "N", .group = FieldGroup::batch,
     .doc = "positions per sequence: 8192, 8k, 1M (default: the network's own)", .type = tokens_of<&RunWishes::sequence,
     most_positions>(), .lever = {.walk = LeverWalk::doubling, .place = 7, .name = "sequence"}},
    {.id = FieldId::encoder_sequence, .key = "encoder_sequence", .flag = "--encoder-seq", .value = "N",
     .group = FieldGroup::batch, .doc = "positions of each sequence in front of the encoder (default: the network's own)",
     .type = tokens_of<&RunWishes::encoder_sequence, most_positions>()},
    {.id = FieldId::images, .key = "images", .flag = "--images", .value = "N", .group = FieldGroup::batch,
     .doc = "images in each sequence, whose patches --encoder-seq counts (default: text alone)",
     .type = count_of<&RunWishes::images, most_sequences>()},
    {.id = FieldId::clips, .key = "clips", .flag = "--clips", .value = "N", .group = FieldGroup::batch,
     .doc = "clips of sound in each sequence, whose positions --encoder-seq counts (default: text alone)",
     .type = count_of<&RunWishes::clips, most_sequences>()},
    {.id = FieldId::freeze, .key = "freeze", .flag = "--freeze", .value = "PARTS", .group = FieldGroup::batch,
     .doc = "parts that are not trained: encoder, projector, language, with commas; or none (default)",
     .type = words_of<&RunWishes::frozen, parse_frozen>(), .plain = "none"},
    {.id = FieldId::precision, .key = "precision", .flag = "--precision", .value = "TYPE", .group = FieldGroup::batch,
     .doc = "number type of the matrix products (default bf16)", .type = words_of<&RunWishes::precision,
     parse_precision>(), .axis = {.usual = usual_precisions, .all = all_precisions,
              .doc = "number type of the matrix products; default: bf16 where the GPU has it"},
     .lever = {.walk = LeverWalk::words, .place = 18, .name = "number type", .words = {"bf16", "fp8"}}},
    {.id = FieldId::masked_share, .key = "masked_share", .flag = "--masked-share", .value = "PART",
     .group = FieldGroup::batch, .doc = "share of the positions whose logits an encoder computes: 0.15, or 1 (required "
                                        "there)",
     .type = words_of<&RunWishes::masked_share, parse_share>()},
    {.id = FieldId::lora, .key = "lora", .flag = "--lora", .value = "RANK", .group = FieldGroup::batch,
     .doc = "train adapters of this rank on the frozen network (default: train all)",
     .type = count_of<&RunWishes::lora_rank, most_rank>()},
    {.id = FieldId::lora_on, .key = "lora_on", .flag = "--lora-on", .value = "LIST", .group = FieldGroup::batch,
     .doc = "projections with adapters: q,k,v,out,gate,up,down, some of them; or all (default)",
     .type = words_of<&RunWishes::adapted, AdaptedProjections::parse>(), .plain = "all"},
    {.id = FieldId::attention_flops, .key = "attention_flops", .flag = "--attention-flops", .value = "HOW",
     .group = FieldGroup::batch, .doc = "causal or full: how MFU counts attention (default causal)",
     .type = words_of<&RunWishes::causal_attention, parse_causal>(), .plain = "causal"},
};
// clang-format on

constexpr std::array<int, field_count> rows_by_id = [] {
  std::array<int, field_count> rows{};
  for (std::size_t i = 0; i < std::size(field_table); ++i)
    rows[static_cast<std::size_t>(field_table[i].id)] = static_cast<int>(i);
  return rows;
}();

template <auto name> const RunField* find_row_by(std::string_view text) {
  const auto found = std::ranges::find_if(field_table, [&](const RunField& row) { return row.*name == text; });
  return found == std::end(field_table) ? nullptr : &*found;
}

}  // namespace

std::span<const RunField> run_fields() { return field_table; }

const RunField& field(FieldId id) { return field_table[rows_by_id[static_cast<std::size_t>(id)]]; }

const RunField* find_field(std::string_view key) { return find_row_by<&RunField::key>(key); }
const RunField* find_flag_field(std::string_view flag) { return find_row_by<&RunField::flag>(flag); }

std::string flag_of(FieldId id) { return std::string(field(id).flag); }

std::string with_plain_size(const RunField& field, const std::string& text) {
  return field.type.in_tokens ? cli::plain_size(text) : text;
}

Expected<void> check_field(const RunField& field, const std::string& said, const std::string& where) {
  const std::string text = with_plain_size(field, said);
  if (!field.type.number && text.empty()) return fail(where, "is empty", std::string(field.doc));
  return field.is_noun() ? Expected<void>{} : field.type.check(text, where);
}

}  // namespace stepcast::run
