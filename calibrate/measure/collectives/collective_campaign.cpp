#include "calibrate/measure/collectives/collective_campaign.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "calibrate/measure/collectives/collective_time.h"
#include "calibrate/measure/campaign_context.h"
#include "calibrate/measure/campaign_notes.h"
#include "calibrate/measure/stop_rule.h"
#include "kernels/bench/work.h"

namespace stepcast::calibrate {
namespace {

/// One thing to do with one group; exactly one of the two is set.
struct Turn {
  const CollectiveGroup* group = nullptr;
  const PlannedCollective* call = nullptr;
  const PlannedBeside* beside = nullptr;
  PlannedWork work;  ///< the same, as progress shows it
  [[nodiscard]] std::string name() const { return to_text(work.works.front()); }
};

CollectiveQuery query_of(const PlannedBeside& beside) {
  return query_of(PlannedCollective{beside.group, beside.kind, beside.buffer, {}});
}

PlannedWork planned(Query what, std::optional<Query> beside, Seconds estimate) {
  PlannedWork work;
  work.phase = phase_index("collectives");
  const KernelSource source = usual_source(what);
  work.works = {Work{std::move(what), source, false, std::move(beside)}};
  work.estimate = estimate;
  return work;
}

std::vector<Turn> turns_of(const CollectivePlan& plan) {
  std::vector<Turn> turns;
  const auto same = [](const CollectiveGroup& a, const CollectiveGroup& b) { return a.ranks == b.ranks; };
  const auto add_beside = [&](const PlannedBeside& beside) {
    turns.push_back({&beside.group, nullptr, &beside, planned(beside.gemm, query_of(beside), beside.estimate)});
  };
  std::vector<const PlannedBeside*> waiting;
  for (const PlannedBeside& beside : plan.beside) waiting.push_back(&beside);
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const PlannedCollective& call = plan.calls[i];
    turns.push_back({&call.group, &call, nullptr, planned(query_of(call), {}, call.estimate)});
    if (i + 1 < plan.calls.size() && same(plan.calls[i + 1].group, call.group)) continue;
    for (const PlannedBeside*& beside : waiting)
      if (beside != nullptr && same(beside->group, call.group)) add_beside(*std::exchange(beside, nullptr));
  }
  for (const PlannedBeside* beside : waiting)
    if (beside != nullptr) add_beside(*beside);
  return turns;
}

std::string machine_of(const CollectiveBench& bench, const CollectiveGroup& group) {
  if (group.nodes > 1) return {};
  for (const RankPlace& place : bench.ranks())
    if (place.rank == group.ranks.front()) return place.host;
  return {};
}

/// Of rows of a group: its collectives, or a product on its GPUs.
MeasurementContext collective_context(
    const CollectiveBench& bench, const CampaignRequest& request, const CollectiveGroup& group, KernelSource source) {
  MeasurementContext context = setup_context(bench.device(), bench.settings(), request.gpu, request.date);
  context.machine = machine_of(bench, group);
  context.software = software_of(source, bench.settings());
  context.launch_mode = bench.launch_mode();
  if (source == KernelSource::nccl) context.fabric = group.fabric;
  return context;
}

/// Whether two rows were taken under the same circumstances; on which day does not count.
bool comparable(MeasurementContext a, const MeasurementContext& b) {
  a.date = b.date;
  return a == b;
}

class CollectiveCampaign {
 public:
  CollectiveCampaign(
      CollectiveBench& bench, const CollectivePlan& plan, const CampaignRequest& request, const MeasureHooks& hooks)
      : bench_(bench), plan_(plan), request_(request), hooks_(hooks), rules_(collective_rules(request.rules)),
        turns_(turns_of(plan)) {}

  Expected<MeasureResult> run() {
    began_ = kept_ = bench_.now();
    for (const Turn& turn : turns_) left_ += turn.work.estimate;
    result_.measurements = request_.earlier;
    for (const std::string& note : plan_.notes) add_note(result_.measurements, note);
    if (!turns_.empty()) TRY(agree_on_earlier());
    for (std::size_t i = 0; i < turns_.size() && result_.ended_by.empty(); ++i) take(i);
    result_.finished = result_.ended_by.empty();
    keep(true);
    if (keep_error_) return tl::unexpected(*keep_error_);
    return std::move(result_);
  }

 private:
  /// What process 0's earlier file has is not timed again, on any process.
  Expected<void> agree_on_earlier() {
    std::string mine;
    const EarlierRows rows = earlier_rows();
    for (const Turn& turn : turns_) mine += has(rows, turn) ? '1' : '0';
    const MeasurementContext setup = setup_context(bench_.device(), bench_.settings(), request_.gpu, request_.date);
    if (const auto fits = check_earlier(request_.earlier, setup, bench_.settings()); !fits)
      mine = to_text(fits.error());
    TRY(auto agreed, bench_.from_first(mine));
    if (agreed.size() != turns_.size() || agreed.find_first_not_of("01") != std::string::npos)
      return fail("collectives", agreed, "the first process says why: the same command and files on every host");
    held_ = std::move(agreed);
    return {};
  }
  /// Contexts of the earlier file's rows, by what was timed.
  using EarlierRows = std::map<std::string, std::set<int>>;
  [[nodiscard]] EarlierRows earlier_rows() const {
    EarlierRows rows;
    for (const Measurement& row : request_.earlier.rows) rows[work_name(row.what)].insert(row.context);
    return rows;
  }
  [[nodiscard]] bool has(const EarlierRows& rows, const Turn& turn) const {
    const auto found = rows.find(work_name(turn.work.works.front().what));
    if (found == rows.end()) return false;
    const Work& work = turn.work.works.front();
    MeasurementContext wanted = collective_context(bench_, request_, *turn.group, work.source);
    if (work.beside) wanted.beside = work_name(*work.beside);
    return std::any_of(found->second.begin(), found->second.end(), [&](int context) {
      return comparable(request_.earlier.contexts.at(static_cast<std::size_t>(context)), wanted);
    });
  }
  void take(std::size_t index) {
    const Turn& turn = turns_[index];
    left_ -= turn.work.estimate;
    if (held_[index] == '1') {
      ++result_.resumed;
      return;
    }
    if (failed_ == turn.group->ranks) return;
    if (ends_before(turn)) return;
    report(index);
    auto done = opened(*turn.group) ? Expected<void>{} : open(*turn.group);
    if (done) done = turn.call != nullptr ? time_call(turn) : time_beside(turn);
    if (!done) give_up(turn, done.error());
    estimated_ += turn.work.estimate;
    keep(false);
  }

  /// Asked for by any process, or out of time by the clock of process 0.
  bool ends_before(const Turn& turn) {
    const auto told = bench_.agree_to_stop(keep_error_.has_value() || (hooks_.stop && hooks_.stop()));
    if (!told) return end(to_text(told.error()));
    if (*told) return end("interrupted");
    const bool late = bench_.now() - began_ + turn.work.estimate > plan_.budget;
    const auto agreed = bench_.from_first(late ? "late" : "");
    if (!agreed) return end(to_text(agreed.error()));
    return !agreed->empty() && end("budget");
  }
  bool end(std::string why) {
    result_.ended_by = std::move(why);
    return true;
  }

  void report(std::size_t index) {
    if (!hooks_.progress) return;
    const Seconds elapsed = bench_.now() - began_;
    const double pace = estimated_.value() > 0 ? elapsed / estimated_ : 1;
    const PlannedWork& now = turns_[index].work;
    hooks_.progress({&now, index, turns_.size(), elapsed, (left_ + now.estimate) * pace});
  }

  [[nodiscard]] bool opened(const CollectiveGroup& group) const { return open_ == group.ranks; }
  Expected<void> open(const CollectiveGroup& group) {
    open_.clear();
    auto good = bench_.open(group);
    if (good) open_ = group.ranks;
    return good;
  }

  Expected<void> time_call(const Turn& turn) {
    const PlannedCollective& call = *turn.call;
    constexpr double largest_check = 16 << 20;  // beyond, NCCL's algorithms stay the same
    Bytes checked = call.buffer;
    if (checked > Bytes(largest_check)) {
      const auto sizes = collective_sizes(static_cast<int>(call.group.ranks.size()), Bytes(2.1 * largest_check));
      checked = sizes.back();
    }
    TRY(auto check, bench_.check(call.kind, checked));
    if (!check.good()) {
      result_.skipped.push_back({turn.name(), fmt::format("its result is wrong: up to {} off in {} elements of {}",
                                                  check.error, check.compared, call.group.placement)});
      return {};
    }
    TRY(auto times, sampled(call));
    const MedianOf found = median_of_times(times);
    add(query_of(call), collective_context(bench_, request_, call.group, KernelSource::nccl), found.median,
        found.quartile1, found.quartile3, static_cast<int>(times.size()));
    const bool settled = stop_after(times, Seconds(0), rules_) == Stop::settled;
    result_.timed.push_back({result_.measurements.rows.size() - 1, "", 0, 0, check.error, settled});
    return {};
  }

  /// Batches until the stop rule holds. What was spent is the sum of times that every process sees, not a clock.
  Expected<std::vector<Seconds>> sampled(const PlannedCollective& call) {
    TRY(auto probe, bench_.time(call.kind, call.buffer, 1, 3));
    const Seconds per_call = *std::min_element(probe.begin() + 1, probe.end());
    if (!(per_call.value() > 0))
      return fail(to_text(call.kind), "took no time at all", "a clock that counts; run it again");
    const CollectiveRound round = round_of(per_call, rules_);
    std::vector<Seconds> times;
    Seconds spent;
    do {
      TRY(auto more, bench_.time(call.kind, call.buffer, round.calls, times.empty() ? round.first : round.next));
      for (const Seconds time : more) spent += time * round.calls;
      times.insert(times.end(), more.begin(), more.end());
    } while (stop_after(times, spent, rules_) == Stop::go_on);
    return times;
  }

  Expected<void> time_beside(const Turn& turn) {
    const PlannedBeside& beside = *turn.beside;
    TRY(const auto times, bench_.time_beside(beside.gemm, beside.kind, beside.buffer, beside_duration));
    const CollectiveQuery collective = query_of(beside);
    MeasurementContext of_product = collective_context(bench_, request_, beside.group, KernelSource::cublas);
    MeasurementContext of_collective = collective_context(bench_, request_, beside.group, KernelSource::nccl);
    add(beside.gemm, of_product, times.gemm_alone);
    add(collective, of_collective, times.collective_alone);
    of_product.beside = work_name(collective);
    of_collective.beside = work_name(beside.gemm);
    add(beside.gemm, of_product, times.gemm_beside);
    add(collective, of_collective, times.collective_beside);
    return {};
  }

  void add(Query what, const MeasurementContext& context, Seconds time, Seconds low = {}, Seconds high = {},
      int repeats = 1) {
    add_row(result_.measurements, {std::move(what), time, low, high, 0, repeats}, context);
  }

  /// A call failed on some process, and so on all: the rest of the group is left out, and the campaign goes on where it
  /// can.
  void give_up(const Turn& turn, const Error& error) {
    result_.skipped.push_back(
        {turn.name(), fmt::format("{}; the rest of {} is left out", to_text(error), turn.group->placement)});
    failed_ = turn.group->ranks;
    open_.clear();
    if (auto good = bench_.usable(); !good) end(to_text(good.error()));
  }

  void keep(bool now) {
    constexpr Seconds between{5};
    if (!hooks_.keep || keep_error_ || (!now && bench_.now() - kept_ < between)) return;
    kept_ = bench_.now();
    if (auto good = hooks_.keep(result_.measurements); !good) keep_error_ = good.error();
  }

  CollectiveBench& bench_;
  const CollectivePlan& plan_;
  const CampaignRequest& request_;
  const MeasureHooks& hooks_;
  const MethodRules rules_;
  std::vector<Turn> turns_;
  std::string held_;                ///< a '1' for each turn that the earlier file has
  std::vector<int> open_, failed_;  ///< ranks of the group that is open, and of the one that failed last
  Seconds began_, kept_, left_, estimated_;
  std::optional<Error> keep_error_;
  MeasureResult result_;
};

}  // namespace

Expected<MeasureResult> run_collectives(
    CollectiveBench& bench, const CollectivePlan& plan, const CampaignRequest& request, const MeasureHooks& hooks) {
  return CollectiveCampaign(bench, plan, request, hooks).run();
}

}  // namespace stepcast::calibrate
