// Reading and finding terms.
#include "studies/notation/terms/term.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/carried.h"
#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "studies/notation/terms/embedded_terms.h"

namespace stepcast::notation {
namespace {

TermVolume read_volume(JsonObject& row) {
  TermVolume volume;
  row.read("pass", volume.pass);
  row.read("collective", volume.collective);
  row.read("tensor", volume.tensor);
  row.read("axis", volume.axis);
  row.read("formula", volume.formula);
  return volume;
}

TermExample read_example(JsonObject& row) {
  TermExample example;
  row.read("result", example.result);
  row.read("formula", example.formula);
  row.read("value", example.value, NumberRange{});
  row.optional("unit", example.unit);
  JsonObject values = row.object("values");
  for (const std::string& name : values.keys()) values.read(name, example.values[name], NumberRange{});
  return example;
}

Term read_term(JsonObject& row) {
  Term term;
  row.read("id", term.id);
  row.read("name", term.name);
  row.optional("aliases", term.aliases);
  row.optional("words", term.words);
  row.read("what", term.what);
  row.optional("loop", term.loop);
  row.optional("moves", term.moves);
  row.optional("memory", term.memory);
  row.optional("trap", term.trap);
  row.optional("trap_source", term.trap_source);
  row.read("source", term.source);
  row.optional("program", term.program);
  for (JsonObject& volume : row.optional_objects("volume")) term.volumes.push_back(read_volume(volume));
  row.optional("stationary", term.stationary);
  for (JsonObject& example : row.optional_objects("examples")) term.examples.push_back(read_example(example));
  return term;
}

std::vector<Term> read_embedded() { return carried_rows(embedded_terms(), "terms", read_terms); }

/// Names that hold the word or that it holds, then the nearest by letters: at most six.
std::vector<std::string> near_terms(const std::string& word) {
  constexpr std::size_t most = 6;
  const std::string wanted = normalised_term(word);
  std::vector<std::string> near, all;
  for (const Term& term : terms()) {
    std::vector<std::string> names{term.name};
    names.insert(names.end(), term.aliases.begin(), term.aliases.end());
    all.insert(all.end(), names.begin(), names.end());
    const bool holds = wanted.size() > 2 && std::ranges::any_of(names, [&](const std::string& name) {
      return normalised_term(name).find(wanted) != std::string::npos;
    });
    if (holds && near.size() < most) near.push_back(term.name);
  }
  const std::string spelled = nearest_name(word, all);
  if (!spelled.empty() && !contains(near, spelled)) near.insert(near.begin(), spelled);
  return near;
}

}  // namespace

std::string normalised_term(const std::string& word) {
  std::string out = lower_case(word);
  std::erase_if(out, [](unsigned char c) { return std::isalnum(c) == 0; });
  return out;
}

Expected<std::vector<Term>> read_terms(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  std::string group;
  std::vector<Term> rows;
  file.read("group", group);
  for (JsonObject& row : file.objects("terms")) {
    rows.push_back(read_term(row));
    rows.back().group = group;
    rows.back().file = where;
  }
  return file.finish(std::move(rows));
}

const std::vector<Term>& terms() {
  static const std::vector<Term> rows = read_embedded();
  return rows;
}

Expected<const Term*> find_term(const std::string& word) {
  const std::string wanted = normalised_term(word);
  for (const Term& term : terms()) {
    const auto same = [&](const std::string& name) { return normalised_term(name) == wanted; };
    if (same(term.id) || same(term.name) || std::ranges::any_of(term.aliases, same)) return &term;
  }
  const std::vector<std::string> near = near_terms(word);
  return fail(word.substr(0, 60), "unknown term",
      near.empty() ? "'stepcast explain' lists all terms" : fmt::format("near it: {}", fmt::join(near, ", ")));
}

}  // namespace stepcast::notation
