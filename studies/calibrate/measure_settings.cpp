// What the command line of `stepcast calibrate measure` says.

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "model/catalog.h"
#include "model/base/quantity_text.h"
#include "studies/run/nouns.h"
#include "studies/calibrate/measure_settings.h"
#include "studies/cli/output_file.h"
#include "studies/calibrate/own_shapes.h"

namespace stepcast::calibration {
namespace {

/// Shapes of --model are weighed by their time on a training GPU where the plan's own is not known yet; their order is
/// all that depends on it.
constexpr const char* weighing_gpu = "h100-sxm";
constexpr const char* weighing_stack = "megatron-core";

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> items = split_at_commas(text);
  std::erase(items, "");
  return items;
}

Expected<std::int64_t> count_of(const Arguments& arguments, const char* flag, std::int64_t otherwise) {
  if (!arguments.has(flag)) return otherwise;
  return parse_count(arguments.value(flag), flag, 0, std::int64_t{1} << 40);
}

/// Networks in the order they were named; what two have in common counts where it comes first.
Expected<std::vector<Query>> own_queries(const Arguments& arguments) {
  OwnShapesRequest request;
  TRY(const auto sequence, count_of(arguments, "--seq", 0));
  if (arguments.has("--seq") && !arguments.has("--model"))
    return fail("--seq", "says nothing without --model", "--model NET: the network whose shapes are measured");
  request.sequence = sequence;
  request.gpu = **find_row(built_in().gpus, weighing_gpu, "gpu");
  request.stack = choose_stack(weighing_stack, "--model")->row;
  std::vector<Query> all;
  for (const std::string& name : listed(arguments.value("--model"))) {
    TRY(const auto network, choose_network(name, "--model"));
    const auto queries = own_shapes(network.row, request);
    if (!queries) return fail("--model", to_text(queries.error()), "another --seq, or another network");
    for (const Query& query : *queries) {
      const std::string key = work_name(query);
      const bool known =
          std::any_of(all.begin(), all.end(), [&](const Query& other) { return work_name(other) == key; });
      if (!known) all.push_back(query);
    }
  }
  return all;
}

Expected<void> check_together(const Arguments& arguments) {
  if (arguments.has("--dry-run"))
    for (const char* other : {"--output", "--profile", "--resume"})
      if (arguments.has(other))
        return fail(other, "does not go with --dry-run", "a dry run measures and writes nothing");
  if (!arguments.has("--profile"))
    for (const char* other : {"--id", "--start"})
      if (arguments.has(other))
        return fail(other, "says nothing without --profile", "--profile FILE: where the fitted profile goes");
  return check_apart(arguments, {"--output", "--profile"});
}

}  // namespace

Expected<MeasureSettings> measure_settings(const Arguments& arguments) {
  TRY(check_together(arguments));
  MeasureSettings settings;
  settings.output = arguments.value("--output");
  settings.profile = arguments.value("--profile");
  settings.gpu = arguments.value("--gpu");
  settings.start = arguments.value("--start");
  settings.id = arguments.value("--id");
  settings.only = listed(arguments.value("--only"));
  if (arguments.has("--only") && settings.only.empty())
    return fail("--only", "names no phase", "--dry-run lists the phases");
  settings.dry_run = arguments.has("--dry-run");
  settings.resume = arguments.has("--resume");
  settings.json = arguments.has("--json");
  settings.force = arguments.has(force_flag.name);
  TRY(const auto index, count_of(arguments, "--gpu-index", 0));
  settings.index = static_cast<int>(index);
  TRY(const auto seed, count_of(arguments, "--seed", 1));
  settings.seed = static_cast<std::uint64_t>(seed);
  if (arguments.has("--budget")) {
    TRY(settings.budget, parse_quantity<Seconds>(arguments.value("--budget"), "--budget"));
  }
  TRY(settings.own, own_queries(arguments));
  return settings;
}

}  // namespace stepcast::calibration
