// Arguments of a launch that belong together, rule by rule: what has no effect beside another, what a framework
// refuses, what is likely a mistake. Each rule is a row; the rows of a subject share a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/read/answers.h"
#include "studies/launch/rules/explain.h"

namespace stepcast::launch {

/// Frameworks that a rule is about; several or'ed.
enum FrameworkBits : unsigned {
  megatron_lm = 1,
  megatron_core = 2,  ///< Megatron-LM and what is built on its core: NeMo, Megatron-Bridge
  megatron_deepspeed = 4,
  deepspeed = 8,  ///< DeepSpeed's engine, also under Megatron-DeepSpeed
  torchtitan = 16,
  any_framework = 32,
};

/// A launch as its rules see it. Sizes are those of its arguments, and of the forecast where there is one; 0 = not
/// known.
struct LaunchView {
  explicit LaunchView(const ExplainedLaunch& of);

  const ExplainedLaunch& explained;
  const Launch& launch;
  LaunchAnswers ask;
  const Scenario* scenario;
  const Prediction* prediction;
  unsigned framework_bits;

  std::int64_t tp = 1, pp = 1, cp = 1, ep = 1, etp = 1, dp = 0, gpus = 0, gpus_per_node = 0;
  std::int64_t chunks = 1;  ///< virtual stages of a rank
  std::int64_t layers = 0, heads = 0, experts = 0, sequence = 0;
  std::int64_t micro_batch = 0, global_batch = 0, micro_batches = 0;  // 0: not told
  bool sp = false;

  /// The last of that name that is not "none"; null where it is not given.
  [[nodiscard]] const GivenArgument* given(std::string_view name) const;
  /// Given, and not "false".
  [[nodiscard]] bool has(std::string_view name) const;
  /// The name as it stands in the launch, else as the framework writes it.
  [[nodiscard]] std::string called(Asked asked) const;
  [[nodiscard]] std::string called(std::string_view name) const;
  /// Ranks that share optimizer states: Megatron's distributed optimizer shards over dp x cp.
  [[nodiscard]] std::int64_t shards() const { return dp * cp; }
  [[nodiscard]] bool asks(Asked asked) { return ask.flag(asked, false); }
  [[nodiscard]] bool recomputes_all();
};

/// A rule over one launch.
struct InteractionRule {
  std::string_view id;
  unsigned frameworks;
  bool wrong;
  std::string_view about;  ///< questions and names of arguments, with blanks between
  std::string text;        ///< "" where it does not hold
};

std::vector<InteractionRule> split_rules_of_launches(LaunchView& run);
std::vector<InteractionRule> pipeline_rules_of_launches(LaunchView& run);
std::vector<InteractionRule> memory_rules_of_launches(LaunchView& run);
std::vector<InteractionRule> network_rules_of_launches(LaunchView& run);

}  // namespace stepcast::launch
