// The document of a roofline report. The page's script and its test read it, so what is drawn is what stands here.
#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/version.h"
#include "studies/print/json_fields.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {
namespace {

const char* roof_pass_name(Pass pass) {
  constexpr const char* names[] = {"forward", "recompute", "input_grad", "weight_grad", "step"};
  return names[static_cast<int>(pass)];
}

void write_frame(JsonWriter& json, const Frame& frame) {
  json_object(
      json, "frame", "x_low", frame.x_low, "x_high", frame.x_high, "y_low", frame.y_low, "y_high", frame.y_high);
}

void write_roofs(JsonWriter& json, const Roofs& roofs) {
  json_list(json, "compute_roofs", roofs.compute, [](JsonWriter& to, const ComputeRoof& roof) {
    json_item(to, "precision", to_text(roof.precision), "basis", to_text(roof.basis), "rate_flops_per_s", roof.rate,
        "from", roof.from);
  });
  json_list(json, "memory_roofs", roofs.memory, [](JsonWriter& to, const MemoryRoof& roof) {
    json_item(to, "level", to_text(roof.level), "basis", to_text(roof.basis), "rate_bytes_per_s", roof.rate, "from",
        roof.from);
  });
  json_list(json, "ridges", roofs.ridges, [](JsonWriter& to, const Ridge& ridge) {
    json_item(to, "precision", to_text(ridge.precision), "level", to_text(ridge.level), "basis", to_text(ridge.basis),
        "flops_per_byte", ridge.flops_per_byte, "rate_flops_per_s", ridge.rate);
  });
}

void write_measured(JsonWriter& json, const MeasuredPoint& measured) {
  json_object(json, "measured", "time_s", measured.time, "rows", measured.rows, "rate_flops_per_s", measured.rate,
      "share_of_roof", measured.share_of_roof, "source", measured.source);
}

void write_point(JsonWriter& json, const OperatorPoint& point) {
  json.open();
  json_fields(json, "block", point.block, "name", point.name, "kind", to_text(point.kind), "pass",
      roof_pass_name(point.pass), "shape", point.shape, "precision", to_text(point.precision), "stage", point.stage);
  json_fields(json, "flops", point.flops, "hbm_bytes", point.hbm, "l2_bytes", point.l2, "l2_from", point.l2_from,
      "hbm_flops_per_byte", point.intensity(MemoryLevel::hbm), "l2_flops_per_byte", point.intensity(MemoryLevel::l2));
  json_fields(json, "calls", point.calls, "time_s", point.time, "total_s", point.total(), "share", point.share,
      "rate_flops_per_s", point.rate, "bandwidth_bytes_per_s", point.bandwidth, "share_of_roof", point.share_of_roof,
      "bound", point.bound, "source", to_text(point.source), "interval",
      std::vector<double>{point.spread.p10, point.spread.p90}, "law", point.law, "extrapolated", point.extrapolated,
      "outside", point.outside, "warning", point.warning);
  if (point.measured) write_measured(json, *point.measured);
  json.close();
}

void write_loose(JsonWriter& json, const LoosePoint& point) {
  json_item(json, "kind", point.kind, "shape", point.shape, "precision", to_text(point.precision), "flops", point.flops,
      "hbm_bytes", point.hbm, "time_s", point.time, "rate_flops_per_s", point.rate, "hbm_flops_per_byte",
      point.flops_per_byte, "share_of_roof", point.share_of_roof, "source", point.source, "outside", point.outside,
      "warning", point.warning);
}

void write_link_point(JsonWriter& json, const LinkPoint& point) {
  json_item(json, "name", point.name, "kind", point.kind, "axis", point.axis, "link", point.link, "pass",
      roof_pass_name(point.pass), "group_size", point.group_size, "stage", point.stage, "calls", point.calls,
      "received_bytes", point.bytes, "over_link_bytes", point.over_link, "total_s", point.time, "exposed_s",
      point.exposed, "exposed_share", point.exposed_share(), "latency_s", point.latency, "flops_per_byte",
      point.flops_per_byte, "rate_flops_per_s", point.rate, "bus_bytes_per_s", point.bus, "share_of_roof",
      point.share_of_roof, "limits", point.limits, "bound", point.bound, "source", to_text(point.source), "law",
      point.law, "because", point.because, "outside", point.outside, "warning", point.warning);
}

void write_network_roofline(JsonWriter& json, const NetworkRoofline& network) {
  json.open("network_roofline");
  write_frame(json, network.frame);
  json.base_field("peak_flops_per_s", network.peak);
  json_list(json, "link_roofs", network.roofs, [](JsonWriter& to, const LinkRoof& roof) {
    json_item(to, "link", roof.link, "name", roof.name, "basis", to_text(roof.basis), "rate_bytes_per_s", roof.rate,
        "from", roof.from);
  });
  json_list(json, "points", network.points, write_link_point);
  json.field("notes", network.notes);
  json.close();
}

void write_boundary(JsonWriter& json, const BoundaryRow& row) {
  json_item(json, "outer", row.outer, "inner", row.inner, "crossing_bytes", row.bytes, "flops_per_byte",
      row.flops_per_byte, "rate_bytes_per_s", row.rate, "basis", to_text(row.basis), "time_s", row.time,
      "ridge_flops_per_byte", row.ridge, "stationary", row.stationary, "text", row.text, "limits", row.limits);
}

void write_boundaries(JsonWriter& json, const OperatorBoundaries& one) {
  json.open();
  json_fields(json, "block", one.block, "name", one.name, "pass", roof_pass_name(one.pass), "kind", to_text(one.kind),
      "shape", one.shape, "share", one.share, "flops", one.flops, "time_s", one.time, "compute_s", one.compute, "nest",
      one.nest, "limit", one.limit);
  json_list(json, "boundaries", one.rows, write_boundary);
  json.close();
}

void write_lever(JsonWriter& json, const Lever& lever) {
  json_item(json, "id", lever.id, "name", lever.name, "from", lever.from, "to", lever.to, "of",
      lever.of_machine ? "machine" : "plan", "before_s", lever.before, "after_s", lever.after, "gain", lever.gain,
      "phase", lever.phase, "fits", lever.fits);
}

void write_waterfall(JsonWriter& json, const Waterfall& fall) {
  json.open("waterfall");
  json_list(json, "bars", fall.bars, [](JsonWriter& to, const WaterfallBar& bar) {
    json_item(to, "key", bar.key, "name", bar.name, "group", bar.group, "about", bar.about, "time_s", bar.time);
  });
  json_fields(json, "step_time_s", fall.step_time, "mfu", fall.mfu, "hfu", fall.hfu, "attention_flops",
      fall.causal_attention ? "causal" : "full");
  json_list(json, "levers", fall.levers, write_lever);
  json.field("levers_missing", fall.levers_missing);
  json.close();
}

void write_provenance(JsonWriter& json, const Provenance& provenance) {
  json.open("provenance");
  json_list(json, "facts", provenance.facts,
      [](JsonWriter& to, const Provenance::Fact& fact) { json_item(to, "name", fact.name, "value", fact.value); });
  json.field("assumptions", provenance.assumptions);
  json.close();
}

void write_run(JsonWriter& json, const RooflineReport& report) {
  json_fields(json, "network", report.network, "machine", report.machine, "gpu", report.gpu, "gpus", report.gpus,
      "split", report.split, "precision", to_text(report.precision), "step_time_s", report.step_time,
      "step_time_interval_s", std::vector<double>{report.p10.value(), report.p90.value()});
}

}  // namespace

std::string roofline_json(const RooflineReport& report) {
  JsonWriter json;
  json.open();
  json.fields("stepcast_roofline", 1, "version", fmt::format("{}", version()));
  write_run(json, report);
  json.open("kernel_roofline");
  write_frame(json, report.roofs.frame);
  write_roofs(json, report.roofs);
  json_list(json, "points", report.points, write_point);
  json_list(json, "other_measurements", report.loose, write_loose);
  json.field("notes", report.roofs.notes);
  json.close();
  write_network_roofline(json, report.links);
  json_list(json, "dataflow", report.boundaries, write_boundaries);
  write_waterfall(json, report.fall);
  write_provenance(json, report.provenance);
  json.field("warnings", report.warnings);
  json.close();
  return json.text();
}

}  // namespace stepcast::roofline
