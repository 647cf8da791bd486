// A file of gate cases: what runs, how its result is found, what must hold. Strict JSON; docs/gates.md has every key.
//
//   { "history": "gate.sqlite", "runs": "gate-runs", "find": "2.5 %",
//     "cases": [
//       { "name": "8b-h100", "forecast": "predict llama3-8b --gpus 8 --zero 3 --global-batch 64",
//         "command": "srun --output {output} train.sh", "repeats": 10,
//         "result": { "from": "log" },
//         "must": { "forecast": { "within": "15 %" }, "last_good": { "slower_by": "1 %" } } } ] }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/gate/judge.h"

namespace stepcast::gate {

/// A unit that results come in. Everything is judged as seconds for one thing: a step, a token, a sample.
struct ResultUnit {
  std::string_view name;  ///< "ms", "tokens/s/GPU"
  bool rate = false;      ///< more is better; its inverse is judged
  bool per_gpu = false;
  bool fixed_work = false;  ///< a thing of one size however many GPUs there are: a token, a sample
  double factor = 1;        ///< to seconds, or to things per second
};
const ResultUnit* find_unit(std::string_view name);
/// Times are, and rates of the same thing.
bool comparable(const ResultUnit& a, const ResultUnit& b);
std::vector<std::string> unit_names();

enum class ResultSource : std::uint8_t { numbers, json, log, text };
/// Which of several numbers in one file counts.
enum class ResultTake : std::uint8_t { only, first, last, least, median, each };

struct ResultPlace {
  ResultSource from = ResultSource::numbers;
  const ResultUnit* unit = nullptr;
  std::vector<double> values;  ///< numbers, in the unit
  std::string files;           ///< a name with * and ?, beside the gate's file; "": what `gate run` wrote
  std::string field;           ///< json: a pointer, "/metrics/step_s"
  std::string pattern;         ///< text: a regular expression with one group
  ResultTake take = ResultTake::only;
};

enum class MustKind : std::uint8_t { forecast, last_good, baseline, mfu, roofline, scaling, speedup };
std::string_view to_text(MustKind kind);

struct Must {
  MustKind kind = MustKind::forecast;
  double limit = 0;     ///< forecast: within; last_good, baseline: slower by; mfu, roofline, scaling: at least; speedup
  std::string other;    ///< scaling, speedup: the case to hold against
  bool strong = false;  ///< scaling of times: the work stays and the GPUs grow; else work grows with them
  ResultPlace baseline;  ///< its results
};

struct GateCase {
  std::string name, where;            ///< where: for errors
  std::vector<std::string> forecast;  ///< words of a command that forecasts; none: no forecast
  std::string command;                ///< what `gate run` starts; "": nothing
  std::size_t repeats = 10;
  std::int64_t gpus = 0;   ///< of the job; 0 = as the forecast says
  std::int64_t seed = -1;  ///< of the first repeat; -1: none is set
  ResultPlace result;
  std::vector<Must> musts;
  GateRates rates;
};

struct GateFile {
  std::string path, folder;              ///< of the file; names in it are beside it
  std::string history, runs;             ///< paths; history "": none is kept
  std::vector<std::string> environment;  ///< variables that a manifest records
  std::vector<GateCase> cases;
};

/// Errors: what JsonObject refuses; two cases of one name; a case without anything that must hold, or that holds
/// against a case that is not there; what needs a forecast without one; percentages beyond reason.
Expected<GateFile> read_gate_file(const std::string& path);

}  // namespace stepcast::gate
