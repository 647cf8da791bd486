#include "sim/schedule/files/order_json.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "sim/schedule/files/pytorch_cells.h"
#include "sim/schedule/files/pytorch_csv.h"

namespace stepcast::sim {
namespace {

// Those of check_order() and of the engine's arrays: far above any pipeline.
constexpr IntegerRange order_counts{1, 1 << 20};
constexpr NumberRange durations_range{0, 1e12};  // sums of a step's worth of them keep their digits

/// Today's letters.
Expected<ActionKind> kind_of(const pytorch::CellStep& step, const std::string& where) {
  switch (step.verb) {
    case pytorch::Verb::forward: return ActionKind::forward;
    case pytorch::Verb::backward: return ActionKind::backward;
    case pytorch::Verb::input_grad: return ActionKind::input_grad;
    case pytorch::Verb::weight_grad: return ActionKind::weight_grad;
    default:
      return fail(where, fmt::format("'{}' is no action of an order", pytorch::text_of(step)),
          "F, I, W, or B for I and W in one");
  }
}

Expected<void> add_actions(const std::string& text, const std::string& where, Order& order) {
  std::vector<pytorch::CellStep> steps;
  TRY(pytorch::read_action(text, where, {}, steps));
  for (const pytorch::CellStep& step : steps) {
    TRY(const auto kind, kind_of(step, where));
    order.actions.push_back({kind, step.stage, step.micro_batch, step.with_next});
  }
  return {};
}

Expected<void> read_ranks(JsonObject& file, Order& order) {
  order.begin = {0};
  for (JsonObject& rank : file.objects("ranks")) {
    std::vector<std::string> texts;
    rank.read("order", texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      TRY(add_actions(texts[i], fmt::format("{}/{}", rank.where("order"), i), order));
    }
    order.begin.push_back(static_cast<std::int32_t>(order.actions.size()));
  }
  order.ranks = static_cast<int>(order.begin.size()) - 1;
  return {};
}

void read_placement(JsonObject& file, Order& order) {
  std::vector<std::int64_t> rank_of;
  file.read("rank_of", rank_of, IntegerRange{0, order_counts.high});
  order.rank_of.assign(rank_of.begin(), rank_of.end());
  if (file.failed()) return;
  file.require(order.ranks > 0, "ranks", "the list is empty", "one object per rank");
  file.require(order.ranks > 0 && !rank_of.empty() && rank_of.size() % static_cast<std::size_t>(order.ranks) == 0,
      "rank_of", fmt::format("{} stages on {} ranks", rank_of.size(), order.ranks),
      "the rank of every virtual stage, the same number for every rank");
  if (!file.failed() && order.ranks > 0) order.chunks = static_cast<int>(rank_of.size()) / order.ranks;
}

void read_each(JsonObject& stage, const char* key, std::size_t units, std::vector<double>& each) {
  std::vector<double> durations;
  stage.read(key, durations, durations_range);
  stage.require(stage.failed() || durations.size() == units, key, fmt::format("{} durations", durations.size()),
      fmt::format("{}: one per micro-batch and slice", units));
  each.insert(each.end(), durations.begin(), durations.end());
}

/// The list of `file`, which is the file or one of its copies.
void read_durations(JsonObject& file, TimedOrder& timed) {
  const Order& order = timed.order;
  const auto units = static_cast<std::size_t>(order.units());
  std::vector<JsonObject> stages = file.objects("durations");
  file.require(stages.size() == order.rank_of.size(), "durations", fmt::format("{} stages", stages.size()),
      fmt::format("{}: one object per virtual stage", order.rank_of.size()));
  for (JsonObject& stage : stages) {
    read_each(stage, "forward", units, timed.times.forward_each);
    read_each(stage, "input_grad", units, timed.times.input_grad_each);
    read_each(stage, "weight_grad", units, timed.times.weight_grad_each);
  }
  if (!file.failed()) set_stage_means(order, timed.times);
}

void read_copies(JsonObject& file, OrderFile& result) {
  for (JsonObject& copy : file.objects("copies")) {
    result.copies.push_back({result.timed.order, {}});
    read_durations(copy, result.copies.back());
  }
  file.require(!result.copies.empty(), "copies", "the list is empty", "an object with durations per copy");
  if (!file.failed()) result.timed.times = result.copies.front().times;
}

enum class TimeUnit : std::uint8_t { abstract, seconds };
constexpr Choice<TimeUnit> time_units[] = {{"abstract", TimeUnit::abstract}, {"s", TimeUnit::seconds}};

/// Durations, or copies of them, and what was measured beside.
void read_times(JsonObject& file, OrderFile& result) {
  const bool copies = file.has("copies"), durations = file.has("durations");
  file.require(!(copies && durations), "copies", "durations are there too", "one of them");
  result.has_durations = copies || durations;
  if (durations) read_durations(file, result.timed);
  if (copies) read_copies(file, result);
  TimeUnit unit = TimeUnit::abstract;
  file.optional_choice("time_unit", unit, time_units);
  result.in_seconds = unit == TimeUnit::seconds;
  for (auto& [key, value] : {std::pair{"tail", &result.tail}, std::pair{"measured", &result.measured}}) {
    if (!file.has(key)) continue;
    file.require(result.has_durations, key, "there are no durations", "it goes with durations or copies");
    file.read(key, value->emplace(), durations_range);
  }
  file.require(!result.measured || *result.measured > 0, "measured", "0 is no step", "above 0, or leave it out");
}

Expected<void> checked(const std::string& where, const Order& order) {
  if (auto ok = check_order(order); !ok) return tl::unexpected(error_in(where, ok.error()));
  return {};
}

std::vector<double> durations_of(
    const std::vector<double>& each, const std::vector<Seconds>& means, int stage, int units) {
  const auto count = static_cast<std::size_t>(units);
  if (each.empty()) return std::vector<double>(count, means[stage].value());
  const auto first = each.begin() + static_cast<std::ptrdiff_t>(stage) * units;
  return {first, first + units};
}

void write_durations(JsonWriter& json, const TimedOrder& timed) {
  const StageTimes& times = timed.times;
  const int units = timed.order.units();
  json.open_list("durations");
  for (int stage = 0; stage < timed.order.stages(); ++stage) {
    json.row("forward", durations_of(times.forward_each, times.forward, stage, units), "input_grad",
        durations_of(times.input_grad_each, times.input_grad, stage, units), "weight_grad",
        durations_of(times.weight_grad_each, times.weight_grad, stage, units));
  }
  json.close();
}

std::string write_file(const Order& order, const TimedOrder* timed, bool in_seconds) {
  JsonWriter json;
  json.open();
  json.fields("micro_batches", order.micro_batches, "slices", order.slices, "directions", order.directions);
  json.field("rank_of", std::vector<std::int64_t>(order.rank_of.begin(), order.rank_of.end()));
  json.open_list("ranks");
  for (int rank = 0; rank < order.ranks; ++rank) json.row("order", pytorch_actions(order, rank));
  json.close();
  if (timed != nullptr) {
    json.field("time_unit", time_units[in_seconds ? 1 : 0].name);
    write_durations(json, *timed);
  }
  json.close();
  return json.text();
}

}  // namespace

Expected<OrderFile> read_order_json(std::string_view text, const std::string& where) {
  JsonObject file(text, where);
  OrderFile result;
  Order& order = result.timed.order;
  file.read("micro_batches", order.micro_batches, order_counts);
  file.optional("slices", order.slices, order_counts);
  file.optional("directions", order.directions, IntegerRange{1, 2});
  TRY(read_ranks(file, order));
  read_placement(file, order);
  if (file.failed() || order.ranks == 0 || !file.has("micro_batches") || !file.has("rank_of"))
    return file.finish(std::move(result));
  // Before any list is sized by its numbers.
  TRY(checked(where, order));
  read_times(file, result);
  return file.finish(std::move(result));
}

std::string write_order_json(const Order& order) { return write_file(order, nullptr, false); }
std::string write_order_json(const TimedOrder& timed, bool in_seconds) {
  return write_file(timed.order, &timed, in_seconds);
}

}  // namespace stepcast::sim
