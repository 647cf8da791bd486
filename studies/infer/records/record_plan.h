// How a measured record was served: the names, types, splits and notes that it has, as a run of an engine.
#pragma once

#include <memory>
#include <string>

#include "studies/infer/records/record.h"
#include "studies/infer/served_load.h"

namespace stepcast::infer {

/// What forecasts of records take that the records do not say.
struct RecordWishes {
  const Engine* engine = nullptr;    ///< in place of the row that a record's name and version ask for
  const Profile* profile = nullptr;  ///< with laws of single kernels; nullptr: the default one of each record's GPU
  bool iterations = true;            ///< of loads: fits need them, in the phase
};

/// As one of its pools is split.
InferenceRecord split_as(InferenceRecord record, const RecordPool& pool);
/// The same for records that are served alike.
std::string plan_of(const InferenceRecord& record);

/// The last plan that was asked for: records of one behind each other share its form and its table of iterations.
class LastPlan {
 public:
  /// Errors: models, engines, GPUs and number types that nobody describes; engines on several nodes.
  Expected<ServedTimes*> of(const InferenceRecord& record, const RecordWishes& wishes);

 private:
  std::string plan_;
  std::unique_ptr<Serving> serving_;
  std::unique_ptr<ServedTimes> times_;
};

/// Of one pool, or of both.
struct LastPlans {
  LastPlan words, prompts;
};

}  // namespace stepcast::infer
