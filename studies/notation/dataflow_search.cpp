#include "studies/notation/dataflow_search.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataflow/chip/search/search.h"
#include "studies/notation/dataflow_translate.h"
#include "studies/notation/dataflow_report.h"

namespace stepcast::notation {
namespace {

struct ObjectiveName {
  const char* name;
  SearchObjective objective;
  const char* unit;
};
constexpr ObjectiveName kSearchObjectives[] = {{"time", SearchObjective::time, "cycles"},
    {"energy", SearchObjective::energy, "pJ"}, {"traffic", SearchObjective::traffic, "B"}};
constexpr const char* kSearchFlags[] = {"--budget", "--seed", "--threads"};

Expected<const ObjectiveName*> objective_named(const std::string& name) {
  std::vector<std::string> names;
  for (const ObjectiveName& row : kSearchObjectives) {
    if (name == row.name) return &row;
    names.emplace_back(row.name);
  }
  return fail("--search", fmt::format("'{}' is nothing to search for", name), name_hint(name, names));
}

Expected<std::int64_t> count_flag(
    const Arguments& arguments, const char* name, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  if (!arguments.has(name)) return otherwise;
  return parse_count(arguments.value(name), name, least, most);
}

Expected<SearchOptions> search_options(const Arguments& arguments, SearchObjective objective, Windows windows) {
  SearchOptions options;
  options.objective = objective;
  options.windows = windows;
  TRY(const auto budget, count_flag(arguments, "--budget", options.most_evaluations, 1, std::int64_t{1} << 40));
  TRY(const auto seed,
      count_flag(arguments, "--seed", static_cast<std::int64_t>(options.seed), 0, std::int64_t{1} << 40));
  TRY(const auto threads, count_flag(arguments, "--threads", 1, 1, 256));
  options.most_evaluations = budget;
  options.seed = static_cast<std::uint64_t>(seed);
  options.threads = static_cast<int>(threads);
  return options;
}

/// "at most 3.4 % above the least possible".
std::string certainty(const SearchResult& result) {
  if (result.complete) return "nothing better exists: the whole space is covered";
  if (result.lower_bound <= 0) return "not the whole space; no bound above 0 is known";
  return fmt::format("not the whole space; at most {:.3g} % above the least possible", 100 * result.gap);
}

std::string summary(const SearchResult& result, const ObjectiveName& row) {
  std::string text = fmt::format("search for least {}: {:.10g} {}; {}\n", row.name,
      objective_of(result.score, row.objective), row.unit, certainty(result));
  text +=
      fmt::format("  {:.3g} mappings, {} counted, {} parts cut off\n", result.space, result.evaluated, result.pruned);
  if (!result.note.empty()) text += fmt::format("  {}\n", result.note);
  return text;
}

nlohmann::ordered_json search_json(const SearchResult& result, const ObjectiveName& row, const std::string& mapping) {
  return {{"objective", row.name}, {"value", objective_of(result.score, row.objective)}, {"unit", row.unit},
      {"lower_bound", result.lower_bound}, {"gap", result.gap}, {"complete", result.complete}, {"space", result.space},
      {"evaluated", result.evaluated}, {"pruned", result.pruned}, {"note", result.note}, {"mapping", mapping}};
}

}  // namespace

Expected<void> check_search_flags(const Arguments& arguments) {
  for (const char* name : kSearchFlags)
    if (arguments.has(name) && !arguments.has("--search"))
      return fail(name, "it only means something with --search", "add --search time, energy or traffic");
  return {};
}

Expected<void> search_program(const Imported& read, const Arguments& arguments, Console& console) {
  TRY(const auto row, objective_named(arguments.value("--search")));
  TRY(const auto options, search_options(arguments, row->objective, read.windows));
  if (read.program.archs.empty())
    return fail(arguments.words.front(), "the program has no arch to search on",
        "add one, such as 'arch dram { glb cap:128 KiB { pe[16x16] } }'");
  TRY(const auto problem, search_problem(read.program, arguments.value("--op")));
  TRY(const auto result, search(problem.start, problem.constraints, options));

  Imported found = read;
  found.program = written_chip(result.best);
  if (arguments.has("--translate")) return translate_program(found, arguments, console);
  TRY(const auto report, dataflow_report(found.program, {"", read.windows, read.notes}, arguments.words.front()));
  const std::string mapping = dataflow::print(found.program);
  if (!arguments.has("--json")) {
    console.out << summary(result, *row) << "\n" << mapping << "\n" << dataflow_text(report);
    return {};
  }
  auto json = nlohmann::ordered_json::parse(dataflow_json(report));
  json["search"] = search_json(result, *row, mapping);
  console.out << json.dump(2) << "\n";
  return {};
}

}  // namespace stepcast::notation
