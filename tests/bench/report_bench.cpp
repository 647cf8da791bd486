// What a report of Llama 3 405B on 1,008 GPUs costs: every page, picture and figure of the folder but for writing them,
// and the roofline page alone. The folder's sweep runs on one thread.
#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "studies/report/report.h"
#include "studies/cli/arguments.h"
#include "studies/launch/asked_run.h"
#include "studies/report/folder.h"
#include "studies/run/forecast.h"

namespace stepcast::report {
namespace {

Request large_request() {
  const auto arguments = parse_arguments(report_flags(), 1, 1, "",
      {"llama3-405b", "--machine", "dgx-h100", "--gpus", "1008", "--tp", "8", "--pp", "9", "--global-batch", "2016"});
  auto request = read_request("llama3-405b", *arguments);
  if (!request) std::abort();
  return std::move(*request);
}

void whole_report(benchmark::State& state) {
  const Request request = large_request();
  std::size_t bytes = 0, largest = 0;
  for (auto _ : state) {
    Dossier dossier;
    dossier.request = request;
    dossier.scenario = complete(request).value();
    if (const auto filled = fill_dossier(dossier, {}); !filled) {
      fmt::print(stderr, "{}\n", to_text(filled.error()));
      std::abort();
    }
    bytes = largest = 0;
    for (const DossierFile& file : dossier_files()) {
      if (file.has != nullptr && !file.has(dossier)) continue;
      const std::size_t size = file.text(dossier).size();
      bytes += size;
      largest = std::max(largest, size);
    }
  }
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["largest_file_bytes"] = static_cast<double>(largest);
}
BENCHMARK(whole_report)->Unit(benchmark::kMillisecond);

void roofline_page_alone(benchmark::State& state) {
  const Request request = large_request();
  const auto scenario = complete(request);
  const auto prediction = run::predict(*scenario);
  for (auto _ : state) benchmark::DoNotOptimize(roofline_page(*roofline_report(request, *scenario, *prediction)));
}
BENCHMARK(roofline_page_alone)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepcast::report
