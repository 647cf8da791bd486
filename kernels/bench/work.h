// What can be timed on a GPU: a question of model/profile/query.h, and the way it is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/profile/query.h"

namespace stepcast::kernels {

/// Whose kernel answers.
enum class KernelSource : std::uint8_t { cublas, cudnn, stepcast, cuda, nccl };
const char* to_text(KernelSource source);

struct Work {
  Query what;
  KernelSource source = KernelSource::stepcast;
  bool warm = false;            ///< one set of buffers again and again, so that the level-2 cache holds what it can
  std::optional<Query> beside;  ///< runs all the time on another stream of the same GPU, and is not timed itself
};

/// Works one after the other, as a layer of a network runs them: with buffers of their own each, so that none finds the
/// result of the one before in the cache.
struct Sequence {
  std::string name;
  std::vector<Work> calls;
  bool in_graph = true;  ///< nodes of one graph; else the host launches each
};

/// Who answers a question when nobody says: products cuBLASLt, attention and memory-bound operators our own kernels,
/// collectives NCCL, copies and launches the CUDA runtime.
KernelSource usual_source(const Query& query);

/// "gemm bf16 tn 8192x4096x4096", "attention backward bf16 2x2048x32x128 causal", "softmax 4096x8192", "host_to_device
/// 256 MiB", with " by cudnn", " warm" and " beside copy 4096x65536" where that is so. One name for one thing to time.
std::string to_text(const Work& work);
std::string work_name(const Query& query);

}  // namespace stepcast::kernels
