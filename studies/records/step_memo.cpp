#include "studies/records/step_memo.h"

namespace stepcast::records {
namespace {

std::vector<double> memo_key(std::span<const StepValue> values) {
  std::vector<double> key;
  key.reserve(2 * values.size());
  for (const StepValue& value : values) key.insert(key.end(), {static_cast<double>(value.parameter), value.value});
  return key;
}

}  // namespace

std::optional<double> StepMemo::seconds(std::span<const StepValue> values) const {
  const auto key = memo_key(values);
  const std::lock_guard lock(guard_);
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void StepMemo::keep(std::span<const StepValue> values, double seconds) {
  auto key = memo_key(values);
  const std::lock_guard lock(guard_);
  known_.emplace(std::move(key), seconds);
}

}  // namespace stepcast::records
