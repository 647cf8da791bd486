// Candidates of the phases that device memory, the level-2 cache, the host link or the launch bounds.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string_view>

#include "calibrate/measure/plan/phases.h"

namespace stepcast::calibrate {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

MemoryQuery whole_rows(std::string_view op, double rows, double columns, double element_bytes) {
  const MemoryOp* row = find_memory_op(op);
  assert(row != nullptr);
  return {row, std::max(1.0, std::floor(rows)), columns, element_bytes};
}

/// Whole arrays of this size, as rows of 4096.
MemoryQuery array_query(std::string_view op, Bytes array, double element_bytes) {
  constexpr double columns = 4096;
  return whole_rows(op, array.value() / element_bytes / columns, columns, element_bytes);
}

/// Reads of a part of the cache, again and again; and of more than it holds.
void add_cache_reads(Candidates& out, const PhaseContext& context, std::initializer_list<double> shares) {
  for (const double share : shares)
    out.push_back(sampled_work(array_query("read", context.request.gpu.l2 * share, 4), true));
}

void add_streams(Candidates& out, std::initializer_list<double> array_mib) {
  for (const double size : array_mib)
    for (const char* op : {"copy", "read", "write", "triad"})
      out.push_back(sampled_work(array_query(op, Bytes(size * mebibyte), 4)));
}

void add_host_copies(Candidates& out, std::initializer_list<double> mib) {
  for (const double size : mib)
    for (const TransferKind kind : {TransferKind::host_to_device, TransferKind::device_to_host})
      out.push_back(sampled_work(TransferQuery{kind, Bytes(size * mebibyte)}));
}

/// Row lengths and element size that an operator is run at: short, usual, long.
struct OpShapes {
  std::string_view op;
  std::array<double, 3> columns;
  double element_bytes = 2;
};
// By share of a step's time. Norms and what is like them: hidden sizes; activations: MLP widths; rope: all heads of a
// position; loss: vocabularies (Llama 2, GPT-2 padded, Qwen2); softmax: positions.
constexpr std::array op_shapes{OpShapes{"norm", {1024, 4096, 16384}}, OpShapes{"norm-backward", {1024, 4096, 16384}},
    OpShapes{"swiglu", {2048, 8192, 28672}}, OpShapes{"swiglu-backward", {2048, 8192, 28672}},
    OpShapes{"add", {1024, 4096, 16384}}, OpShapes{"rope", {1024, 4096, 8192}},
    OpShapes{"adam", {1024, 4096, 16384}, 4}, OpShapes{"cross-entropy", {32000, 50304, 151936}},
    OpShapes{"softmax", {1024, 4096, 16384}}, OpShapes{"gelu", {4096, 16384, 49152}},
    OpShapes{"embedding", {1024, 4096, 16384}}, OpShapes{"quantize", {1024, 4096, 16384}},
    OpShapes{"softmax-backward", {1024, 4096, 16384}}, OpShapes{"gelu-backward", {4096, 16384, 49152}},
    OpShapes{"embedding-backward", {1024, 4096, 16384}}, OpShapes{"add-scalar", {1024, 4096, 16384}}};

/// Bytes that an operator moves, small (its start weighs as much) to large, and which of its three row lengths.
struct OpPoint {
  double mib;
  std::size_t columns;
};
constexpr std::array first_points{OpPoint{64, 1}, OpPoint{512, 1}, OpPoint{8, 1}, OpPoint{64, 2}};
constexpr std::array other_points{OpPoint{64, 0}, OpPoint{512, 2}, OpPoint{8, 0}, OpPoint{512, 0}, OpPoint{8, 2}};
constexpr std::array more_points{OpPoint{24, 1}, OpPoint{192, 1}, OpPoint{24, 2}, OpPoint{192, 0}};

MemoryQuery op_query(const OpShapes& shapes, const OpPoint& point, const Gpu& gpu) {
  const MemoryOp* op = find_memory_op(shapes.op);
  assert(op != nullptr);
  const double columns = shapes.columns[point.columns];
  const double per_row = columns * shapes.element_bytes * (op->reads + op->writes);
  // With fewer rows than multiprocessors the time would be that of one of them.
  const double rows = std::max<double>(point.mib * mebibyte / per_row, gpu.multiprocessors);
  return whole_rows(shapes.op, rows, columns, shapes.element_bytes);
}

}  // namespace

Candidates launch_candidates(const PhaseContext&) {
  Candidates out;
  for (const LaunchKind kind :
      {LaunchKind::stream_kernel, LaunchKind::graph_kernel, LaunchKind::graph, LaunchKind::event})
    out.push_back(sampled_work(LaunchQuery{kind}));
  return out;
}

Candidates bandwidth_candidates(const PhaseContext& context) {
  Candidates out;
  add_streams(out, {1024});
  add_host_copies(out, {256});
  add_cache_reads(out, context, {0.4, 0.1, 0.8});
  add_streams(out, {256});
  add_host_copies(out, {16, 1});
  add_cache_reads(out, context, {0.2, 0.6, 1, 1.5, 2, 4});
  for (const double size : {1024, 256}) out.push_back(sampled_work(array_query("copy", Bytes(size * mebibyte), 2)));
  add_streams(out, {2048, 32, 4, 512});
  add_host_copies(out, {64, 0.0625});
  add_cache_reads(out, context, {0.9, 1.1, 1.25, 3});
  return out;
}

/// All operators at four points before any of them at more: a law needs four samples (fit_profile).
Candidates membound_candidates(const PhaseContext& context) {
  Candidates out;
  const auto add = [&](const auto& points) {
    for (const OpShapes& shapes : op_shapes)
      for (const OpPoint& point : points) out.push_back(sampled_work(op_query(shapes, point, context.request.gpu)));
  };
  add(first_points);
  add(other_points);
  add(more_points);
  return out;
}

}  // namespace stepcast::calibrate
