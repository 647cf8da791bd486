// Answers single questions: the time of one kernel or collective, with what bounds it, where the figure comes from and
// how sure it is. There is one answer per question, in the order asked.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"
#include "studies/ask/query_kinds.h"

namespace stepcast::ask {

/// Whose rates: a catalogue machine or GPU, or a file, and the profile that goes with it.
struct RateSource {
  Machine machine;
  bool gpu_only = false;  ///< --machine named a GPU; `machine` is the first of the catalogue that has it
  Profile profile;
  std::vector<std::string> notes;
};
/// `kernels`: with the laws and corrections of single kernels.
Expected<RateSource> rate_source(const Arguments& arguments, bool kernels);

struct RateAnswer {
  Seconds time;
  Spread spread;
  std::string bound;  ///< "compute", "memory", "launch", "latency", "bandwidth"
  Source source = Source::assumed;
  std::string law;  ///< "gemm bf16, trtllm 1.3.0rc20"
  bool extrapolated = false;
  LawError error;          ///< of the law as it was used; samples 0 = nothing was held out
  std::string correction;  ///< whose prices take the correction that is in it: "kernels only"; "" = none is
  LawError alone;          ///< of the law without it
  std::vector<std::pair<std::string, double>> figures;  ///< further ones by JSON key: "flops", "bytes_per_s"
};

struct RateQuestion {
  std::string kind;  ///< as asked: "gemm", "all_reduce"
  Asked query;
  FieldValues said;  ///< echoed in the report, in the order of the kind's fields
  std::string row;   ///< of a table, "rates.csv:3"; "" where flags ask
};

/// The question that the flags ask, or those of --csv FILE.
Expected<std::vector<RateQuestion>> rate_questions(
    const QueryKind& kind, const std::string& id, const Arguments& arguments);

/// Flags that both commands share, and one per field of every kind in `kinds`.
std::vector<Flag> rate_flags(std::span<const QueryKind* const> kinds);

Expected<void> kernel_command(const Arguments& arguments, Console& console);
Expected<void> collective_command(const Arguments& arguments, Console& console);

/// Flags of `stepcast kernel`: those of gemm, attention, moe and memory-bound operators.
std::span<const Flag> kernel_flags();
/// Flags of `stepcast collective`.
std::span<const Flag> collective_flags();

}  // namespace stepcast::ask
