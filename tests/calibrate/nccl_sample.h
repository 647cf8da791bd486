// Small outputs in nccl-tests' layouts with round numbers: size / time gives whole bandwidths.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

namespace stepcast::calibrate {

/// One row of a new output: algbw = size / time, busbw = algbw x factor, in place a tenth slower.
inline std::string nccl_row_text(
    double size, double count, double time_us, double factor, const char* words, const char* in_place_wrong = "0") {
  const auto half = [&](double us) {
    const double algbw = size / us / 1e3;
    const int decimals = us < 100 ? 2 : us < 10000 ? 1 : 0;
    return fmt::format("{:8.{}f} {:7.2f} {:7.2f}", us, decimals, algbw, algbw * factor);
  };
  return fmt::format("{:12.0f} {:12.0f}  {} {}      0 {} {:>6}\n", size, count, words, half(time_us),
      half(time_us * 1.1), in_place_wrong);
}

inline const std::string nccl_names =
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

/// 1 MB to 4 GB in steps of 16 over 8 ranks (factor 7/4): 20, 100, 1000, 10000 us.
inline std::string nccl_all_reduce_rows(double factor = 1.75) {
  std::string text;
  for (const auto& [size, us] :
      std::vector<std::pair<double, double>>{{1e6, 20}, {16e6, 100}, {256e6, 1000}, {4096e6, 10000}})
    text += nccl_row_text(size, size / 4, us, factor, "float     sum      -1");
  return text;
}

inline std::string nccl_device_lines(int nodes, int gpus, const char* name = "NVIDIA H100 80GB HBM3") {
  std::string text = "# Using devices\n";
  for (int rank = 0; rank < nodes * gpus; ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on node-{} device {:2} [0000:{:02x}:00] {}\n", rank,
        1000 + rank, rank / gpus, rank % gpus, 16 + rank, name);
  return text;
}

inline std::string nccl_header(int threads, int gpus) {
  return fmt::format(
      "# nThread {} nGpus {} minBytes 1000000 maxBytes 4096000000 step: 16(factor) warmup iters: 5 iters: 20 "
      "agg iters: 1 validation: 1 graph: 0\n#\n",
      threads, gpus);
}

inline std::string replaced_once(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  return at == std::string::npos ? "nothing to replace" : text.replace(at, from.size(), to);
}

}  // namespace stepcast::calibrate
