#include "studies/infer/iteration_explained.h"

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/notation/mapping_text.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

/// Of rows of prompts, or of words.
Expected<ExplainedIteration> explain_rows(const Serving& serving, bool prompts) {
  const Plan plan = iteration_plan(serving, prompts);
  const Stack stack = lowered_for(serving.engine);
  ExplainedIteration out;
  TRY(out.mapping, dataflow::explain(serving.network(), plan, stack));
  TRY(const auto program, dataflow::lower(serving.network(), plan, stack, true));
  for (const dataflow::ProgramBlock& block : program.blocks)
    for (const dataflow::Item& item : block.forward) {
      if (!item.is_move) continue;
      const dataflow::Move& move = block.moves[item.index];
      if (move.group < 0) continue;
      const dataflow::Group& group = program.groups[move.group];
      out.moves.push_back({block.name, move.label, group.label, move.because, group.size});
    }
  if (!program.edges.empty())
    out.moves.push_back({"stages", "boundary send_recv", "stage", "home on another stage", 2});
  return out;
}

void write_iteration(JsonWriter& json, const ExplainedIteration& explained) {
  notation::write_mapping(json, explained.mapping);
  json.open_list("moves");
  for (const ExplainedIteration::Move& move : explained.moves) {
    json.row("block", move.block, "label", move.label, "axis", move.axis, "ranks", move.ranks, "because", move.because);
  }
  json.close();
}

std::string iteration_text(const ExplainedIteration& explained, const print::Paint& paint) {
  const std::string text = notation::mapping_text(explained.mapping, paint);
  if (explained.moves.empty()) return text;
  print::Table table({{"block"}, {"move"}, {"axis"}, {"ranks", print::Align::right}, {"because"}});
  for (const ExplainedIteration::Move& move : explained.moves)
    table.add({move.block, move.label, move.axis, fmt::format("{}", move.ranks), move.because});
  return text + notation::explained_heading(paint, "Moves", "of one layer of each kind, and of what is around them") +
         table.text("  ");
}

}  // namespace

Expected<ExplainedIteration> explain_iteration(const Serving& serving, const std::string& phase) {
  TRY(auto out, explain_rows(serving, phase == "prefill"));
  const bool both = phase == "mixed" || phase == "batch";
  if (both && !serving.prompts_mapping.empty()) {
    TRY(auto prompts, explain_rows(serving, true));
    out.prompts.push_back(std::move(prompts));
  }
  return out;
}

std::string explained_text(const ExplainedIteration& explained, const Console& console) {
  const print::Paint paint(console);
  std::string text = iteration_text(explained, paint);
  for (const ExplainedIteration& prompts : explained.prompts)
    text += notation::explained_heading(paint, "Prompts", "have a mapping of their own (--prompts-mapping)") +
            iteration_text(prompts, paint);
  return text;
}

std::string explained_json(const ExplainedIteration& explained) {
  JsonWriter json;
  json.open();
  write_iteration(json, explained);
  for (const ExplainedIteration& prompts : explained.prompts) {
    json.open("prompts");
    write_iteration(json, prompts);
    json.close();
  }
  json.close();
  return json.text() + "\n";
}

}  // namespace stepcast::infer
