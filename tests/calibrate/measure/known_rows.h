// Rows of a campaign on a card whose laws are known: bf16 products by a roofline of 800 TFLOP/s, 3.0 TB/s and 3 us,
// operators at 2.7 TB/s and 4 us, a level-2 cache of 5.5 TB/s; sustained products 15 % slower, products beside a copy
// 19 % slower, copies beside a product 8 %.
#pragma once

#include <string>

#include "calibrate/fit/fit_profile.h"
#include "calibrate/rows/measurement.h"
#include "model/catalog.h"
#include "model/profile/kernel_law.h"

namespace stepcast::calibrate {

inline const Gpu& known_gpu() {
  static const Gpu gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");  // 989 TFLOP/s, 3.35 TB/s, 50 MB of cache
  return gpu;
}

inline RooflineLaw known_products() {
  RooflineLaw law;
  law.t0 = Seconds(3e-6);
  law.compute = FlopsPerSecond(800e12);
  law.memory = BytesPerSecond(3.0e12);
  law.softness = 2;
  return law;
}

class KnownRows {
 public:
  KnownRows() {
    context.gpu = known_gpu().id;
    context.device = "NVIDIA H100 80GB HBM3";
    context.launch_mode = "graph";
  }
  MeasurementContext context;  ///< of the rows that are added next
  Measurements rows;

  Measurement& add(const Query& what, Seconds time, const std::string& software = "cublas 13.0.2") {
    context.software = software;
    Measurement row;
    row.what = what;
    row.time = time;
    row.context = context_index(rows, context);
    row.repeats = 20;
    rows.rows.push_back(row);
    return rows.rows.back();
  }
  Measurement& add_product(const GemmQuery& query, double factor = 1) {
    return add(query, base_time(known_products(), query) * factor);
  }
  Measurement& add_operator(const char* op, double mib, BytesPerSecond rate, Seconds t0) {
    const MemoryQuery query{find_memory_op(op), mib * 256, 4096 / 2, 2};  // MiB of elements of two bytes
    return add(query, t0 + bytes_of(query) / rate, "stepcast");
  }

  /// What a campaign of three minutes has, but for attention.
  void add_campaign() {
    for (double m = 512; m <= 8192; m *= 2)
      for (double n = 1024; n <= 8192; n *= 2)
        for (double k = 1024; k <= 8192; k *= 4) add_product({.m = m, .n = n, .k = k});
    for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::nt})
      for (double m = 1024; m <= 8192; m *= 2)
        for (double n = 2048; n <= 8192; n *= 4) add_product({.m = m, .n = n, .k = 4096, .layout = layout});
    add_product({.m = 8192, .n = 8192, .k = 8192});
    for (const char* op : {"norm", "softmax", "add", "swiglu", "adam"})
      for (double mib = 32; mib <= 512; mib *= 2) add_operator(op, mib, BytesPerSecond(2.7e12), Seconds(4e-6));
    for (const char* op : {"read", "write", "copy", "triad"})
      for (double mib = 256; mib <= 2048; mib *= 2) add_operator(op, mib, BytesPerSecond(3.0e12), Seconds(3e-6));
    add_warm_reads();
    add_transfers_and_launches();
    add_sustained(1.15);
    add_beside();
  }
  void add_warm_reads() {
    context.cache = "warm";
    for (const double mib : {5.0, 10.0, 20.0, 38.0}) add_operator("read", mib, BytesPerSecond(5.5e12), Seconds(0));
    context.cache = "";
  }
  void add_transfers_and_launches() {
    for (const double bytes : {1e6, 64e6, 256e6}) {
      add(TransferQuery{TransferKind::host_to_device, Bytes(bytes)},
          Seconds(1e-5) + Bytes(bytes) / BytesPerSecond(55e9), "cuda 13.0");
      add(TransferQuery{TransferKind::device_to_host, Bytes(bytes)},
          Seconds(1e-5) + Bytes(bytes) / BytesPerSecond(52e9), "cuda 13.0");
    }
    for (const auto& [kind, us] : {std::pair{LaunchKind::stream_kernel, 2.2}, {LaunchKind::graph_kernel, 1.1},
             {LaunchKind::graph, 6.0}, {LaunchKind::event, 0.7}})
      add(LaunchQuery{kind}, Seconds(us * 1e-6), "cuda 13.0");
  }
  void add_sustained(double factor) {
    context.regime = "sustained";
    for (const double size : {2048.0, 8192.0})
      add_product({.m = 8192, .n = size, .k = 4096, .layout = GemmLayout::nn}, factor);
    add_product({.m = 8192, .n = 8192, .k = 8192}, factor);
    context.regime = "burst";
  }
  void add_beside() {
    context.beside = "copy 131072x2048 of 2 B";
    add_product({.m = 8192, .n = 8192, .k = 8192}, 1.19);
    context.beside = "gemm bf16 tn 8192x8192x8192";
    const Measurement& copy = add_operator("copy", 512, BytesPerSecond(3.0e12), Seconds(3e-6));
    rows.rows.back().time = copy.time * 1.08;
    context.beside = "";
  }

  [[nodiscard]] FitRequest request() const {
    return {"h100-here", "H100, measured", known_gpu(), default_profile(known_gpu(), built_in().profiles), {}, false};
  }
  /// Throws where nothing can be fitted, which ends the test that asked.
  [[nodiscard]] FittedProfile fitted() const { return fit_profile(rows, request()).value(); }
};

}  // namespace stepcast::calibrate
