// Lists the laws of a profile as rows, whatever their kind: name, parameters, errors and source. `calibrate fit`,
// `show` and `compare` print them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/json_writer.h"
#include "model/profile/profile.h"

namespace stepcast::calibration {

struct LawRow {
  std::string law, software;  ///< named as LawFit names them: "gemm bf16", "trtllm 1.3.0rc20"
  Source source = Source::assumed;
  Spread spread;
  HeldOut held_out;
  bool corrected = false;                                  ///< carries tables learned from measurements
  CorrectionUse use = CorrectionUse::none;                 ///< of a kernel's law: whose prices take its correction
  LawError alone;                                          ///< without the correction; samples 0: not kept
  std::vector<std::pair<std::string, double>> parameters;  ///< by JSON key, which ends in the unit: "t0_s"
};

/// Kernels, collectives and scale-out, in the order of the profile.
std::vector<LawRow> law_rows(const Profile& profile);

/// "rate_flops_per_s" as "rate".
std::string parameter_name(std::string_view key);
/// "612 TFLOP/s", "3.1 us": by the unit that the key ends in.
std::string parameter_text(std::string_view key, double value);
/// "rate 612 TFLOP/s, memory 2.8 TB/s, t0 3.1 us".
std::string parameters_text(const LawRow& row);

/// MAPE, median, p95 and coverage; "-" where they are not known.
std::vector<std::string> held_out_cells(const HeldOut& held_out);

/// What the profile was measured with, by name; "" where it is not known.
std::vector<std::pair<std::string, std::string>> condition_rows(const Profile& profile);

void write_held_out(JsonWriter& json, std::string_view key, const HeldOut& held_out);
void write_law(JsonWriter& json, const LawRow& row);

}  // namespace stepcast::calibration
