#include "studies/gate/gate_file.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "model/base/json_reader.h"

namespace stepcast::gate {
namespace {

constexpr ResultUnit units[] = {{"s"}, {"ms", false, false, false, 1e-3}, {"us", false, false, false, 1e-6},
    {"ns", false, false, false, 1e-9}, {"tokens/s", true, false, true}, {"tokens/s/GPU", true, true, true},
    {"samples/s", true, false, true}, {"steps/s", true}, {"1/s", true}};

constexpr Choice<ResultSource> sources[] = {{"numbers", ResultSource::numbers}, {"json", ResultSource::json},
    {"log", ResultSource::log}, {"text", ResultSource::text}};
constexpr Choice<ResultTake> takes[] = {{"only", ResultTake::only}, {"first", ResultTake::first},
    {"last", ResultTake::last}, {"least", ResultTake::least}, {"median", ResultTake::median},
    {"each", ResultTake::each}};
enum class Scaling : std::uint8_t { weak, strong };
constexpr Choice<Scaling> scalings[] = {{"weak", Scaling::weak}, {"strong", Scaling::strong}};

/// What must hold: its key in the file, the key of its limit, and the most that makes sense there.
struct MustRow {
  MustKind kind;
  const char *name, *limit;
  double most;
  bool needs_forecast, needs_case;
};
constexpr MustRow must_rows[] = {{MustKind::forecast, "forecast", "within", 0.99, true, false},
    {MustKind::last_good, "last_good", "slower_by", 10, false, false},
    {MustKind::baseline, "baseline", "slower_by", 10, false, false}, {MustKind::mfu, "mfu", "at_least", 1, true, false},
    {MustKind::roofline, "roofline", "at_least", 1, true, false},
    {MustKind::scaling, "scaling", "at_least", 2, false, true},
    {MustKind::speedup, "speedup", "at_least", 1e6, false, true}};

/// "2.5 %" as a fraction. A bare "1" could be meant as 1 % or as 100 %.
void read_share(JsonObject& object, const std::string& key, double& out, double most) {
  std::string text;
  object.read(key, text);
  if (object.failed()) return;
  object.require(text.ends_with('%'), key, fmt::format("'{:.40}' is no percentage", text), "\"2.5 %\"");
  if (const auto number = parse_fraction(text, object.where(key), std::numeric_limits<double>::infinity()); !number)
    return object.require(false, key, number.error().what, "\"2.5 %\"");
  const auto share = parse_fraction(text, object.where(key), most);
  if (share) out = *share;
  else object.require(false, key, share.error().what, share.error().hint);
}

void read_rates(JsonObject& object, GateRates& rates) {
  constexpr double most_error = 0.2, most_find = 1;
  if (object.has("false_alarms")) read_share(object, "false_alarms", rates.false_alarms, most_error);
  if (object.has("missed")) read_share(object, "missed", rates.missed, most_error);
  if (object.has("find")) read_share(object, "find", rates.find, most_find);
  object.optional("looks", rates.looks, IntegerRange{1, 100});
  object.require(rates.false_alarms >= 1e-6, "false_alarms", "a rate of errors of nothing", "\"1 %\"");
  object.require(rates.missed >= 1e-6, "missed", "a rate of errors of nothing", "\"5 %\"");
  object.require(rates.find >= 1e-4, "find", "a slow-down of nothing cannot be found", "\"2.5 %\"");
}

void read_unit(JsonObject& object, ResultPlace& place) {
  std::string name;
  object.read("unit", name);
  if (object.failed()) return;
  place.unit = find_unit(name);
  object.require(place.unit != nullptr, "unit", fmt::format("'{:.40}' is no unit of results", name),
      name_hint(name, unit_names()));
}

void read_place(JsonObject object, ResultPlace& place, bool has_command) {
  object.choice("from", place.from, sources);
  if (object.failed()) return;
  if (place.from == ResultSource::numbers) {
    object.read("values", place.values, NumberRange{1e-15, 1e15});
  } else if (!has_command || object.has("files")) {
    object.read("files", place.files);
  }
  if (place.from == ResultSource::json) object.read("field", place.field);
  if (place.from == ResultSource::text) object.read("pattern", place.pattern);
  if (place.from == ResultSource::text) object.optional_choice("take", place.take, takes);
  if (place.from == ResultSource::log) place.unit = find_unit("s");
  else read_unit(object, place);
}

void read_must(JsonObject object, const MustRow& row, const GateCase& one, Must& must) {
  must.kind = row.kind;
  if (row.kind == MustKind::speedup) object.read("at_least", must.limit, NumberRange{1e-6, row.most});
  else read_share(object, row.limit, must.limit, row.most);
  object.require(row.limit != std::string_view("at_least") || must.limit > 0, row.limit,
      "at least nothing always holds", "\"40 %\"");
  if (row.needs_case) object.read("over", must.other);
  if (row.kind == MustKind::baseline) read_place(object.object("result"), must.baseline, false);
  if (row.kind != MustKind::scaling || one.result.unit == nullptr) return;
  Scaling scaling = Scaling::weak;
  if (!one.result.unit->fixed_work) object.choice("kind", scaling, scalings);
  must.strong = one.result.unit->fixed_work ? !one.result.unit->per_gpu : scaling == Scaling::strong;
}

void read_musts(JsonObject object, GateCase& one) {
  for (const MustRow& row : must_rows) {
    auto must = object.optional_object(row.name);
    if (!must) continue;
    object.require(!row.needs_forecast || !one.forecast.empty(), row.name, "the case has no forecast",
        R"("forecast": "predict llama3-8b --gpus 8")");
    read_must(*must, row, one, one.musts.emplace_back());
  }
}

/// One text split at blanks, or a list of words where a word has blanks in it.
void read_words(JsonObject& object, const std::string& key, std::vector<std::string>& words) {
  if (!object.has(key)) return;
  if (object.type_of(key) == "list") return object.read(key, words);
  std::string text;
  object.read(key, text);
  object.require(text.find_first_of("\"'\\") == std::string::npos, key, "quotes in a text that is split at blanks",
      R"(a list of words: ["predict", "my network.json"])");
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
  }
  object.require(!words.empty(), key, "no words", "\"predict llama3-8b --gpus 8\"");
}

/// Names of cases name files.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name[0] != '.' && name[0] != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
             std::string::npos;
}

void read_case(JsonObject& object, GateCase& one) {
  object.read("name", one.name);
  object.require(object.failed() || is_plain_name(one.name), "name",
      fmt::format("'{:.60}' cannot name files", one.name), "letters, digits, dots and dashes");
  one.where = object.where();
  read_words(object, "forecast", one.forecast);
  object.optional("command", one.command);
  int repeats = 10;
  object.optional("repeats", repeats, IntegerRange{1, 10'000});
  one.repeats = static_cast<std::size_t>(repeats);
  object.optional("gpus", one.gpus, IntegerRange{1, 10'000'000});
  object.optional("seed", one.seed, IntegerRange{0, INT64_MAX / 2});
  read_rates(object, one.rates);
  read_place(object.object("result"), one.result, !one.command.empty());
  read_musts(object.object("must"), one);
  object.require(object.failed() || !one.musts.empty(), "must", "nothing must hold",
      "one of: forecast, last_good, baseline, mfu, roofline, scaling, speedup");
}

Expected<void> check_cases(const GateFile& file) {
  std::set<std::string> names;
  for (const GateCase& one : file.cases)
    if (!names.insert(one.name).second)
      return fail(one.where + "/name", fmt::format("two cases are named {}", one.name), "a name of its own for each");
  for (const GateCase& one : file.cases)
    for (const Must& must : one.musts) {
      if (must.kind == MustKind::last_good && file.history.empty())
        return fail(one.where + "/must/last_good", "no history is kept", "\"history\": \"gate.sqlite\" in the file");
      if (must.other.empty()) continue;
      const std::string where = fmt::format("{}/must/{}/over", one.where, to_text(must.kind));
      const auto other = std::find_if(
          file.cases.begin(), file.cases.end(), [&](const GateCase& any) { return any.name == must.other; });
      if (other == file.cases.end())
        return fail(where, fmt::format("no case is named '{:.60}'", must.other),
            name_hint(must.other, names_of(file.cases, &GateCase::name)));
      if (other->name == one.name) return fail(where, "a case is held against itself", "another case");
      if (!comparable(*other->result.unit, *one.result.unit))
        return fail(where,
            fmt::format(
                "{} is in {} and {} in {}", one.name, one.result.unit->name, other->name, other->result.unit->name),
            "times in both, or rates of one thing");
    }
  return {};
}

std::string beside(const std::string& folder, const std::string& name) {
  return name.empty() ? name : (std::filesystem::path(folder) / name).lexically_normal().string();
}

}  // namespace

const ResultUnit* find_unit(std::string_view name) {
  const auto found =
      std::find_if(std::begin(units), std::end(units), [&](const ResultUnit& u) { return u.name == name; });
  return found == std::end(units) ? nullptr : found;
}

bool comparable(const ResultUnit& a, const ResultUnit& b) { return a.rate ? a.name == b.name : !b.rate; }

std::vector<std::string> unit_names() { return names_of(units, &ResultUnit::name); }

std::string_view to_text(MustKind kind) {
  return std::find_if(std::begin(must_rows), std::end(must_rows), [&](const MustRow& row) {
    return row.kind == kind;
  })->name;
}

Expected<GateFile> read_gate_file(const std::string& path) {
  TRY(const auto text, read_text_file(path));
  GateFile file;
  file.path = path;
  file.folder = std::filesystem::path(path).parent_path().string();
  JsonObject top(text, path);
  file.runs = "gate-runs";
  top.optional("history", file.history);
  top.optional("runs", file.runs);
  top.optional("environment", file.environment);
  GateRates rates;
  read_rates(top, rates);
  for (JsonObject& object : top.objects("cases")) {
    file.cases.emplace_back().rates = rates;
    read_case(object, file.cases.back());
  }
  top.require(top.failed() || !file.cases.empty(), "cases", "no case", "docs/gates.md has examples");
  TRY(auto read, top.finish(std::move(file)));
  TRY(check_cases(read));
  read.history = beside(read.folder, read.history);
  read.runs = beside(read.folder, read.runs);
  return read;
}

}  // namespace stepcast::gate
