// One prediction, step by step: Scenario -> Program -> prices -> schedule -> step, and the figures that need both the
// network and the machine (MFU, HFU). The library's door is run/forecast.h.
#pragma once

#include "dataflow/program.h"
#include "model/base/error.h"
#include "model/base/units.h"
#include "model/network/printed_flops.h"
#include "sim/cost.h"
#include "sim/step.h"
#include "studies/run/scenario.h"

namespace stepcast::run {

struct Prediction {
  Program program;
  StepReport step;
  Flops model_flops;                  ///< of the step, all ranks: 3 x forward, no recompute
  FlopsPerSecond model_rate;          ///< model_flops per GPU and second
  FlopsPerSecond hardware_rate;       ///< executed, with recompute
  FlopsPerSecond peak;                ///< datasheet, dense, of the plan's precision
  double mfu = 0, hfu = 0;            ///< Chowdhery et al. 2022 (PaLM, arXiv 2204.02311) appendix B
  std::vector<std::string> warnings;  ///< doubts about the run as a whole, then those of the step
};

/// Of the step, all ranks.
Flops step_model_flops(const Scenario& scenario);
/// Model FLOPs of a token as a program counts them, and the FLOP/s of a GPU that it would print.
double flops_of_token(const FlopsCount& count, const Scenario& scenario);
FlopsPerSecond printed_rate(const FlopsCount& count, const Scenario& scenario, const Prediction& prediction);

/// Prices of this scenario's software on its machine, with what measured steps say about them. `scenario` must outlive
/// it.
CostModel cost_model(const Scenario& scenario);

/// Takes the layers as they lie. Errors: the mapping against the network (lower), the schedule against the
/// micro-batches. `reasons` says why each collective exists, for --explain.
Expected<Prediction> predict_as_laid(const Scenario& scenario, bool reasons = false);
/// The same with prices of ranks of several kinds; peak, MFU and HFU stay those of the scenario's GPU.
Expected<Prediction> predict_as_laid(const Scenario& scenario, const StageCosts& costs, bool reasons = false);
/// The same of the scenario's program, which was lowered before.
Expected<Prediction> predict_lowered(const Scenario& scenario, Program program, const StageCosts& costs);

}  // namespace stepcast::run
