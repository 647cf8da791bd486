// The flags with which a user says what timings' files leave open, and what they mean to an importer.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/errors/error_context.h"
#include "model/base/text.h"
#include "model/catalog.h"
#include "model/profile/profile_names.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/calibrate.h"
#include "studies/ask/query_kinds.h"

namespace stepcast::calibration {
namespace {

using Context = MeasurementContext;
constexpr std::string_view files_say = "Files that do not say all";
constexpr std::string_view circumstances = "Circumstances, kept with the measurements";

/// Texts that go into the context as they are.
struct TextFlag {
  std::string_view flag, value, doc;
  std::string Context::*into;
};
constexpr TextFlag text_flags[] = {{"--software", "TEXT", "library and version: \"cublas 12.4\"", &Context::software},
    {"--device", "TEXT", "as the driver names it", &Context::device},
    {"--cluster", "TEXT", "host or cluster", &Context::machine},
    {"--driver", "VERSION", "of the GPU's driver", &Context::driver},
    {"--cuda", "VERSION", "of the toolkit", &Context::cuda},
    {"--cublas", "VERSION", "of the library", &Context::cublas},
    {"--nccl", "VERSION", "of the library", &Context::nccl},
    {"--launch-mode", "TEXT", "graph, eager, process per GPU, ...", &Context::launch_mode},
    {"--date", "DATE", "of the measurement", &Context::date},
    {"--source", "TEXT", "file or publication (default: the file's name)", &Context::source}};

/// Plain numbers above 0.
struct NumberFlag {
  std::string_view flag, value, doc;
  double Context::*into;
};
constexpr NumberFlag number_flags[] = {{"--sm-clock", "MHZ", "clock of the multiprocessors", &Context::sm_clock_mhz},
    {"--memory-clock", "MHZ", "clock of the device memory", &Context::memory_clock_mhz},
    {"--power-limit", "WATTS", "of the board", &Context::power_limit_w}};

constexpr std::int64_t most_ranks = 10'000'000;

constexpr std::array first_flags = {Flag{.name = "--gpu",
                                        .key = "",
                                        .value = "ID",
                                        .group = files_say,
                                        .doc = "catalogue id: which GPU it was (fit: of which to fit the profile)"},
    Flag{.name = "--dtype",
        .key = "",
        .value = "TYPE",
        .group = files_say,
        .doc = "fp32 tf32 fp16 bf16 fp8 fp8-block mxfp8 nvfp4, of rows that do not say",
        .alias = "--precision"},
    Flag{.name = "--kind",
        .key = "",
        .value = "KIND",
        .group = files_say,
        .doc = "gemm, attention, moe, an operator (norm, gelu, ...) or a collective"},
    Flag{.name = "--columns",
        .key = "",
        .value = "OURS=THEIRS,..",
        .group = files_say,
        .doc = "a table's columns in our words: m=M,n=N,k=K,time_us=runtime",
        .alias = "--column",
        .repeats = true},
    Flag{.name = "--only",
        .key = "",
        .value = "COLUMN=VALUE,..",
        .group = files_say,
        .doc = "rows whose column holds the value, or one collection of a table: collection=...; measure: phases",
        .repeats = true},
    Flag{.name = "--ranks",
        .key = "",
        .value = "N",
        .group = files_say,
        .doc = "of collectives in logs",
        .kind = FlagKind::count,
        .least = 2,
        .most = most_ranks},
    Flag{.name = "--nodes",
        .key = "",
        .value = "N",
        .group = files_say,
        .doc = "that the ranks stood on, in equal parts",
        .kind = FlagKind::count,
        .least = 1,
        .most = most_ranks},
    Flag{.name = "--regime",
        .key = "",
        .value = "burst|sustained",
        .group = circumstances,
        .doc = "sustained: seconds on end, at the power limit (default burst)"},
    Flag{.name = "--fabric",
        .key = "",
        .value = "NAME",
        .group = circumstances,
        .doc = "nvswitch nvlink_mesh pcie, across nodes infiniband ethernet"},
    Flag{.name = "--port",
        .key = "",
        .value = "RATE",
        .group = circumstances,
        .doc = "line rate of one NIC: \"400 Gb/s\""},
    Flag{.name = "--ports",
        .key = "",
        .value = "N",
        .group = circumstances,
        .doc = "NICs per node",
        .kind = FlagKind::count,
        .least = 1,
        .most = 1024}};

Expected<void> read_gpu_flag(const Arguments& arguments, Context& context) {
  if (!arguments.has("--gpu")) return {};
  const auto gpu = find_row(built_in().gpus, arguments.value("--gpu"), "gpu");
  if (!gpu) return tl::unexpected(with_more_hint(error_at("--gpu", gpu.error()), "stepcast list gpus shows all"));
  context.gpu = (*gpu)->id;
  return {};
}

Expected<void> read_fabric_flag(const Arguments& arguments, Context& context) {
  if (!arguments.has("--fabric")) return {};
  context.fabric = arguments.value("--fabric");
  std::vector<std::string> names;
  for (const Choice<FabricKind>& row : fabric_names) names.emplace_back(row.name);
  if (std::find(names.begin(), names.end(), context.fabric) == names.end())
    return fail("--fabric", fmt::format("unknown fabric '{:.60}'", context.fabric), name_hint(context.fabric, names));
  return {};
}

Expected<void> read_number_flags(const Arguments& arguments, Context& context) {
  constexpr double most = 1e6;
  for (const NumberFlag& row : number_flags) {
    if (!arguments.has(row.flag)) continue;
    TRY(const auto value, finite_number(arguments.value(row.flag), std::string(row.flag), "its value"));
    if (!(value > 0 && value <= most))
      return fail(
          std::string(row.flag), fmt::format("{} is out of range", value), fmt::format("a number up to {:g}", most));
    context.*row.into = value;
  }
  if (!arguments.has("--port")) return {};
  TRY(const auto port, parse_quantity<BytesPerSecond>(arguments.value("--port"), "--port"));
  context.port_bytes_per_s = port.value();
  return {};
}

Expected<Context> context_of(const Arguments& arguments) {
  Context context;
  for (const TextFlag& row : text_flags) context.*row.into = arguments.value(row.flag);
  if (arguments.has("--regime")) context.regime = arguments.value("--regime");
  if (context.regime != "burst" && context.regime != "sustained")
    return fail("--regime", fmt::format("unknown regime '{:.60}'", context.regime), "burst or sustained");
  if (arguments.has("--ports")) context.ports_per_node = std::stoi(arguments.value("--ports"));
  for (const auto read : {read_gpu_flag, read_fabric_flag, read_number_flags}) TRY(read(arguments, context));
  return context;
}

/// "m=M,time_us=runtime" as a map.
Expected<std::map<std::string, std::string>> read_pairs(const std::string& text, const std::string& flag) {
  std::map<std::string, std::string> pairs;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string pair(stripped(std::string_view(text).substr(at, end - at)));
    at = end + 1;
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == pair.size())
      return fail(flag, fmt::format("'{:.60}' is no pair", pair), "NAME=NAME, several with commas between them");
    if (!pairs.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      return fail(flag, fmt::format("'{:.60}' is given twice", pair.substr(0, equals)), "once");
  }
  return pairs;
}

Expected<void> check_kind(const std::string& kind) {
  if (kind.empty() || find_kernel_kind(kind) || parse_collective_kind(kind, "--kind")) return {};
  std::vector<std::string> names = kernel_kinds();
  for (const Choice<CollectiveKind>& row : collective_names) names.emplace_back(row.name);
  return fail("--kind", fmt::format("unknown kernel or collective '{:.60}'", kind), name_hint(kind, names));
}

}  // namespace

std::span<const Flag> context_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all(first_flags.begin(), first_flags.end());
    for (const TextFlag& row : text_flags)
      all.push_back({.name = row.flag, .key = "", .value = row.value, .group = circumstances, .doc = row.doc});
    for (const NumberFlag& row : number_flags)
      all.push_back({.name = row.flag, .key = "", .value = row.value, .group = circumstances, .doc = row.doc});
    return all;
  }();
  return flags;
}

Expected<ImportOptions> import_options(const Arguments& arguments) {
  ImportOptions options;
  TRY(options.context, context_of(arguments));
  options.precision = arguments.value("--dtype");
  if (!options.precision.empty() && !element_type_of(options.precision))
    return fail("--dtype", fmt::format("unknown element type '{:.60}'", options.precision),
        "one of: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4");
  options.kind = arguments.value("--kind");
  TRY(check_kind(options.kind));
  for (const auto& [flag, into] : {std::pair{"--columns", &options.columns}, std::pair{"--only", &options.only}}) {
    TRY(*into, read_pairs(arguments.value(flag), flag));
  }
  if (arguments.has("--ranks")) options.ranks = std::stoll(arguments.value("--ranks"));
  if (arguments.has("--nodes")) options.nodes = std::stoll(arguments.value("--nodes"));
  return options;
}

}  // namespace stepcast::calibration
