// A forecast of what predict takes on its command line, and its scene, for tests of scenes and traces.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "studies/cli/arguments.h"
#include "studies/cli/flags.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/run/forecast.h"
#include "studies/run/request.h"
#include "studies/run/scenario.h"
#include "studies/timeline/scene.h"

namespace stepcast::timeline::timeline_testing {

struct Forecast {
  Scenario scenario;
  Prediction prediction;
  StepScene scene;
};

/// The scene points into the prediction, which therefore stays where it is.
inline std::unique_ptr<Forecast> forecast_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream typed(line);
  for (std::string word; typed >> word;) words.push_back(word);
  auto made = std::make_unique<Forecast>();
  const auto must = [&](auto&& expected) {
    if (!expected) ADD_FAILURE() << line << ": " << to_text(expected.error());
    return std::move(expected).value();
  };
  const Arguments arguments = must(parse_arguments(run_flags(), 1, 1, "predict", words));
  made->scenario = must(complete(must(read_request(arguments.words.at(0), arguments))));
  made->prediction = must(run::predict(made->scenario));
  made->scene = must(step_scene(made->scenario, made->prediction));
  return made;
}

/// One of each kind of pipeline, and software whose hops block.
inline const std::vector<std::string>& forecasts() {
  static const std::vector<std::string> lines = {"llama3-8b --gpus 64 --tp 2 --pp 4 --schedule 1f1b --global-batch 32",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --schedule interleaved-1f1b --chunks 2 --global-batch 32",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --schedule zb-h1 --global-batch 32",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --schedule zb-v --global-batch 64",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --schedule dualpipe --global-batch 64",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --schedule chimera --global-batch 64",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --schedule seq-1f1b --seq-splits 4 --global-batch 32",
      "llama3-8b --gpus 64 --tp 2 --pp 4 --stack megatron-core --global-batch 32",
      "gpt3-175b --machine dgx-a100 --gpus 64 --tp 8 --pp 8 --recompute full --stack megatron-core --global-batch 8",
      "mixtral-8x7b --gpus 64 --pp 4 --ep 8 --schedule dualpipe --global-batch 128",
      "llama3-8b --gpus 64 --zero 3 --global-batch 64",
      "mixtral-8x7b --gpus 64 --ep 8 --zero 3 --micro-batch 1 --global-batch 64 --stack megatron-core",
      "llama3-8b --gpus 64 --zero 3 --tp 16 --global-batch 16 --stack pytorch-fsdp"};
  return lines;
}

}  // namespace stepcast::timeline::timeline_testing
