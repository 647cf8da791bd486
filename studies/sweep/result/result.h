// What a sweep found, in the form in which shards are kept, resumed and merged. A result depends on the space and on
// what has been looked at, never on threads, order or time: equal work gives equal bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/error.h"
#include "studies/run/forecast.h"
#include "studies/sweep/space/figures.h"
#include "studies/sweep/result/shard.h"

namespace stepcast::sweep {

/// One configuration that was priced exactly.
struct SweepRow {
  std::uint64_t index = 0;           ///< in the space
  std::vector<std::string> choices;  ///< by SweepQuestion::axes: "8", "1f1b"
  Figures figures{};
};

struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

/// What was asked. Two results belong together when their questions are equal, which the hash says.
struct SweepQuestion {
  std::string network, machine, stack, profile;            ///< names for people
  std::vector<std::pair<std::string, std::string>> fixed;  ///< scenario keys with one value: {"global_batch", "1024"}
  std::vector<SweepAxis> axes;                             ///< outermost first; the index is their mixed-radix number
  std::string objective;                                   ///< name of a figure; row_of() says which end is best
  std::string where;                                       ///< constraint, or ""
  std::vector<std::string> pareto;                         ///< names of figures; empty = no front
  std::uint64_t top = 10;
  bool exhaustive = false;
  double price_per_gpu_hour = 0;  ///< 0 = not said
  std::string nouns_hash;         ///< of network, machine, stack, profile in full, and of the program's version
  [[nodiscard]] std::uint64_t size() const;  ///< product of the axes' lengths, at most 2^63 - 1
  [[nodiscard]] std::string hash() const;    ///< text_hash() of all of the above
};
/// FNV-1a of 64 bits as 16 hexadecimal digits (http://www.isthe.com/chongo/tech/comp/fnv/).
std::string text_hash(std::string_view text);
/// The first part in which two questions differ, for people: "machine: 'dgx-h100' and 'dgx-a100'"; "" when they are
/// equal.
std::string question_difference(const SweepQuestion& a, const SweepQuestion& b);

/// Configurations that were looked at and dismissed without a price, with the nearest miss in memory. Each
/// configuration of SweepResult::done is enumerated once.
struct SweepTally {
  /// excluded: by what the plan and memory say to the constraint
  std::uint64_t enumerated = 0, does_not_fit = 0, excluded = 0;
  std::map<std::string, std::uint64_t> illegal;  ///< by reason
  double smallest_overflow_bytes = 0;            ///< of does_not_fit > 0
  std::uint64_t smallest_overflow_index = 0;
  void add(const SweepTally& other);
  [[nodiscard]] std::uint64_t illegal_sum() const;
  [[nodiscard]] std::uint64_t fitting() const { return enumerated - illegal_sum() - does_not_fit; }
};

struct SweepResult {
  SweepQuestion question;
  Shard shard;
  Ranges done;
  SweepTally tally;
  std::vector<SweepRow> top;            ///< best first; equal ones by index; at most question.top
  std::vector<SweepRow> pareto;         ///< best first by the first of question.pareto, then by index
  [[nodiscard]] bool complete() const;  ///< all of its shard is done
};

/// Better by the objective, ties by the smaller index. A figure that is no number is worse than all others, here and
/// below.
bool better(const SweepRow& a, const SweepRow& b, const SweepQuestion& question);
/// Is `a` at least as good as `b` in each figure of the front and better in one?
bool dominates(const Figures& a, const Figures& b, const std::vector<Figure>& front);
/// Both are bounded by what they keep, hold their order, and take a row that is there already only once.
void keep_top(std::vector<SweepRow>& top, SweepRow row, const SweepQuestion& question);
void keep_front(std::vector<SweepRow>& front, SweepRow row, const std::vector<Figure>& figures);

/// JSON Lines: a header {"stepcast_sweep": 1, "question": {...}, "hash", "shard", "done", "tally", "rows": numbers of
/// them, "check": text_hash() of all that follows and all before}, then one object per row with "list": "top" or
/// "pareto". Numbers are written so that they read back bit by bit; what is no finite number is null.
std::string write_result(const SweepResult& result);
/// `where` names the file. Errors: not a result, cut short, changed since it was written, with the line.
Expected<SweepResult> read_result(const std::string& text, const std::string& where);

/// One result of all, as an unsharded run gives it. Counts of shards may differ as long as together they cover each
/// configuration once. Errors: different questions (what differs), missing shards or parts (which), work done twice
/// (which files).
struct NamedResult {
  std::string name;
  SweepResult result;
};
Expected<SweepResult> merge_results(std::vector<NamedResult> parts);

}  // namespace stepcast::sweep
