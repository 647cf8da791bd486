#include "studies/sweep/price/shared_blocks.h"

#include <algorithm>
#include <cmath>

#include "sim/layer_costs.h"
#include "sim/schedule/schedule_table.h"
#include "sim/step/paired.h"
#include "sim/streams.h"

namespace stepcast::sweep {
namespace {

// What families over any number of data ranks are lowered with.
constexpr std::int64_t few_data_ranks = 2, more_data_ranks = 4;

}  // namespace

SharedBlocks::SharedBlocks(SplitPoints& points, std::size_t most_parts) : points_(&points), most_parts_(most_parts) {
  for (const std::string& name : points.space().values[static_cast<std::size_t>(AxisId::schedule)])
    if (const auto kind = find_schedule(name); kind && (*kind)->pairs) pairs_ = true;
}

/// Rows of experts are whole numbers: where those of one sequence are, all sizes grow with the sequences.
bool SharedBlocks::grows_evenly() const {
  const Experts& experts = points_->network().experts;
  if (experts.count == 0) return true;
  const double rows = static_cast<double>(points_->space().sequence) * static_cast<double>(experts.top_k) *
                      (experts.capacity_factor > 0 ? experts.capacity_factor : 1) / static_cast<double>(experts.count);
  return rows == std::floor(rows);
}

bool SharedBlocks::spread(const SplitWishes& wishes, const Split& split) const {
  return spreads_over_data_ranks(wishes, split, points_->stack(), points_->equal_shards());
}

/// One data rank keeps all there is, and moves nothing.
bool SharedBlocks::spreads(const SplitWishes& wishes, const Split& split) const {
  return split.dp > 1 && spread(wishes, split);
}

// Programs whose moves stay between tensor and context ranks, or all data ranks as well, are lowered in the usual order
// of the mesh, and laid on the ranks of others: only where these groups lie differs.
bool SharedBlocks::moves_anywhere(const SplitWishes& wishes, const Split& split) const {
  if (split.experts) return false;
  return !moves_over_data_ranks(wishes, points_->stack()) || spread(wishes, split);
}

std::shared_ptr<UnitFamily> SharedBlocks::make_family(
    const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const MeshOrder& order = moves_anywhere(wishes, split) ? usual_order : wishes.order;
  const std::int64_t few = spreads(wishes, split) ? few_data_ranks : split.dp;
  auto sizes = points_->unit_programs(digits, order, few);
  lowered_ += 2;
  if (!sizes) return nullptr;
  auto& [one, two] = *sizes;
  if (!spreads(wishes, split)) return std::make_shared<UnitFamily>(std::move(one), two);
  const auto more = points_->unit_program(digits, order, more_data_ranks);
  ++lowered_;
  if (!more) return nullptr;
  one.ranks = wishes.gpus;  // prices are those of all ranks in use
  return std::make_shared<UnitFamily>(
      std::move(one), two, 1.0 / static_cast<double>(few), *more, 1.0 / static_cast<double>(more_data_ranks));
}

SharedBlocks::Family& SharedBlocks::family(const Digits& digits, const SplitWishes& wishes, const Split& split) {
  // The programs that a family keeps are as large as so many of its units.
  constexpr std::size_t parts_of_family = 16;
  const PartKey key = family_key(points_->stack(), digits, wishes, split, spread(wishes, split));
  if (const auto known = families_.find(key); known != families_.end()) return known->second;
  if (parts_ > most_parts_) {
    families_.clear();
    parts_ = 0;
  }
  parts_ += parts_of_family;
  Family& made = families_[key];
  if (grows_evenly()) made.programs = make_family(digits, wishes, split);
  if (made.programs != nullptr && !made.programs->grows_evenly()) made.programs = nullptr;
  return made;
}

/// The blocks of a point of the family, until it is asked again; null where its groups cannot be laid on the ranks of
/// the point's mesh.
const Program* SharedBlocks::sized(UnitFamily& family, const SplitWishes& wishes, const Split& split) const {
  const std::int64_t data = spreads(wishes, split) ? few_data_ranks : 1;
  const UnitFamily::Axis axes[] = {{1, wishes.tp, stride_of(wishes, MeshAxis::tp)},
      {wishes.tp, wishes.cp, stride_of(wishes, MeshAxis::cp)},
      {wishes.tp * wishes.cp, data, stride_of(wishes, MeshAxis::dp), split.dp}};
  if (moves_anywhere(wishes, split) && !family.lay(axes)) return nullptr;
  const auto micro_batch = static_cast<double>(wishes.micro_batch);
  return spreads(wishes, split) ? &family.at(micro_batch, 1.0 / static_cast<double>(split.dp))
                                : &family.at(micro_batch);
}

/// Share of the passes that the split's schedule runs in pairs.
double SharedBlocks::paired(const Split& split) {
  const auto [pairing, unknown] = pairing_.try_emplace(split.schedule, nullptr);
  if (unknown)
    if (const auto kind = find_schedule(split.schedule); kind && (*kind)->pairs) pairing->second = *kind;
  if (pairing->second == nullptr) return 0;
  const auto [known, added] = paired_.try_emplace({split.schedule, split.pp, split.micro_batches}, 0.0);
  if (added)
    known->second = paired_share(*pairing->second,
        {static_cast<int>(split.pp), static_cast<int>(split.chunks), static_cast<int>(split.micro_batches)});
  return known->second;
}

// How much of a schedule runs in pairs depends on its stages and micro-batches: many shares come for each size.
std::vector<BlockPrices> SharedBlocks::prices(
    const Program& sized, const CostModel& cost, Family& family, const PartKey& size, double paired) {
  const auto known = family.prices.find(size);
  std::vector<BlockPrices> prices = known != family.prices.end() ? known->second : sim::price_items(sized, cost);
  if (pairs_ && known == family.prices.end()) {
    family.prices.emplace(size, prices);
    ++parts_;
  }
  sim::pair_passes(sized, cost, paired, prices);
  return prices;
}

std::shared_ptr<const UnitMemory> SharedBlocks::memory(
    Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const auto make = [&] {
    const auto program = sized_program(family, digits, wishes, split);
    return program != nullptr ? std::make_shared<const UnitMemory>(*program) : nullptr;
  };
  if (!pairs_) return make();
  const auto [known, added] = family.memories.try_emplace(unit_key(wishes, spread(wishes, split)));
  if (added) known->second = make();
  return known->second;
}

/// Those that are lowered one by one.
std::shared_ptr<const Program> SharedBlocks::single(
    Family& family, const Digits& digits, const SplitWishes& wishes, const PartKey& size) {
  std::shared_ptr<const Program>& known = family.singles[size];
  if (known == nullptr) known = block_program(digits);
  if (known != nullptr) return known;
  ++lowered_;
  const auto split = laid(digits, wishes);
  if (!split) return nullptr;
  if (auto here = points_->lowered(digits, wishes, *split)) known = std::make_shared<const Program>(std::move(*here));
  return known;
}

/// The program that the blocks of a point have at its size, until another is asked for; null where the forecast refuses
/// it.
std::shared_ptr<const Program> SharedBlocks::sized_program(
    Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split) {
  if (family.programs != nullptr)
    if (const Program* const program = sized(*family.programs, wishes, split); program != nullptr)
      return {family.programs, program};
  return single(family, digits, wishes, unit_key(wishes, spread(wishes, split)));
}

// Layers to be balanced are weighed by the same prices.
void SharedBlocks::time_unit(
    Unit& unit, Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const auto program = sized_program(family, digits, wishes, split);
  const CostModel& cost = *points_->setting(digits).cost;
  const PartKey size = unit_key(wishes, spread(wishes, split));
  sim::WalkLists lists = sim::walk_lists(*program, prices(*program, cost, family, size, paired(split)));
  if (family.programs != nullptr && points_->balances_layers(digits) && split.recompute.layers == 0)
    unit.layers = sim::layer_costs(*program, lists, cost);
  unit.costs = std::make_shared<const UnitCosts>(std::move(lists), cost);
}

std::shared_ptr<SharedBlocks::Unit> SharedBlocks::unit(
    const Digits& digits, const SplitWishes& wishes, const Split& split, bool timed) {
  Family& here = family(digits, wishes, split);
  const auto [known, added] = here.units.try_emplace(unit_key(wishes, spread(wishes, split), paired(split)));
  std::shared_ptr<Unit> unit = known->second;
  if (added) {
    known->second = unit = std::make_shared<Unit>();
    unit->memory = memory(here, digits, wishes, split);
    ++parts_;
  }
  if (timed && unit->costs == nullptr && unit->memory != nullptr) time_unit(*unit, here, digits, wishes, split);
  return unit;
}

std::shared_ptr<const SharedBlocks::Unit> SharedBlocks::unit(const Digits& digits) {
  const SplitWishes wished = points_->wishes(digits);
  return unit(digits, wished, split_of(wished, points_->network(), points_->stack()), false);
}

std::shared_ptr<const SharedBlocks::Unit> SharedBlocks::timed_unit(const Digits& digits) {
  const SplitWishes wished = points_->wishes(digits);
  return unit(digits, wished, split_of(wished, points_->network(), points_->stack()), true);
}

}  // namespace stepcast::sweep
