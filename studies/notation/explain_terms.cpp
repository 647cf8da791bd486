// stepcast explain TERM: one term in both vocabularies, the loop, what moves and how much, on a small program placed
// here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/cluster/placements.h"
#include "model/base/json_writer.h"
#include "studies/notation/explain_terms.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/notation/terms/placed_term.h"
#include "studies/notation/terms/term.h"

namespace stepcast::notation {
namespace {

constexpr std::size_t label_width = 11;

/// One labelled paragraph; nothing where there is no text.
std::string entry(const Paint& paint, const std::string& label, const std::string& text) {
  if (text.empty()) return {};
  const std::string first = paint.dim(fmt::format("{:<{}}", label, label_width));
  return paragraph(text, first, std::string(label_width, ' '), page_columns);
}

/// Lines as they stand, the first behind the label.
std::string lines_entry(const Paint& paint, const std::string& label, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += (text.empty() ? paint.dim(fmt::format("{:<{}}", label, label_width)) : std::string(label_width, ' ')) +
            line + "\n";
  return text;
}

/// Each line a paragraph of its own.
std::string wrapped_entry(const Paint& paint, const std::string& label, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += entry(paint, text.empty() ? label : "", line);
  return text;
}

std::string with_source(const std::string& text, const std::string& source) {
  return source.empty() ? text : fmt::format("{} [{}]", text, source);
}

bool states(const TermVolume& volume, const TermMove& move) {
  return volume.pass == move.pass && volume.collective == move.collective && volume.tensor == move.tensor &&
         volume.axis == move.axis;
}

/// What a test finds to be the value of the formula.
double received_bytes(const TermVolume& volume, const PlacedTerm& placed) {
  for (const TermMove& move : placed.moves)
    if (states(volume, move)) return move.bytes;
  return 0;
}

/// Each collective that follows, with the formula that the row states for it.
std::vector<std::string> volume_lines(const Term& term, const PlacedTerm& placed) {
  Table table({{""}, {""}, {""}, {"", Align::right}});
  for (const TermMove& move : placed.moves) {
    std::string formula;
    for (const TermVolume& volume : term.volumes)
      if (states(volume, move)) formula = volume.formula;
    table.add({move.pass, fmt::format("{} {} on {}", move.collective, move.tensor, move.axis), formula,
        fmt::format("= {} B", grouped_digits(move.bytes))});
  }
  return split_lines(table.text(""));
}

std::vector<std::string> example_lines(const Term& term) {
  std::vector<std::string> lines;
  for (const TermExample& example : term.examples) {
    std::vector<std::string> values;
    for (const auto& [name, value] : example.values) values.push_back(fmt::format("{} {:g}", name, value));
    const double value = example.value;
    const std::string shown = value >= 1000 ? grouped_digits(value) : fmt::format("{:.4g}", value);
    lines.push_back(fmt::format(
        "{}: {} = {}{}{}", example.result, example.formula, shown, example.unit.empty() ? "" : " ", example.unit));
    if (!values.empty()) lines.back() += fmt::format("  ({})", fmt::join(values, ", "));
  }
  return lines;
}

std::string term_text(const Term& term, const PlacedTerm& placed, const Paint& paint) {
  std::string text = paint.bold(term.name) + paint.dim("  " + term.group) + "\n\n";
  text += paragraph(term.what, "", "", page_columns) + "\n";
  text += entry(paint, "also", fmt::format("{}", fmt::join(term.aliases, ", ")));
  for (std::size_t i = 0; i < term.words.size(); ++i) text += entry(paint, i == 0 ? "said as" : "", term.words[i]);
  text += entry(paint, "loop", term.loop) + entry(paint, "moves", term.moves) + entry(paint, "memory", term.memory);
  text += entry(paint, "trap", with_source(term.trap, term.trap_source)) + entry(paint, "source", term.source);
  text += wrapped_entry(paint, "formula", example_lines(term));
  if (term.program.empty()) return text;
  text += "\n" + lines_entry(paint, "program", term.program);
  text += wrapped_entry(paint, "lies", split_lines(placed.placements));
  if (placed.on_mesh)
    text += lines_entry(paint, "received",
        placed.moves.empty() ? std::vector<std::string>{"nothing: every operand is where it is needed"}
                             : volume_lines(term, placed));
  text += wrapped_entry(paint, "counted", placed.counts) + wrapped_entry(paint, "called", split_lines(placed.names));
  return text;
}

void add_json_volumes(JsonWriter& json, const Term& term, const PlacedTerm& placed) {
  json.list("volume", term.volumes, [&](const TermVolume& volume) {
    json.fields("pass", volume.pass, "collective", volume.collective, "tensor", volume.tensor, "axis", volume.axis,
        "formula", volume.formula, "received_bytes", received_bytes(volume, placed));
  });
  json.list("collectives", placed.moves, [&](const TermMove& move) {
    json.fields("pass", move.pass, "kind", move.collective, "tensor", move.tensor, "axis", move.axis, "received_bytes",
        move.bytes);
  });
}

std::string term_json(const Term& term, const PlacedTerm& placed) {
  JsonWriter json;
  json.open();
  json.fields("id", term.id, "name", term.name, "group", term.group, "aliases", term.aliases, "words", term.words);
  json.fields("what", term.what, "loop", term.loop, "moves", term.moves, "memory", term.memory);
  json.object("trap", "text", term.trap, "source", term.trap_source);
  json.fields("source", term.source, "program", term.program, "placements", split_lines(placed.placements));
  json.fields("names", split_lines(placed.names), "stationary", placed.stationary, "counts", placed.counts);
  add_json_volumes(json, term, placed);
  json.list("examples", term.examples, [&](const TermExample& example) {
    json.fields("result", example.result, "formula", example.formula, "value", example.value, "unit", example.unit);
    json.map("values", example.values);
  });
  json.close();
  return json.text();
}

std::string list_text(const Paint& paint) {
  std::string text, group;
  std::vector<std::string> names;
  const auto flush = [&] {
    if (!names.empty()) text += paint.bold(group) + "\n" + wrapped(names, ", ", "  ", page_columns) + "\n";
    names.clear();
  };
  for (const Term& term : terms()) {
    if (term.group != group) flush();
    group = term.group;
    names.push_back(term.name);
  }
  flush();
  return text + fmt::format("{} terms; other names of the same are found too: stepcast explain DDP\n", terms().size());
}

std::string list_json() {
  JsonWriter json;
  json.open();
  json.list("terms", terms(), [&](const Term& term) {
    json.fields("id", term.id, "name", term.name, "group", term.group, "aliases", term.aliases, "what", term.what);
  });
  json.close();
  return json.text();
}

}  // namespace

Expected<void> explain_term(const Arguments& arguments, Console& console) {
  const bool json = arguments.has("--json");
  const Paint paint(console);
  if (arguments.words.empty()) {
    console.out << (json ? list_json() : list_text(paint));
    return {};
  }
  TRY(auto term, find_term(fmt::format("{}", fmt::join(arguments.words, " "))));
  TRY(auto placed, place_term(*term));
  console.out << (json ? term_json(*term, placed) : term_text(*term, placed, paint));
  return {};
}

}  // namespace stepcast::notation
