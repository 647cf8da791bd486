#include "studies/cli/flags.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "model/network/hf/config.h"
#include "model/machine/machine.h"
#include "sim/schedule/schedule_table.h"
#include "studies/launch/emit/emit_run.h"
#include "studies/launch/facts/framework.h"
#include "studies/run/balance.h"
#include "studies/run/switches.h"

namespace stepcast {
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

Expected<void> one_of(const std::string& text, const std::string& where, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return {};
  std::string hint = "one of:";
  for (const std::string& name : allowed) hint += " " + name;
  return fail(where, fmt::format("unknown value '{}'", text.substr(0, 60)), hint);
}

Expected<void> check_switch(const std::string& text, const std::string& where) {
  return one_of(text, where, {"on", "off"});
}

Expected<void> check_attention(const std::string& text, const std::string& where) {
  return one_of(text, where, {"causal", "full"});
}

Expected<void> check_precision(const std::string& text, const std::string& where) {
  const auto precision = parse_precision(text, where);
  if (!precision) return tl::unexpected(precision.error());
  return {};
}

Expected<void> check_recompute(const std::string& text, const std::string& where) {
  const auto recompute = parse_recompute(text, where);
  if (!recompute) return tl::unexpected(recompute.error());
  return {};
}

Expected<void> check_schedule(const std::string& text, const std::string& where) {
  std::vector<std::string> ids;
  for (const ScheduleKind& kind : schedule_kinds()) ids.push_back(kind.id);
  if (std::find(ids.begin(), ids.end(), text) != ids.end()) return {};
  return fail(where, fmt::format("unknown schedule '{}'", text.substr(0, 60)), name_hint(text, ids));
}

Expected<void> check_layout(const std::string& text, const std::string& where) {
  const auto layout = parse_layout(text, where);
  if (!layout) return tl::unexpected(layout.error());
  return {};
}

Expected<void> check_context_kind(const std::string& text, const std::string& where) {
  const auto kind = parse_context_kind(text, where);
  if (!kind) return tl::unexpected(kind.error());
  return {};
}

Expected<void> check_order(const std::string& text, const std::string& where) {
  const auto order = parse_order(text, where);
  if (!order) return tl::unexpected(order.error());
  return {};
}

Expected<void> check_family(const std::string& text, const std::string& where) { return one_of(text, where, hf_families()); }

constexpr std::string_view hardware = "Machine and software";
constexpr std::string_view split = "Split (a factor each; dp = GPUs / (tp x cp x pp))";
constexpr std::string_view batch = "Batch and numbers";
constexpr std::string_view output = "Output";

/// A launch says what the flags above say, so it has no key of its own.
std::vector<Flag> flags_of_launches() {
  constexpr std::string_view launch = "Launch (a run as its framework is told it, in place of NETWORK; flags override it)";
  std::vector<Flag> flags;
  for (const LaunchFlag& row : launch_flags())
    flags.push_back({.name = row.flag, .key = "", .value = row.value, .group = launch, .doc = row.doc, .words_behind = true});
  flags.push_back({.name = "--define", .key = "", .value = "NAME=VALUE", .group = launch,
                   .doc = "a variable that the launch takes from outside; may be repeated", .repeats = true});
  flags.push_back({.name = "--release", .key = "", .value = "ID", .group = launch,
                   .doc = "of the framework, whose defaults hold (default: the newest)"});
  return flags;
}

constexpr std::array rows = {
    Flag{.name = "--as", .key = "", .value = "FAMILY", .group = hardware,
         .doc = "read the network's config.json as llama, gpt2, ... (default: by its architecture)", .check = check_family},
    Flag{.name = "--machine", .key = "machine", .value = "ID|FILE", .group = hardware,
         .doc = "catalogue id or JSON file (default dgx-h100)"},
    Flag{.name = "--gpus", .key = "gpus", .value = "N", .group = hardware,
         .doc = "GPUs of the run (default: whole nodes that hold tp x cp x pp)",
         .kind = FlagKind::count, .most = most_gpus},
    Flag{.name = "--stack", .key = "stack", .value = "ID|FILE", .group = hardware,
         .doc = "training software (default megatron-core)"},
    Flag{.name = "--profile", .key = "profile", .value = "ID|FILE", .group = hardware,
         .doc = "measured rates (default: the profile of the machine's GPU)"},
    Flag{.name = "--dp-overlap", .key = "dp_overlap", .value = "on|off", .group = hardware,
         .doc = "gradient reductions and weight gathers run beside compute (default: the stack's way)", .check = check_switch},
    Flag{.name = "--param-overlap", .key = "param_overlap", .value = "on|off", .group = hardware,
         .doc = "weight gathers alone, where they differ from gradient reductions (default: as --dp-overlap)", .check = check_switch},
    Flag{.name = "--tp-overlap", .key = "tp_overlap", .value = "on|off", .group = hardware,
         .doc = "moves of activations inside a layer run beside compute (default: the stack's way)", .check = check_switch},
    Flag{.name = "--pp-overlap", .key = "pp_overlap", .value = "on|off", .group = hardware,
         .doc = "sends between stages run beside compute (default: the stack's way)", .check = check_switch},

    Flag{.name = "--tp", .key = "tp", .value = "N", .group = split, .doc = "tensor parallelism (default 1)",
         .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--pp", .key = "pp", .value = "N", .group = split, .doc = "pipeline stages (default 1)",
         .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--cp", .key = "cp", .value = "N", .group = split, .doc = "context parallelism (default 1)",
         .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--cp-kind", .key = "cp_kind", .value = "KIND", .group = split,
         .doc = "ring, gather or ulysses: how cp brings keys and values together (default ring)", .splits = true,
         .check = check_context_kind},
    Flag{.name = "--ep", .key = "ep", .value = "N", .group = split,
         .doc = "expert parallelism, folded over tp, cp and dp (default 1)",
         .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--etp", .key = "etp", .value = "N", .group = split,
         .doc = "tensor parallelism inside an expert (default 1)",
         .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--chunks", .key = "chunks", .value = "N", .group = split,
         .doc = "virtual stages per rank (default 1)", .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--schedule", .key = "schedule", .value = "ID", .group = split,
         .doc = "pipeline schedule (default 1f1b, or interleaved-1f1b with chunks)", .splits = true,
         .check = check_schedule},
    Flag{.name = "--layout", .key = "layout", .value = "WHAT", .group = split,
         .doc = "layers on stages: even, balanced by cost, 9,8,8,7 or Ett|tt|tL (default even)", .splits = true,
         .check = check_layout},
    Flag{.name = "--seq-splits", .key = "seq_splits", .value = "N", .group = split,
         .doc = "slices of the sequence, for seq-1f1b and terapipe (default 1)", .kind = FlagKind::count,
         .most = most_slices},
    Flag{.name = "--memory-cap", .key = "memory_cap", .value = "N", .group = split,
         .doc = "activations that a rank may hold: micro-batches, or chunks or slices of them (default: no cap)",
         .kind = FlagKind::count, .most = most_activations},
    Flag{.name = "--sp", .key = "sp", .value = "on|off", .group = split,
         .doc = "sequence parallelism beside tp (default on when tp > 1)", .splits = true, .check = check_switch},
    Flag{.name = "--zero", .key = "zero", .value = "0..3", .group = split,
         .doc = "1 shards the optimizer, 2 gradients too, 3 weights too (default 1)",
         .kind = FlagKind::count, .least = 0, .most = 3, .splits = true},
    Flag{.name = "--dp-replicate", .key = "dp_replicate", .value = "N", .group = split,
         .doc = "copies of what zero shards, on dp / N ranks each: hybrid sharding, HSDP (default 1)",
         .kind = FlagKind::count, .most = most_ways, .splits = true},
    Flag{.name = "--order", .key = "order", .value = "AXES", .group = split,
         .doc = "axes on the machine's ranks, fastest first (default tp-cp-dp-pp)", .splits = true, .check = check_order},
    Flag{.name = "--scatter-boundary", .key = "scatter_boundary", .value = "on|off", .group = split,
         .doc = "stages send tp pieces, gathered behind; without sp (default: the stack's way)", .check = check_switch},
    Flag{.name = "--save-gathered", .key = "save_gathered", .value = "on|off", .group = split,
         .doc = "keep what sp gathered for backward instead of gathering again (default off)", .splits = true,
         .check = check_switch},
    Flag{.name = "--recompute", .key = "recompute", .value = "WHAT", .group = split,
         .doc = "none, selective, full, or full:N on N layers of each stage (default none)", .splits = true,
         .check = check_recompute},
    Flag{.name = "--mapping", .key = "", .value = "FILE", .group = split,
         .doc = "a mapping in the notation, instead of the flags above"},

    Flag{.name = "--micro-batch", .key = "micro_batch", .value = "N", .group = batch,
         .doc = "sequences per rank and micro-batch (default 1)", .kind = FlagKind::count,
         .most = most_in_micro_batch},
    Flag{.name = "--global-batch", .key = "global_batch", .value = "N", .group = batch,
         .doc = "sequences per step (default 4 x pp micro-batches)", .kind = FlagKind::count,
         .most = most_sequences},
    Flag{.name = "--seq", .key = "sequence", .value = "N", .group = batch,
         .doc = "positions per sequence (default: the network's own)", .kind = FlagKind::count,
         .most = most_positions},
    Flag{.name = "--precision", .key = "precision", .value = "TYPE", .group = batch,
         .doc = "number type of the matrix products (default bf16)", .check = check_precision},
    Flag{.name = "--lora", .key = "lora", .value = "RANK", .group = batch,
         .doc = "train adapters of this rank on the frozen network (default: train all)", .kind = FlagKind::count,
         .least = 1, .most = most_rank},
    Flag{.name = "--attention-flops", .key = "attention_flops", .value = "HOW", .group = batch,
         .doc = "causal or full: how MFU counts attention (default causal)", .check = check_attention},

    Flag{.name = "--json", .key = "", .value = "", .group = output,
         .doc = "one JSON document in base units", .kind = FlagKind::toggle},
    Flag{.name = "--explain", .key = "", .value = "", .group = output,
         .doc = "add the expanded mapping, who split what, and every price", .kind = FlagKind::toggle},
    Flag{.name = "--timeline", .key = "", .value = "", .group = output,
         .doc = "add the pipeline's timeline, drawn", .kind = FlagKind::toggle},
    Flag{.name = "--svg", .key = "", .value = "FILE", .group = output, .doc = "the same as a picture"},
    Flag{.name = "--trace", .key = "", .value = "FILE", .group = output,
         .doc = "the whole step as a trace for ui.perfetto.dev or chrome://tracing"},
    Flag{.name = "--print-scenario", .key = "", .value = "", .group = output,
         .doc = "print the scenario file that gives the same run", .kind = FlagKind::toggle},
};

}  // namespace

std::span<const Flag> run_flags() {
  static const std::vector<Flag> all = [] {
    std::vector<Flag> flags(rows.begin(), rows.end());
    const auto before = std::find_if(flags.begin(), flags.end(), [](const Flag& flag) { return flag.group == output; });
    const std::vector<Flag> launch = flags_of_launches();
    flags.insert(before, launch.begin(), launch.end());
    flags.push_back(emit_flag(output));
    return flags;
  }();
  return all;
}

const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) {
    return flag.name == name || (!flag.alias.empty() && flag.alias == name);
  });
  return found == flags.end() ? nullptr : &*found;
}

const Flag* find_key(std::span<const Flag> flags, std::string_view key) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [&](const Flag& flag) { return !key.empty() && flag.key == key; });
  return found == flags.end() ? nullptr : &*found;
}

Expected<void> check_flag(const Flag& flag, const std::string& text, const std::string& where) {
  if (flag.kind == FlagKind::count) {
    const auto count = parse_count(text, where, flag.least, flag.most);
    if (!count) return tl::unexpected(count.error());
  }
  if (flag.kind == FlagKind::text && text.empty()) return fail(where, "is empty", std::string(flag.doc));
  if (flag.check != nullptr) return flag.check(text, where);
  return {};
}

Expected<std::int64_t> parse_count(const std::string& text, const std::string& where, std::int64_t least,
                                   std::int64_t most) {
  const std::string allowed = fmt::format("a whole number from {} to {}", least, most);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  const std::string shown = text.substr(0, 60);
  if (problem == std::errc::result_out_of_range && stop == end)
    return fail(where, fmt::format("'{}' is absurdly large", shown), allowed);
  if (problem != std::errc{} || stop != end) return fail(where, fmt::format("'{}' is not a whole number", shown), allowed);
  if (value < least || value > most) return fail(where, fmt::format("{} is out of range", shown), allowed);
  return value;
}

Expected<Recompute> parse_recompute(const std::string& text, const std::string& where) {
  if (text == "none") return Recompute{};
  if (text == "selective") return Recompute{Recompute::Kind::selective, 0};
  if (text == "full") return Recompute{Recompute::Kind::full, 0};
  constexpr std::string_view prefix = "full:";
  if (text.starts_with(prefix)) {
    const auto layers = parse_count(text.substr(prefix.size()), where, 1, most_ways);
    if (!layers) return tl::unexpected(layers.error());
    return Recompute{Recompute::Kind::full, *layers};
  }
  return fail(where, fmt::format("unknown value '{}'", text.substr(0, 60)),
              "one of: none, selective, full, full:N (N layers)");
}

}  // namespace stepcast
