#include "studies/ask/rates.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "model/base/json_reader.h"
#include "studies/run/nouns.h"

namespace stepcast::ask {
namespace {

constexpr std::string_view rates_of = "Whose rates";

// clang-format off
constexpr Flag shared_flags[] = {
    {.name = "--machine", .key = "", .value = "ID|GPU|FILE", .group = rates_of,
     .doc = "a machine or a GPU of the catalogue, or a file (default dgx-h100)"},
    {.name = "--profile", .key = "", .value = "ID|FILE", .group = rates_of,
     .doc = "measured rates (default: the profile of the machine's GPU)"},
    {.name = "--csv", .key = "", .value = "FILE", .group = "Many at once",
     .doc = "a table of questions instead: a header line with the fields' names, a row each"},
    {.name = "--json", .key = "", .value = "", .group = "Output",
     .doc = "one JSON document; with --csv: rows in the same order", .kind = FlagKind::toggle}};
// clang-format on

Error no_such(const std::string& name) {
  std::vector<std::string> names;
  for (const Machine& machine : built_in().machines) names.push_back(machine.id);
  for (const Gpu& gpu : built_in().gpus) names.push_back(gpu.id);
  return {"--machine", fmt::format("unknown machine or GPU '{:.60}'", name),
      name_hint(name, names) + "; stepcast list machines and list gpus show all"};
}

/// A machine by name, or the first one with a GPU of that name.
Expected<RateSource> named_machine(const std::string& name) {
  RateSource out;
  if (const auto gpu = find_row(built_in().gpus, name, "gpu"); gpu && !find_row(built_in().machines, name, "machine")) {
    const auto& machines = built_in().machines;
    const auto found =
        std::find_if(machines.begin(), machines.end(), [&](const Machine& m) { return m.gpu.id == (*gpu)->id; });
    out.gpu_only = true;
    if (found != machines.end()) {
      out.machine = *found;
    } else {
      out.machine.id = (*gpu)->id;
      out.machine.gpu = **gpu;
    }
    return out;
  }
  if (!names_a_file(name) && !find_row(built_in().machines, name, "machine")) return tl::unexpected(no_such(name));
  TRY(auto machine, choose_machine(name, "--machine"));
  out.machine = std::move(machine.row);
  return out;
}

/// A profile of another GPU is carried over by the datasheets' ratio, and its laws say so.
Expected<Profile> profile_for(
    const RateSource& source, const Arguments& arguments, bool kernels, std::vector<std::string>& notes) {
  const Gpu& gpu = source.machine.gpu;
  if (!arguments.has("--profile"))
    return kernels ? default_kernel_profile(gpu, built_in().profiles) : default_profile(gpu, built_in().profiles);
  TRY(auto chosen, (kernels ? choose_kernel_profile : choose_profile)(arguments.value("--profile"), "--profile"));
  if (chosen.row.gpu == gpu.id) return with_all_precisions(chosen.row, gpu);
  const auto from = find_row(built_in().gpus, chosen.row.gpu, "gpu");
  if (!from)
    return fail(
        "--profile", fmt::format("it is of '{}', which is not in the catalogue", chosen.row.gpu), "stepcast list gpus");
  notes.push_back(
      fmt::format("the profile was taken on {}; rates are scaled to {} by their datasheets", (*from)->name, gpu.name));
  return scaled_profile(chosen.row, **from, gpu);
}

Expected<RateQuestion> question(
    const QueryKind& kind, const std::string& id, FieldValues values, const std::string& where) {
  const MemoryOp* op = find_memory_op(id);
  if (op != nullptr && op->own_bytes > 0) values.try_emplace("dtype", FieldValue{"fp32", where});
  TRY(auto whole, completed(kind, std::move(values), where));
  TRY(auto query, kind.make(whole, id));
  return RateQuestion{id, query, std::move(whole), ""};
}

std::string flag_of(const QueryField& field) { return fmt::format("--{}", field.name); }

Expected<std::vector<RateQuestion>> questions_of_table(
    const QueryKind& kind, const std::string& id, const std::string& file) {
  TRY(const auto text, read_text_file(file));
  TRY(const auto table, DelimitedTable::parse(text, file));
  TRY(const auto columns, columns_of(kind, table.columns(), table.header_where()));
  // Collectives may differ from row to row.
  const auto own_kind = kind.id == collective_kind().id ? table.find("kind") : std::nullopt;
  if (own_kind && !id.empty()) return fail(file, fmt::format("a column kind beside the word {}", id), "one of them");
  if (!own_kind && id.empty()) return fail(file, "no column kind", "add one, or name the kind as a word");
  std::vector<RateQuestion> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    FieldValues values;
    for (const auto& [field, column] : columns)
      if (const std::string& said = table.text(row, column); !said.empty())
        values[field] = {said, fmt::format("{}: {}", table.where(row), field)};
    TRY(auto asked, question(kind, own_kind ? table.text(row, *own_kind) : id, std::move(values), table.where(row)));
    asked.row = table.where(row);
    out.push_back(std::move(asked));
  }
  if (out.empty()) return fail(file, "no rows", "a header line, then a row per question");
  return out;
}

}  // namespace

Expected<RateSource> rate_source(const Arguments& arguments, bool kernels) {
  TRY(auto source, named_machine(arguments.has("--machine") ? arguments.value("--machine") : "dgx-h100"));
  TRY(source.profile, profile_for(source, arguments, kernels, source.notes));
  for (std::string& words : unpriced_words(source.machine, source.profile)) source.notes.push_back(std::move(words));
  return source;
}

std::vector<Flag> rate_flags(std::span<const QueryKind* const> kinds) {
  std::vector<Flag> flags(std::begin(shared_flags), std::end(shared_flags));
  // One flag for each name: "--batch" of products is also that of attention.
  static std::deque<std::string> names;  // flags point into it
  for (const QueryKind* kind : kinds)
    for (const QueryField& field : kind->fields) {
      const auto same = [&](const Flag& flag) { return flag.name == flag_of(field); };
      if (std::any_of(flags.begin(), flags.end(), same)) continue;
      names.push_back(flag_of(field));
      flags.push_back({.name = names.back(), .key = "", .value = "X", .group = kind->about, .doc = field.doc});
    }
  return flags;
}

Expected<std::vector<RateQuestion>> rate_questions(
    const QueryKind& kind, const std::string& id, const Arguments& arguments) {
  std::vector<std::string> own{"--machine", "--profile", "--csv", "--json"};
  FieldValues values;
  for (const QueryField& field : kind.fields) {
    own.push_back(flag_of(field));
    if (arguments.has(own.back())) values[std::string(field.name)] = {arguments.value(own.back()), own.back()};
  }
  for (const auto& [flag, value] : arguments.flags)
    if (std::find(own.begin(), own.end(), flag) == own.end())
      return fail(flag, fmt::format("does not go with {}", id), name_hint(flag, own));
  if (!arguments.has("--csv")) {
    TRY(auto one, question(kind, id, std::move(values), id));
    return std::vector{std::move(one)};
  }
  if (!values.empty())
    return fail(values.begin()->second.where, "does not go with --csv", "make it a column of the table");
  return questions_of_table(kind, id, arguments.value("--csv"));
}

}  // namespace stepcast::ask
