// The figures of engines' tunings, from measured phases and static batches; with the error of networks that were left
// out by turns.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "studies/infer/records/records.h"

namespace stepcast::infer {

/// One row of an engine's tunings, fitted.
struct TuningFit {
  std::string engine;
  Engine::Tuning tuning;  ///< `spread` of the networks left out, or as before where there is but one
  int records = 0, networks = 0;
  double error = 0;                          ///< mean of |predicted / measured - 1|
  double held_out = 0, held_out_median = 0;  ///< with each network left out; 0: there is but one
  std::map<std::string, double> left_out;    ///< by record: its forecast by a fit without its network
};

/// Of each row of these engines that says what is `fitted` in it and has records of its architecture and number type.
/// The records' engines are told apart by the catalogue's rows.
std::vector<TuningFit> fit_tunings(const std::vector<InferenceRecord>& records, std::span<const Engine> engines);
/// Puts forecasts by fits without a record's network in place of those by the rows as they are; the intervals, too.
void hold_out(InferenceJudgement& judgement, const std::vector<TuningFit>& fits);
/// The engine with its rows as they were fitted.
Engine with_fits(Engine engine, const std::vector<TuningFit>& fits);

std::string tunings_text(const std::vector<TuningFit>& fits);
std::string tunings_json(const std::vector<TuningFit>& fits);

}  // namespace stepcast::infer
