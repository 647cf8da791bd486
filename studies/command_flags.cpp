#include "studies/command_flags.h"
#include "studies/cli/output_file.h"

#include <array>
#include <vector>

#include "studies/launch/run_flags.h"
#include "studies/schedule/request.h"

namespace stepcast::studies {
namespace {

constexpr std::array only_json = {Flag{
    .name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document", .kind = FlagKind::toggle}};

// clang-format off
constexpr std::array of_list = {
    only_json[0],
    Flag{.name = "--csv", .key = "", .value = "", .group = "Output",
         .doc = "the table as comma-separated values, in base units", .kind = FlagKind::toggle},
};

constexpr std::array of_merge = {
    Flag{.name = "--output", .key = "", .value = "FILE", .group = "Output",
         .doc = "the whole result by its ending: .jsonl, .csv, .sqlite, .db or .html", .kind = FlagKind::text,
         .alias = "-o"},
    force_flag,
    Flag{.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document: counts, top, pareto",
         .kind = FlagKind::toggle},
};

constexpr std::array of_validate = {
    Flag{.name = "--json", .key = "", .value = "", .group = "Output",
         .doc = "one JSON document: cases, skipped, classes, groups", .kind = FlagKind::toggle},
    Flag{.name = "--cases", .key = "", .value = "", .group = "Output", .doc = "every run in a line, worst first",
         .kind = FlagKind::toggle},
    Flag{.name = "--csv", .key = "", .value = "", .group = "Output",
         .doc = "every run as comma-separated values, in base units", .kind = FlagKind::toggle},
    Flag{.name = "--html", .key = "", .value = "FILE", .group = "Output",
         .doc = "also write a page of all figures, pictures and conventions", .kind = FlagKind::text},
    force_flag,
    Flag{.name = "--hold-out", .key = "", .value = "", .group = "Forecast",
         .doc = "fit every class's step parameters again without the run's own source, model or release, and judge by "
                "that; records of inference: rows of engines without the record's network", .kind = FlagKind::toggle},
    Flag{.name = "--unfitted", .key = "", .value = "", .group = "Forecast",
         .doc = "forecast by the laws alone, without what measured steps say", .kind = FlagKind::toggle},
    Flag{.name = "--profile", .key = "", .value = "ID|FILE", .group = "Forecast",
         .doc = "records of inference: laws of kernels (default: the profile of each record's GPU)",
         .kind = FlagKind::text},
};

constexpr std::array of_dataflow = {
    Flag{.name = "--from", .key = "", .value = "TOOL", .group = "Program",
         .doc = "FILES of timeloop (YAML), scalesim (config, topology), maestro (hardware, mapping), dtensor, jax, "
                "shardy, megatron",
         .kind = FlagKind::text},
    Flag{.name = "--op", .key = "", .value = "NAME", .group = "Program", .doc = "only this operator; default: all",
         .kind = FlagKind::text},
    Flag{.name = "--windows", .key = "", .value = "WAY", .group = "Program",
         .doc = "timeloop: sliding windows by Timeloop's convention (default); exact: each tile against the one before "
                "(default with --search)",
         .kind = FlagKind::text},
    Flag{.name = "--translate", .key = "", .value = "TARGET", .group = "Output",
         .doc = "the program as dtensor, jax, shardy, megatron, pope, eyeriss, timeloop, scalesim, maestro or notation "
                "has it",
         .kind = FlagKind::text},
    Flag{.name = "--search", .key = "", .value = "WHAT", .group = "Search",
         .doc = "the mapping of least time, energy or traffic; what the level lines say stays as it is",
         .kind = FlagKind::text},
    Flag{.name = "--budget", .key = "", .value = "N", .group = "Search",
         .doc = "whole and partial mappings looked at (default 30000000)", .kind = FlagKind::count, .least = 1,
         .most = std::int64_t{1} << 40},
    Flag{.name = "--seed", .key = "", .value = "N", .group = "Search", .doc = "of the random starts (default 1)",
         .kind = FlagKind::count, .least = 0, .most = std::int64_t{1} << 40},
    Flag{.name = "--threads", .key = "", .value = "N", .group = "Search",
         .doc = "the result does not depend on it (default 1)", .kind = FlagKind::count, .least = 1, .most = 256},
    Flag{.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document",
         .kind = FlagKind::toggle},
};
// clang-format on

constexpr std::string_view schedule_times =
    "Times per rank and micro-batch: all bare numbers, or all with units (\"10 ms\")";
// clang-format off
constexpr std::array of_schedule = {
    Flag{.name = "--stages", .key = "", .value = "P", .group = "Size",
         .doc = "ranks of the pipeline", .kind = FlagKind::count, .least = 1, .most = 1 << 20},
    Flag{.name = "--micro-batches", .key = "", .value = "M", .group = "Size",
         .doc = "of a step; dualpipe and chimera send half each way",
         .kind = FlagKind::count, .least = 1, .most = 1 << 20},
    Flag{.name = "--chunks", .key = "", .value = "V", .group = "Size",
         .doc = "virtual stages per rank (default 1; V kinds always 2; --compare: 2 where taken)",
         .kind = FlagKind::count, .least = 1, .most = 1 << 20},
    Flag{.name = "--group", .key = "", .value = "G", .group = "Size",
         .doc = "micro-batches per block of interleaving (default: the kind's own)",
         .kind = FlagKind::count, .least = 1, .most = 1 << 20},
    Flag{.name = "--seq-splits", .key = "", .value = "N", .group = "Size",
         .doc = "slices of the sequence (default 1; --compare: 2 where taken)",
         .kind = FlagKind::count, .least = 1, .most = 1 << 20},
    Flag{.name = "--forward", .key = "", .value = "F", .group = schedule_times,
         .doc = "forward; a chunk takes 1/V of it, a slice 1/N", .kind = FlagKind::text},
    Flag{.name = "--input-grad", .key = "", .value = "I", .group = schedule_times,
         .doc = "backward for the input's gradient", .kind = FlagKind::text},
    Flag{.name = "--weight-grad", .key = "", .value = "W", .group = schedule_times,
         .doc = "backward for the weights' gradient", .kind = FlagKind::text},
    Flag{.name = "--times", .key = "", .value = "FILE", .group = schedule_times,
         .doc = "instead: JSON with lists forward, input_grad, weight_grad, an entry per virtual stage:\n"
                "a time, or a list with one for each micro-batch",
         .kind = FlagKind::text},
    Flag{.name = "--layer-costs", .key = "", .value = "FILE", .group = schedule_times,
         .doc = "instead: JSON with a time per layer in each list, and embedding, head, loss: [F, I, W]",
         .kind = FlagKind::text},
    Flag{.name = "--layout", .key = "", .value = "WHAT", .group = schedule_times,
         .doc = "how those layers lie: balanced by cost (default), even, 9,8,8,7 or Ett|tt|tL", .kind = FlagKind::text},
    Flag{.name = "--p2p", .key = "", .value = "C", .group = schedule_times,
         .doc = "time of every hop between ranks (default 0)", .kind = FlagKind::text},
    Flag{.name = "--p2p-mode", .key = "", .value = "MODE", .group = schedule_times,
         .doc = "overlapped: a hop keeps no rank busy (default); blocking: it holds both, as in Megatron's 1F1B",
         .kind = FlagKind::text},
    Flag{.name = "--rank-speed", .key = "", .value = "LIST", .group = schedule_times,
         .doc = "\"1,1,0.9,1\": the third rank takes 1/0.9 as long as the times say (default: all 1)",
         .kind = FlagKind::text},
    Flag{.name = "--overlap-factor", .key = "", .value = "A", .group = schedule_times,
         .doc = "a fused forward and backward last A times their sum (default 1)", .kind = FlagKind::text},
    Flag{.name = "--memory-cap", .key = "", .value = "N", .group = "Memory",
         .doc = "activations a rank may hold until W, in chunks, or slices where cut (default: no cap; zb-v-auto: 2P)",
         .kind = FlagKind::count, .least = 1, .most = 1 << 20},
    Flag{.name = "--auto", .key = "", .value = "", .group = "Instead of KIND",
         .doc = "search for the shortest order under the cap: one stage per rank, or two laid there and back",
         .kind = FlagKind::toggle},
    Flag{.name = "--effort", .key = "", .value = "N", .group = "Instead of KIND",
         .doc = "how long --auto goes on after zb-auto and zb-v-auto: actions laid out (default 4000000, about 0.3 s)",
         .kind = FlagKind::count, .least = 0, .most = most_schedule_effort},
    Flag{.name = "--from", .key = "", .value = "FILE", .group = "Instead of KIND and sizes",
         .doc = "an order: CSV of torch.distributed.pipelining, JSON as --order writes it, a measured timeline, or a\n"
                "folder of Primus; the last two, and JSON with durations, need no times", .kind = FlagKind::text},
    Flag{.name = "--csv-dialect", .key = "", .value = "WHICH", .group = "Instead of KIND and sizes",
         .doc = "what B is in it: today's whole backward, older's input gradient; default: detect",
         .kind = FlagKind::text},
    Flag{.name = "--iteration", .key = "", .value = "N", .group = "Instead of KIND and sizes",
         .doc = "of a folder of Primus (default: the last one that all ranks have)", .kind = FlagKind::count,
         .least = 0, .most = 1 << 30},
    Flag{.name = "--compare", .key = "", .value = "", .group = "Output",
         .doc = "every kind that is legal here, side by side", .kind = FlagKind::toggle},
    Flag{.name = "--json", .key = "", .value = "", .group = "Output",
         .doc = "one JSON document", .kind = FlagKind::toggle},
    Flag{.name = "--csv", .key = "", .value = "", .group = "Output",
         .doc = "the order as PyTorch's compute-only CSV", .kind = FlagKind::toggle},
    Flag{.name = "--trace", .key = "", .value = "FILE", .group = "Output",
         .doc = "also write a trace for Perfetto or chrome://tracing", .kind = FlagKind::text},
    Flag{.name = "--svg", .key = "", .value = "FILE", .group = "Output",
         .doc = "also write a picture", .kind = FlagKind::text},
    Flag{.name = "--order", .key = "", .value = "FILE", .group = "Output",
         .doc = "also write the order with all durations, as --from reads it", .kind = FlagKind::text},
    force_flag,
};
// clang-format on

}  // namespace

std::span<const Flag> json_flag() { return only_json; }

std::span<const Flag> show_flags() {
  static const std::vector<Flag> flags{
      only_json[0], {.name = "--as",
                        .key = "",
                        .value = "FAMILY",
                        .group = "",
                        .doc = "read the network's config.json as llama, gpt2, ... (default: by its architecture)"}};
  return flags;
}
std::span<const Flag> list_flags() { return of_list; }
std::span<const Flag> explain_flags() {
  Flag launch = *find_flag(launch::run_flags(), "--launch");
  launch.doc =
      "script, command line (behind --) or configuration of a training, by whichever of these, or of a serving "
      "engine; FILE:12 is the engine of line 12";
  static const std::vector<Flag> flags = study_flags({only_json[0], launch});
  return flags;
}
std::span<const Flag> merge_flags() { return of_merge; }
std::span<const Flag> validate_flags() { return of_validate; }
std::span<const Flag> dataflow_flags() { return of_dataflow; }
std::span<const Flag> schedule_flags() { return of_schedule; }

}  // namespace stepcast::studies
