// Records that are no witnesses: what they say contradicts other records, or leaves open what the time depends on.
// Rules of studies/records/doubts/*.json tell which, and why. Such runs are forecast and shown, but fit nothing and
// are no part of held-out figures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/records/run_record.h"

namespace stepcast::records {

/// All conditions hold of the records it speaks of. A record that lacks a field fits no condition on it.
struct DoubtRule {
  struct Range {
    std::int64_t least = 0, most = 0;
  };
  std::vector<std::string> ids;              ///< patterns (name_pattern.h), any of them
  std::map<std::string, std::string> texts;  ///< field -> pattern
  std::map<std::string, Range> counts;       ///< field -> both ends included
  std::string reason;                        ///< what contradicts what
};

/// Strict: unknown keys, rules without id or reason, ranges that run backwards.
Expected<std::vector<DoubtRule>> read_doubts(const std::string& text, const std::string& where);

/// The rules that the program carries; a wrong one is a broken build.
const std::vector<DoubtRule>& doubt_rules();
bool fits_rule(const Run& run, const DoubtRule& rule);

/// Why the record is no witness: the reason of the first rule that it fits; "" = nothing speaks against it.
std::string doubt_about(const Run& run);

}  // namespace stepcast::records
