// Measured inference: records of a phase, of a static batch or of a served load, each held against its forecast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/infer/phases.h"
#include "studies/infer/records/ranking.h"
#include "studies/infer/records/record_plan.h"

namespace stepcast::infer {

struct InferenceCase {
  std::string id, judged_as, metric;
  double measured = 0, predicted = 0, low = 0, high = 0;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
  // what classes are told apart by
  std::string engine, gpu, model, weights, architecture, products_in;
  double measured_seconds = 0;  ///< what `phase.time` forecasts
  // of loads: the mean time to first words, where it was measured, and what splits of one job are ranked by
  std::string version, job;
  std::optional<double> first_measured_ms, first_predicted_ms;
  std::optional<RankedSplit> split;
  double output = 0;                   ///< words of a request
  std::string setting;                 ///< all but how requests come
  std::optional<double> rate, served;  ///< requests per second as sent, and as measured
  std::optional<double> load;          ///< `rate` over what the same setting serves where all requests come at once
  bool held_out = false;               ///< the forecast is by a fit without the record's network
  Phase phase;
};
/// The forecast of a record. Errors: other phases, and models, engines and GPUs that nobody describes; a profile of
/// another GPU; a time in which the memory cannot be read.
Expected<InferenceCase> forecast(const InferenceRecord& record, const RecordWishes& wishes = {});

/// Another forecast of its metric; the interval and what the split is ranked by follow.
void forecast_anew(InferenceCase& made, double predicted);

struct InferenceSkip {
  std::string id, why;
};
struct InferenceJudgement {
  std::vector<InferenceCase> cases;
  std::vector<InferenceSkip> skipped;
};
/// Records that forecast() refuses are skipped with the reason.
InferenceJudgement judge(const std::vector<InferenceRecord>& records, const RecordWishes& wishes = {});

std::string judgement_json(const InferenceJudgement& judgement);
/// `cases`: a line for each, the worst first.
std::string judgement_text(const InferenceJudgement& judgement, bool cases = false);

}  // namespace stepcast::infer
