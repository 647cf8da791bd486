#include "calibrate/measure/campaign.h"

#include <algorithm>
#include <map>
#include <utility>

#include "calibrate/measure/ready_work.h"
#include "calibrate/measure/campaign_context.h"
#include "calibrate/measure/campaign_notes.h"
#include "calibrate/measure/campaign_pace.h"

namespace stepcast::calibrate {
namespace {

constexpr Seconds between_keeps{5};

std::string name_of_planned(const PlannedWork& planned) {
  std::string name;
  for (const Work& work : planned.works) name += (name.empty() ? "" : " / ") + to_text(work);
  return name;
}

class Campaign {
 public:
  Campaign(GpuBench& bench, const CampaignRequest& request, const MeasureHooks& hooks)
      : bench_(bench), request_(request), hooks_(hooks), start_(bench.now()), kept_(start_) {}

  Expected<MeasureResult> run() {
    const auto setup = setup_context(bench_.device(), bench_.settings(), request_.gpu, request_.date);
    TRY(check_earlier(request_.earlier, setup, bench_.settings()));
    begin();
    for (at_ = 0; at_ < works().size() && result_.ended_by.empty(); ++at_) TRY(step(works()[at_]));
    TRY(use_up_budget());
    if (result_.ended_by.empty() && out_of_budget_) result_.ended_by = "budget";
    result_.finished = result_.ended_by.empty();
    TRY(keep());
    return std::move(result_);
  }

 private:
  [[nodiscard]] const std::vector<PlannedWork>& works() const { return request_.plan.works; }
  [[nodiscard]] Measurements& rows() { return result_.measurements; }
  [[nodiscard]] Seconds elapsed() const { return bench_.now() - start_; }
  [[nodiscard]] bool told_to_stop() const { return hooks_.stop && hooks_.stop(); }

  void begin() {
    rows() = request_.earlier;
    for (const Measurement& row : rows().rows) times_.emplace(row_key(row.what, rows().context_of(row)), row.time);
    note_setup(rows(), bench_.device(), bench_.settings());
    for (const std::string& note : request_.plan.notes) add_note(rows(), note);
    of_earlier_ = times_;
  }

  /// Estimates are cautious: what was left out for want of time is measured while there is some, the most telling
  /// first.
  Expected<void> use_up_budget() {
    const std::vector<PlannedWork>& more = request_.plan.left_out;
    for (auto work = more.rbegin(); work != more.rend() && result_.ended_by.empty(); ++work)
      if (elapsed() + pace_.expected(*work) <= request_.plan.budget) TRY(step(*work));
    return {};
  }

  /// One work of the plan, from the question whether it may begin to the file that holds it. Fails where the file does.
  Expected<void> step(const PlannedWork& planned) {
    if (is_known(planned)) return {};
    if (told_to_stop()) return end("interrupted");
    if (planned.mode == WorkMode::repeat && times_.count(key_of(planned)) == 0)
      return skip(planned, "it was not measured before, so there is nothing to compare with");
    if (elapsed() + pace_.expected(planned) > request_.plan.budget) {
      out_of_budget_ = true;
      return skip(planned, "budget");
    }
    if (hooks_.progress) hooks_.progress({&planned, at_, std::max(works().size(), at_ + 1), elapsed(), left()});
    const Seconds before = bench_.now();
    if (auto good = measure(planned); !good) {
      TRY(after_failure(planned, good.error()));
    } else {
      pace_.learn(planned, bench_.now() - before);
    }
    return bench_.now() - kept_ >= between_keeps ? keep() : Expected<void>{};
  }

  Expected<void> end(std::string why) {
    result_.ended_by = std::move(why);
    return {};
  }
  Expected<void> skip(const PlannedWork& planned, std::string why) {
    result_.skipped.push_back({name_of_planned(planned), std::move(why)});
    return {};
  }

  /// Whether the earlier file, or this campaign, has it already. Repeats are there to be measured again.
  bool is_known(const PlannedWork& planned) {
    if (planned.mode == WorkMode::repeat) return false;
    if (planned.mode == WorkMode::alternating) {
      const bool known = has_note(request_.earlier, sustained_note_head("alternating", name_of_planned(planned)));
      result_.resumed += known ? 1 : 0;
      return known;
    }
    const std::string key = key_of(planned);
    result_.resumed += of_earlier_.count(key);
    return times_.count(key) > 0;
  }

  [[nodiscard]] std::string key_of(const PlannedWork& planned) const {
    const Work& work = planned.works.front();
    return row_key(work.what, context_of(bench_, request_, work, planned.mode == WorkMode::sustained));
  }

  /// By the plan's estimates and how they did; never more than the budget leaves.
  [[nodiscard]] Seconds left() const {
    Seconds sum{0};
    for (std::size_t i = at_; i < works().size(); ++i) {
      const bool known = works()[i].mode != WorkMode::repeat && works()[i].mode != WorkMode::alternating &&
                         times_.count(key_of(works()[i])) > 0;
      if (!known) sum += pace_.expected(works()[i]);
    }
    return std::min(sum, std::max(Seconds(0), request_.plan.budget - elapsed()));
  }

  Expected<void> measure(const PlannedWork& planned) {
    switch (planned.mode) {
      case WorkMode::sampled: return measure_burst(planned);
      case WorkMode::sustained: return measure_sustained(planned);
      case WorkMode::alternating: return measure_alternating(planned);
      case WorkMode::repeat: break;
    }
    return measure_again(planned);
  }

  Expected<Sampled> sampled(const Work& work) {
    auto found = sample(bench_, work, request_.rules, hooks_.stop, &clocks_);
    if (found && !found->state_error.empty())
      add_note(rows(), "clocks and power could not be read: " + found->state_error);
    return found;
  }

  Expected<void> measure_burst(const PlannedWork& planned) {
    const Work& work = planned.works.front();
    TRY(const auto found, sampled(work));
    result_.timed.push_back(
        {rows().rows.size(), found.kernel, found.sm_clock_mhz, found.temperature_c, found.check.error, found.settled});
    add_row(planned, {work.what, found.time, found.low, found.high, 0, found.replays, found.power_w, found.throttled,
                         found.sm_clock_mhz, found.power_limited, !found.settled});
    return {};
  }

  Expected<void> measure_sustained(const PlannedWork& planned) {
    const Work& work = planned.works.front();
    TRY(auto run, sample_sustained(bench_, work, planned.duration, request_.rules, hooks_.stop));
    add_row(planned, {work.what, run.settled, run.low, run.high, 0, run.replays, settled_power(run), false});
    return add_sustained("sustained", planned, std::move(run));
  }

  Expected<void> measure_alternating(const PlannedWork& planned) {
    TRY(auto run, sample_alternating(bench_, planned.works, planned.duration, request_.rules, hooks_.stop));
    return add_sustained("alternating", planned, std::move(run));
  }

  Expected<void> add_sustained(const std::string& kind, const PlannedWork& planned, Sustained run) {
    add_note(rows(), sustained_note(kind, name_of_planned(planned), run));
    result_.sustained.push_back({name_of_planned(planned), std::move(run)});
    return {};
  }

  /// Drift: no row of its own, the first one stands.
  Expected<void> measure_again(const PlannedWork& planned) {
    TRY(const auto again, sampled(planned.works.front()));
    if (again.throttled) return skip(planned, "clocks were down, so it says nothing about drift");
    result_.repeats.push_back({name_of_planned(planned), times_.at(key_of(planned)), again.time});
    return {};
  }

  void add_row(const PlannedWork& planned, Measurement row) {
    const Work& work = planned.works.front();
    const auto context = context_of(bench_, request_, work, planned.mode == WorkMode::sustained);
    times_.emplace(row_key(row.what, context), row.time);
    calibrate::add_row(rows(), std::move(row), context);
  }

  /// A work that cannot run is skipped; a GPU that cannot run any ends the campaign.
  Expected<void> after_failure(const PlannedWork& planned, const Error& error) {
    if (error.where == interrupted_where) return end("interrupted");
    if (const auto usable = bench_.usable(); !usable) {
      (void)skip(planned, to_text(error));
      return end("the GPU was lost: " + to_text(usable.error()));
    }
    return skip(planned, to_text(error));
  }

  Expected<void> keep() {
    note_throttled(rows());
    if (hooks_.keep) TRY(hooks_.keep(rows()));
    kept_ = bench_.now();
    return {};
  }

  GpuBench& bench_;
  const CampaignRequest& request_;
  const MeasureHooks& hooks_;
  MeasureResult result_;
  Pace pace_;
  ClocksSeen clocks_;
  std::map<std::string, Seconds> times_, of_earlier_;  ///< by row_key
  std::size_t at_ = 0;
  Seconds start_, kept_;
  bool out_of_budget_ = false;
};

}  // namespace

MeasurementContext context_of(const GpuBench& bench, const CampaignRequest& request, const Work& work, bool sustained) {
  MeasurementContext context = setup_context(bench.device(), bench.settings(), request.gpu, request.date);
  context.software = software_of(work.source, bench.settings());
  // What launching costs says itself in which form it was launched.
  if (!std::holds_alternative<LaunchQuery>(work.what)) context.launch_mode = "graph";
  context.regime = sustained ? "sustained" : "burst";
  context.cache = work.warm ? "warm" : "";
  context.beside = work.beside ? work_name(*work.beside) : "";
  return context;
}

Expected<MeasureResult> run_campaign(GpuBench& bench, const CampaignRequest& request, const MeasureHooks& hooks) {
  return Campaign(bench, request, hooks).run();
}

}  // namespace stepcast::calibrate
