#include "studies/sweep/price/points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "studies/run/balance.h"
#include "studies/run/scenario.h"

namespace stepcast {
namespace {

constexpr std::string_view left_open = "auto";

bool said_on(const std::string& value) { return value == "on"; }

std::optional<bool> wish_of(const std::string& value) {
  return value == left_open ? std::nullopt : std::optional(said_on(value));
}

/// Axes inside a node first, in the usual order, then those across nodes.
MeshOrder order_of_tiers(bool tp_in_node, bool pp_in_node, bool dp_in_node) {
  const auto in_node = [&](MeshAxis axis) {
    return axis == MeshAxis::pp ? pp_in_node : axis == MeshAxis::dp ? dp_in_node : tp_in_node;
  };
  MeshOrder order = usual_order;
  std::stable_partition(order.begin(), order.end(), in_node);
  return order;
}

constexpr AxisId switch_axes[] = {AxisId::gpus, AxisId::precision, AxisId::tp_overlap, AxisId::dp_overlap, AxisId::scatter_boundary};

/// A run of any split: what resolve() then says of nouns and numbers holds for all points of this setting.
Request setting_request(const Space& space, const Digits& digits) {
  Request request = space.request;
  const std::string& gpus = space.value(digits, AxisId::gpus);
  for (const AxisRow& row : axis_rows()) request.values.erase(std::string(row.key));
  request.values["gpus"] = {gpus, "--gpus"};
  request.values["global_batch"] = {gpus, "--global-batch"};
  for (const AxisId id : {AxisId::precision, AxisId::tp_overlap, AxisId::dp_overlap})
    if (const std::string& value = space.value(digits, id); value != left_open)
      request.values[std::string(row_of(id).key)] = {value, std::string(row_of(id).flag)};
  if (space.value(digits, AxisId::scatter_boundary) == "off") request.values["scatter_boundary"] = {"off", "--scatter-boundary"};
  return request;
}

}  // namespace

Expected<SpacePoints> SpacePoints::make(const Space& space) {
  SpacePoints points(space);
  if (auto read = points.read_words(); !read) return tl::unexpected(read.error());
  if (auto read = points.read_settings(); !read) return tl::unexpected(read.error());
  return points;
}

Expected<void> SpacePoints::read_words() {
  const auto each = [&](AxisId axis, auto take) -> Expected<void> {
    for (const std::string& text : space_->values[static_cast<std::size_t>(axis)])
      if (auto taken = take(text, std::string(row_of(axis).flag)); !taken) return tl::unexpected(taken.error());
    return {};
  };
  const auto parsed = [](auto parse, auto& into) {
    return [parse, &into](const std::string& text, const std::string& where) -> Expected<void> {
      auto value = parse(text, where);
      if (!value) return tl::unexpected(value.error());
      into.push_back(std::move(*value));
      return {};
    };
  };
  const auto plain = [](auto turn, auto& into) {
    return [turn, &into](const std::string& text, const std::string&) -> Expected<void> {
      into.push_back(turn(text));
      return {};
    };
  };
  const auto schedule_word = [](const std::string& text) { return text == left_open ? std::string() : text; };
  for (const Expected<void>& read :
       {each(AxisId::recompute, parsed(parse_recompute, recompute_)), each(AxisId::layout, parsed(parse_layout, layouts_)),
        each(AxisId::cp_kind, parsed(parse_context_kind, contexts_)), each(AxisId::sp, plain(wish_of, sequence_split_)),
        each(AxisId::scatter_boundary, plain(wish_of, scatter_)), each(AxisId::save_gathered, plain(said_on, save_gathered_)),
        each(AxisId::schedule, plain(schedule_word, schedules_))})
    if (!read) return read;
  if (!space_->tiers) return each(AxisId::order, parsed(parse_order, orders_));
  for (int combination = 0; combination < 8; ++combination)
    orders_.push_back(order_of_tiers((combination & 4) == 0, (combination & 2) == 0, (combination & 1) == 0));
  return {};
}

/// What could be wrong with a machine or a number type is asked before any work; GPU counts beyond the first are looked up as they
/// come, for each setting keeps its nouns.
Expected<void> SpacePoints::read_settings() {
  constexpr std::size_t most_gpu_counts = 256;
  const auto& counts = space_->numbers[static_cast<std::size_t>(AxisId::gpus)];
  if (counts.size() > most_gpu_counts)
    return fail("--gpus", fmt::format("{} GPU counts in one sweep", counts.size()), fmt::format("at most {}", most_gpu_counts));
  std::size_t combinations = 1;
  for (const AxisId axis : switch_axes) combinations *= space_->values[static_cast<std::size_t>(axis)].size();
  by_switches_.assign(combinations, nullptr);
  const auto largest = static_cast<std::uint16_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  for (const std::uint16_t gpus : {std::uint16_t{0}, largest}) {
    Digits digits{};
    digits[static_cast<std::size_t>(AxisId::gpus)] = gpus;
    auto& precision = digits[static_cast<std::size_t>(AxisId::precision)];
    for (; precision < space_->values[static_cast<std::size_t>(AxisId::precision)].size(); ++precision)
      if (auto found = find_setting(digits); !found) return tl::unexpected(found.error());
  }
  return {};
}

std::size_t SpacePoints::switches_of(const Digits& digits) const {
  std::size_t place = 0;
  for (const AxisId axis : switch_axes)
    place = place * space_->values[static_cast<std::size_t>(axis)].size() + digits[static_cast<std::size_t>(axis)];
  return place;
}

Expected<const Setting*> SpacePoints::find_setting(const Digits& digits) {
  const Setting*& known = by_switches_[switches_of(digits)];
  if (known != nullptr) return known;
  auto scenario = resolve(setting_request(*space_, digits));
  if (!scenario) return tl::unexpected(scenario.error());
  auto setting = std::make_unique<Setting>();
  setting->scenario = std::move(*scenario);
  setting->cost = std::make_unique<CostModel>(cost_model(setting->scenario).with_ranks(setting->scenario.plan.gpus));
  setting->point = setting->scenario;
  known = setting.get();
  settings_.push_back(std::move(setting));
  return known;
}

const Setting& SpacePoints::make_setting(const Digits& digits) {
  // make() has asked for every precision and for the most GPUs; fewer of them, and switches of the software, cannot fail.
  return *find_setting(digits).value();
}

bool SpacePoints::balances_layers(const Digits& digits) const {
  return layouts_[digits[static_cast<std::size_t>(AxisId::layout)]].kind == LayoutChoice::Kind::balanced;
}

const MeshOrder& SpacePoints::order(const Digits& digits) const {
  if (!space_->tiers) return orders_[digits[static_cast<std::size_t>(AxisId::order)]];
  const auto across = [&](AxisId axis) { return space_->value(digits, axis) == "node" ? 0U : 1U; };
  return orders_[4 * across(AxisId::tp_tier) + 2 * across(AxisId::pp_tier) + across(AxisId::dp_tier)];
}

SplitWishes SpacePoints::wishes(const Digits& digits) const {
  SplitWishes wishes;
  for (const auto& [id, slot] : {std::pair{AxisId::gpus, &wishes.gpus}, {AxisId::tp, &wishes.tp}, {AxisId::cp, &wishes.cp},
                                 {AxisId::pp, &wishes.pp}, {AxisId::chunks, &wishes.chunks}, {AxisId::ep, &wishes.ep},
                                 {AxisId::etp, &wishes.etp}, {AxisId::zero, &wishes.zero},
                                 {AxisId::dp_replicate, &wishes.dp_replicate}, {AxisId::micro_batch, &wishes.micro_batch}})
    *slot = space_->number(digits, id);
  wishes.global_batch = space_->global_batch;
  wishes.sequence = space_->sequence;
  const auto digit = [&](AxisId id) { return digits[static_cast<std::size_t>(id)]; };
  wishes.sp = sequence_split_[digit(AxisId::sp)];
  wishes.scatter_boundary = scatter_[digit(AxisId::scatter_boundary)];
  wishes.save_gathered = save_gathered_[digit(AxisId::save_gathered)] != 0;
  wishes.schedule = schedules_[digit(AxisId::schedule)];
  wishes.recompute = recompute_[digit(AxisId::recompute)];
  wishes.context = contexts_[digit(AxisId::cp_kind)];
  wishes.order = order(digits);
  return wishes;
}

Expected<Split> SpacePoints::split(const Digits& digits, const SplitWishes& wishes) const {
  const Scenario& scenario = settings_.front()->scenario;
  Split split = split_of(wishes, scenario.network.row, scenario.stack.row);
  const LayoutChoice& layout = layouts_[digits[static_cast<std::size_t>(AxisId::layout)]];
  if (auto laid = lay_layers(split, layout, scenario.network.row, "--layout", "--pp"); !laid) return tl::unexpected(laid.error());
  return split;
}

// Where layers cannot lie evenly, costs of a micro-batch alone decide; else the whole step is weighed against the even split.
Digits SpacePoints::balanced_key(const Digits& digits, const Split& split) const {
  Digits key = digits;
  if (network().layers % (split.pp * split.chunks) == 0 || split.zero >= 2) return key;
  for (const AxisId axis : {AxisId::zero, AxisId::dp_replicate, AxisId::dp_overlap}) key[static_cast<std::size_t>(axis)] = 0;
  return key;
}

Expected<LayerCounts> SpacePoints::balanced(const Digits& digits) {
  constexpr std::size_t most_remembered = 1 << 16;
  const SplitWishes wished = wishes(digits);
  const auto nearly_even = split(digits, wished);
  if (!nearly_even) return tl::unexpected(nearly_even.error());
  const Digits key = balanced_key(digits, *nearly_even);
  if (const auto known = balanced_.find(key); known != balanced_.end()) return known->second;
  const Setting& here = setting(digits);
  here.point.plan = plan_of(*nearly_even, wished.size(), here.scenario.plan);
  auto layers = balanced_layers(here.point, *nearly_even);
  if (!layers) return layers;
  if (balanced_.size() >= most_remembered) balanced_.clear();
  return balanced_[key] = std::move(*layers);
}

Expected<const Scenario*> SpacePoints::point(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  auto split_here = split(digits, wished);
  if (!split_here) return tl::unexpected(split_here.error());
  if (balances_layers(digits)) {
    auto layers = balanced(digits);
    if (!layers) return tl::unexpected(layers.error());
    split_here->layers = std::move(*layers);
  }
  drop_even_layers(*split_here);
  const Setting& here = setting(digits);
  here.point.plan = plan_of(*split_here, wished.size(), here.scenario.plan);
  here.point.micro_batches = split_here->micro_batches;
  here.point.split = in_words(*split_here) + in_words(here.point.ways);
  return &here.point;
}

Expected<Scenario> SpacePoints::scenario(const Digits& digits) {
  const auto at = point(digits);
  if (!at) return tl::unexpected(at.error());
  return **at;
}

Expected<Program> SpacePoints::lowered(const Digits& digits, const SplitWishes& wishes, Split split) {
  const Scenario& scenario = setting(digits).scenario;
  drop_even_layers(split);
  return lower(scenario.network.row, plan_of(split, wishes.size(), scenario.plan), scenario.stack.row);
}

Expected<Program> SpacePoints::program(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  auto here = split(digits, wished);
  if (!here) return tl::unexpected(here.error());
  if (balances_layers(digits)) {
    auto layers = balanced(digits);
    if (!layers) return tl::unexpected(layers.error());
    here->layers = std::move(*layers);
  }
  return lowered(digits, wished, std::move(*here));
}

Expected<Program> SpacePoints::unit_program(const Digits& digits, std::int64_t micro_batch, const MeshOrder& order) {
  SplitWishes one = wishes(digits);
  one.order = order;
  one.micro_batch = micro_batch;
  one.global_batch = micro_batch * one.dp();
  auto here = split(digits, one);
  if (!here) return tl::unexpected(here.error());
  return lowered(digits, one, std::move(*here));
}

Expected<Prediction> SpacePoints::predict(const Digits& digits) {
  const auto at = point(digits);
  if (!at) return tl::unexpected(at.error());
  return stepcast::predict(**at);
}

std::string SpacePoints::command(const Digits& digits) const {
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

void set_plan_figures(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack, Figures& figures) {
  const Split split = split_of(wishes, network, stack);
  for (const auto& [figure, value] :
       {std::pair{Figure::gpus, wishes.gpus}, {Figure::tp, wishes.tp}, {Figure::cp, wishes.cp}, {Figure::pp, wishes.pp},
        {Figure::dp, split.dp}, {Figure::ep, wishes.ep}, {Figure::etp, wishes.etp}, {Figure::chunks, split.chunks},
        {Figure::micro_batch, wishes.micro_batch}, {Figure::micro_batches, split.micro_batches}, {Figure::zero, wishes.zero},
        {Figure::dp_replicate, split.replicas}, {Figure::sequence, wishes.sequence}})
    figures[static_cast<std::size_t>(figure)] = static_cast<double>(value);
}

Figures figures_of(const Scenario& scenario, const SplitWishes& wishes, const Prediction& prediction, double price) {
  Figures figures{};
  const auto set = [&](Figure figure, double value) { figures[static_cast<std::size_t>(figure)] = value; };
  const StepReport& step = prediction.step;
  const Phases& phases = step.phases;
  const double gpus = static_cast<double>(scenario.plan.gpus), seconds = step.step_time.value();
  const double tokens = static_cast<double>(scenario.plan.global_batch) * static_cast<double>(scenario.plan.sequence);
  set(Figure::step_time, seconds);
  set(Figure::p10, step.p10.value());
  set(Figure::p90, step.p90.value());
  set(Figure::tokens_per_s_per_gpu, tokens / seconds / gpus);
  set(Figure::mfu, prediction.mfu);
  set(Figure::hfu, prediction.hfu);
  set(Figure::bubble, step.bubble_fraction);
  set(Figure::forward, phases.forward.value());
  set(Figure::backward, phases.backward.value());
  set(Figure::pipeline_bubble, phases.bubble.value());
  set(Figure::exposed_communication, phases.exposed_communication.value());
  set(Figure::gradient_sync, phases.gradient_sync.value());
  set(Figure::clip, phases.clip.value());
  set(Figure::optimizer, phases.optimizer.value());
  set(Figure::parameter_gather, phases.parameter_gather.value());
  set(Figure::host, phases.host.value());
  set(Figure::other, (phases.data_wait + phases.host_to_device).value());
  set(Figure::memory_peak, std::round(step.memory.peak.value()));
  set(Figure::memory_headroom, std::round((step.memory.capacity - step.memory.peak).value()));
  set(Figure::weights, step.memory.weights.value());
  set(Figure::gradients, step.memory.gradients.value());
  set(Figure::optimizer_states, step.memory.optimizer.value());
  set(Figure::activations, step.memory.activations.value());
  set(Figure::cost, price > 0 ? price * gpus * seconds / 3600 / tokens * 1e9 : std::numeric_limits<double>::quiet_NaN());
  set(Figure::energy, step_energy(scenario.machine.row.gpu, gpus, seconds, step.kernel_time.value()));
  set_plan_figures(wishes, scenario.network.row, scenario.stack.row, figures);
  return figures;
}

double step_energy(const Gpu& gpu, double gpus, double step_s, double kernel_s) {
  const double idle = gpu.power_w * idle_power_share;
  return gpus * (idle * step_s + (gpu.power_w - idle) * kernel_s);
}

}  // namespace stepcast
