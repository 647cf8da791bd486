// A GPU that exists only as arithmetic: a clock that moves when work is done, times by a roofline with noise, a
// level-2 cache, clocks that droop under heavy work, limited memory, and any call failing when a test wants it to. All
// is decided by FakeGpuOptions and their seed: the same calls give the same figures.
//
//   FakeGpuOptions options;
//   options.noise = 0.02;                                       // relative deviation of a replay
//   options.power = {.after = Seconds(0.5), .ratio = 0.6};      // throttles after half a second of products
//   options.faults = {{FakeCall::replay, 7}};                   // the seventh replay fails, the GPU survives
//   options.faults = {{FakeCall::record, 2, FakeFault::loses_gpu}};        // and here nothing runs afterwards
//   FakeGpu gpu(options);
//
// Wrong use (replay before record, a copy of buffers that was never allocated) throws std::logic_error; so does a clock
// beyond `clock_limit`, so that code which never ends fails its test instead of hanging it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/calibrate/measure/fake_gpu_options.h"

namespace stepcast::calibrate {

/// A question asked the usual way.
inline Work fake_work(const Query& what) { return {what, usual_source(what), false, std::nullopt}; }

namespace detail {

struct FakeTouched {
  Bytes operator()(const GemmQuery& query) const { return bytes_of(query); }
  Bytes operator()(const AttentionQuery& query) const { return bytes_of(query); }
  Bytes operator()(const MoeQuery& query) const { return bytes_of(query); }
  Bytes operator()(const MemoryQuery& query) const { return bytes_of(query); }
  Bytes operator()(const CollectiveQuery& query) const { return query.bytes; }
  Bytes operator()(const TransferQuery& query) const { return query.bytes; }
  Bytes operator()(const LaunchQuery&) const { return Bytes(0); }
};
struct FakeFlops {
  Flops operator()(const GemmQuery& query) const { return flops_of(query); }
  Flops operator()(const AttentionQuery& query) const { return forward_flops_of(query); }
  Flops operator()(const MoeQuery& query) const { return flops_of(query); }
  template <typename Other> Flops operator()(const Other&) const { return Flops(0); }
};

}  // namespace detail

class FakeGpu : public GpuBench {
 public:
  explicit FakeGpu(FakeGpuOptions options = {}) : options_(std::move(options)), random_(options_.seed) {}

  [[nodiscard]] const DeviceInfo& device() const override { return options_.device; }
  [[nodiscard]] const GpuSettings& settings() const override { return options_.settings; }
  Expected<GpuState> state() override {
    if (auto good = call(FakeCall::state, options_.asking_state); !good) return tl::unexpected(good.error());
    const double ratio = ramping() ? options_.power.idle_ratio : clock_ratio();
    const bool down = clock_ratio() < 1;
    return GpuState{ratio * full_clock_mhz(), options_.device.memory_clock_hz / 1e6, last_heavy_ ? 690.0 : 350.0, 55,
        down && !options_.power.thermal, down && options_.power.thermal};
  }
  Expected<Bytes> free_memory() override {
    if (auto good = call(FakeCall::free_memory, Seconds(1e-5)); !good) return tl::unexpected(good.error());
    return options_.device.memory - options_.used_memory - allocated_;
  }
  Expected<std::unique_ptr<PreparedWork>> prepare(const Work& work) override;
  Expected<std::unique_ptr<PreparedWork>> prepare(const Sequence& sequence) override;
  Expected<void> usable() override { return call(FakeCall::usable, Seconds(1e-6)); }
  [[nodiscard]] Seconds now() const override {
    advance(Seconds(1e-7));
    return clock_;
  }
  void wait(Seconds duration) override { rest(duration); }

  // What tests look at, and may change on the way.
  [[nodiscard]] int calls(FakeCall kind) const { return counts_.at(static_cast<std::size_t>(kind)); }
  [[nodiscard]] int calls() const {
    int all = 0;
    for (const int count : counts_) all += count;
    return all;
  }
  [[nodiscard]] Bytes allocated() const { return allocated_; }
  [[nodiscard]] bool lost() const { return lost_; }
  [[nodiscard]] Seconds waited() const { return waited_; }                              ///< in wait() alone
  [[nodiscard]] const std::vector<std::string>& prepared() const { return prepared_; }  ///< names, in order
  FakeGpuOptions& options() { return options_; }
  /// Of one call at full clocks and from memory, without noise.
  [[nodiscard]] Seconds true_time(const Work& work) const {
    if (options_.time) return options_.time(work) * options_.slower;
    const double products = std::visit(detail::FakeFlops{}, work.what).value() / 700e12;
    return Seconds(3e-6 + std::max(products, touched_by(work).value() / 2.8e12)) * options_.slower;
  }
  [[nodiscard]] Bytes touched_by(const Work& work) const {
    return options_.touched ? options_.touched(work) : std::visit(detail::FakeTouched{}, work.what);
  }

 private:
  friend class FakeWork;

  void advance(Seconds by) const {
    clock_ += by;
    if (clock_ > options_.clock_limit) throw std::logic_error("the fake GPU's clock ran over its limit");
  }
  void rest(Seconds duration) {
    advance(duration);
    waited_ += duration;
    idle(duration);
  }
  void idle(Seconds duration) {
    rested_ += duration;
    idled_ += duration;
    if (idled_ >= options_.power.recovers) worked_for_ = Seconds(0);
    if (rested_ >= options_.power.recovers && !(options_.power.for_ever && clock_ratio() < 1)) heavy_for_ = Seconds(0);
  }
  [[nodiscard]] double full_clock_mhz() const {
    return options_.settings.default_sm_clock_mhz > 0 ? options_.settings.default_sm_clock_mhz
                                                      : options_.device.sm_clock_hz / 1e6;
  }
  [[nodiscard]] bool ramping() const { return worked_for_ < options_.power.ramps; }
  [[nodiscard]] double clock_ratio() const {
    const FakePower& power = options_.power;
    const Seconds over = heavy_for_ - power.after;
    if (!(over.value() > 0)) return 1;
    const double gone = power.settles.value() > 0 ? 1 - std::exp(-(over / power.settles)) : 1;
    return 1 - (1 - power.ratio) * gone;
  }
  /// Counts the call, lets its time pass and gives its fault, if it has one.
  Expected<void> call(FakeCall kind, Seconds takes) {
    advance(takes * options_.slower + Seconds(1e-6));
    if (kind != FakeCall::replay) idle(takes * options_.slower);
    const int nth = ++counts_.at(static_cast<std::size_t>(kind));
    wrong_ = false;
    if (lost_) return fail("fake GPU", "the GPU is lost", "start anew");
    for (const FakeFault& fault : options_.faults) {
      const bool now = fault.kind == FakeFault::fails_always ? nth >= fault.nth : nth == fault.nth;
      if (fault.call != kind || !now) continue;
      wrong_ = fault.kind == FakeFault::wrong;
      if (wrong_) continue;
      lost_ = fault.kind == FakeFault::loses_gpu;
      return fail("fake GPU", lost_ ? "an illegal access" : "this call was told to fail", "start anew");
    }
    return {};
  }

  FakeGpuOptions options_;
  std::mt19937_64 random_;
  mutable Seconds clock_{0};
  Seconds waited_{0}, heavy_for_{0}, worked_for_{0};
  Seconds rested_{0}, idled_{0};  ///< without heavy work, without any
  std::array<int, fake_call_kinds> counts_{};
  bool lost_ = false, wrong_ = false, last_heavy_ = false;
  Bytes allocated_{0};
  double touched_so_far_ = 0;  ///< bytes that went through the level-2 cache
  std::vector<std::string> prepared_;
};

class FakeWork : public PreparedWork {
 public:
  FakeWork(FakeGpu& gpu, Work work) : gpu_(gpu), work_(std::move(work)) {}
  FakeWork(const FakeWork&) = delete;
  FakeWork& operator=(const FakeWork&) = delete;
  ~FakeWork() override { release(); }

  [[nodiscard]] Bytes touched() const override { return gpu_.touched_by(work_); }
  [[nodiscard]] std::string kernel() const override { return "fake_" + std::string(to_text(work_.source)); }
  Expected<void> allocate(int copies) override {
    if (copies < 1) throw std::logic_error("allocate() of no copies");
    release();
    calls_ = 0;
    if (auto good = gpu_.call(FakeCall::allocate, gpu_.options_.allocating); !good) return good;
    const Bytes wanted = touched() * copies;
    if (wanted > gpu_.options_.device.memory - gpu_.options_.used_memory - gpu_.allocated_)
      return fail("cudaMalloc", "out of memory", "less");
    held_ = wanted;
    gpu_.allocated_ += held_;
    used_at_.assign(static_cast<std::size_t>(copies), -std::numeric_limits<double>::infinity());
    return {};
  }
  Expected<Check> check() override {
    if (used_at_.empty()) throw std::logic_error("check() before allocate()");
    if (auto good = gpu_.call(FakeCall::check, gpu_.options_.checking); !good) return tl::unexpected(good.error());
    return Check{gpu_.wrong_ ? 0.1 : 0.001, 0.01, 4096};
  }
  Expected<void> record(int calls) override {
    if (used_at_.empty()) throw std::logic_error("record() before allocate()");
    if (calls < 1) throw std::logic_error("record() of no calls");
    calls_ = 0;
    if (auto good = gpu_.call(FakeCall::record, gpu_.options_.recording); !good) return good;
    calls_ = calls;
    replays_ = 0;
    return {};
  }
  Expected<Seconds> replay(bool flush) override {
    if (calls_ == 0) throw std::logic_error("replay() before record()");
    if (auto good = gpu_.call(FakeCall::replay, gpu_.options_.launching); !good) return tl::unexpected(good.error());
    if (flush) gpu_.touched_so_far_ += 2 * gpu_.options_.device.l2.value();
    Seconds total{0};
    for (int i = 0; i < calls_; ++i) total += one_call(used_at_[static_cast<std::size_t>(i) % used_at_.size()]);
    total = total * std::max(0.1, 1 + gpu_.options_.noise * normal_(gpu_.random_));
    if (replays_++ < gpu_.options_.slow_replays) total = total * gpu_.options_.slow_factor;
    gpu_.advance(total);
    gpu_.last_heavy_ = heavy();
    return total;
  }

 private:
  [[nodiscard]] bool heavy() const {
    if (gpu_.options_.heavy) return gpu_.options_.heavy(work_);
    return std::holds_alternative<GemmQuery>(work_.what);
  }
  /// Reuse distance decides: the set is in the cache while no more than the cache's size went through since its use.
  Seconds one_call(double& used_at) {
    Seconds time = gpu_.true_time(work_);
    gpu_.touched_so_far_ += touched().value();
    const bool cached = touched().value() > 0 && gpu_.touched_so_far_ - used_at <= gpu_.options_.device.l2.value();
    if (cached) time = time / gpu_.options_.cache_speedup;
    used_at = gpu_.touched_so_far_;
    if (work_.beside) time = time * gpu_.options_.beside_factor;
    if (gpu_.ramping()) time = time / gpu_.options_.power.idle_ratio;
    else if (heavy()) time = time / gpu_.clock_ratio();
    gpu_.worked_for_ += time;
    gpu_.idled_ = Seconds(0);
    if (!heavy()) return time;
    gpu_.heavy_for_ += time;
    gpu_.rested_ = Seconds(0);
    return time;
  }
  void release() {
    gpu_.allocated_ -= std::exchange(held_, Bytes(0));
    used_at_.clear();
  }

  FakeGpu& gpu_;
  Work work_;
  Bytes held_{0};
  std::vector<double> used_at_;  ///< of each set: how much had gone through the cache when it was last used
  int calls_ = 0, replays_ = 0;
  std::normal_distribution<double> normal_;
};

/// Works in turn, each by a replay of its own; what the host takes to launch one comes on top outside of a graph.
class FakeSequence : public PreparedWork {
 public:
  FakeSequence(std::vector<std::unique_ptr<PreparedWork>> works, Seconds launch)
      : works_(std::move(works)), launch_(launch) {}
  [[nodiscard]] Bytes touched() const override {
    Bytes sum;
    for (const auto& work : works_) sum += work->touched();
    return sum;
  }
  Expected<void> allocate(int copies) override {
    for (const auto& work : works_)
      if (auto good = work->allocate(copies); !good) return good;
    return {};
  }
  Expected<Check> check() override {
    Check worst{0, 1, 0};
    for (const auto& work : works_) {
      const auto one = work->check();
      if (!one || !one->good()) return one;
      worst.compared += one->compared;
    }
    return worst;
  }
  Expected<void> record(int calls) override {
    for (const auto& work : works_)
      if (auto good = work->record(calls); !good) return good;
    calls_ = calls;
    return {};
  }
  Expected<Seconds> replay(bool flush) override {
    Seconds sum = launch_ * static_cast<double>(works_.size()) * calls_;
    for (const auto& work : works_) {
      const auto time = work->replay(flush);
      if (!time) return time;
      sum += *time;
    }
    return sum;
  }

 private:
  std::vector<std::unique_ptr<PreparedWork>> works_;
  Seconds launch_;
  int calls_ = 0;
};

inline Expected<std::unique_ptr<PreparedWork>> FakeGpu::prepare(const Sequence& sequence) {
  std::vector<std::unique_ptr<PreparedWork>> works;
  for (const Work& work : sequence.calls) {
    auto made = prepare(work);
    if (!made) return made;
    works.push_back(std::move(*made));
  }
  return std::make_unique<FakeSequence>(std::move(works), sequence.in_graph ? Seconds(0) : Seconds(1e-6));
}

inline Expected<std::unique_ptr<PreparedWork>> FakeGpu::prepare(const Work& work) {
  if (auto good = call(FakeCall::prepare, options_.preparing); !good) return tl::unexpected(good.error());
  if (const std::string why = options_.cannot ? options_.cannot(work) : ""; !why.empty())
    return fail("fake GPU", why, "other work");
  prepared_.push_back(to_text(work));
  return std::make_unique<FakeWork>(*this, work);
}

}  // namespace stepcast::calibrate
