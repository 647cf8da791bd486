// A load put on an engine, and what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/serving/service_figures.h"
#include "studies/infer/served_load.h"
#include "studies/serve/prompt_pool.h"
#include "studies/serve/saturation.h"
#include "studies/serve/targets.h"

namespace stepcast::serve {

struct Question {
  infer::ServingWishes engine;
  infer::BatchingWishes batching;
  std::int64_t replicas = 1;
  std::optional<PromptPoolWishes> prompts;  ///< a pool of its own for prompts: `engine` says words alone
  sim::RequestLaw law;                      ///< where there is no trace
  std::optional<std::vector<sim::ServingRequest>> trace;
  std::optional<std::int64_t> concurrency;  ///< of all replicas; nullopt: an open loop
  double rate = 0, shape = 1;               ///< requests per second and burstiness, where there is no trace
  std::int64_t warm_up = 0;                 ///< requests that are not counted
  std::vector<Target> targets;
  infer::Guesses guesses;  ///< where `engine` drafts
};

struct Answer {
  infer::Serving serving;
  sim::Servers servers;
  std::optional<PromptPool> prompts;
  std::int64_t gpus = 0;  ///< of all replicas, of both pools
  double rate = 0;        ///< that came, of an open loop
  Saturation saturation;
  /// nullopt: more comes than is served, so that the queue and every wait grow without bound
  std::optional<sim::ServiceFigures> figures;
  std::optional<double> met;  ///< share of requests within all targets, where there are some
  Spread spread;
  infer::Capacity room;
  /// What sequences that gave way did with the host's memory; nothing where they are read again.
  struct Swapped {
    Bytes out, in, most, space;  ///< of one GPU: copied (with stages, of one of each), there at once, and room
    Seconds time;                ///< of all iterations
    double share = 0;            ///< of the time of the run
  };
  std::optional<Swapped> swapped;
  std::vector<std::string> warnings;
  sim::ServedRun run;  ///< of the load; empty beyond saturation
};

/// Errors: what the engine cannot be, and requests that no cache holds.
Expected<Answer> answer(const Question& question);

std::string answer_text(const Question& question, const Answer& answer);
std::string answer_json(const Question& question, const Answer& answer);

}  // namespace stepcast::serve
