#include "sim/job/life.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/job/repairs.h"

namespace stepcast::sim {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Plain numbers of the settings, in seconds.
struct LifeNumbers {
  double work, interval, store, keep, settle, detect, restart, soft_restart, per_stored;
  double kept_time, period, period_saving;  ///< from one save to the next, from one stored save to the next, its saves
};

LifeNumbers numbers_of(const LifeSettings& settings) {
  const Saves& saves = settings.saves;
  const FailureCosts& failures = settings.failures;
  LifeNumbers n{settings.work.value(), saves.interval.value(), saves.store.value(), saves.keep.value(),
      saves.settle.value(), failures.detect.value(), failures.restart.value(), failures.soft_restart.value(),
      static_cast<double>(saves.per_stored), 0, 0, 0};
  n.kept_time = n.interval + (saves.per_stored > 1 ? n.keep : n.store);
  n.period = (n.per_stored - 1) * n.kept_time + n.interval + n.store;
  n.period_saving = n.period - n.per_stored * n.interval;
  return n;
}

/// One life, in the time outside of planned stops. `stored` is work that is in storage; `kept` intervals behind it are
/// in memory.
class Life {
 public:
  Life(const LifeSettings& settings, std::uint64_t seed, double most, std::vector<LifePoint>* path = nullptr)
      : settings_(settings), n_(numbers_of(settings)), most_(most), draws_(seed), path_(path) {
    if (settings.pool) repairs_.emplace(*settings.pool, settings.repair_spread, draws_);
  }

  LifeTimes run() {
    wait_for_nodes();
    double left = draw_failure();
    while (now_ < most_) {
      const double finish = time_to_finish(), joins = time_to_join();
      if (finish <= std::min(left, joins)) {
        finish_work(finish);
        return times();
      }
      if (joins < left) {
        left = join(joins, left);
        continue;
      }
      work(left);
      mark(open_work_);
      fail();
      left = recover();
      mark(0);
    }
    return times();
  }

 private:
  [[nodiscard]] double rate() const {
    const double fixed = settings_.fixed_per_second;
    return fixed + (settings_.failures.per_second - fixed) * share_;
  }
  double draw_failure() { return rate() > 0 ? draws_.exponential(rate()) : never; }

  void mark(double open) {
    if (path_ != nullptr) path_->push_back({Seconds(now_), Seconds(stored_ + kept_ * n_.interval + open)});
  }
  [[nodiscard]] double work_left() const { return n_.work - stored_ - kept_ * n_.interval; }
  [[nodiscard]] double saves_left() const { return std::max(0.0, std::ceil(work_left() / (n_.interval * share_)) - 1); }
  [[nodiscard]] double time_to_finish() const {
    const double saves = saves_left(), stored = std::floor((kept_ + saves) / n_.per_stored);
    return saves * n_.kept_time + stored * (n_.period - n_.per_stored * n_.kept_time) +
           (work_left() - saves * n_.interval * share_) / share_;
  }
  void finish_work(double time) {
    saving_ += kept_ * n_.keep + time - work_left() / share_;
    missing_ += work_left() / share_ * (1 - share_);
    stored_ = n_.work, kept_ = 0;
    now_ += time;
  }

  /// So much time passes: whole periods are stored.
  void work(double time) {
    const double reached = kept_ * n_.kept_time + time, periods = std::floor(reached / n_.period);
    const double rest = reached - periods * n_.period;
    now_ += time, since_stored_ += time;
    kept_ = std::min(n_.per_stored - 1, std::floor(rest / n_.kept_time));
    open_work_ = std::min(n_.interval, rest - kept_ * n_.kept_time) * share_;
    if (periods == 0) return;
    store(n_.per_stored * n_.interval, n_.period_saving, periods);
    since_stored_ = rest;
  }
  void store(double time, double saving, double times) {
    last_ = {time * share_, time * (1 - share_), saving};
    stored_ += times * last_.work, missing_ += times * last_.missing, saving_ += times * saving;
  }

  void fail() {
    ++failures_;
    hard_ = settings_.failures.soft == 0 || draws_.unit() >= settings_.failures.soft;
    if (hard_) {
      if (since_stored_ < n_.settle) stored_ -= last_.work, missing_ -= last_.missing, saving_ -= last_.saving;
      since_stored_ = never, kept_ = 0;
    }
    if (!repairs_) return;
    if (draws_.unit() * rate() < settings_.pool->taken_per_second * share_) repairs_->take(now_);
    wait_for_nodes();
  }

  /// Until the job can run, on fewer replicas where it may. Nothing fails meanwhile.
  void wait_for_nodes() {
    if (!repairs_) return;
    // Whoever waits for all nodes need not count those in repair while they fit among the spares.
    if (settings_.pool->replica_nodes == 0 && running() > 0) return;
    repairs_->bring_back(now_);
    while (running() == 0) {
      const double back = repairs_->back_at(1);
      waiting_ += back - now_, since_stored_ += back - now_;
      now_ = back;
      repairs_->bring_back(now_);
    }
    if (settings_.pool->replica_nodes > 0)
      share_ = static_cast<double>(running()) / static_cast<double>(settings_.pool->replicas());
  }
  [[nodiscard]] std::int64_t running() const { return running_replicas(*settings_.pool, repairs_->count()); }

  /// Detection and restart, again where another failure comes meanwhile. Gives the time that is left until the next.
  double recover() {
    while (true) {
      const double whole = n_.detect + (hard_ ? n_.restart : n_.soft_restart);
      const double left = draw_failure(), spent = std::min(left, whole);
      now_ += spent, since_stored_ += spent;
      detecting_ += std::min(spent, n_.detect), restarting_ += std::max(0.0, spent - n_.detect);
      if (left > whole || now_ >= most_) return left - spent;
      const bool was_hard = hard_;
      fail();
      hard_ = hard_ || was_hard;
    }
  }

  /// Until a node comes back that completes a replica, where the job runs without one.
  double time_to_join() {
    if (!repairs_ || share_ == 1) return never;
    repairs_->bring_back(now_);
    const std::int64_t now = running(), count = repairs_->count();
    if (static_cast<double>(now) > share_ * static_cast<double>(settings_.pool->replicas())) return 0;
    std::int64_t more = 1;
    while (more < count && running_replicas(*settings_.pool, count - more) == now) ++more;
    return repairs_->back_at(more) - now_;
  }
  /// Works until then, saves, and restarts with the replica that is whole again.
  double join(double time, double left) {
    work(time);
    const double piece = std::min(n_.interval, time - std::floor(time / n_.period) * n_.period);
    const double over = time - std::floor(time / n_.period) * n_.period - piece;  // it was saving already
    store(piece, n_.store, 1);
    since_stored_ = 0;
    left -= time;
    const double joining = n_.store - over + n_.restart, spent = std::min(left, joining);
    restarting_ += spent - std::min(spent, n_.store - over);
    saving_ -= n_.store - over - std::min(spent, n_.store - over);
    now_ += spent;
    wait_for_nodes();
    if (left > joining) return draw_failure();
    fail();
    return recover();
  }

  [[nodiscard]] LifeTimes times() const {
    LifeTimes times{Seconds(stored_), Seconds(saving_), {}, Seconds(detecting_), Seconds(restarting_),
        Seconds(waiting_ + missing_), {}, failures_};
    times.lost = Seconds(std::max(0.0, now_ - times.whole().value()));
    const double running = (settings_.planned_every - settings_.planned_stop).value();
    if (running > 0) times.planned = settings_.planned_stop * std::floor(now_ / running);
    return times;
  }

  const LifeSettings& settings_;
  LifeNumbers n_;
  double most_;
  Draws draws_;
  std::optional<Repairs> repairs_;
  struct LastStored {
    double work = 0, missing = 0, saving = 0;
  };
  double now_ = 0, share_ = 1, stored_ = 0, kept_ = 0, since_stored_ = never, failures_ = 0;
  double open_work_ = 0;  ///< behind the last save, at a failure
  std::vector<LifePoint>* path_;
  double saving_ = 0, missing_ = 0, detecting_ = 0, restarting_ = 0, waiting_ = 0;
  LastStored last_;
  bool hard_ = true;
};

}  // namespace

LifeTimes draw_life(const LifeSettings& settings, std::uint64_t seed, Seconds most) {
  return Life(settings, seed, most.value()).run();
}

std::vector<LifePoint> draw_progress(const LifeSettings& settings, std::uint64_t seed, Seconds until) {
  std::vector<LifePoint> path{{}};
  const LifeTimes life = Life(settings, seed, until.value(), &path).run();
  if (life.useful >= settings.work) path.push_back({life.whole() - life.planned, life.useful});
  return path;
}

std::vector<LifeTimes> draw_lives(const LifeSettings& settings, std::int64_t count, std::uint64_t seed, Seconds most) {
  std::vector<LifeTimes> lives;
  lives.reserve(static_cast<std::size_t>(count));
  for (std::int64_t index = 0; index < count; ++index)
    lives.push_back(draw_life(settings, seed_of(seed, static_cast<std::uint64_t>(index)), most));
  return lives;
}

}  // namespace stepcast::sim
