// stepcast whatif: what moves a step, and by how much.
#include "studies/whatif/whatif.h"

#include <fmt/format.h>

#include "studies/launch/asked_run.h"
#include "studies/print/csv.h"
#include "studies/run/forecast.h"
#include "studies/whatif/uneven_levers.h"
#include "studies/whatif/whatif_report.h"
#include "studies/launch/run_flags.h"
#include "studies/whatif/whatif_change.h"

namespace stepcast::whatif {
namespace {

constexpr double least_factor = 1, most_factor = 1000;

Expected<void> answer_changes(const Request& request, const Arguments& arguments, Console& console) {
  for (const char* other : {"--factor", "--top", "--csv"})
    if (arguments.has(other)) return fail(other, "does not go with --change", "leave one of them out");
  TRY(const auto changes, parse_changes(arguments.value("--change"), "--change"));
  TRY(const auto effect, change_effect(request, changes));
  console.out << (arguments.has("--json") ? change_json(effect) : change_text(effect, console));
  return {};
}

Expected<void> answer_unevenness(const Request& request, const Arguments& arguments, Console& console) {
  for (const char* other : {"--change", "--factor", "--top", "--csv"})
    if (arguments.has(other)) return fail(other, "does not go with --imbalance", "leave one of them out");
  TRY(const auto words, read_unevenness(arguments.value("--imbalance"), "--imbalance"));
  TRY(const auto study, uneven_study(request, words));
  console.out << (arguments.has("--json") ? uneven_levers_json(study) : uneven_levers_text(study));
  return {};
}

}  // namespace

std::span<const Flag> whatif_flags() {
  // clang-format off
  static const std::vector<Flag> flags = study_flags(
      {*find_flag(run_flags(), "--between"),
       {.name = "--change", .key = "", .value = "WHAT=VALUE", .group = "What if",
        .doc = "only this, in place of all levers: nic=2x, hbm=0.5x, tp=4, micro-batch=2x, machine=dgx-b200; several: "
               "jointly",
        .kind = FlagKind::text, .repeats = true},
       {.name = "--factor", .key = "", .value = "F", .group = "What if",
        .doc = "the machine's levers are tried at 1/F and F (default 2)", .kind = FlagKind::text},
       {.name = "--top", .key = "", .value = "N", .group = "What if",
        .doc = "levers shown, largest effect first (default: all that act)", .kind = FlagKind::count, .least = 1,
        .most = 1000},
       {.name = "--imbalance", .key = "", .value = "WORDS", .group = "What if",
        .doc = "only what evens out uneven work, as predict takes it: \"lengths=FILE rank=12x1.5\" (docs/jobs.md); "
               "none: all levers",
        .kind = FlagKind::text},
       {.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document in base units",
        .kind = FlagKind::toggle},
       {.name = "--csv", .key = "", .value = "", .group = "Output", .doc = "the levers as comma-separated values",
        .kind = FlagKind::toggle}});
  // clang-format on
  return flags;
}

Expected<double> asked_factor(const Arguments& arguments) {
  if (!arguments.has("--factor")) return 2;
  const auto factor = parse_factor(arguments.value("--factor"), "--factor", least_factor, most_factor);
  if (factor && *factor == 1) return fail("--factor", "1 changes nothing", "2, 1.5 or 10");
  return factor;
}

void print_levers(const Sensitivity& study, const Arguments& arguments, Console& console) {
  constexpr std::size_t all = 1000;
  const std::size_t top = arguments.has("--top") ? std::stoul(arguments.value("--top")) : all;
  if (arguments.has("--csv")) console.out << csv_of(whatif_json(study, top), {"levers"});
  else console.out << (arguments.has("--json") ? whatif_json(study, top) : whatif_text(study, top, console));
}

Expected<void> whatif_command(const Arguments& arguments, Console& console) {
  TRY(const auto request, read_request(arguments));
  if (arguments.has("--imbalance") && !says_even(arguments.value("--imbalance")))
    return answer_unevenness(request, arguments, console);
  if (arguments.has("--change")) return answer_changes(request, arguments, console);
  TRY(const auto factor, asked_factor(arguments));
  TRY(const auto study, sensitivity(request, factor));
  print_levers(study, arguments, console);
  return {};
}

}  // namespace stepcast::whatif
