// What a checkpoint weighs by the mapping, and how long it takes to write, to copy and to read.
#pragma once

#include <cstdint>
#include <string>

#include "model/base/namespaces.h"
#include "model/base/units.h"
#include "studies/run/forecast.h"

namespace stepcast::job {

/// Every parameter once, with what the optimizer keeps of it: formats for resuming leave out copies on other ranks
/// (Megatron-LM core/dist_checkpointing, replica_id; PyTorch distributed.checkpoint, dedup_replicated_tensors). In
/// bytes per parameter, for mixed precision in bf16 with Adam:
///   2 + 4 + 4 + 4 = 14  weights, fp32 master copy and both moments: Megatron-LM's distributed optimizer, DeepSpeed's
///                       ZeRO (model_states and optim_states)
///   4 + 4 + 4 = 12      the sharded fp32 weights are the master copy: FSDP, MaxText
/// BLOOM's model card has 2.3 TB "with optimizer states" for 176.2 B x 14 = 2.47e12 bytes = 2.24 TiB.
/// Of parts that are not trained the weights alone are written; beside adapters they are not (huggingface/peft
/// get_peft_model_state_dict, NVIDIA-NeMo/Megatron-Bridge peft/base.py: what has a gradient is saved).
struct CheckpointSize {
  Bytes all;                         ///< in storage
  Bytes fullest_gpu;                 ///< that the ranks of the fullest stage write each, all of them taking part
  double weight = 0, optimizer = 0;  ///< bytes per parameter
  double written = 0, trained = 0;   ///< parameters whose weights are written, and those that an optimizer has
  bool adapters = false;             ///< of adapters alone
  bool asked = false;                ///< the user said `all`
};
CheckpointSize checkpoint_size(const Scenario& scenario, const Program& program);

/// NVIDIA DGX SuperPOD H100, reference architecture RA-11333-001 V11, table 6: from "good" to "best" 7, 20 and 62
/// GB/s written and 15, 40 and 125 GB/s read by a unit of 32 nodes; a single node writes 2, 4 and 20 and reads 4, 8 and
/// 40. The middle is the default, and assumed: what its nodes can, at most what its units have.
struct StorageRates {
  BytesPerSecond write, read;  ///< of the whole job
  bool assumed = true;
};
StorageRates default_storage(std::int64_t gpus);

struct CheckpointTimes {
  Seconds write, read;  ///< to and from storage
  Seconds copy;         ///< of the fullest GPU's part to its host, by its link
};
CheckpointTimes checkpoint_times(const CheckpointSize& size, const StorageRates& rates, BytesPerSecond host_link);

}  // namespace stepcast::job
