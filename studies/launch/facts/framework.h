// Training frameworks as rows: a row says how the framework is told what to do, and what it does where it is told
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "studies/launch/facts/argument_facts.h"

namespace stepcast::launch {

struct Framework {
  std::string_view id = {};        ///< "megatron-lm"; that of its argument table, and TrainingLog::framework
  std::string_view name = {};      ///< "Megatron-LM"
  std::string_view software = {};  ///< as the stack rules know it (records/stack_rule.h)
  std::string_view stack = {};     ///< id of the stack that stands for today's release
  // what it does unless told otherwise
  std::string_view precision = "fp32";
  std::int64_t micro_batch = 0;      ///< 0: it must be told
  std::int64_t usual_sequences = 0;  ///< of a step, where neither batch nor accumulation is told
  std::int64_t top_k = 1;
  int zero = -1;     ///< -1: asked of the arguments
  bool tied = true;  ///< embeddings and LM head
  std::string_view recompute = "none";
  bool expert_tp = false;  ///< experts are split like the rest over tp, unless told otherwise
  /// what is not asked for does not overlap (Megatron's flags); else the stack's habit
  bool quiet_overlap = false;
  bool sequence_parallel = false;  ///< beside tp without a word
  /// a micro-batch that is not told is what global batch, ranks and accumulation leave (DeepSpeed)
  bool micro_follows = false;
  bool micro_at_most_local = false;  ///< a micro-batch larger than a rank's batch is all of it (Composer)
  /// with stages a rank's batch is told, and cut into pieces of one sequence unless told (torch)
  bool stages_cut_batch = false;
  /// embedding and head stand for numbers of layers where layers are laid on stages (torchtitan)
  bool ends_are_layers = false;
  /// its bf16 optimizer keeps its states in shards at ZeRO stage 0 too (DeepSpeed's BF16_Optimizer)
  bool bf16_shards = false;
  /// its bf16 is the type of weights, gradients and states alike (torchtune/training/precision.py)
  bool all_in_16_bits = false;
  bool compiles = false;        ///< one that is told not to compile runs operator by operator
  bool refuses_copies = false;  ///< copies alone do not go beside tensor parallelism or stages
  bool trainer = false;         ///< runs Hugging Face's Trainer, on DeepSpeed, FSDP or copies, as its arguments say
  /// layers that predict further tokens are trained only where it is told how many: its networks leave them out
  bool leaves_out_predictors = false;
  bool own_sequence = false;  ///< sequences are as long as it says, whatever the network is made for
  bool stands_in = false;     ///< no stack is measured for it: its row names the one that it is priced as
  bool hydra = false;         ///< --config-path and --config-name name its configuration
  bool free_sections =
      false;                 ///< sections of many names stand in front of the table's: nearly a known one is a mistake
  bool whole_names = false;  ///< nothing stands in front of a section: "x.training.seq_len" is no "training.seq_len"

  [[nodiscard]] const ArgumentTable& table() const { return argument_table(id); }
};
std::span<const Framework> frameworks();
const Framework* find_framework(std::string_view id);

/// A flag of the command line that hands a launch in: "--megatron".
struct LaunchFlag {
  std::string_view flag, value, doc;
  std::string_view usual;  ///< framework of a launch that has no mark of another in it; "": it must have one
};
std::span<const LaunchFlag> launch_flags();
const LaunchFlag* find_launch_flag(std::string_view flag);

}  // namespace stepcast::launch
