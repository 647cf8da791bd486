// The words by which people and programs name element types, collectives, passes and times in tables and traces.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/profile/query.h"

namespace stepcast::calibrate {

/// fp8-block: a scale per block of 128, as DeepGEMM's kernels.
struct ElementType {
  Precision precision = Precision::bf16;
  bool block_scaled = false;
};
/// "bf16", "bfloat16", "c10::BFloat16", "half", "float", "e4m3", "fp8_block", "nvfp4", ...
std::optional<ElementType> element_type_of(std::string_view name);
/// Finds the type in a word of the file's name between _, - and dots: "gemm_fp8block_multi_gpu.csv".
std::optional<ElementType> element_type_of_file(std::string_view path);
/// Bytes of any element, integers too ("int8", "Long"); 0 where the name is unknown.
double element_bytes_of(std::string_view name);

/// "all_reduce", "AllReduce", "alltoall", "_allgather_base", ...
std::optional<CollectiveKind> collective_kind_of(std::string_view name);

/// "fwd", "backward", "fwd+bwd", "decode", ...
std::optional<AttentionPass> attention_pass_of(std::string_view name);

/// Seconds per unit of a column that holds times by its name: "time_us", "latency_ms", "runtime (us)"; nothing for a
/// name without unit or of something else.
std::optional<double> time_unit_of(std::string_view column);
/// A name of time that lacks the unit: "latency", "duration".
bool names_time_without_unit(std::string_view column);

/// Where the value of "-N4" begins; 0 where the word is no option of one letter with a number behind it.
std::size_t glued_value(std::string_view word);

/// The part of a path after the last slash.
std::string_view last_of_path(std::string_view path);

}  // namespace stepcast::calibrate
