#include "studies/notation/mapping_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "studies/print/table.h"

namespace stepcast::notation {

std::string explained_heading(const print::Paint& paint, const char* title, const char* beside) {
  return fmt::format("\n{}  {}\n", paint.bold(title), paint.dim(beside));
}

std::string mapping_text(const dataflow::Explanation& mapping, const print::Paint& paint) {
  std::string text = explained_heading(paint, "Mapping", "every alias written out");
  std::size_t begin = 0;
  while (begin < mapping.expanded.size()) {
    const std::size_t end = std::min(mapping.expanded.find('\n', begin), mapping.expanded.size());
    text += "  " + mapping.expanded.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  if (mapping.choices.empty()) return text + explained_heading(paint, "Who splits what", "one GPU has all of it");
  print::Table table({{"block"}, {"operator"}, {"axis"}, {"splits"}, {"by the line"}});
  for (const dataflow::Explanation::Choice& choice : mapping.choices)
    table.add({choice.block, choice.op, choice.axis, choice.loop.empty() ? "-" : choice.loop,
        choice.statement.empty() ? "no line: repeated" : choice.statement});
  return text + explained_heading(paint, "Who splits what", "the first line whose loop the operator has wins") +
         table.text("  ");
}

void write_mapping(JsonWriter& json, const dataflow::Explanation& mapping) {
  json.field("mapping", mapping.expanded);
  json.open_list("choices");
  for (const dataflow::Explanation::Choice& choice : mapping.choices) {
    json.row("block", choice.block, "operator", choice.op, "axis", choice.axis, "splits", choice.loop, "statement",
        choice.statement);
  }
  json.close();
}

}  // namespace stepcast::notation
