// Reading the data files of arguments: rows as they stand, then what they say of each other.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "studies/launch/facts/argument_facts.h"

namespace stepcast::launch {
namespace {

constexpr Choice<Reach> argument_reaches[] = {
    {"nothing", Reach::nothing}, {"step", Reach::step}, {"uncovered", Reach::uncovered}, {"beside", Reach::beside}};

/// What an argument takes; only its words are of use, so an enumeration would stand for nothing.
const std::vector<std::string>& argument_kinds() {
  static const std::vector<std::string> kinds = {"flag", "count", "number", "text", "list"};
  return kinds;
}

/// A program as its files say, before it is held against the program that it extends.
struct ArgumentSource {
  std::vector<Release> releases;
  std::vector<ArgumentFact> facts;
  std::vector<std::string> where;  ///< of each fact
  std::string extends_where, base, base_release;
  [[nodiscard]] bool has(const std::string& release) const {
    return std::any_of(releases.begin(), releases.end(), [&](const Release& row) { return row.id == release; });
  }
  [[nodiscard]] std::vector<std::string> release_names() const {
    std::vector<std::string> names;
    for (const Release& row : releases) names.push_back(row.id);
    return names;
  }
};
using ArgumentSources = std::map<std::string, ArgumentSource, std::less<>>;

void read_argument_question(JsonObject& row, ArgumentFact& fact) {
  std::string asks;
  row.optional("asks", asks);
  row.optional_choice("reach", fact.reach, argument_reaches);
  if (asks.empty()) return;
  fact.asks = asked_of(asks);
  row.require(
      fact.asks.has_value(), "asks", fmt::format("'{}' is no question", asks), "those of studies/launch/facts/asked.h");
  row.require(!row.has("reach"), "reach", "stands beside \"asks\"", "what answers a question always reaches the step");
  fact.reach = Reach::step;
}

void read_argument_defaults(JsonObject& row, ArgumentFact& fact) {
  if (row.has("default")) {
    row.read("default", fact.defaults.emplace_back().second);
    row.require(!row.has("defaults"), "defaults", "stands beside \"default\"", "one of the two");
  } else if (auto defaults = row.optional_object("defaults")) {
    for (const std::string& from : defaults->keys()) defaults->read(from, fact.defaults.emplace_back(from, "").second);
  }
}

/// "OWNER/REPOSITORY@TAG: file, file", and further ones behind ";".
bool names_source(std::string_view text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find("; ", at), text.size());
    const std::string_view one = text.substr(at, end - at);
    const std::size_t slash = one.find('/'), tag = one.find('@', slash), files = one.find(": ", tag);
    if (slash == one.npos || slash == 0 || tag == one.npos || files == one.npos || files + 2 >= one.size())
      return false;
    at = end + 2;
  }
  return true;
}

ArgumentFact read_argument(JsonObject& row, const std::string& topic, const std::string& source) {
  ArgumentFact fact;
  fact.topic = topic;
  fact.source = source;
  row.optional("source", fact.source);
  row.require(fact.source.empty() || names_source(fact.source), "source", fmt::format("found '{:.60}'", fact.source),
      "where the name stands: OWNER/REPOSITORY@TAG: file, file");
  row.read("name", fact.name);
  row.read("takes", fact.takes);
  const std::vector<std::string>& kinds = argument_kinds();
  row.require(std::find(kinds.begin(), kinds.end(), fact.takes) != kinds.end(), "takes",
      fmt::format("found '{}'", fact.takes), name_hint(fact.takes, kinds));
  row.read("what", fact.what);
  row.require(!fact.what.empty() && fact.what.back() == '.', "what", "is no sentence", "end it with a full stop");
  row.optional("since", fact.since);
  row.optional("until", fact.until);
  row.optional("instead", fact.instead);
  row.optional("trap", fact.trap);
  row.optional("known", fact.known);
  row.optional("refused", fact.refused);
  row.optional("plain", fact.plain);
  row.require(fact.plain.empty() || !fact.refused.empty(), "plain", "stands without \"refused\"", "both or none");
  read_argument_question(row, fact);
  read_argument_defaults(row, fact);
  return fact;
}

void read_argument_program(JsonObject& file, ArgumentSource& source) {
  file.require(!file.has("releases") == !source.releases.empty(), "releases",
      source.releases.empty() ? "none" : "given twice", "the first file of a program holds its releases");
  for (JsonObject& row : file.optional_objects("releases")) {
    Release release;
    row.read("id", release.id);
    row.read("date", release.date);
    row.require(source.releases.empty() || source.releases.back().date <= release.date, "date",
        "is before that of the release above it", "releases stand in order of time");
    row.require(
        !source.has(release.id), "id", fmt::format("'{}' is there already", release.id), "each release stands once");
    source.releases.push_back(release);
  }
  if (!file.has("extends")) return;
  std::string extends;
  file.read("extends", extends);
  const std::size_t at = extends.find('@');
  file.require(at != std::string::npos, "extends", fmt::format("found '{}'", extends), "PROGRAM@RELEASE");
  source.extends_where = file.where("extends");
  source.base = extends.substr(0, at);
  source.base_release = at == std::string::npos ? "" : extends.substr(at + 1);
}

Expected<bool> read_argument_file(const EmbeddedFile& from, ArgumentSources& sources) {
  JsonObject file(from.text, fmt::format("arguments/{}", from.name));
  std::string program, topic, source_text;
  file.read("program", program);
  ArgumentSource& source = sources[program];
  read_argument_program(file, source);
  if (file.has("arguments")) file.read("topic", topic);
  file.optional("source", source_text);
  for (JsonObject& row : file.optional_objects("arguments")) {
    source.facts.push_back(read_argument(row, topic, source_text));
    source.where.push_back(row.where());
  }
  return file.finish(true);
}

Expected<bool> check_argument_release(
    const ArgumentSource& source, std::size_t row, const std::string& key, const std::string& release) {
  if (release.empty() || source.has(release)) return true;
  return fail(fmt::format("{}/{}", source.where[row], key), fmt::format("'{}' is no release", release),
      name_hint(release, source.release_names()));
}

/// Releases that a row names are there and in order of time.
Expected<bool> check_argument_times(const ArgumentSource& source, const ArgumentTable& table, std::size_t row) {
  const ArgumentFact& fact = source.facts[row];
  std::vector<std::pair<std::string, std::string>> named{{"since", fact.since}, {"until", fact.until}};
  for (const auto& [from, value] : fact.defaults) named.emplace_back("defaults", from);
  for (const auto& [key, release] : named) TRY(check_argument_release(source, row, key, release));
  if (!fact.since.empty() && !fact.until.empty() && !table.before(fact.since, fact.until))
    return fail(source.where[row] + "/until", fmt::format("'{}' is not after '{}'", fact.until, fact.since),
        "since, and a later release as until");
  for (std::size_t i = 1; i < fact.defaults.size(); ++i)
    if (fact.defaults[i].first.empty() ||
        (!fact.defaults[i - 1].first.empty() && !table.before(fact.defaults[i - 1].first, fact.defaults[i].first)))
      return fail(source.where[row] + "/defaults", fmt::format("'{}' is out of order", fact.defaults[i].first),
          "releases in order of time");
  return true;
}

/// What another program knows at a release, with what holds then; its later history says nothing here.
std::vector<ArgumentFact> facts_at(const ArgumentTable& base, std::string_view release) {
  std::vector<ArgumentFact> facts;
  for (ArgumentFact fact : base.facts()) {
    if (!base.knows(fact, release)) continue;
    const std::string value = base.default_of(fact, release);
    // What took a row's place later is history; of one that has no end it is the row that it is another name of.
    if (!fact.until.empty()) fact.instead.clear();
    fact.since.clear(), fact.until.clear(), fact.defaults.clear();
    if (!value.empty()) fact.defaults.emplace_back("", value);
    facts.push_back(std::move(fact));
  }
  return facts;
}

Expected<ArgumentTable> argument_table_of(const ArgumentSource& source, const ArgumentTable* base) {
  std::vector<ArgumentFact> facts = source.facts;
  std::map<std::string, std::size_t> own;
  for (std::size_t row = 0; row < facts.size(); ++row)
    if (const auto [first, added] = own.emplace(facts[row].name, row); !added)
      return fail(source.where[row] + "/name",
          fmt::format("'{}' stands in {} already", first->first, source.where[first->second]),
          "one row for each argument");
  if (base != nullptr)
    for (ArgumentFact& fact : facts_at(*base, source.base_release))
      if (!own.contains(fact.name)) facts.push_back(std::move(fact));
  ArgumentTable table(source.releases, std::move(facts));
  for (std::size_t row = 0; row < source.facts.size(); ++row) {
    TRY(check_argument_times(source, table, row));
    const std::string& instead = source.facts[row].instead;
    if (!instead.empty() && table.find(instead) == nullptr)
      return fail(
          source.where[row] + "/instead", fmt::format("'{}' is no row", instead), name_hint(instead, table.names()));
  }
  return table;
}

/// Makes the table of a program, that of the program it extends before it. `open`: those on the way.
Expected<bool> add_argument_table(
    const std::string& program, const ArgumentSources& sources, ArgumentTables& tables, std::set<std::string>& open) {
  if (tables.contains(program)) return true;
  const ArgumentSource& source = sources.find(program)->second;
  const ArgumentTable* base = nullptr;
  if (!source.base.empty()) {
    open.insert(program);
    if (open.contains(source.base) || !sources.contains(source.base))
      return fail(source.extends_where,
          open.contains(source.base) ? fmt::format("'{}' extends this one", source.base)
                                     : fmt::format("no program '{}'", source.base),
          "another program of these files");
    TRY(add_argument_table(source.base, sources, tables, open));
    base = &tables.find(source.base)->second;
    if (!base->has_release(source.base_release))
      return fail(source.extends_where, fmt::format("'{}' is no release of {}", source.base_release, source.base),
          name_hint(source.base_release, sources.find(source.base)->second.release_names()));
  }
  TRY(auto table, argument_table_of(source, base));
  tables.emplace(program, std::move(table));
  return true;
}

}  // namespace

Expected<ArgumentTables> read_argument_tables(std::span<const EmbeddedFile> files) {
  ArgumentSources sources;
  for (const EmbeddedFile& file : files) TRY(read_argument_file(file, sources));
  ArgumentTables tables;
  for (const auto& [program, source] : sources) {
    std::set<std::string> open;
    TRY(add_argument_table(program, sources, tables, open));
  }
  return tables;
}

}  // namespace stepcast::launch
