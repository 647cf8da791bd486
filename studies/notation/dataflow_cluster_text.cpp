#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/notation/dataflow_chip.h"
#include "studies/notation/dataflow_cluster.h"
#include "studies/print/table.h"

namespace stepcast::notation {
namespace {

std::string moves_text(const ClusterReport& report) {
  Table table({{"pass"}, {"collective"}, {"tensor"}, {"axis"}, {"ranks", Align::right}, {"received/rank", Align::right},
      {"from"}, {"to"}});
  for (const ClusterMove& m : report.moves)
    table.add(
        {m.pass, m.kind, m.tensor, m.axis, std::to_string(m.ranks), fmt::format("{:.0f} B", m.received), m.from, m.to});
  return table.empty() ? "no collective: every operand is where it is needed\n" : table.text("");
}

std::string skew_text(const StageSkew& skew) {
  std::string text = fmt::format("\n{} stages on {} under {}: {} round{} of skew", skew.stages, skew.axis,
      skew.schedule, skew.rounds(), skew.rounds() == 1 ? "" : "s");
  if (skew.chunks > 1) text += fmt::format(" of one of {} chunks", skew.chunks);
  if (skew.micro_batches > 0)
    text +=
        fmt::format(" beside {} of work, {} of all", skew.micro_batches * skew.chunks, format_percent(skew.share()));
  return text + "\n";
}

std::string memory_text(const LifetimeBytes& m) {
  std::string text = "\nMemory per rank by lifetime\n";
  Table table({{""}, {"", Align::right}, {""}});
  const auto row = [&](const char* what, double bytes, const char* until) {
    if (bytes > 0) table.add({what, format_bytes(Bytes(bytes)), until});
  };
  row("weights", m.weights, "always");
  row("gradients", m.gradients, "the step");
  row("optimizer", m.optimizer, "always; 12 bytes per element: fp32 master and two Adam moments");
  row("saved", m.saved, "forward to backward, per micro-batch");
  row("gathered weights", m.gathered_pass, "the pass");
  row("gathered weights", m.gathered_micro_batch, "forward to backward, per micro-batch");
  row("gathered weights", m.gathered_step, "the step");
  row("moved activations", m.moved, "copies that forward collectives make, until read");
  return table.empty() ? "" : text + table.text("  ");
}

}  // namespace

std::string cluster_text(const ClusterReport& report) {
  std::string text = moves_text(report);
  if (!report.stays.empty()) text += "\nWhat stays\n";
  for (const ClusterStay& stay : report.stays) text += paragraph(stay.text, "  ", "    ", 100);
  if (report.skew) text += skew_text(*report.skew);
  return text + memory_text(report.memory);
}

void cluster_collectives_json(JsonWriter& json, const ClusterReport& report) {
  for (const ClusterMove& move : report.moves) {
    json.open();
    json.fields("pass", move.pass, "kind", move.kind, "tensor", move.tensor, "axis", move.axis);
    json.field("group_size", move.ranks);
    count_field(json, "received_bytes", move.received);
    json.fields("from", move.from, "to", move.to);
    json.close();
  }
}

void cluster_placements_json(JsonWriter& json, const ClusterReport& report) {
  for (const ClusterPlacement& placement : report.placements) {
    json.row(
        "tensor", placement.tensor, "copy", placement.copy, "axis", placement.axis, "placement", placement.placement);
  }
}

void cluster_stationary_json(JsonWriter& json, const ClusterReport& report) {
  for (const ClusterStay& stay : report.stays)
    json.row("boundary", "mesh axis " + stay.axis, "at", stay.axis, "tensors", stay.tensors, "text", stay.text);
}

void cluster_fields_json(JsonWriter& json, const ClusterReport& report) {
  json.field("ranks", report.ranks);
  if (report.skew) {
    json.open("skew");
    json.fields("axis", report.skew->axis, "schedule", report.skew->schedule, "stages", report.skew->stages);
    json.fields("chunks", report.skew->chunks, "skew_stages", report.skew->rounds());
    if (report.skew->micro_batches > 0) {
      json.fields("micro_batches", report.skew->micro_batches, "skew_fraction", report.skew->share());
    } else {
      json.null_field("micro_batches");
    }
    json.close();
  }
  json.open("memory");
  count_field(json, "weights_bytes", report.memory.weights);
  count_field(json, "gradients_bytes", report.memory.gradients);
  count_field(json, "optimizer_bytes", report.memory.optimizer);
  json.field("optimizer_basis", "12 bytes per element: fp32 master and two Adam moments");
  count_field(json, "saved_bytes", report.memory.saved);
  count_field(json, "gathered_pass_bytes", report.memory.gathered_pass);
  count_field(json, "gathered_micro_batch_bytes", report.memory.gathered_micro_batch);
  count_field(json, "gathered_step_bytes", report.memory.gathered_step);
  count_field(json, "moved_bytes", report.memory.moved);
  json.close();
}

}  // namespace stepcast::notation
