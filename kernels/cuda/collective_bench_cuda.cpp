#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/process/agreement.h"
#include "kernels/bench/collective_bench.h"
#include "kernels/cuda/collective/collective_team.h"
#include "kernels/cuda/graph_timer.h"
#include "kernels/cuda/collective/process_gpus.h"
#include "kernels/library/nccl_library.h"
#include "kernels/process/launch_place.h"
#include "kernels/process/rendezvous.h"

namespace stepcast::kernels {
namespace {

using gpu::CollectiveRank;
using gpu::CollectiveTeam;

/// Longer than a step may take on one process (collective_team.cpp), so that its error arrives before patience ends.
constexpr Patience patience{Seconds(60), Seconds(300)};

/// The value of a step that has no result.
struct Done {};
Expected<Done> done(const Expected<void>& step) {
  return step.map([] { return Done{}; });
}

class NcclBench : public CollectiveBench {
 public:
  static Expected<std::unique_ptr<CollectiveBench>> open_on(const LaunchPlace& place);
  ~NcclBench() override { (void)close_group(); }

  [[nodiscard]] const std::vector<RankPlace>& ranks() const override { return gpus_.table.places; }
  [[nodiscard]] std::string joins(int rank, int other) const override { return gpus_.table.joins(rank, other); }
  [[nodiscard]] const DeviceInfo& device() const override { return gpus_.device; }
  [[nodiscard]] const GpuSettings& settings() const override { return gpus_.settings; }
  [[nodiscard]] std::string launch_mode() const override {
    return all_->processes() == static_cast<int>(gpus_.table.places.size()) && all_->processes() > 1 ? "process per GPU"
                                                                                                     : "thread per GPU";
  }
  [[nodiscard]] bool first() const override { return all_->process() == 0; }
  [[nodiscard]] Bytes free_memory() const override { return gpus_.table.least_free(); }
  [[nodiscard]] Seconds now() const override { return gpu::host_clock(); }
  Expected<void> open(const CollectiveGroup& group) override;
  Expected<Check> check(CollectiveKind kind, Bytes buffer) override;
  Expected<std::vector<Seconds>> time(CollectiveKind kind, Bytes buffer, int calls, int batches) override;
  Expected<BesideTimes> time_beside(
      const GemmQuery& gemm, CollectiveKind kind, Bytes buffer, Seconds duration) override;
  Expected<bool> agree_to_stop(bool here) override;
  Expected<std::string> from_first(const std::string& here) override { return all_->broadcast(here); }
  Expected<void> usable() override;

 private:
  Expected<void> close_group();
  /// A step of the group's members, on all processes: what each member gave.
  template <typename T> Expected<std::vector<T>> step(std::function<Expected<T>(CollectiveRank&, int)> work) {
    auto mine = gpus_.team.each<T>(members_, std::move(work));
    TRY(const auto all, agree(*all_, mine.map([](const std::vector<T>& here) { return bytes_of(here); })));
    std::vector<T> out;
    for (const std::string& text : all) {
      const std::vector<T> theirs = values_in<T>(text);
      out.insert(out.end(), theirs.begin(), theirs.end());
    }
    return out;
  }
  Expected<void> reserve(Bytes buffer);
  /// A step that gives a time: the slowest member's.
  Expected<Seconds> slowest(std::function<Expected<Seconds>(CollectiveRank&)> work);
  Expected<BesideTimes> times_beside(Seconds duration);

  std::unique_ptr<Rendezvous> all_;
  const NcclLibrary* nccl_ = nullptr;
  gpu::ProcessGpus gpus_;
  bool open_ = false;
  std::vector<int> members_;   ///< of this process's GPUs that belong to the open group
  std::vector<int> in_group_;  ///< their ranks there
};

Expected<std::unique_ptr<CollectiveBench>> NcclBench::open_on(const LaunchPlace& place) {
  auto bench = std::make_unique<NcclBench>();
  TRY(bench->all_, Rendezvous::meet(place, patience));
  const auto nccl = nccl_library();
  if (nccl) bench->nccl_ = *nccl;
  TRY(bench->gpus_, gpu::find_gpus(*bench->all_, place));  // says it too where there is no NCCL
  return bench;
}

Expected<void> NcclBench::close_group() {
  if (!std::exchange(open_, false)) return {};
  const auto closed = gpus_.team.each<Done>(members_, [](CollectiveRank& rank, int) { return done(rank.close()); });
  members_.clear();
  in_group_.clear();
  TRY(closed);
  return {};
}

Expected<void> NcclBench::open(const CollectiveGroup& group) {
  const Expected<void> closed = close_group();
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    const int local = group.ranks[place] - gpus_.first_rank;
    if (local < 0 || local >= static_cast<int>(gpus_.team.size())) continue;
    members_.push_back(local);
    in_group_.push_back(static_cast<int>(place));
  }
  open_ = true;
  // The process that has the group's first rank makes the id.
  NcclUniqueId id{};
  const bool makes_id = !in_group_.empty() && in_group_.front() == 0;
  Expected<void> good = closed;
  if (good && makes_id) good = nccl_->checked(nccl_->get_unique_id(&id), "ncclGetUniqueId");
  TRY(const auto ids,
      agree(*all_, good.map([&] { return makes_id ? std::string(id.bytes, sizeof id.bytes) : std::string(); })));
  for (const std::string& text : ids)
    if (text.size() == sizeof id.bytes) std::memcpy(id.bytes, text.data(), sizeof id.bytes);
  TRY(step<Done>([id, in_group = in_group_, ranks = static_cast<int>(group.ranks.size())](CollectiveRank& rank,
                     int place) { return done(rank.open(id, ranks, in_group[static_cast<std::size_t>(place)])); }));
  return {};
}

Expected<void> NcclBench::reserve(Bytes buffer) {
  if (!open_) return fail("collectives", "no group is open", "open one first");
  TRY(step<Done>([buffer](CollectiveRank& rank, int) { return done(rank.reserve(buffer)); }));
  return {};
}

Expected<Check> NcclBench::check(CollectiveKind kind, Bytes buffer) {
  TRY(reserve(buffer));
  TRY(const auto checks, step<Check>([kind, buffer](CollectiveRank& rank, int) { return rank.check(kind, buffer); }));
  Check all;
  for (const Check& one : checks) {
    all.error = std::max(all.error, one.error);
    all.compared += one.compared;
  }
  return all;
}

Expected<std::vector<Seconds>> NcclBench::time(CollectiveKind kind, Bytes buffer, int calls, int batches) {
  TRY(reserve(buffer));
  using Times = std::vector<Seconds>;
  const auto mine = gpus_.team.each<Times>(
      members_, [=](CollectiveRank& rank, int) { return rank.time(kind, buffer, calls, batches); });
  std::vector<double> here(static_cast<std::size_t>(batches), 0.0);
  if (mine)
    for (const Times& member : *mine)
      for (std::size_t batch = 0; batch < here.size(); ++batch)
        here[batch] = std::max(here[batch], member[batch].value());
  TRY(const auto all, agree(*all_, mine.map([&](const auto&) { return bytes_of(here); })));
  Times slowest_of_each(here.size());
  for (const std::string& text : all) {
    const std::vector<double> theirs = values_in<double>(text);
    if (theirs.size() != here.size())
      return fail(
          "another process", "timed another number of batches", "all processes must be of one build of stepcast");
    for (std::size_t batch = 0; batch < here.size(); ++batch)
      slowest_of_each[batch] = std::max(slowest_of_each[batch], Seconds(theirs[batch]));
  }
  return slowest_of_each;
}

Expected<Seconds> NcclBench::slowest(std::function<Expected<Seconds>(CollectiveRank&)> work) {
  TRY(const auto times, step<double>([work = std::move(work)](CollectiveRank& rank, int) {
    return work(rank).map([](Seconds time) { return time.value(); });
  }));
  return Seconds(*std::max_element(times.begin(), times.end()));
}

Expected<BesideTimes> NcclBench::times_beside(Seconds duration) {
  constexpr int few = 3, probe = 5;
  constexpr double longer = 3;  // the neighbour's row over what is timed beside it, which may slow down by that much
  const auto count = [](Seconds span, Seconds each) {
    constexpr double most = 1000;  // what a stream takes in without blocking the host
    return static_cast<int>(std::clamp(std::ceil(span / each), static_cast<double>(few), most));
  };
  BesideTimes times;
  const auto learn = [&](int calls_of_products, int calls_of_collectives) -> Expected<void> {
    TRY(times.gemm_alone, slowest([=](CollectiveRank& rank) { return rank.products_alone(calls_of_products); }));
    TRY(times.collective_alone,
        slowest([=](CollectiveRank& rank) { return rank.collectives_alone(calls_of_collectives); }));
    return {};
  };
  for (const int calls : {few, probe})  // the first to warm up
    TRY(learn(calls, calls));
  const int products = count(duration, times.gemm_alone), collectives = count(duration, times.collective_alone);
  TRY(learn(products, collectives));
  const int more_collectives = count(longer * (products * times.gemm_alone), times.collective_alone) + few;
  const int more_products = count(longer * (collectives * times.collective_alone), times.gemm_alone) + few;
  TRY(times.gemm_beside,
      slowest([=](CollectiveRank& rank) { return rank.products_beside(products, more_collectives); }));
  TRY(times.collective_beside,
      slowest([=](CollectiveRank& rank) { return rank.collectives_beside(collectives, more_products); }));
  return times;
}

Expected<BesideTimes> NcclBench::time_beside(
    const GemmQuery& gemm, CollectiveKind kind, Bytes buffer, Seconds duration) {
  TRY(reserve(buffer));
  const auto begun = step<Done>([=](CollectiveRank& rank, int) { return done(rank.begin_beside(gemm, kind, buffer)); });
  Expected<BesideTimes> times = tl::unexpected(begun ? Error{} : begun.error());
  if (begun) times = times_beside(duration);
  const auto ended = step<Done>([](CollectiveRank& rank, int) {
    rank.end_beside();
    return Expected<Done>(Done{});
  });
  if (times && !ended) return tl::unexpected(ended.error());
  return times;
}

Expected<bool> NcclBench::agree_to_stop(bool here) {
  TRY(const auto all, all_->all_gather(here ? "1" : "0"));
  return std::find(all.begin(), all.end(), "1") != all.end();
}

/// Aborts what the open group left behind, and asks every GPU.
Expected<void> NcclBench::usable() {
  std::vector<int> everybody;
  for (std::size_t i = 0; i < gpus_.team.size(); ++i) everybody.push_back(static_cast<int>(i));
  open_ = false;
  members_.clear();
  in_group_.clear();
  const auto mine = gpus_.team.each<Done>(everybody, [](CollectiveRank& rank, int) {
    rank.abort();
    rank.end_beside();
    (void)cudaGetLastError();
    return done(rank.settle());
  });
  TRY(agree(*all_, mine.map([](const auto&) { return std::string(); })));
  return {};
}

}  // namespace

Expected<std::unique_ptr<CollectiveBench>> open_collectives(const LaunchPlace& place) {
  return NcclBench::open_on(place);
}

}  // namespace stepcast::kernels
