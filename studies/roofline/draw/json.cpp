// The document of a roofline report. The page's script and its test read it, so what is drawn is what stands here.
#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/version.h"
#include "studies/roofline/report.h"

namespace stepcast {
namespace {

const char* roof_pass_name(Pass pass) {
  constexpr const char* names[] = {"forward", "recompute", "input_grad", "weight_grad", "step"};
  return names[static_cast<int>(pass)];
}

void write_frame(JsonWriter& json, const Frame& frame) {
  json.open("frame");
  json.field("x_low", frame.x_low);
  json.field("x_high", frame.x_high);
  json.field("y_low", frame.y_low);
  json.field("y_high", frame.y_high);
  json.close();
}

void write_compute_roofs(JsonWriter& json, const Roofs& roofs) {
  json.open_list("compute_roofs");
  for (const ComputeRoof& roof : roofs.compute) {
    json.open();
    json.field("precision", to_text(roof.precision));
    json.field("basis", to_text(roof.basis));
    json.base_field("rate_flops_per_s", roof.rate);
    json.field("from", roof.from);
    json.close();
  }
  json.close();
}

void write_memory_roofs(JsonWriter& json, const Roofs& roofs) {
  json.open_list("memory_roofs");
  for (const MemoryRoof& roof : roofs.memory) {
    json.open();
    json.field("level", to_text(roof.level));
    json.field("basis", to_text(roof.basis));
    json.base_field("rate_bytes_per_s", roof.rate);
    json.field("from", roof.from);
    json.close();
  }
  json.close();
}

void write_ridges(JsonWriter& json, const Roofs& roofs) {
  json.open_list("ridges");
  for (const Ridge& ridge : roofs.ridges) {
    json.open();
    json.field("precision", to_text(ridge.precision));
    json.field("level", to_text(ridge.level));
    json.field("basis", to_text(ridge.basis));
    json.field("flops_per_byte", ridge.flops_per_byte);
    json.base_field("rate_flops_per_s", ridge.rate);
    json.close();
  }
  json.close();
}

void write_measured(JsonWriter& json, const MeasuredPoint& measured) {
  json.open("measured");
  json.base_field("time_s", measured.time);
  json.field("rows", measured.rows);
  json.base_field("rate_flops_per_s", measured.rate);
  json.field("share_of_roof", measured.share_of_roof);
  json.field("source", measured.source);
  json.close();
}

void write_point_work(JsonWriter& json, const OperatorPoint& point) {
  json.base_field("flops", point.flops);
  json.base_field("hbm_bytes", point.hbm);
  json.base_field("l2_bytes", point.l2);
  json.field("l2_from", point.l2_from);
  json.field("hbm_flops_per_byte", point.intensity(MemoryLevel::hbm));
  json.field("l2_flops_per_byte", point.intensity(MemoryLevel::l2));
}

void write_point_time(JsonWriter& json, const OperatorPoint& point) {
  json.field("calls", point.calls);
  json.base_field("time_s", point.time);
  json.base_field("total_s", point.total());
  json.field("share", point.share);
  json.base_field("rate_flops_per_s", point.rate);
  json.base_field("bandwidth_bytes_per_s", point.bandwidth);
  json.field("share_of_roof", point.share_of_roof);
  json.field("bound", point.bound);
  json.field("source", to_text(point.source));
  json.field("interval", std::vector<double>{point.spread.p10, point.spread.p90});
  json.field("law", point.law);
  json.field("extrapolated", point.extrapolated);
}

void write_point(JsonWriter& json, const OperatorPoint& point) {
  json.open();
  json.field("block", point.block);
  json.field("name", point.name);
  json.field("kind", to_text(point.kind));
  json.field("pass", roof_pass_name(point.pass));
  json.field("shape", point.shape);
  json.field("precision", to_text(point.precision));
  json.field("stage", point.stage);
  write_point_work(json, point);
  write_point_time(json, point);
  json.field("outside", point.outside);
  json.field("warning", point.warning);
  if (point.measured) write_measured(json, *point.measured);
  json.close();
}

void write_loose(JsonWriter& json, const std::vector<LoosePoint>& points) {
  json.open_list("other_measurements");
  for (const LoosePoint& point : points) {
    json.open();
    json.field("kind", point.kind);
    json.field("shape", point.shape);
    json.field("precision", to_text(point.precision));
    json.base_field("flops", point.flops);
    json.base_field("hbm_bytes", point.hbm);
    json.base_field("time_s", point.time);
    json.base_field("rate_flops_per_s", point.rate);
    json.field("hbm_flops_per_byte", point.flops_per_byte);
    json.field("share_of_roof", point.share_of_roof);
    json.field("source", point.source);
    json.field("outside", point.outside);
    json.field("warning", point.warning);
    json.close();
  }
  json.close();
}

void write_link_roofs(JsonWriter& json, const NetworkRoofline& network) {
  json.open_list("link_roofs");
  for (const LinkRoof& roof : network.roofs) {
    json.open();
    json.field("link", roof.link);
    json.field("name", roof.name);
    json.field("basis", to_text(roof.basis));
    json.base_field("rate_bytes_per_s", roof.rate);
    json.field("from", roof.from);
    json.close();
  }
  json.close();
}

void write_link_point(JsonWriter& json, const LinkPoint& point) {
  json.open();
  json.field("name", point.name);
  json.field("kind", point.kind);
  json.field("axis", point.axis);
  json.field("link", point.link);
  json.field("pass", roof_pass_name(point.pass));
  json.field("group_size", point.group_size);
  json.field("stage", point.stage);
  json.field("calls", point.calls);
  json.base_field("received_bytes", point.bytes);
  json.base_field("over_link_bytes", point.over_link);
  json.base_field("total_s", point.time);
  json.base_field("exposed_s", point.exposed);
  json.field("exposed_share", point.exposed_share());
  json.base_field("latency_s", point.latency);
  json.field("flops_per_byte", point.flops_per_byte);
  json.base_field("rate_flops_per_s", point.rate);
  json.base_field("bus_bytes_per_s", point.bus);
  json.field("share_of_roof", point.share_of_roof);
  json.field("limits", point.limits);
  json.field("bound", point.bound);
  json.field("source", to_text(point.source));
  json.field("law", point.law);
  json.field("because", point.because);
  json.field("outside", point.outside);
  json.field("warning", point.warning);
  json.close();
}

void write_network_roofline(JsonWriter& json, const NetworkRoofline& network) {
  json.open("network_roofline");
  write_frame(json, network.frame);
  json.base_field("peak_flops_per_s", network.peak);
  write_link_roofs(json, network);
  json.open_list("points");
  for (const LinkPoint& point : network.points) write_link_point(json, point);
  json.close();
  json.field("notes", network.notes);
  json.close();
}

void write_boundary(JsonWriter& json, const BoundaryRow& row) {
  json.open();
  json.field("outer", row.outer);
  json.field("inner", row.inner);
  json.base_field("crossing_bytes", row.bytes);
  json.field("flops_per_byte", row.flops_per_byte);
  json.base_field("rate_bytes_per_s", row.rate);
  json.field("basis", to_text(row.basis));
  json.base_field("time_s", row.time);
  json.field("ridge_flops_per_byte", row.ridge);
  json.field("stationary", row.stationary);
  json.field("text", row.text);
  json.field("limits", row.limits);
  json.close();
}

void write_boundaries(JsonWriter& json, const std::vector<OperatorBoundaries>& operators) {
  json.open_list("dataflow");
  for (const OperatorBoundaries& one : operators) {
    json.open();
    json.field("block", one.block);
    json.field("name", one.name);
    json.field("pass", roof_pass_name(one.pass));
    json.field("kind", to_text(one.kind));
    json.field("shape", one.shape);
    json.field("share", one.share);
    json.base_field("flops", one.flops);
    json.base_field("time_s", one.time);
    json.base_field("compute_s", one.compute);
    json.field("nest", one.nest);
    json.field("limit", one.limit);
    json.open_list("boundaries");
    for (const BoundaryRow& row : one.rows) write_boundary(json, row);
    json.close();
    json.close();
  }
  json.close();
}

void write_lever(JsonWriter& json, const Lever& lever) {
  json.open();
  json.field("id", lever.id);
  json.field("name", lever.name);
  json.field("from", lever.from);
  json.field("to", lever.to);
  json.field("of", lever.of_machine ? "machine" : "plan");
  json.base_field("before_s", lever.before);
  json.base_field("after_s", lever.after);
  json.field("gain", lever.gain);
  json.field("phase", lever.phase);
  json.field("fits", lever.fits);
  json.close();
}

void write_waterfall(JsonWriter& json, const Waterfall& fall) {
  json.open("waterfall");
  json.open_list("bars");
  for (const WaterfallBar& bar : fall.bars) {
    json.open();
    json.field("key", bar.key);
    json.field("name", bar.name);
    json.field("group", bar.group);
    json.field("about", bar.about);
    json.base_field("time_s", bar.time);
    json.close();
  }
  json.close();
  json.base_field("step_time_s", fall.step_time);
  json.field("mfu", fall.mfu);
  json.field("hfu", fall.hfu);
  json.field("attention_flops", fall.causal_attention ? "causal" : "full");
  json.open_list("levers");
  for (const Lever& lever : fall.levers) write_lever(json, lever);
  json.close();
  json.field("levers_missing", fall.levers_missing);
  json.close();
}

void write_provenance(JsonWriter& json, const Provenance& provenance) {
  json.open("provenance");
  json.open_list("facts");
  for (const Provenance::Fact& fact : provenance.facts) {
    json.open();
    json.field("name", fact.name);
    json.field("value", fact.value);
    json.close();
  }
  json.close();
  json.field("assumptions", provenance.assumptions);
  json.close();
}

void write_run(JsonWriter& json, const RooflineReport& report) {
  json.field("network", report.network);
  json.field("machine", report.machine);
  json.field("gpu", report.gpu);
  json.field("gpus", report.gpus);
  json.field("split", report.split);
  json.field("precision", to_text(report.precision));
  json.base_field("step_time_s", report.step_time);
  json.field("step_time_interval_s", std::vector<double>{report.p10.value(), report.p90.value()});
}

}  // namespace

std::string roofline_json(const RooflineReport& report) {
  JsonWriter json;
  json.open();
  json.field("stepcast_roofline", 1);
  json.field("version", fmt::format("{}", version()));
  write_run(json, report);
  json.open("kernel_roofline");
  write_frame(json, report.roofs.frame);
  write_compute_roofs(json, report.roofs);
  write_memory_roofs(json, report.roofs);
  write_ridges(json, report.roofs);
  json.open_list("points");
  for (const OperatorPoint& point : report.points) write_point(json, point);
  json.close();
  write_loose(json, report.loose);
  json.field("notes", report.roofs.notes);
  json.close();
  write_network_roofline(json, report.links);
  write_boundaries(json, report.boundaries);
  write_waterfall(json, report.fall);
  write_provenance(json, report.provenance);
  json.field("warnings", report.warnings);
  json.close();
  return json.text();
}

}  // namespace stepcast
