// A host or cluster whose collectives are arithmetic: latency + received bytes / bus bandwidth of what joins a group,
// with noise, a clock that moves when work is done, and any call failing when a test wants it to. The same options give
// the same figures.
//
//   FakeCollectives bench;                                              // eight GPUs on an NVSwitch
//   FakeCollectives bench({.hosts = 2});                                // two such hosts
//   FakeCollectives bench(fake_bridged_pairs());                        // four on PCIe, bridges between 0-1 and 2-3
//   FakeCollectivesOptions options;
//   options.faults = {{FakeCollectiveCall::time, 3}};                   // the third timing fails, the bench goes on
//   options.faults = {{FakeCollectiveCall::open, 2, true}};             // the second opening fails, and all after it
//
// Several processes: one FakeMeeting, and a bench for each process in a thread of its own.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/bench/collective_bench.h"

namespace stepcast::calibrate {

/// What a fabric of the fake does.
struct FakeFabric {
  Seconds latency;
  BytesPerSecond bus;
};

enum class FakeCollectiveCall : std::uint8_t { open, check, time, time_beside, agree };

struct FakeCollectiveFault {
  FakeCollectiveCall call = FakeCollectiveCall::time;
  int nth = 1;            ///< counted from 1
  bool for_ever = false;  ///< nothing works afterwards, usable() says so
  bool wrong = false;     ///< of check: the numbers differ
};

/// Where the processes of a test meet.
class FakeMeeting {
 public:
  explicit FakeMeeting(int processes) : all_(processes) {}
  bool any(bool here) {
    {
      const std::lock_guard lock(guard_);
      any_ |= here;
    }
    all_.arrive_and_wait();
    const bool told = any_;
    all_.arrive_and_wait();
    {
      const std::lock_guard lock(guard_);
      any_ = false;
    }
    all_.arrive_and_wait();
    return told;
  }
  std::string from_first(bool first, const std::string& here) {
    if (first) said_ = here;
    all_.arrive_and_wait();
    std::string copy = said_;
    all_.arrive_and_wait();
    return copy;
  }

 private:
  std::barrier<> all_;
  std::mutex guard_;
  bool any_ = false;
  std::string said_;
};

struct FakeCollectivesOptions {
  int hosts = 1, per_host = 8;
  DeviceInfo device{
      "NVIDIA H100 80GB HBM3", "GPU-fake", "0000:19:00.0", 9, 0, 132, Bytes(80e9), Bytes(50e6), 1.98e9, 2.6e9};
  GpuSettings settings{"580.65.06", "13.0", "13.0.2", "9.19", "2.28.3", 700, 700, 1980, true, false, true, {}};
  Bytes free{75e9};
  std::map<std::string, FakeFabric> fabrics{{"nvswitch", {Seconds(10e-6), BytesPerSecond(300e9)}},
      {"nvlink_mesh", {Seconds(10e-6), BytesPerSecond(100e9)}}, {"pcie", {Seconds(20e-6), BytesPerSecond(10e9)}},
      {"network", {Seconds(40e-6), BytesPerSecond(50e9)}}};
  /// What joins two GPUs of one host, by their number there; empty: "nvswitch".
  std::function<std::string(int, int)> joins;
  double noise = 0;  ///< relative deviation of a batch
  std::uint64_t seed = 1;
  double beside_factor = 1.2;  ///< how much longer both take beside each other
  Seconds gemm{1.5e-3};        ///< of a product alone
  Seconds opening{1}, checking{2e-3}, asking{1e-4};
  std::vector<FakeCollectiveFault> faults;
  std::shared_ptr<FakeMeeting> meeting;  ///< null: one process
  bool first = true;
};

/// Four GPUs on PCIe, those of the pairs 0-1 and 2-3 bridged.
inline FakeCollectivesOptions fake_bridged_pairs() {
  FakeCollectivesOptions options;
  options.per_host = 4;
  options.joins = [](int a, int b) { return a / 2 == b / 2 ? "nvlink_mesh" : "pcie"; };
  return options;
}

class FakeCollectives : public CollectiveBench {
 public:
  explicit FakeCollectives(FakeCollectivesOptions options = {}) : options_(std::move(options)), random_(options_.seed) {
    for (int rank = 0; rank < options_.hosts * options_.per_host; ++rank) {
      const int host = rank / options_.per_host;
      ranks_.push_back({rank, host, host, "node" + std::to_string(host), options_.device.name,
          "0000:" + std::to_string(10 + rank) + ":00.0"});
    }
  }

  [[nodiscard]] const std::vector<RankPlace>& ranks() const override { return ranks_; }
  [[nodiscard]] std::string joins(int rank, int other) const override {
    if (rank / options_.per_host != other / options_.per_host) return "network";
    return options_.joins ? options_.joins(rank % options_.per_host, other % options_.per_host) : "nvswitch";
  }
  [[nodiscard]] const DeviceInfo& device() const override { return options_.device; }
  [[nodiscard]] const GpuSettings& settings() const override { return options_.settings; }
  [[nodiscard]] std::string launch_mode() const override { return "thread per GPU"; }
  [[nodiscard]] bool first() const override { return options_.first; }
  [[nodiscard]] Bytes free_memory() const override { return options_.free; }
  [[nodiscard]] Seconds now() const override { return clock_; }

  Expected<void> open(const CollectiveGroup& group) override {
    group_ = {};
    if (auto good = call(FakeCollectiveCall::open, options_.opening); !good) return good;
    if (group.ranks.size() < 2) throw std::logic_error("a group of one rank");
    group_ = group;
    opened_.push_back(group.placement);
    return {};
  }
  Expected<Check> check(CollectiveKind, Bytes buffer) override {
    require_whole(buffer);
    if (auto good = call(FakeCollectiveCall::check, options_.checking); !good) return tl::unexpected(good.error());
    const FakeCollectiveFault* fault = fault_of(FakeCollectiveCall::check);
    return Check{fault != nullptr && fault->wrong ? 3.0 : 0.0, 0, static_cast<std::int64_t>(buffer.value() / 2)};
  }
  Expected<std::vector<Seconds>> time(CollectiveKind kind, Bytes buffer, int calls, int batches) override {
    require_whole(buffer);
    if (calls < 1 || batches < 1) throw std::logic_error("nothing to time");
    if (auto good = call(FakeCollectiveCall::time, Seconds(0)); !good) return tl::unexpected(good.error());
    std::vector<Seconds> times;
    for (int batch = 0; batch < batches; ++batch) {
      times.push_back(true_time(kind, buffer) * std::max(0.2, 1 + options_.noise * normal_(random_)));
      clock_ += times.back() * calls;
    }
    calls_ += calls * batches;
    return times;
  }
  Expected<BesideTimes> time_beside(const GemmQuery&, CollectiveKind kind, Bytes buffer, Seconds duration) override {
    require_whole(buffer);
    if (auto good = call(FakeCollectiveCall::time_beside, duration * 4); !good) return tl::unexpected(good.error());
    const Seconds alone = true_time(kind, buffer);
    return BesideTimes{options_.gemm, options_.gemm * options_.beside_factor, alone, alone * options_.beside_factor};
  }
  Expected<bool> agree_to_stop(bool here) override {
    if (auto good = call(FakeCollectiveCall::agree, options_.asking); !good) return tl::unexpected(good.error());
    return options_.meeting ? options_.meeting->any(here) : here;
  }
  Expected<std::string> from_first(const std::string& here) override {
    clock_ += options_.asking;
    return options_.meeting ? options_.meeting->from_first(options_.first, here) : here;
  }
  Expected<void> usable() override {
    return lost_ ? Expected<void>(fail("nccl", "nothing runs any more", "start anew")) : Expected<void>{};
  }

  // What tests look at.
  [[nodiscard]] Seconds true_time(CollectiveKind kind, Bytes buffer) const {
    const FakeFabric& fabric = options_.fabrics.at(group_.fabric);
    return fabric.latency +
           received_of({kind, static_cast<std::int64_t>(group_.ranks.size()), group_.nodes, buffer}) / fabric.bus;
  }
  [[nodiscard]] const std::vector<std::string>& opened() const { return opened_; }  ///< placements, in order
  [[nodiscard]] std::int64_t timed_calls() const { return calls_; }
  void let_pass(Seconds duration) { clock_ += duration; }

 private:
  /// Counts the call and lets time pass; fails where a fault says so.
  Expected<void> call(FakeCollectiveCall kind, Seconds takes) {
    clock_ += takes;
    ++counts_[kind];
    if (lost_) return fail("nccl", "nothing runs any more", "start anew");
    const FakeCollectiveFault* fault = fault_of(kind);
    if (fault == nullptr || fault->wrong) return {};
    lost_ = fault->for_ever;
    return fail("ncclFake", "unhandled system error", "start anew");
  }
  [[nodiscard]] const FakeCollectiveFault* fault_of(FakeCollectiveCall kind) const {
    for (const FakeCollectiveFault& fault : options_.faults)
      if (fault.call == kind && fault.nth == counts_.at(kind)) return &fault;
    return nullptr;
  }
  void require_whole(Bytes buffer) const {
    if (group_.ranks.empty()) throw std::logic_error("no group is open");
    const auto bytes = static_cast<std::int64_t>(buffer.value());
    if (bytes <= 0 || bytes % (2 * static_cast<std::int64_t>(group_.ranks.size())) != 0)
      throw std::logic_error("a buffer that ranks cannot share");
    if (2.0 * buffer > options_.free) throw std::logic_error("more than the memory holds");
  }

  FakeCollectivesOptions options_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<RankPlace> ranks_;
  CollectiveGroup group_;
  std::vector<std::string> opened_;
  std::map<FakeCollectiveCall, int> counts_;
  std::int64_t calls_ = 0;
  Seconds clock_;
  bool lost_ = false;
};

}  // namespace stepcast::calibrate
