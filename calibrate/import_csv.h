// Published measurement tables in, measurements out. Each importer states the layout it reads; times that are not
// positive are refused with file and line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/measurement.h"
#include "model/error.h"

namespace stepcast {

/// "m,n,k,<collection>_us,...": one column of microseconds per collection (GPU, library, version). Empty fields are shapes
/// that the collection lacks. `operand_bytes` and `casts_x` describe the kernel that the column timed.
Expected<std::vector<GemmMeasurement>> import_gemm(std::string_view text, const std::string& where,
                                                   const std::string& column, double operand_bytes = 2, bool casts_x = false);

/// "batch_size,isl,step,num_heads,num_key_value_heads,head_dim,time_us,collection": causal prefill. Rows of one collection
/// and head size with step 0.
Expected<std::vector<AttentionMeasurement>> import_attention(std::string_view text, const std::string& where,
                                                             const std::string& collection, int head_dim);

/// "gpu,impl,pass,head_dim,causal,seqlen,tflops,...": published rates, causal FLOPs counted as half. The benchmark behind
/// them holds 16,384 tokens and heads x head size = 2048 (arXiv 2307.08691, section 4.1).
Expected<std::vector<AttentionMeasurement>> import_attention_rates(std::string_view text, const std::string& where,
                                                                   const std::string& gpu, const std::string& implementation,
                                                                   int head_dim);

/// "op,B,...,H,device,...,time_us,...,dtype": fp32 pointwise operators on B x H elements (two operands, or one and a scalar
/// where the name ends in u), layer norm, softmax.
Expected<std::vector<MemoryMeasurement>> import_pointwise(std::string_view text, const std::string& where,
                                                          const std::string& device, const std::vector<std::string>& ops);

/// "system,data_dir,...,op,dtype,num_gpus,elements,bytes,latency_ms": nccl-tests on one node, `bytes` the whole buffer.
Expected<std::vector<CollectiveMeasurement>> import_nccl_table(std::string_view text, const std::string& where,
                                                               const std::string& system, const std::string& dtype);

/// "sku,collective,num_workers,devices_per_node,bytes,median_ms,...": `bytes` the buffer of one rank.
Expected<std::vector<CollectiveMeasurement>> import_network_profile(std::string_view text, const std::string& where,
                                                                    const std::string& sku);

/// The output of nccl-tests (github.com/NVIDIA/nccl-tests) of any version: rows are told by their tokens, other lines are
/// skipped. `kind`, `ranks`, `nodes` are not in old outputs and must be given. Out-of-place times.
Expected<std::vector<CollectiveMeasurement>> import_nccl_tests(std::string_view text, const std::string& where,
                                                               CollectiveKind kind, int ranks, int nodes = 1);

}  // namespace stepcast
