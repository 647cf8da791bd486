#include "studies/predict/uneven.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::predict {
namespace {

constexpr const char* uneven_hint =
    "words of ranks=2% micro-batches=0.25 actions=1% slow=1x2.5 law=P5,P50,P95,MOST,MEAN costs=FILE";
constexpr double most_spread = 2, most_factor = 100;
constexpr std::int64_t most_slow = 1'000'000;
/// Actions that all samples together run: some seconds.
constexpr std::int64_t most_actions = 20'000'000;
constexpr std::int64_t most_samples = 400, least_samples = 20;

Expected<double> read_spread(const std::string& text, const std::string& where) {
  return parse_fraction(text, where, most_spread);
}

Expected<void> read_slow(const std::string& text, const std::string& where, sim::Unevenness& uneven) {
  const std::size_t x = text.find('x');
  const auto count = parsed_number<std::int64_t>(text.substr(0, x));
  const auto factor = x == std::string::npos ? std::nullopt : parsed_number<double>(text.substr(x + 1));
  if (!count || !factor || *count < 1 || *count > most_slow || !(*factor > 0 && *factor <= most_factor))
    return fail(where, fmt::format("slow={:.40} is no number of ranks and factor", text), "slow=1x2.5");
  uneven.slow = *count, uneven.slow_factor = *factor;
  return {};
}

Expected<void> read_law(const std::string& text, const std::string& where, sim::Unevenness& uneven) {
  std::vector<double> figures;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto number = parsed_number<double>(text.substr(begin, end - begin));
    if (!number || !(*number > 0))
      return fail(where, fmt::format("law={:.60} has what is no number above 0", text), uneven_hint);
    figures.push_back(*number);
    begin = end + 1;
  }
  constexpr std::size_t wanted = 5;
  if (figures.size() != wanted || !std::is_sorted(figures.begin(), figures.begin() + 4) || figures[4] < figures[0] ||
      figures[4] > figures[3])
    return fail(where, fmt::format("law={:.60} is no law", text),
        "5th, 50th and 95th percentile and the largest, which rise, and the mean between them");
  uneven.law = sim::DurationLaw{figures[0], figures[1], figures[2], figures[3], figures[4]};
  return {};
}

Expected<void> read_costs(const std::string& file, sim::Unevenness& uneven) {
  TRY(const auto text, read_text_file(file));
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view word = stripped(line);
    if (word.empty()) continue;
    const auto cost = parsed_number<double>(word);
    if (!cost || !std::isfinite(*cost) || !(*cost > 0))
      return fail(fmt::format("{}:{}", file, number), fmt::format("'{:.40}' is no cost", word), "a number above 0");
    uneven.costs.push_back(*cost);
  }
  if (uneven.costs.empty()) return fail(file, "no costs", "a number on each line");
  return {};
}

Expected<void> read_word(
    const std::string& key, const std::string& value, const std::string& where, sim::Unevenness& uneven) {
  if (key == "slow") return read_slow(value, where, uneven);
  if (key == "law") return read_law(value, where, uneven);
  if (key == "costs") return read_costs(value, uneven);
  constexpr std::pair<const char*, double sim::Unevenness::*> spreads[] = {{"ranks", &sim::Unevenness::ranks},
      {"micro-batches", &sim::Unevenness::micro_batches}, {"actions", &sim::Unevenness::actions}};
  for (const auto& [name, member] : spreads)
    if (key == name) {
      TRY(uneven.*member, read_spread(value, where));
      return {};
    }
  return fail(where, fmt::format("'{:.40}' is no kind of unevenness", key), uneven_hint);
}

}  // namespace

Expected<sim::Unevenness> read_unevenness(const std::string& text, const std::string& where) {
  sim::Unevenness uneven;
  std::set<std::string> seen;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) return fail(where, fmt::format("'{:.40}' has no =", word), uneven_hint);
    const std::string key = word.substr(0, sign);
    if (!seen.insert(key).second) return fail(where, fmt::format("{:.40} twice", key), "each once");
    TRY(read_word(key, word.substr(sign + 1), where, uneven));
  }
  if (seen.empty()) return fail(where, "nothing is uneven", uneven_hint);
  return uneven;
}

Expected<void> check_unevenness(const std::string& text, const std::string& where) {
  TRY(read_unevenness(text, where));
  return {};
}

Expected<UnevenForecast> uneven_forecast(
    const Scenario& scenario, const Prediction& prediction, const sim::Unevenness& uneven) {
  if (!scenario.split)
    return fail("--imbalance", "of a mapping of one's own it is not known which ranks are copies of a pipeline",
        "the split by flags: --tp, --pp, ...");
  const StepReport& step = prediction.step;
  UnevenForecast forecast;
  forecast.copies = scenario.split->dp;
  const auto actions = static_cast<std::int64_t>(step.timeline.end.size()) * forecast.copies;
  if (actions * least_samples > most_actions)
    return fail("--imbalance", fmt::format("a step has {} actions of pipelines", actions),
        fmt::format("at most {}: fewer GPUs or micro-batches", most_actions / least_samples));
  forecast.samples = std::clamp(most_actions / std::max<std::int64_t>(1, actions), least_samples, most_samples);
  TRY(const auto drawn, sim::uneven_steps(step.order, step.times, forecast.copies, uneven, forecast.samples, 0));
  const double around = step.step_time.value() - drawn.even;
  forecast.mean_s = drawn.mean + around, forecast.p10_s = drawn.p10 + around, forecast.p90_s = drawn.p90 + around;
  forecast.even_s = step.step_time.value(), forecast.error_s = drawn.error;
  const bool plain = uneven.ranks == 0 && uneven.slow == 0 && !uneven.law && uneven.costs.empty();
  if (step.order.stages() == 1 && plain)
    forecast.one_stage_s =
        around + sim::one_stage_step(drawn.even / step.order.units(), step.order.units(), forecast.copies, uneven);
  return forecast;
}

std::string uneven_text(const UnevenForecast& forecast) {
  std::string text =
      fmt::format("\nWith uneven work  {} on average, {} to {} (10th to 90th percentile), {:+.1f} %: the "
                  "slowest of {} pipelines counts\n",
          format_seconds(Seconds(forecast.mean_s)), format_seconds(Seconds(forecast.p10_s)),
          format_seconds(Seconds(forecast.p90_s)), 100 * (forecast.mean_s / forecast.even_s - 1), forecast.copies);
  text += fmt::format(
      "  from {} drawn steps, the mean good to {}", forecast.samples, format_seconds(Seconds(forecast.error_s)));
  if (forecast.one_stage_s) text += fmt::format("; by closed form {}", format_seconds(Seconds(*forecast.one_stage_s)));
  return text + "; ranks inside a pipeline's stage are taken as one\n";
}

}  // namespace stepcast::predict
