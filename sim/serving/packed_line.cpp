#include "sim/serving/packed_line.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast::sim {

using dataflow::KernelClass;

Affine affine_through(const AffineSamples& samples, const Rows& rows) {
  Affine out;
  const double n = rows.sequences, positions = n * rows.positions, cached = n * rows.cached;
  out.per_key = (samples.further - samples.one) / cached;
  const double one = samples.one - out.per_key * (cached + positions),
               twice_as_many = samples.twice_as_many - out.per_key * 2 * (cached + positions),
               twice_as_long = samples.twice_as_long - out.per_key * (cached + 2 * positions);
  out.per_position = (twice_as_long - one) / positions;
  out.per_sequence = (twice_as_many - twice_as_long) / n;
  out.fixed = one - out.per_position * positions - out.per_sequence * n;
  return out;
}

bool PackedLine::runs_for(const PackedRows& rows) const {
  if (!rows.picks && picking() && work->dense > 0) return false;
  for (std::size_t kind = 0; kind < row_kinds; ++kind)
    if (shares[kind] && rows.sequences[kind] > 0) return true;
  return false;
}

Seconds PackedLine::tuned(const LinePrice& price, const Engine::Tuning& tuning) const {
  if (!work) return price.time;
  Seconds time = price.time * (1 + tuning.keys_read_again * price.rereads);
  if (of_experts()) time = by_factor(time, price.roof, tuning.experts) + tuning.expert_start;
  return time * tuning.kernels;
}

/// What is fixed counts once, however many kinds of rows there are.
double PackedLine::sum(const PackedRows& rows, Affine Shares::*what) const {
  double total = 0, fixed = 0;
  for (std::size_t kind = 0; kind < row_kinds; ++kind) {
    if (!shares[kind] || rows.sequences[kind] == 0) continue;
    const Affine& share = *shares[kind].*what;
    fixed = share.fixed;
    total += share.per_position * rows.positions[kind] + share.per_sequence * rows.sequences[kind] +
             share.per_key * rows.keys[kind];
  }
  return fixed + total;
}

/// As rows of the first kind that it runs for: what goes row by row has a line for each kind.
PackedRows PackedLine::packed(const Rows& rows) const {
  const std::size_t kind = shares.front() ? 0 : 1;
  PackedRows packed;
  packed.positions[kind] = rows.sequences * rows.positions;
  packed.sequences[kind] = rows.sequences;
  packed.keys[kind] = rows.sequences * (rows.cached + rows.positions);
  return packed;
}

LinePrice PackedLine::price(const PackedRows& rows, const Routing& routing, const EngineCost& cost, bool graph) const {
  LinePrice out;
  out.flops = out.useful = Flops(sum(rows, &Shares::flops));
  if (!work) {
    dataflow::Move moved = move;
    moved.received = Bytes(sum(rows, &Shares::bytes));
    moved.local_before = Bytes(sum(rows, &Shares::rows));
    if (moved.received.value() < 0.5) return out;  // what these rows need is there
    static_cast<EnginePrice&>(out) =
        rank_distance != 0 ? cost.send(moved.received, rank_distance) : cost.move(moved, group, routing, graph);
    out.bytes = moved.received;
  } else if (work->kernel == KernelClass::gemm) {
    static_cast<EnginePrice&>(out) = cost.product(*work, sum(rows, &Shares::rows), routing);
  } else if (work->streams > 0) {
    static_cast<EnginePrice&>(out) = cost.mixing(*work, sum(rows, &Shares::rows));
  } else {
    static_cast<EnginePrice&>(out) = cost.streamed(Bytes(sum(rows, &Shares::bytes)), work->launches);
  }
  return out;
}

LinePrice PackedLine::price(const Rows& rows, const EngineCost& cost, std::optional<Seconds> start) const {
  if (scans()) {
    LinePrice out;
    const double points = work->scan.sequences * work->scan.positions;
    out.flops = out.useful = work->flops * (rows.sequences * rows.positions / points);
    static_cast<EnginePrice&>(out) = cost.scan(*work, rows.sequences, rows.positions);
    return out;
  }
  if (convolves(*work)) {  // words and pieces of prompts have kernels of their own
    const PackedRows own = packed(rows);
    LinePrice out;
    out.flops = out.useful = Flops(sum(own, &Shares::flops));
    static_cast<EnginePrice&>(out) =
        cost.convolution(*work, rows.sequences, sum(own, &Shares::rows), Bytes(sum(own, &Shares::bytes)));
    return out;
  }
  const double queries = rows.positions * queries_share, all = (rows.cached + rows.positions) * keys_share;
  const dataflow::KeyReach reach = is_dense(rows) ? dataflow::KeyReach{Domain::causal, 0, {}} : work->key_reach;
  const auto keys = dataflow::attended_keys(reach, all, rows.positions * keys_share);
  LinePrice out;
  if (idles_for(rows)) return out;
  out.flops = Flops(flops_per_pair * rows.sequences * queries * keys.walked);
  out.useful = Flops(flops_per_pair * rows.sequences * queries * keys.seen);
  if (picking()) {
    static_cast<EnginePrice&>(out) = cost.picking(*work, rows.sequences, queries, keys.seen, all);
    return out;
  }
  if (reach.domain == Domain::chosen || reach.beside.ratio > 0) {
    static_cast<EnginePrice&>(out) = cost.picked_attention(*work, rows.sequences, queries, keys.seen, all);
    return out;
  }
  const bool whole = reach.domain == Domain::all || reach.domain == Domain::causal;
  if (queries_share < 1) {  // of queries in turn from all of the sequence: each rank has its share of the whole
    const double met = whole ? all : std::max(rows.positions, std::min(all, keys.walked));
    static_cast<EnginePrice&>(out) = cost.attention(*work, rows.sequences, rows.positions, met, start);
    out.time = out.time * queries_share, out.bytes = out.bytes * queries_share;
    return out;
  }
  const double met = whole ? all : std::max(queries, std::min(all, keys.walked));
  static_cast<EnginePrice&>(out) = cost.attention(*work, rows.sequences, queries, met, start);
  return out;
}

std::string PackedLine::shape(const PackedRows& rows) const {
  if (!work) return "";
  if (work->streams > 0) return dataflow::streams_text(*work, sum(rows, &Shares::rows));
  if (work->kernel != KernelClass::gemm) return "pointwise";
  const double all = sum(rows, &Shares::rows);  // of an expert a mean, which may be below one
  return fmt::format(
      "{} x {:.0f} x {:.0f}", all < 10 ? fmt::format("{:.2g}", all) : fmt::format("{:.0f}", all), work->n, work->k);
}

std::string PackedLine::shape(const Rows& rows) const {
  if (scans()) {
    ScanShape shape = work->scan;
    shape.sequences = rows.sequences, shape.positions = rows.positions;
    return dataflow::shape_text(shape);
  }
  if (convolves(*work))
    return fmt::format("{:.0f} positions, {:.0f} channels", sum(packed(rows), &Shares::rows), work->n);
  return fmt::format("{:.0f} x {:.0f} queries, {:.0f} keys", rows.sequences, rows.positions * queries_share,
      (rows.cached + rows.positions) * keys_share);
}

}  // namespace stepcast::sim
