// Measured inference: what a record says of one phase or one static batch, and the forecast of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/infer/phases.h"

namespace stepcast::infer {

struct InferenceRecord {
  std::string id, judged_as, phase;  ///< phase: "prefill", "decode", "static_batch", ...
  std::string model, gpu, engine, version;
  std::string weights, activations, cache;
  std::string upstream;  ///< where the source has it from: a date of a page
  std::int64_t gpus = 1, nodes = 1, tp = 1, pp = 1, ep = 0;
  std::optional<std::int64_t> prompt, output, batch;
  std::map<std::string, double> measured;
};

/// Whether a text holds records of inference: an object, a list or lines of them, with a workload.
bool looks_like_inference(const std::string& text);
/// JSON, or JSON lines. Errors: what is no record.
Expected<std::vector<InferenceRecord>> read_inference(const std::string& text, const std::string& where);

struct InferenceCase {
  std::string id, judged_as, metric;
  double measured = 0, predicted = 0, low = 0, high = 0;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
  // what classes are told apart by
  std::string engine, gpu, model, weights, architecture, products_in;
  double measured_seconds = 0;  ///< what `phase.time` forecasts
  Phase phase;
};
/// What forecasts of records take that the records do not say.
struct RecordWishes {
  const Engine* engine = nullptr;    ///< in place of the row that a record's name and version ask for
  const Profile* profile = nullptr;  ///< with laws of single kernels; nullptr: the default one of each record's GPU
};
/// The forecast of a record. Errors: other phases, and models, engines and GPUs that nobody describes; a profile of
/// another GPU; a time in which the memory cannot be read.
Expected<InferenceCase> forecast(const InferenceRecord& record, const RecordWishes& wishes = {});

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
