#include "studies/sweep/price/split_points.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"

namespace stepcast::sweep {
namespace {

constexpr std::string_view left_open = "auto";

/// Axes inside a node first, in the usual order, then those across nodes.
MeshOrder order_of_tiers(bool tp_in_node, bool pp_in_node, bool dp_in_node) {
  const auto in_node = [&](MeshAxis axis) {
    return axis == MeshAxis::pp ? pp_in_node : axis == MeshAxis::dp ? dp_in_node : tp_in_node;
  };
  MeshOrder order = usual_order;
  std::stable_partition(order.begin(), order.end(), in_node);
  return order;
}

constexpr AxisId switch_axes[] = {
    AxisId::gpus, AxisId::precision, AxisId::tp_overlap, AxisId::dp_overlap, AxisId::scatter_boundary};

/// A run of any split: what resolve() then says of nouns and numbers holds for all points of this setting.
Request setting_request(const Space& space, const Digits& digits) {
  Request request = space.request;
  unsay_axes(request);
  const auto say = [&](const RunField& field, const std::string& value) {
    (void)request.say(field, value, std::string(field.flag));
  };
  say(row_of(AxisId::gpus), space.value(digits, AxisId::gpus));
  say(field(FieldId::global_batch), space.value(digits, AxisId::gpus));
  for (const AxisId id : {AxisId::precision, AxisId::tp_overlap, AxisId::dp_overlap})
    if (const std::string& value = space.value(digits, id); value != left_open) say(row_of(id), value);
  if (space.value(digits, AxisId::scatter_boundary) == "off") say(row_of(AxisId::scatter_boundary), "off");
  return request;
}

}  // namespace

/// Number types come again with every split, schedules that fold the stages right after those that do not; where a
/// space has neither, no two lowerings place the same.
std::size_t SplitPoints::placements_kept(const Space& space) {
  constexpr std::size_t for_types = 128, for_schedules = 4;
  const auto varies = [&](AxisId axis) { return space.values[static_cast<std::size_t>(axis)].size() > 1; };
  if (varies(AxisId::precision)) return for_types;
  return varies(AxisId::schedule) ? for_schedules : 0;
}

Expected<SplitPoints> SplitPoints::make(const Space& space) {
  SplitPoints points(space);
  TRY(points.read_words());
  TRY(points.read_settings());
  points.find_equal_shards();
  return points;
}

Expected<void> SplitPoints::read_words() {
  plain_.global_batch = space_->global_batch;
  plain_.sequence = space_->sequence;
  for (const AxisRow& row : axis_rows()) {
    std::vector<RunWishes>& told = told_[static_cast<std::size_t>(row.id)];
    for (const std::string& text : space_->values[static_cast<std::size_t>(row.id)]) {
      told.emplace_back();
      if (row.is_noun() || text == row.axis.own_word) continue;
      TRY(row.type.read(text, std::string(row.flag), told.back()));
    }
    if (row.is_noun()) continue;
    if (told.size() == 1) row.type.copy(plain_, told.front());
    else varied_.push_back({row.id, row.type.copy});
  }
  if (!space_->tiers) return {};
  for (int combination = 0; combination < 8; ++combination)
    orders_.push_back(order_of_tiers((combination & 4) == 0, (combination & 2) == 0, (combination & 1) == 0));
  return {};
}

/// What could be wrong with a machine or a number type is asked before any work; GPU counts beyond the first are looked
/// up as they come, for each setting keeps its nouns.
Expected<void> SplitPoints::read_settings() {
  constexpr std::size_t most_gpu_counts = 256;
  const auto& counts = space_->numbers[static_cast<std::size_t>(AxisId::gpus)];
  if (counts.size() > most_gpu_counts)
    return fail(
        "--gpus", fmt::format("{} GPU counts in one sweep", counts.size()), fmt::format("at most {}", most_gpu_counts));
  std::size_t combinations = 1;
  for (const AxisId axis : switch_axes) combinations *= space_->values[static_cast<std::size_t>(axis)].size();
  by_switches_.assign(combinations, nullptr);
  const auto largest = static_cast<std::uint16_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  for (const std::uint16_t gpus : {std::uint16_t{0}, largest}) {
    Digits digits{};
    digits[static_cast<std::size_t>(AxisId::gpus)] = gpus;
    auto& precision = digits[static_cast<std::size_t>(AxisId::precision)];
    for (; precision < space_->values[static_cast<std::size_t>(AxisId::precision)].size(); ++precision)
      TRY(find_setting(digits));
  }
  return {};
}

/// What divides the elements of every weight.
void SplitPoints::find_equal_shards() {
  const auto& zero = space_->numbers[static_cast<std::size_t>(AxisId::zero)];
  if (std::ranges::none_of(zero, [](std::int64_t stage) { return stage >= 2; })) return;
  const Plan& plan = settings_.front()->scenario.plan;
  BatchShape shape;
  shape.positions = space_->sequence;
  shape.lora_rank = plan.lora_rank, shape.adapted = plan.adapted;
  const auto net = built_.of(network(), shape, stack().attention);
  equal_shards_ = 0;
  for (std::size_t tensor = 0; tensor < net->tensors.size(); ++tensor)
    if (net->tensors[tensor].role == TensorRole::weight)
      equal_shards_ = std::gcd(equal_shards_, static_cast<std::int64_t>(net->elements(static_cast<int>(tensor))));
}

std::size_t SplitPoints::switches_of(const Digits& digits) const {
  std::size_t place = 0;
  for (const AxisId axis : switch_axes)
    place = place * space_->values[static_cast<std::size_t>(axis)].size() + digits[static_cast<std::size_t>(axis)];
  return place;
}

Expected<Setting*> SplitPoints::find_setting(const Digits& digits) {
  Setting*& known = by_switches_[switches_of(digits)];
  if (known != nullptr) return known;
  TRY(auto scenario, resolve(setting_request(*space_, digits)));
  auto setting = std::make_unique<Setting>();
  setting->scenario = std::move(scenario);
  setting->cost = std::make_unique<CostModel>(cost_model(setting->scenario).with_ranks(setting->scenario.plan.gpus));
  setting->point = setting->scenario;
  known = setting.get();
  settings_.push_back(std::move(setting));
  return known;
}

Setting& SplitPoints::make_setting(const Digits& digits) {
  // make() has asked for every precision and for the most GPUs; fewer of them, and switches of the software, cannot
  // fail.
  return *find_setting(digits).value();
}

const MeshOrder& SplitPoints::order(const Digits& digits) const {
  if (!space_->tiers) return told(digits, AxisId::order).order;
  const auto across = [&](AxisId axis) { return space_->value(digits, axis) == "node" ? 0U : 1U; };
  return orders_[4 * across(AxisId::tp_tier) + 2 * across(AxisId::pp_tier) + across(AxisId::dp_tier)];
}

SplitWishes SplitPoints::wishes(const Digits& digits) const {
  RunWishes wishes = plain_;
  for (const VariedAxis& axis : varied_) axis.copy(wishes, told(digits, axis.id));
  if (space_->tiers) wishes.order = order(digits);
  return std::move(static_cast<SplitWishes&>(wishes));
}

Expected<Split> SplitPoints::split(const Digits& digits, const SplitWishes& wishes) const {
  const Scenario& scenario = settings_.front()->scenario;
  Split split = split_of(wishes, scenario.network.row, scenario.stack.row);
  const LayoutChoice& layout = told(digits, AxisId::layout).layout;
  TRY(lay_layers(split, layout, scenario.network.row, "--layout", "--pp"));
  return split;
}

const Scenario& SplitPoints::lay_point(const Digits& digits, const SplitWishes& wishes, Split split) {
  Setting& here = found_setting(digits);
  here.point.plan = here.scenario.plan;
  set_size(here.point.plan, wishes.size());
  lay_split(here.point, std::move(split));
  return here.point;
}

Expected<Program> SplitPoints::lowered(const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const Scenario& scenario = setting(digits).scenario;
  return lower(network(), plan_of(split, wishes.size(), scenario.plan), scenario.stack.row, built_);
}

Expected<Prediction> SplitPoints::forecast(const Digits& digits, const Scenario& point) {
  TRY(auto program, lower(network(), point.plan, point.stack.row, built_));
  return run::predict_lowered(point, std::move(program), *setting(digits).cost);
}

Expected<Program> SplitPoints::lowered_step(const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const Scenario& scenario = setting(digits).scenario;
  return lower_step(network(), plan_of(split, wishes.size(), scenario.plan), scenario.stack.row, built_);
}

Expected<Plan> SplitPoints::unit_plan(const Digits& digits, const MeshOrder& order, std::int64_t data_ranks) {
  SplitWishes one = wishes(digits);
  one.gpus = one.ways() * data_ranks;
  one.order = order;
  one.micro_batch = 1;
  one.global_batch = one.dp();
  TRY(auto here, split(digits, one));
  drop_even_layers(here);
  return plan_of(here, one.size(), setting(digits).scenario.plan);
}

Expected<Program> SplitPoints::unit_program(const Digits& digits, const MeshOrder& order, std::int64_t data_ranks) {
  TRY(const Plan plan, unit_plan(digits, order, data_ranks));
  const Scenario& scenario = setting(digits).scenario;
  return lower_passes(network(), plan, scenario.stack.row, built_);
}

Expected<PassesPair> SplitPoints::unit_programs(const Digits& digits, const MeshOrder& order, std::int64_t data_ranks) {
  TRY(const Plan plan, unit_plan(digits, order, data_ranks));
  const Scenario& scenario = setting(digits).scenario;
  return lower_passes_pair(network(), plan, scenario.stack.row, built_);
}

std::string SplitPoints::command(const Digits& digits) const {
  std::string text = fmt::format("--global-batch {} --seq {}", space_->global_batch, space_->sequence);
  for (const AxisRow& row : axis_rows()) {
    const std::string& value = space_->value(digits, row.id);
    if (row.flag.empty() || value == left_open || (space_->tiers && row.id == AxisId::order)) continue;
    text += fmt::format(" {} {}", row.flag, value);
  }
  if (space_->tiers) text += fmt::format(" --order {}", to_text(order(digits)));
  // A sequence that predict is told must divide, unless it is told too that nothing is split along it.
  const SplitWishes wished = wishes(digits);
  if (!wished.sp && wished.tp > 1 && !sequence_divides(wished)) text += " --sp off";
  return text;
}

}  // namespace stepcast::sweep
