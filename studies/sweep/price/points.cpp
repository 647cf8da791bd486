#include "studies/sweep/price/points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "sim/layer_costs.h"
#include "sim/schedule/schedule_table.h"
#include "sim/step/paired.h"
#include "studies/run/balance.h"

namespace stepcast::sweep {
namespace {

constexpr std::string_view left_open = "auto";
// What families over any number of data ranks are lowered with.
constexpr std::int64_t few_data_ranks = 2, more_data_ranks = 4;

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

Expected<Program> lower_whole(const NetworkSpec& network, const Plan& plan, const Stack& stack) {
  return lower(network, plan, stack);
}

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

Expected<SpacePoints> SpacePoints::make(const Space& space) {
  SpacePoints points(space);
  TRY(points.read_words());
  TRY(points.read_settings());
  return points;
}

Expected<void> SpacePoints::read_words() {
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
Expected<void> SpacePoints::read_settings() {
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

std::size_t SpacePoints::switches_of(const Digits& digits) const {
  std::size_t place = 0;
  for (const AxisId axis : switch_axes)
    place = place * space_->values[static_cast<std::size_t>(axis)].size() + digits[static_cast<std::size_t>(axis)];
  return place;
}

Expected<Setting*> SpacePoints::find_setting(const Digits& digits) {
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

Setting& SpacePoints::make_setting(const Digits& digits) {
  // make() has asked for every precision and for the most GPUs; fewer of them, and switches of the software, cannot
  // fail.
  return *find_setting(digits).value();
}

bool SpacePoints::balances_layers(const Digits& digits) const {
  return told(digits, AxisId::layout).layout.kind == LayoutChoice::Kind::balanced;
}

const MeshOrder& SpacePoints::order(const Digits& digits) const {
  if (!space_->tiers) return told(digits, AxisId::order).order;
  const auto across = [&](AxisId axis) { return space_->value(digits, axis) == "node" ? 0U : 1U; };
  return orders_[4 * across(AxisId::tp_tier) + 2 * across(AxisId::pp_tier) + across(AxisId::dp_tier)];
}

SplitWishes SpacePoints::wishes(const Digits& digits) const {
  RunWishes wishes = plain_;
  for (const VariedAxis& axis : varied_) axis.copy(wishes, told(digits, axis.id));
  if (space_->tiers) wishes.order = order(digits);
  return std::move(static_cast<SplitWishes&>(wishes));
}

Expected<Split> SpacePoints::split(const Digits& digits, const SplitWishes& wishes) const {
  const Scenario& scenario = settings_.front()->scenario;
  Split split = split_of(wishes, scenario.network.row, scenario.stack.row);
  const LayoutChoice& layout = told(digits, AxisId::layout).layout;
  TRY(lay_layers(split, layout, scenario.network.row, "--layout", "--pp"));
  return split;
}

// Where layers cannot lie evenly, costs of a micro-batch alone decide; else the whole step is weighed against the even
// split.
Digits SpacePoints::balanced_key(const Digits& digits, const Split& split) const {
  Digits key = digits;
  if (network().layers % (split.pp * split.chunks) == 0 || split.zero >= 2) return key;
  for (const AxisId axis : {AxisId::zero, AxisId::replicas, AxisId::dp_overlap})
    key[static_cast<std::size_t>(axis)] = 0;
  return key;
}

// Neither schedule and layout change what a block is, nor the number of stages where all groups of a micro-batch lie
// inside of them on the mesh and keep their ranks. Where moves stay between tensor and context ranks and these are the
// fastest on the mesh, the order of the rest changes nothing either.
Digits SpacePoints::block_key(const Digits& digits, const Split& split) const {
  constexpr std::uint16_t one_stage = 0, more_stages = 1;
  constexpr auto any_order = std::numeric_limits<std::uint16_t>::max();
  Digits key = digits;
  const auto drop = [&](std::initializer_list<AxisId> axes) {
    for (const AxisId axis : axes) key[static_cast<std::size_t>(axis)] = 0;
  };
  drop({AxisId::chunks, AxisId::schedule, AxisId::layout});
  if (split.zero >= 2) return key;
  drop({AxisId::zero, AxisId::replicas, AxisId::dp_overlap});
  const auto stages = std::ranges::find(split.order, MeshAxis::pp);
  const auto inside = [&](MeshAxis axis) { return std::find(split.order.begin(), stages, axis) != stages; };
  if (inside(MeshAxis::tp) && inside(MeshAxis::cp) && (!split.experts || inside(MeshAxis::dp)))
    key[static_cast<std::size_t>(AxisId::pp)] = split.pp == 1 ? one_stage : more_stages;
  SplitWishes sharded;
  sharded.zero = split.zero;
  const bool leads = split.order[0] == MeshAxis::tp && split.order[1] == MeshAxis::cp;
  if (!leads || split.experts || moves_over_data_ranks(sharded, stack())) return key;
  drop({AxisId::tp_tier, AxisId::pp_tier, AxisId::dp_tier});
  key[static_cast<std::size_t>(AxisId::order)] = any_order;
  return key;
}

/// Rows of experts are whole numbers: where those of one sequence are, all sizes grow with the sequences.
bool SpacePoints::grows_evenly() const {
  const Experts& experts = network().experts;
  if (experts.count == 0) return true;
  const double rows = static_cast<double>(space_->sequence) * static_cast<double>(experts.top_k) *
                      (experts.capacity_factor > 0 ? experts.capacity_factor : 1) / static_cast<double>(experts.count);
  return rows == std::floor(rows);
}

/// One data rank keeps all there is, and moves nothing.
bool SpacePoints::spreads(const SplitWishes& wishes, const Split& split) const {
  return split.dp > 1 && spreads_over_data_ranks(wishes, split, stack());
}

// Programs whose moves stay between tensor and context ranks, or all data ranks as well, are lowered in the usual order
// of the mesh, and laid on the ranks of others: only where these groups lie differs.
bool SpacePoints::moves_anywhere(const SplitWishes& wishes, const Split& split) const {
  if (split.experts) return false;
  return !moves_over_data_ranks(wishes, stack()) || spreads_over_data_ranks(wishes, split, stack());
}

std::shared_ptr<UnitFamily> SpacePoints::make_family(
    const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const MeshOrder& order = moves_anywhere(wishes, split) ? usual_order : wishes.order;
  const std::int64_t few = spreads(wishes, split) ? few_data_ranks : split.dp;
  auto one = unit_program(digits, 1, order, few);
  const auto two = unit_program(digits, 2, order, few);
  lowered_ += 2;
  if (!one || !two) return nullptr;
  if (!spreads(wishes, split)) return std::make_shared<UnitFamily>(std::move(*one), *two);
  const auto more = unit_program(digits, 1, order, more_data_ranks);
  ++lowered_;
  if (!more) return nullptr;
  one->ranks = wishes.gpus;  // prices are those of all ranks in use
  return std::make_shared<UnitFamily>(
      std::move(*one), *two, 1.0 / static_cast<double>(few), *more, 1.0 / static_cast<double>(more_data_ranks));
}

std::shared_ptr<UnitFamily> SpacePoints::unit_family(
    const Digits& digits, const SplitWishes& wishes, const Split& split) {
  constexpr std::size_t most_remembered = 1 << 10;
  if (!grows_evenly()) return nullptr;
  const PartKey key = family_key(stack(), digits, wishes, split);
  if (const auto known = families_.find(key); known != families_.end()) return known->second;
  std::shared_ptr<UnitFamily> family = make_family(digits, wishes, split);
  if (family != nullptr && !family->grows_evenly()) family = nullptr;
  if (families_.size() >= most_remembered) families_.clear();
  return families_[key] = std::move(family);
}

const Program* SpacePoints::sized(UnitFamily& family, const SplitWishes& wishes, const Split& split) const {
  const std::int64_t data = spreads(wishes, split) ? few_data_ranks : 1;
  const UnitFamily::Axis axes[] = {{1, wishes.tp, stride_of(wishes, MeshAxis::tp)},
      {wishes.tp, wishes.cp, stride_of(wishes, MeshAxis::cp)},
      {wishes.tp * wishes.cp, data, stride_of(wishes, MeshAxis::dp), split.dp}};
  if (moves_anywhere(wishes, split) && !family.lay(axes)) return nullptr;
  const auto micro_batch = static_cast<double>(wishes.micro_batch);
  return spreads(wishes, split) ? &family.at(micro_batch, 1.0 / static_cast<double>(split.dp))
                                : &family.at(micro_batch);
}

SpacePoints::Blocks& SpacePoints::remembered_blocks(const Digits& key) {
  constexpr std::size_t most_remembered = 1 << 10;
  if (blocks_.size() >= most_remembered && !blocks_.contains(key)) blocks_.clear();
  return blocks_[key];
}

Expected<SpacePoints::Blocks*> SpacePoints::blocks(const Digits& digits, const Scenario& point) {
  Blocks& here = remembered_blocks(block_key(digits, *point.split));
  if (here.program != nullptr) return &here;
  ++lowered_;
  TRY(auto program, weighed_program(point));
  here.program = std::make_shared<const Program>(std::move(program));
  return &here;
}

double SpacePoints::paired(const Split& split) {
  const auto kind = find_schedule(split.schedule);
  if (!kind || !(*kind)->pairs) return 0;
  const auto [known, added] = paired_.try_emplace({split.schedule, split.pp, split.micro_batches}, 0.0);
  if (added)
    known->second = paired_share(
        **kind, {static_cast<int>(split.pp), static_cast<int>(split.chunks), static_cast<int>(split.micro_batches)});
  return known->second;
}

/// Null where no family has them.
const Program* SpacePoints::family_blocks(const Digits& digits, const SplitWishes& wishes, const Split& split) {
  if (split.recompute.layers > 0) return nullptr;
  const std::shared_ptr<UnitFamily> family = unit_family(digits, wishes, split);
  return family == nullptr ? nullptr : sized(*family, wishes, split);
}

Expected<LayerCounts> SpacePoints::layers_by_price(
    const Digits& digits, const SplitWishes& wishes, const Scenario& point) {
  const auto weighed = [&]() -> Expected<const Program*> {
    if (const Program* program = family_blocks(digits, wishes, *point.split)) return program;
    TRY(Blocks* const own, blocks(digits, point));
    return own->program.get();
  };
  Blocks* const here = &remembered_blocks(block_key(digits, *point.split));
  const double share = paired(*point.split);
  const auto known =
      std::ranges::find_if(here->prices, [&](const PricedLayers& prices) { return prices.paired == share; });
  const bool fresh = known == here->prices.end();
  if (fresh) {
    TRY(const Program* const program, weighed());
    here->prices.push_back({share, layer_costs(*program, *setting(digits).cost, share), {}});
  }
  PricedLayers& priced = fresh ? here->prices.back() : *known;
  const auto [laid, added] = priced.laid.try_emplace(point.split->pp * point.split->chunks, LayerCounts{});
  if (added) laid->second = run::layers_by_price(priced.problem, laid->first);
  return laid->second;
}

std::shared_ptr<const Program> SpacePoints::block_program(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  const auto nearly_even = split(digits, wished);
  if (!nearly_even || nearly_even->recompute.layers > 0 || !balances_layers(digits)) return nullptr;
  const auto here = blocks(digits, lay_point(digits, wished, *nearly_even));
  return here ? (*here)->program : nullptr;
}

Expected<LayerCounts> SpacePoints::balanced(const Digits& digits) {
  constexpr std::size_t most_remembered = 1 << 16;
  const SplitWishes wished = wishes(digits);
  TRY(const auto nearly_even, split(digits, wished));
  const Digits key = balanced_key(digits, nearly_even);
  if (const auto known = balanced_.find(key); known != balanced_.end()) return known->second;
  const Scenario& here = lay_point(digits, wished, nearly_even);
  TRY(auto by_price, layers_by_price(digits, wished, here));
  TRY(auto layers, unless_even_is_faster(here, std::move(by_price)));
  if (balanced_.size() >= most_remembered) balanced_.clear();
  return balanced_[key] = std::move(layers);
}

const Scenario& SpacePoints::lay_point(const Digits& digits, const SplitWishes& wishes, Split split) {
  Setting& here = found_setting(digits);
  here.point.plan = here.scenario.plan;
  set_size(here.point.plan, wishes.size());
  lay_split(here.point, std::move(split));
  return here.point;
}

/// With the layers that the point runs with.
Expected<Split> SpacePoints::laid(const Digits& digits, const SplitWishes& wishes) {
  TRY(auto here, split(digits, wishes));
  if (balances_layers(digits)) {
    TRY(auto layers, balanced(digits));
    here.layers = std::move(layers);
  }
  drop_even_layers(here);
  return here;
}

Expected<const Scenario*> SpacePoints::point(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  TRY(auto here, laid(digits, wished));
  return &lay_point(digits, wished, std::move(here));
}

Expected<Scenario> SpacePoints::scenario(const Digits& digits) {
  TRY(const auto at, point(digits));
  return *at;
}

Expected<Program> SpacePoints::lowered(const Digits& digits, const SplitWishes& wishes, const Split& split, Lower* by) {
  const Scenario& scenario = setting(digits).scenario;
  return by(scenario.network.row, plan_of(split, wishes.size(), scenario.plan), scenario.stack.row);
}

Expected<Program> SpacePoints::program(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  TRY(const auto here, laid(digits, wished));
  return lowered(digits, wished, here, lower_whole);
}

// Where layers are to be balanced they lie nearly evenly: which layers a stage has changes nothing of what happens once
// per step, and relaid() lays them otherwise. Layers that recompute in part are blocks of their own, by stage.
Expected<Program> SpacePoints::step_program(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  TRY(auto here, recompute(digits).layers > 0 ? laid(digits, wished) : split(digits, wished));
  drop_even_layers(here);
  return lowered(digits, wished, here, lower_step);
}

Expected<Program> SpacePoints::unit_program(
    const Digits& digits, std::int64_t micro_batch, const MeshOrder& order, std::int64_t data_ranks) {
  SplitWishes one = wishes(digits);
  one.gpus = one.ways() * data_ranks;
  one.order = order;
  one.micro_batch = micro_batch;
  one.global_batch = micro_batch * one.dp();
  TRY(auto here, split(digits, one));
  drop_even_layers(here);
  return lowered(digits, one, here, lower_whole);
}

Expected<Prediction> SpacePoints::predict(const Digits& digits) {
  TRY(const auto at, point(digits));
  return run::predict(*at);
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
          {Figure::micro_batch, wishes.micro_batch}, {Figure::micro_batches, split.micro_batches},
          {Figure::zero, wishes.zero}, {Figure::replicas, split.replicas}, {Figure::sequence, wishes.sequence}})
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
  set(Figure::cost,
      price > 0 ? price * gpus * seconds / 3600 / tokens * 1e9 : std::numeric_limits<double>::quiet_NaN());
  set(Figure::energy, step_energy(scenario.machine.row.gpu, gpus, seconds, step.kernel_time.value()));
  set_plan_figures(wishes, scenario.network.row, scenario.stack.row, figures);
  return figures;
}

double step_energy(const Gpu& gpu, double gpus, double step_s, double kernel_s) {
  const double idle = gpu.power_w * idle_power_share;
  return gpus * (idle * step_s + (gpu.power_w - idle) * kernel_s);
}

}  // namespace stepcast::sweep
