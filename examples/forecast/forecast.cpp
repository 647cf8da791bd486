// Forecasts one training step of Llama 3 70B on 512 H100, as this does:
//   stepcast predict llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024
// A request says what is known, complete() fills in the rest and checks it, predict() prices and schedules the step.
#include <cstdio>
#include <string>
#include <utility>

#include "model/version.h"
#include "studies/run/forecast.h"

namespace {

using namespace stepcast;
using namespace stepcast::run;

Expected<Request> request_of_step() {
  Request request;
  auto network = choose_network("llama3-70b", "network");
  if (!network) return tl::unexpected(network.error());
  request.network = std::move(*network);
  auto machine = choose_machine("dgx-h100", "machine");
  if (!machine) return tl::unexpected(machine.error());
  request.machine = std::move(*machine);
  // The keys of a scenario file; what is left out gets its default.
  for (const auto& [key, value] : {std::pair{"gpus", "512"}, {"tp", "8"}, {"pp", "4"}, {"global_batch", "1024"}}) {
    if (auto said = request.say(key, value, key); !said) return tl::unexpected(said.error());
  }
  return request;
}

Expected<void> print_forecast(const Scenario& scenario) {
  const auto prediction = run::predict(scenario);
  if (!prediction) return tl::unexpected(prediction.error());
  const StepReport& step = prediction->step;
  std::printf("%s on %lld GPUs (stepcast %s)\n", scenario.network.row.name.c_str(),
      static_cast<long long>(scenario.plan.gpus), std::string(version()).c_str());
  std::printf("step time %.1f s, %.1f to %.1f s\n", step.step_time.value(), step.p10.value(), step.p90.value());
  std::printf("MFU %.1f %%\n", 100 * prediction->mfu);
  std::printf("memory %.1f of %.1f GB\n", step.memory.peak.value() / 1e9, step.memory.capacity.value() / 1e9);
  return {};
}

}  // namespace

int main() {
  const auto printed = request_of_step().and_then(complete).and_then(print_forecast);
  if (printed) return 0;
  std::fprintf(stderr, "%s\n", to_text(printed.error()).c_str());
  return 1;
}
