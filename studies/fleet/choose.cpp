#include "studies/fleet/choose.h"

#include <algorithm>
#include <cmath>

namespace stepcast::fleet {
namespace {

class Search {
 public:
  Search(const std::vector<FleetJob>& jobs, std::vector<std::int64_t> left, std::optional<Seconds> latest)
      : jobs_(jobs), left_(std::move(left)), latest_(latest), least_left_(jobs.size() + 1, 0) {
    for (std::size_t job = jobs.size(); job-- > 0;) {
      double least = INFINITY;
      for (const FleetOption& option : jobs[job].options)
        if (in_time(job, option)) least = std::min(least, option.cost);
      least_left_[job] = least_left_[job + 1] + least;
    }
  }

  std::optional<FleetChoice> best() {
    go_on(0);
    return best_;
  }

 private:
  [[nodiscard]] bool in_time(std::size_t job, const FleetOption& option) const {
    return (!jobs_[job].deadline || option.time <= *jobs_[job].deadline) && (!latest_ || option.time <= *latest_);
  }

  void go_on(std::size_t job) {
    const double bound = now_.cost + least_left_[job];
    if (!(bound < INFINITY) || (best_ && bound > best_->cost)) return;
    if (job == jobs_.size()) {
      if (!best_ || now_.cost < best_->cost || now_.time < best_->time) best_ = now_;
      return;
    }
    for (std::size_t i = 0; i < jobs_[job].options.size(); ++i) {
      const FleetOption& option = jobs_[job].options[i];
      if (!in_time(job, option) || left_[option.machine] < option.gpus) continue;
      const FleetChoice before = now_;
      left_[option.machine] -= option.gpus;
      now_.option.push_back(static_cast<int>(i));
      now_.time = std::max(now_.time, option.time);
      now_.cost += option.cost;
      go_on(job + 1);
      now_ = before;
      left_[option.machine] += option.gpus;
    }
  }

  const std::vector<FleetJob>& jobs_;
  std::vector<std::int64_t> left_;  ///< GPUs of each machine
  std::optional<Seconds> latest_;
  std::vector<double> least_left_;  ///< that the jobs from this one on cost at least
  FleetChoice now_;
  std::optional<FleetChoice> best_;
};

}  // namespace

std::optional<FleetChoice> cheapest(
    const std::vector<FleetJob>& jobs, const std::vector<std::int64_t>& most, std::optional<Seconds> latest) {
  return Search(jobs, most, latest).best();
}

std::vector<FleetChoice> cost_over_time(std::vector<FleetJob> jobs, const std::vector<std::int64_t>& most) {
  for (FleetJob& job : jobs) job.deadline.reset();
  std::vector<FleetChoice> front;
  // From the cheapest of all on, each time what is earlier than the last.
  for (auto choice = cheapest(jobs, most); choice; choice = cheapest(jobs, most, front.back().time * (1 - 1e-12)))
    front.push_back(std::move(*choice));
  std::ranges::reverse(front);
  return front;
}

}  // namespace stepcast::fleet
