#include "studies/compare/iteration_forecast.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/compare/forecast_trace.h"
#include "studies/infer/asked.h"
#include "studies/infer/infer.h"

namespace stepcast::comparison {
namespace {

/// What infer takes and an iteration beside a trace has not.
constexpr std::string_view left_out[] = {"--output", "--draft", "--accepted", "--what-if", "--roofline", "--json",
    "--trace", "--html", "--force", "--launch", "--define", "--files-from", "--lenient"};
/// What compare takes beside the forecast's own.
constexpr std::string_view of_compare[] = {"--trace", "--clocks", "--json", "--output", "--force"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

WorkKind kind_of(const sim::IterationPart& part) {
  if (!part.kernel) return WorkKind::communication;
  switch (*part.kernel) {
    case KernelClass::gemm: return WorkKind::gemm;
    case KernelClass::attention: return WorkKind::attention;
    case KernelClass::scan: return WorkKind::scan;
    case KernelClass::lookup: return WorkKind::embedding;
    case KernelClass::pointwise: return WorkKind::elementwise;
  }
  return WorkKind::unplaced;
}

/// Rows of which an iteration is made.
std::vector<sim::Rows> rows_of(const infer::Asked& asked, const infer::Serving& serving) {
  const std::int64_t groups = serving.attention_groups();
  const auto of_group = static_cast<double>((asked.batch + groups - 1) / groups);
  const auto prompt = static_cast<double>(asked.prompt), cached = static_cast<double>(asked.cached);
  const sim::Rows words{of_group, 1, static_cast<double>(asked.context)};
  if (asked.phase == "decode") return {words};
  if (asked.phase == "mixed") return {words, {1, prompt, cached}};
  return {{of_group, prompt, cached}};
}

IterationRows said_rows(const infer::Asked& asked) {
  IterationRows rows{0, 0, 0};
  if (asked.phase != "decode") rows.prompts = asked.phase == "mixed" ? 1 : asked.batch;
  if (asked.phase != "prefill") rows.words = asked.batch;
  rows.prompt_positions = rows.prompts * asked.prompt;
  return rows;
}

/// Kernels and moves one after the other, block by block as the network has them; then what the GPU waits for.
RankTrace trace_of(const sim::IterationTime& iteration, const std::vector<sim::IterationSlice>& slices) {
  RankTrace trace;
  trace.tool = "stepcast", trace.begin = 0;
  std::map<std::pair<std::string, std::string>, DeviceEvent> kinds;  // what all slices of a label and shape have
  for (const sim::IterationPart& part : iteration.parts) {
    DeviceEvent& event = kinds[{part.label, part.shape}];
    event.kind = kind_of(part);
    event.name = static_cast<std::int32_t>(trace.names.size()), trace.names.push_back(part.label);
    event.shape = static_cast<std::int32_t>(trace.shapes.size());
    trace.shapes.push_back({part.flops.value() / part.calls / 2, 1, 1, 1});
    if (part.kernel) continue;
    event.collective = static_cast<std::int32_t>(trace.collectives.size());
    trace.collectives.push_back({std::string(collective_kind_in(part.label)), 0, 0, ""});
  }
  for (const sim::IterationSlice& slice : slices) {
    DeviceEvent event = kinds[{slice.label, slice.shape}];
    event.start = slice.start.value() / seconds_of_microsecond;
    event.end = (slice.start + slice.time).value() / seconds_of_microsecond;
    trace.events.push_back(event);
  }
  const double busy = trace.events.empty() ? 0 : trace.events.back().end;
  trace.end = std::max(busy, iteration.time.value() / seconds_of_microsecond);
  constexpr double rounding = 1e-3;  // microseconds
  if (trace.end - busy > rounding) trace.host.push_back({"host", busy, trace.end});
  return trace;
}

Expected<void> check_iteration(const Arguments& arguments, const infer::Asked& asked) {
  std::set<std::string_view> known;
  for (const Flag& flag : infer::infer_flags()) known.insert(flag.name);
  for (const auto& [name, value] : arguments.flags)
    if (!known.contains(name) && !is_one_of(of_compare, name))
      return fail(name, "says what a step of training is, and other flags an engine's iteration", "one of the two");
  if (asked.wishes.pp > 1)
    return fail(
        "--pp", fmt::format("an iteration runs through {} stages, and a trace is of one", asked.wishes.pp), "--pp 1");
  return {};
}

std::string all_rows_text(const IterationRows& rows) {
  const std::string positions = rows.prompt_positions > 0 ? fmt::format(" of {} positions", rows.prompt_positions) : "";
  if (rows.words <= 0) return fmt::format("{} prompts{}", rows.prompts, positions);
  if (rows.prompts <= 0) return fmt::format("{} tokens decoded", rows.words);
  return fmt::format("{} prompts{} and {} tokens decoded", rows.prompts, positions, rows.words);
}

bool same_rows(const IterationRows& said, const IterationRows& measured) {
  return said.prompts == measured.prompts && said.words == measured.words &&
         (measured.prompt_positions < 0 || said.prompt_positions == measured.prompt_positions);
}

/// Of a trace without ranges, its products say how many positions they had; graphs of words are for up to twice as many
/// as there are, and prompts are filled up by a few.
Expected<std::string> check_product_rows(const IterationForecast& forecast, const ReadTrace& read) {
  const double rows = read.steps.steps[static_cast<std::size_t>(read.steps.taken)].product_rows;
  const auto positions = static_cast<double>(forecast.rows.prompt_positions + forecast.rows.words);
  const double most = forecast.rows.prompts > 0 ? std::max(1.05 * positions, positions + 16) : 2 * positions;
  if (rows == 0)
    return std::string("the trace does not say which rows its iterations have: they are taken to be the forecast's");
  if (rows < positions || rows > most)
    return fail(read.trace.file,
        fmt::format("its matrix products have {:.0f} rows, and the forecast {:.0f} positions", rows, positions),
        "--phase, --batch and --prompt of the iteration that was traced");
  return fmt::format("matrix products have {:.0f} rows for the forecast's {:.0f} positions", rows, positions);
}

}  // namespace

namespace {

Expected<void> check_traced(const std::string& phase, const std::string& where) {
  if (phase == "prefill" || phase == "decode" || phase == "mixed") return {};
  const char* what = phase == "batch" ? "a static batch has many iterations, and a trace shows one at a time"
                                      : "no phase of an iteration";
  return fail(where, fmt::format("'{:.40}': {}", phase, what), "prefill, decode or mixed");
}

}  // namespace

std::vector<Flag> iteration_flags() {
  std::vector<Flag> flags;
  for (Flag flag : infer::infer_flags()) {
    constexpr std::string_view of_runs[] = {
        "--machine", "--profile", "--gpus", "--tp", "--pp", "--layout", "--ep", "--cp", "--mapping"};
    if (is_one_of(of_runs, flag.name) || is_one_of(left_out, flag.name)) continue;
    flag.group = "An engine's iteration";
    if (flag.name == "--phase")
      flag.doc = "prefill, decode, or mixed: a prompt beside running sequences", flag.check = check_traced;
    flags.push_back(flag);
  }
  return flags;
}

bool asks_for_iteration(const Arguments& arguments) {
  return std::ranges::any_of(iteration_flags(), [&](const Flag& flag) { return arguments.has(flag.name); });
}

Expected<IterationForecast> iteration_forecast(const Arguments& arguments) {
  if (arguments.words.empty()) return fail("NETWORK", "no network is named", "NETWORK --prompt 512 --trace TRACE");
  Arguments said = arguments;  // of infer, --output is the words that a batch says
  said.flags.erase("--output");
  TRY(const auto asked, infer::asked_of(said, said));
  TRY(check_iteration(said, asked));
  TRY(const auto answer, infer::answer_to(asked));
  const infer::ServingCost cost(answer.serving);
  const auto rows = rows_of(asked, answer.serving);
  const sim::IterationTime iteration = cost.time(rows);
  IterationForecast made;
  made.trace = trace_of(iteration, cost.in_order(rows, iteration));
  made.split = split_time(made.trace, 0, made.trace.end), made.rows = said_rows(asked);
  made.gpu = answer.serving.machine().gpu.id;
  made.gpus = answer.serving.scenario.plan.gpus;
  made.peak = peak_for(answer.serving.machine().gpu, Precision::nvfp4);
  made.p10_s = iteration.time.value() * iteration.spread.p10,
  made.p90_s = iteration.time.value() * iteration.spread.p90;
  for (const SplitRow& row : made.split.rows) made.prices.spreads[row.name] = iteration.spread;
  made.notes.push_back("rows have the interval of the iteration: nobody measured theirs");
  double positions = 0;
  for (const sim::Rows& row : rows) positions += row.sequences * row.positions;
  if (positions > static_cast<double>(answer.serving.engine.most_positions))
    made.notes.push_back(fmt::format("{:.0f} positions in one iteration: {} takes {} by default", positions,
        answer.serving.engine.id, answer.serving.engine.most_positions));
  return made;
}

Expected<std::string> take_iteration(const IterationForecast& forecast, ReadTrace& read) {
  std::vector<std::pair<double, int>> alike;
  std::set<IterationRows> others;
  for (std::size_t i = 0; i < read.steps.steps.size(); ++i) {
    const FoundStep& step = read.steps.steps[i];
    if (!step.rows.known()) continue;
    if (same_rows(forecast.rows, step.rows)) alike.emplace_back(step.duration(), static_cast<int>(i));
    else others.insert(step.rows);
  }
  if (alike.empty() && others.empty()) return check_product_rows(forecast, read);
  if (alike.empty()) {
    std::vector<std::string> there;
    for (const IterationRows& rows : others) there.push_back(all_rows_text(rows));
    constexpr std::size_t most_named = 4;
    if (there.size() > most_named) there.resize(most_named), there.emplace_back("...");
    return fail(read.trace.file,
        fmt::format("has no iteration of {}, but of {}", all_rows_text(forecast.rows), fmt::join(there, "; ")),
        "--phase, --batch and --prompt of an iteration that is there");
  }
  std::sort(alike.begin(), alike.end());
  read.steps.taken = alike[(alike.size() - 1) / 2].second;
  return std::string();
}

}  // namespace stepcast::comparison
