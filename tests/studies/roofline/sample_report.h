// A roofline report made by hand, on a GPU of round figures: 1000 TFLOP/s in bf16, 4 TB/s of device memory, ridge at
// 250 FLOP/B.
#pragma once

#include <string>

#include "studies/roofline/report.h"

namespace stepcast::roofline::testing_pictures {

inline constexpr double peak = 1e15, hbm_rate = 4e12, l2_rate = 8e12, ridge = peak / hbm_rate;

inline Roofs sample_roofs() {
  const auto flops = [](double rate) { return FlopsPerSecond(rate); };
  const auto bytes = [](double rate) { return BytesPerSecond(rate); };
  Roofs roofs;
  roofs.compute = {{Precision::fp32, RoofBasis::datasheet, flops(60e12), "datasheet"},
      {Precision::tf32, RoofBasis::datasheet, flops(500e12), "datasheet, dense"},
      {Precision::fp16, RoofBasis::datasheet, flops(peak), "datasheet, dense"},
      {Precision::bf16, RoofBasis::datasheet, flops(peak), "datasheet, dense"},
      {Precision::bf16, RoofBasis::burst, flops(800e12), "8192 x 8192 x 8192"},
      {Precision::bf16, RoofBasis::sustained, flops(650e12), "8192 x 8192 x 8192, after 10 s"},
      {Precision::fp8, RoofBasis::datasheet, flops(2 * peak), "datasheet, dense"}};
  roofs.memory = {{MemoryLevel::hbm, RoofBasis::datasheet, bytes(hbm_rate), "datasheet"},
      {MemoryLevel::hbm, RoofBasis::burst, bytes(3.6e12), "copy of 4 GiB"},
      {MemoryLevel::l2, RoofBasis::burst, bytes(l2_rate), "copy within 16 MiB"}};
  roofs.ridges = {{Precision::bf16, MemoryLevel::hbm, RoofBasis::datasheet, ridge, flops(peak)},
      {Precision::bf16, MemoryLevel::hbm, RoofBasis::burst, 800 / 3.6, flops(800e12)},
      {Precision::bf16, MemoryLevel::l2, RoofBasis::burst, 100, flops(800e12)},
      {Precision::fp8, MemoryLevel::hbm, RoofBasis::datasheet, 2 * ridge, flops(2 * peak)}};
  roofs.frame = {0, 4, 12, 16};
  return roofs;
}

/// One call of `flops` and `hbm` bytes at `rate`, `share` of a step of 10 s.
inline OperatorPoint sample_point(
    const std::string& name, PointKind kind, Pass pass, double flops, double hbm, double rate, double share) {
  OperatorPoint point;
  point.block = "layer", point.name = name, point.kind = kind, point.pass = pass, point.shape = "8192 x 7168 x 8192";
  point.kernel = flops > 0 ? KernelClass::gemm : KernelClass::pointwise;
  point.flops = Flops(flops), point.hbm = Bytes(hbm), point.l2 = Bytes(3 * hbm);
  point.rate = FlopsPerSecond(rate), point.time = rate > 0 ? Flops(flops) / point.rate : Seconds(hbm / 3e12);
  point.bandwidth = point.hbm / point.time;
  point.share = share, point.calls = 10 * share / point.time.value();
  point.share_of_roof = 0.7, point.bound = flops > 0 ? "compute" : "HBM", point.law = "law of matrix products",
  point.source = Source::fitted;
  return point;
}

inline std::vector<OperatorPoint> sample_points() {
  std::vector<OperatorPoint> points = {
      sample_point("mlp.up dX", PointKind::mlp, Pass::input_grad, 3.8e12, 1.1e9, 640e12, 0.17),
      sample_point("mlp.down dW", PointKind::mlp, Pass::weight_grad, 3.8e12, 1.4e9, 610e12, 0.14),
      sample_point("mlp.up", PointKind::mlp, Pass::forward, 3.8e12, 1.3e9, 690e12, 0.12),
      sample_point("mlp.up", PointKind::mlp, Pass::recompute, 3.8e12, 1.3e9, 690e12, 0.06),
      sample_point("attention core", PointKind::attention, Pass::input_grad, 1.1e12, 0.3e9, 420e12, 0.08),
      sample_point("attention core", PointKind::attention, Pass::forward, 4.4e11, 0.2e9, 560e12, 0.035),
      sample_point("qkv", PointKind::projection, Pass::forward, 6e11, 0.5e9, 600e12, 0.03),
      sample_point("attention.out", PointKind::projection, Pass::forward, 4.8e11, 0.4e9, 590e12, 0.025),
      sample_point("head", PointKind::loss, Pass::forward, 3e12, 3e9, 560e12, 0.01),
      sample_point("experts.up", PointKind::experts, Pass::forward, 2e11, 1.4e9, 380e12, 0.02),
      sample_point("norm1", PointKind::norm, Pass::forward, 5e8, 2.7e8, 5e12, 0.012),
      sample_point("embedding", PointKind::embedding, Pass::forward, 0, 2.7e8, 0, 0.002),
      sample_point("optimizer", PointKind::optimizer, Pass::step, 2e9, 2.6e10, 0.3e12, 0.013)};
  points[2].measured = MeasuredPoint{points[2].time * 0.92, 3, "PyTorch 2.8, h100.csv", points[2].rate / 0.92, 0.75};
  points[11].outside = "no FLOPs counted";
  points[12].outside = "0.077 FLOP/B lies left of the frame";
  points[12].block = "step";
  return points;
}

inline LinkPoint sample_collective(const std::string& name, const std::string& axis, const std::string& link,
    double calls, double bytes, double seconds, double exposed, double flops_of_step = 4e15) {
  LinkPoint point;
  point.name = name, point.kind = "all_gather", point.axis = axis, point.link = link, point.group_size = 8;
  point.calls = calls, point.bytes = Bytes(bytes), point.time = Seconds(seconds), point.exposed = Seconds(exposed),
  point.latency = Seconds(20e-6);
  point.flops_per_byte = flops_of_step / (calls * bytes), point.rate = FlopsPerSecond(flops_of_step / seconds);
  point.bus = Bytes(calls * bytes) / point.time;
  point.limits = point.rate.value() < peak, point.bound = "bandwidth", point.source = Source::fitted,
  point.share_of_roof = 0.8;
  return point;
}

inline NetworkRoofline sample_links() {
  NetworkRoofline links;
  links.roofs = {
      {"node", "node: nvswitch", RoofBasis::datasheet, BytesPerSecond(450e9), "450 GB/s per GPU and direction"},
      {"node", "node: nvswitch", RoofBasis::burst, BytesPerSecond(380e9), "all_gather, 8 GPUs, NCCL 2.27.3"},
      {"cluster", "cluster: infiniband", RoofBasis::datasheet, BytesPerSecond(50e9), "one NIC"},
      {"host", "host: PCIe", RoofBasis::datasheet, BytesPerSecond(64e9), "x16"}};
  links.points = {sample_collective("norm1.y all_gather", "tp", "node", 5000, 1e8, 1.6, 0.9),
      sample_collective("norm2.y all_gather", "tp", "node", 5000, 1e8, 1.6, 0.9),
      sample_collective("gradients reduce_scatter", "dp", "cluster", 4, 5e9, 0.5, 0.1),
      sample_collective("weights all_gather", "dp", "cluster", 40, 8e9, 7, 2),
      sample_collective("activations to the next stage", "stage", "cluster", 100, 2e7, 0.06, 0.01),
      sample_collective("loss all_reduce", "tp", "node", 400, 8e3, 0.01, 0.01)};
  links.points.back().outside = "1.25e+09 FLOP/B lies right of the frame";
  links.frame = {2, 8, 13, 18};
  links.peak = FlopsPerSecond(peak);
  return links;
}

inline std::vector<OperatorBoundaries> sample_boundaries() {
  std::vector<OperatorBoundaries> operators;
  for (const char* name : {"mlp.up dX", "mlp.down dW", "attention core"}) {
    OperatorBoundaries one;
    one.block = "layer", one.name = name, one.shape = "8192 x 7168 x 8192", one.kind = PointKind::mlp, one.share = 0.15;
    one.flops = Flops(3.8e12), one.time = Seconds(5.9e-3), one.compute = Seconds(3.8e-3),
    one.nest = "hbm m:64 n:56 - l2 m:12 - sm k:128";
    const auto row = [](const char* outer, const char* inner, double bytes, double rate, double time,
                         const char* stays) {
      BoundaryRow one_row;
      one_row.outer = outer, one_row.inner = inner, one_row.bytes = Bytes(bytes),
      one_row.flops_per_byte = 3.8e12 / bytes;
      one_row.rate = BytesPerSecond(rate), one_row.time = Seconds(time), one_row.ridge = rate > 0 ? peak / rate : 0,
      one_row.stationary = stays;
      one_row.text = "weight-stationary at sm";
      return one_row;
    };
    if (std::string(name) != "attention core") {
      one.rows.push_back(row("shared memory", "registers", 9e10, 0, 0, "O"));
      one.rows.push_back(row("L2", "shared memory", 3e10, l2_rate, 3.75e-3, "none"));
    }
    one.rows.push_back(row("HBM", "L2", 1.1e9, hbm_rate, 2.75e-4, "W"));
    one.rows.push_back(row("node", "GPU", 1e9, 450e9, 4.6e-3, "W"));
    one.rows.back().limits = true, one.limit = "node";
    operators.push_back(one);
  }
  operators[0].rows.back().limits = false, operators[0].limit = "compute",
  operators[0].rows.back().time = Seconds(2e-3);
  return operators;
}

inline Waterfall sample_fall() {
  Waterfall fall;
  const auto bar = [&](const char* key, const char* name, const char* group, double time) {
    fall.bars.push_back({key, name, "What this is.", group, Seconds(time)});
  };
  bar("useful_compute", "model FLOPs at peak", "compute", 4.2);
  bar("repeated_compute", "recompute and padding", "compute", 0.6);
  bar("hbm", "device memory beyond FLOPs", "memory", 0.4);
  bar("l2", "L2 beyond these", "memory", 0);
  bar("kernels", "kernels below their roofs", "compute", 2.1);
  bar("beside", "slowed by moves beside", "compute", 0.2);
  bar("exposed_node", "exposed: node", "network", 1.1);
  bar("exposed_cluster", "exposed: cluster", "network", 0.12);
  bar("bubble", "pipeline bubble", "pipeline", 0.8);
  bar("gradient_sync", "gradient sync", "tail", 0.3);
  bar("optimizer", "optimizer", "tail", 0.13);
  bar("host", "host", "host", 0.05);
  fall.step_time = Seconds(10), fall.mfu = 0.42, fall.hfu = 0.48;
  fall.levers = {
      {"tp", "tensor parallelism", "8", "4", false, Seconds(10), Seconds(9.1), 0.09, "exposed communication", true},
      {"nic", "NIC: into the cluster, infiniband", "50.0 GB/s", "100 GB/s", true, Seconds(10), Seconds(9.7), 0.03,
          "gradient sync", true}};
  return fall;
}

inline RooflineReport sample_report() {
  RooflineReport report;
  report.network = "llama3-70b", report.machine = "64 x H100 SXM", report.gpu = "H100 SXM",
  report.split = "tp 8, pp 4, dp 2", report.gpus = 64;
  report.step_time = Seconds(10), report.p10 = Seconds(9.6), report.p90 = Seconds(10.5);
  report.roofs = sample_roofs(), report.points = sample_points(), report.links = sample_links();
  LoosePoint loose;
  loose.kind = "matrix product", loose.shape = "4096 x 4096 x 4096", loose.source = "cuBLAS, h100.csv",
  loose.flops = Flops(1.4e11), loose.hbm = Bytes(1e8);
  loose.time = Seconds(2.2e-4), loose.rate = loose.flops / loose.time, loose.flops_per_byte = 1400,
  loose.share_of_roof = 0.64;
  report.loose = {loose};
  report.boundaries = sample_boundaries(), report.fall = sample_fall();
  report.provenance = {{{"profile", "h100-sxm"}, {"clocks", "not recorded"}}, {"micro-batch 1: the default"}};
  report.warnings = {"a point lies above its roof"};
  return report;
}

}  // namespace stepcast::roofline::testing_pictures
