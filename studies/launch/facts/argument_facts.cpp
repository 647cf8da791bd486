// Looking arguments up, and the tables that are compiled in. Reading them: argument_files.cpp.
#include "studies/launch/facts/argument_facts.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "model/errors/carried.h"
#include "studies/launch/facts/embedded_arguments.h"

namespace stepcast::launch {
namespace {

ArgumentTables read_embedded_arguments() { return carried(read_argument_tables(embedded_arguments())); }

}  // namespace

ArgumentTable::ArgumentTable(std::vector<Release> releases, std::vector<ArgumentFact> facts)
    : releases_(std::move(releases)), facts_(std::move(facts)) {
  for (std::size_t row = 0; row < facts_.size(); ++row) rows_.emplace(facts_[row].name, row);
  made_up_ = std::ranges::any_of(facts_, [](const ArgumentFact& fact) { return fact.name.ends_with(".*"); });
}

const ArgumentFact* ArgumentTable::row_of(std::string_view name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? nullptr : &facts_[row->second];
}

/// "groups.*" for "groups.mine.bits": rows of names that users make up themselves.
const ArgumentFact* ArgumentTable::row_above(std::string_view name) const {
  if (!made_up_) return nullptr;
  for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos;
       dot = dot == 0 ? name.npos : name.rfind('.', dot - 1))
    if (const ArgumentFact* row = row_of(fmt::format("{}.*", name.substr(0, dot)))) return row;
  return nullptr;
}

const ArgumentFact* ArgumentTable::find(std::string_view name) const {
  // Rows have up to a hundred letters and sections a few more; of a name of thousands of dots every part would be
  // looked up.
  constexpr std::size_t longest = 512;
  if (name.size() > longest) return nullptr;
  for (const auto look : {&ArgumentTable::row_of, &ArgumentTable::row_above})
    for (std::string_view part = name;; part.remove_prefix(part.find('.') + 1)) {
      if (const ArgumentFact* row = (this->*look)(part)) return row;
      if (part.find('.') == std::string_view::npos) break;
    }
  return nullptr;
}

std::vector<const ArgumentFact*> ArgumentTable::answering(Asked asked) const {
  std::vector<const ArgumentFact*> rows;
  for (const ArgumentFact& fact : facts_)
    if (fact.asks == asked) rows.push_back(&fact);
  return rows;
}

bool ArgumentTable::has_release(std::string_view id) const {
  return std::any_of(releases_.begin(), releases_.end(), [&](const Release& release) { return release.id == id; });
}

std::size_t ArgumentTable::place_of(std::string_view release) const {
  if (release.empty()) return releases_.empty() ? 0 : releases_.size() - 1;
  const auto found =
      std::find_if(releases_.begin(), releases_.end(), [&](const Release& row) { return row.id == release; });
  assert(found != releases_.end());
  return static_cast<std::size_t>(found - releases_.begin());
}

bool ArgumentTable::before(std::string_view release, std::string_view other) const {
  return place_of(release) < place_of(other);
}

bool ArgumentTable::knows(const ArgumentFact& fact, std::string_view release) const {
  if (!fact.since.empty() && before(release, fact.since)) return false;
  return fact.until.empty() || before(release, fact.until);
}

std::string ArgumentTable::default_of(const ArgumentFact& fact, std::string_view release) const {
  std::string value;
  for (const auto& [from, said] : fact.defaults)
    if (from.empty() || !before(release, from)) value = said;
  return value;
}

std::vector<std::string> ArgumentTable::names() const {
  std::vector<std::string> names;
  for (const ArgumentFact& fact : facts_) names.push_back(fact.name);
  return names;
}

const ArgumentTable& argument_table(std::string_view program) {
  static const ArgumentTables tables = read_embedded_arguments();
  static const ArgumentTable none;
  const auto found = tables.find(program);
  return found == tables.end() ? none : found->second;
}

}  // namespace stepcast::launch
