// Goal on one core: a script of 150 kB in under 100 ms, whatever its quotes and brackets do, and twice the time for
// twice the text.
#include <string>

#include <benchmark/benchmark.h>

#include "calibrate/import/scripts/launch_arguments.h"

namespace {

using namespace stepcast;
using namespace stepcast::calibrate;

std::string repeated(const std::string& text, std::int64_t times) {
  std::string all;
  for (std::int64_t i = 0; i < times; ++i) all += text;
  return all;
}

void read_script(benchmark::State& state, const char* first, const char* piece, const char* then) {
  const std::int64_t count = state.range(0);
  const std::string script =
      first + repeated(piece, count) + "\n" + repeated(then, count / 4) + "torchrun train.py --x 1\n";
  for (auto _ : state)
    if (!find_launches(script, "script", {}, {})) state.SkipWithError("not read");
  state.SetComplexityN(count);
}
void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(9'500)->Arg(19'000)->Complexity()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(read_script, shifted_arguments, "set -- ", "'' ", "shift\n")->Apply(sizes);
BENCHMARK_CAPTURE(read_script, quotes_of_one_word, "torchrun train.py ", "''", "")->Apply(sizes);
BENCHMARK_CAPTURE(read_script, quotes_after_signs, "torchrun bash -c ", "&&'", "")->Apply(sizes);
BENCHMARK_CAPTURE(read_script, appended_quotes, "", "X+='' ", "")->Apply(sizes);
BENCHMARK_CAPTURE(read_script, open_brackets_of_echo, "", "echo $(\n", "")->Apply(sizes);
BENCHMARK_CAPTURE(read_script, open_brackets_of_source, "", ". \"$(\n", "")->Apply(sizes);

}  // namespace
