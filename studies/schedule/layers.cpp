#include "studies/schedule/layers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/errors/error_context.h"
#include "model/base/json_reader.h"
#include "sim/schedule/layers/layer_layout.h"
#include "sim/schedule/layers/partition.h"
#include "sim/schedule/schedule_table.h"
#include "studies/run/split/layers.h"

namespace stepcast::schedule {
namespace {

using CostsJson = nlohmann::json;

constexpr std::array<const char*, 3> pass_keys = {"forward", "input_grad", "weight_grad"};
constexpr std::array<const char*, 3> end_keys = {"embedding", "head", "loss"};

/// By pass: forward, input gradient, weight gradient.
struct LayerTimes {
  std::array<std::vector<double>, 3> layers;
  std::array<std::array<double, 3>, 3> ends{};  ///< by end_keys
};

Expected<void> check_keys(const std::string& text, const std::string& name) {
  JsonObject file(text, name);
  for (const char* key : pass_keys)
    file.require(file.has(key), key, "this key is missing", "forward, input_grad and weight_grad, a time per layer");
  for (const auto& keys : {pass_keys, end_keys})
    for (const char* key : keys)
      if (file.has(key))
        file.require(file.type_of(key) == "list", key, fmt::format("found a {}", file.type_of(key)), "a list of times");
  TRY(file.finish(true));
  return {};
}

Expected<std::vector<double>> read_list(const CostsJson& list, const std::string& where, const ReadTime& read_time) {
  std::vector<double> times;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{}/{}", where, i);
    if (!list[i].is_number() && !list[i].is_string())
      return fail(
          place, fmt::format("found {}", list[i].dump().substr(0, 60)), "a number, or text with a unit: \"10 ms\"");
    const CostsJson& item = list[i];
    const std::string text = item.is_string() ? item.get<std::string>() : fmt::format("{}", item.get<double>());
    TRY(const auto time, read_time(text, place));
    times.push_back(time);
  }
  return times;
}

Expected<LayerTimes> read_layer_times(const std::string& name, const ReadTime& read_time) {
  TRY(const auto text, read_text_file(name));
  TRY(check_keys(text, name));
  const CostsJson file = CostsJson::parse(text);
  LayerTimes times;
  for (std::size_t i = 0; i < pass_keys.size(); ++i) {
    TRY(times.layers[i], read_list(file.at(pass_keys[i]), fmt::format("{}:/{}", name, pass_keys[i]), read_time));
    if (times.layers[i].empty() || times.layers[i].size() != times.layers[0].size())
      return fail(fmt::format("{}:/{}", name, pass_keys[i]),
          fmt::format("{} layers, and {} in forward", times.layers[i].size(), times.layers[0].size()),
          "one time per layer in each list, one layer or more");
  }
  for (std::size_t i = 0; i < end_keys.size(); ++i) {
    if (!file.contains(end_keys[i])) continue;
    const std::string where = fmt::format("{}:/{}", name, end_keys[i]);
    TRY(const auto list, read_list(file.at(end_keys[i]), where, read_time));
    if (list.size() != pass_keys.size())
      return fail(where, fmt::format("{} times", list.size()), "three: forward, input_grad, weight_grad");
    std::copy(list.begin(), list.end(), times.ends[i].begin());
  }
  return times;
}

/// The weights of a split: what one micro-batch takes in all.
PartitionProblem problem_of(const LayerTimes& times, int stages) {
  const auto total = [](const std::array<double, 3>& end) { return end[0] + end[1] + end[2]; };
  PartitionProblem problem;
  for (std::size_t i = 0; i < times.layers[0].size(); ++i)
    problem.layers.push_back(times.layers[0][i] + times.layers[1][i] + times.layers[2][i]);
  problem.embedding = total(times.ends[0]);
  problem.head = total(times.ends[1]);
  problem.loss = total(times.ends[2]);
  problem.stages = stages;
  problem.bare_ends = true;
  return problem;
}

Expected<std::vector<int>> split_by(
    const std::string& text, const PartitionProblem& problem, const ScheduleSize& size, int chunks) {
  TRY(const auto choice, parse_layout(text, "--layout"));
  if (choice.kind == LayoutChoice::Kind::given) {
    NetworkSpec network;
    network.layers = static_cast<std::int64_t>(problem.layers.size());
    TRY(const auto layers, given_layers(choice, network, size.ranks, chunks, "--layout"));
    return std::vector<int>(layers.begin(), layers.end());
  }
  auto split = choice.kind == LayoutChoice::Kind::even ? split_evenly(problem) : split_layers(problem);
  if (!split)
    return tl::unexpected(with_hint(error_at("--stages", split.error()), split.error().hint + ", chunks counted"));
  return std::move(split->layers);
}

/// Of one pass, per virtual stage.
std::vector<double> stage_list(const LayerTimes& times, std::size_t pass, const std::vector<int>& layers) {
  std::vector<double> list;
  auto next = times.layers[pass].begin();
  for (const int count : layers) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += *next++;
    list.push_back(sum);
  }
  list.front() += times.ends[0][pass];
  list.back() += times.ends[1][pass] + times.ends[2][pass];
  return list;
}

}  // namespace

Expected<void> read_layer_costs(const Arguments& arguments, const ReadTime& read_time, ScheduleRequest& request) {
  if (arguments.words.empty())
    return fail("--layer-costs", "needs a KIND, which says how many virtual stages there are",
        "stepcast schedule 1f1b --layer-costs FILE.json ...");
  for (const char* one : {"--times", "--forward", "--input-grad", "--weight-grad"})
    if (arguments.has(one)) return fail(one, "does not go with --layer-costs", "leave one of them out");
  TRY(const auto kind, find_schedule(arguments.words[0]));
  TRY(check_size(*kind, request.size));
  const std::string name = arguments.value("--layer-costs");
  TRY(const auto times, read_layer_times(name, read_time));
  const int chunks = chunks_of(*kind, request.size);
  const std::string layout = arguments.has("--layout") ? arguments.value("--layout") : "balanced";
  TRY(auto layers, split_by(layout, problem_of(times, request.size.ranks * chunks), request.size, chunks));
  request.forward_list = stage_list(times, 0, layers);
  request.input_grad_list = stage_list(times, 1, layers);
  request.weight_grad_list = stage_list(times, 2, layers);
  request.times_file = name;
  const std::string written = write_layer_layout(layout_of({layers.begin(), layers.end()}, 0));
  request.layers = LayerSplit{std::move(layers), written, {}};
  return {};
}

void add_layer_split(const ScheduleRequest& request, ScheduleRun& run) {
  if (!request.layers) return;
  run.layers = request.layers;
  run.layers->balance = balance_of(run.order, run.times, run.timeline.makespan);
}

}  // namespace stepcast::schedule
