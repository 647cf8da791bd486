// 300 random forecasts with one fault each: the first cause that is named is the one that was put in, and its size is
// that of the fault within a tenth, in 95 % of them; without a fault nothing is blamed.
#include <cmath>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/studies/compare/fault_scene.h"
#include "tests/trials.h"

namespace stepcast::comparison::random_faults_test {
namespace {

using namespace fault_scene;

struct Fault {
  CauseKind kind = CauseKind::slow_kernels;
  std::string what, subject;
  double seconds = 0;  ///< that it adds
  std::vector<ReadTrace> measured;
};

class FaultMaker {
 public:
  explicit FaultMaker(unsigned seed) : random_(seed) {}

  int below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  /// Groups over several nodes use the links inside of them, too: `one_node` has none.
  std::string run(bool pipeline, bool one_node = false) {
    const char* networks[] = {"llama3-8b", "llama2-7b", "llama3.2-3b", "gpt3-13b"};
    const int tp = 1 << (1 + below(2)), pp = pipeline ? 4 : 1, gpus = one_node ? 8 : tp * pp * (2 << below(2));
    return fmt::format("{} --gpus {} --tp {} --pp {} --global-batch {} --seq 2048", networks[below(4)], gpus, tp, pp,
        gpus / tp / pp * (pipeline ? 8 : 1 + below(3)));
  }

  static constexpr int kinds = 10;
  /// One of the kinds; the forecast's command line comes back in `line`.
  Fault make(int kind, std::string& line) {
    line = kind == 9 ? nodes_run() : run(kind == 1, kind == 0);
    const Scenario scenario = scenario_of(line);
    switch (kind) {
      case 0: return slow_link(scenario);
      case 1: return slow_rank(scenario);
      case 2: return slow_kernels(scenario);
      case 3: return host_gaps(scenario);
      case 4: return lost_overlap(scenario, line);
      case 5: return slow_replica(scenario, false);
      case 6: return recomputed(line);
      case 7: return low_clock(scenario);
      case 8: return slow_replica(scenario, true);
      default: return slow_link(scenario, 1);
    }
  }

 private:
  static double step_of(const std::vector<ReadTrace>& traces) {
    return (traces.front().trace.end - traces.front().trace.begin) * 1e-6;
  }
  /// A step without pipeline is longer by the fault alone.
  static double longer(const std::vector<ReadTrace>& measured, const Scenario& scenario) {
    return step_of(measured) - step_of(timeline_of(scenario));
  }

  /// Weights are gathered and gradients scattered between nodes, layer by layer.
  std::string nodes_run() {
    const int nodes = 2 << below(2);
    return fmt::format("llama3-8b --gpus {} --tp 8 --zero 3 --global-batch {} --seq 2048", 8 * nodes, 2 * nodes);
  }

  Fault slow_link(const Scenario& scenario, std::size_t level = 0) {
    Scenario slow = scenario;
    const double factor = between(0.3, 0.75);
    const std::string name = scenario.machine.row.levels.at(level).name;
    whatif::scale_bandwidth(slow, level, factor);
    auto measured = timeline_of(slow);
    const double seconds = longer(measured, scenario);
    return {CauseKind::slow_link, fmt::format("links at {:.2f}", factor), name, seconds, std::move(measured)};
  }
  Fault slow_rank(const Scenario& scenario) {
    std::vector<double> slowdown(4, 1);
    const int rank = below(4);
    const double factor = slowdown[static_cast<std::size_t>(rank)] = between(1.08, 1.5);
    auto measured = timeline_of(scenario, slowdown);
    // What its kernels take longer; the optimizer is outside of the pipeline.
    double seconds = 0;
    for (const DeviceEvent& event : measured[static_cast<std::size_t>(rank)].trace.events)
      if (is_compute(event.kind) && event.kind != WorkKind::optimizer)
        seconds += (event.end - event.start) * 1e-6 * (1 - 1 / factor);
    return {CauseKind::slow_rank, fmt::format("stage {} takes {:.2f}", rank, factor), fmt::format("stage {}", rank),
        seconds, std::move(measured)};
  }
  static bool of_cores(const DeviceEvent& event) { return is_bound_by_cores(event.kind); }

  /// Products and attention take longer, and memory does not.
  Fault low_clock(const Scenario& scenario) {
    auto measured = timeline_of(scenario);
    const double factor = between(1.05, 1.5);
    const double seconds = stretch(measured, [&](const RankTrace&, const DeviceEvent& event) {
      return of_cores(event) ? (event.end - event.start) * (factor - 1) : 0;
    });
    return {CauseKind::low_clock, fmt::format("clocks at 1 / {:.2f}", factor), "the GPU", seconds, std::move(measured)};
  }
  /// Of four ranks that do the same one is slow in all that it computes, or in what its cores bound alone.
  Fault slow_replica(const Scenario& scenario, bool clock) {
    auto measured = timeline_of(scenario);
    const double factor = between(1.08, 1.5);
    std::vector<ReadTrace> ranks(4, measured.front());
    const double seconds = stretch(measured, [&](const RankTrace&, const DeviceEvent& event) {
      return clock                    ? (of_cores(event) ? (event.end - event.start) * (factor - 1) : 0)
             : is_compute(event.kind) ? (event.end - event.start) * (factor - 1)
                                      : 0;
    });
    const int slow = below(4);
    ranks[static_cast<std::size_t>(slow)] = std::move(measured.front());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].trace.rank = static_cast<std::int64_t>(rank);
    return {clock ? CauseKind::low_clock : CauseKind::slow_rank, fmt::format("rank {} takes {:.2f}", slow, factor),
        fmt::format("stage {}", slow), seconds, std::move(ranks)};
  }
  Fault slow_kernels(const Scenario& scenario) {
    auto measured = timeline_of(scenario);
    const WorkKind kind = below(2) == 0 ? WorkKind::gemm : WorkKind::attention;
    const double factor = between(1.1, 1.6);
    const double seconds = stretch(measured, [&](const RankTrace&, const DeviceEvent& event) {
      return event.kind == kind ? (event.end - event.start) * (factor - 1) : 0;
    });
    return {CauseKind::slow_kernels, fmt::format("{} takes {:.2f}", to_text(kind), factor),
        kind == WorkKind::gemm ? "matrix products" : "attention", seconds, std::move(measured)};
  }
  Fault host_gaps(const Scenario& scenario) {
    auto measured = timeline_of(scenario);
    const int each = 1 + below(4);
    const double gap = between(100, 1000);  // microseconds
    std::set<double> chosen;
    int layers = 0;
    for (const DeviceEvent& event : measured[0].trace.events)
      if (event.kind == WorkKind::attention && layers++ % each == 0) chosen.insert(event.start);
    const double seconds = stretch(measured, [&](const RankTrace&, const DeviceEvent& event) {
      return event.kind == WorkKind::attention && chosen.contains(event.start) ? -gap : 0.0;
    });
    return {CauseKind::host_gaps, fmt::format("gaps of {:.0f} us at each {}th layer", gap, each), "the host", seconds,
        std::move(measured)};
  }
  Fault lost_overlap(const Scenario& scenario, const std::string& line) {
    auto measured = timeline_of(scenario_of(line + " --dp-overlap off"));
    const double seconds = longer(measured, scenario);
    return {CauseKind::lost_overlap, "no overlap of gradients", "", seconds, std::move(measured)};
  }
  Fault recomputed(const std::string& line) {
    auto measured = timeline_of(scenario_of(line + (below(2) == 0 ? " --recompute full" : " --recompute selective")));
    // What runs again; that more of the gradients' collectives hides behind it is another matter.
    double seconds = 0;
    for (const DeviceEvent& event : measured[0].trace.events)
      if (is_compute(event.kind) && measured[0].trace.names[static_cast<std::size_t>(event.name)].ends_with(" again"))
        seconds += (event.end - event.start) * 1e-6;
    return {CauseKind::more_work, "recomputed", "kernels", seconds, std::move(measured)};
  }

  std::mt19937 random_;
};

TEST(RandomFaults, TheFirstCauseIsTheOneThatWasPutIn) {
  FaultMaker maker(7);
  std::map<int, std::pair<int, int>> right;  // by kind: named and sized right, of so many
  int good = 0, all = 0;
  for (int trial = 0; trial < trials(300); ++trial) {
    const int kind = trial % FaultMaker::kinds;
    std::string line;
    const Fault fault = maker.make(kind, line);
    const Scenario forecast = scenario_of(line);
    const Beside beside = held(forecast, fault.measured);
    // The rows sum to the gap.
    double sum = 0;
    for (const GapRow& row : beside.gap.rows) sum += row.difference();
    EXPECT_NEAR(sum, beside.gap.difference(), 1e-3 * std::abs(beside.gap.difference()) + 1e-9) << line;
    // A fault of less than a thousandth of the step is none.
    if (fault.seconds < 0.001 * beside.gap.expected) {
      EXPECT_TRUE(beside.causes.empty() || std::abs(beside.causes[0].seconds) < 0.002 * beside.gap.expected) << line;
      continue;
    }
    ++all, ++right[kind].second;
    const bool named = !beside.causes.empty() && beside.causes[0].kind == fault.kind &&
                       beside.causes[0].subject.starts_with(fault.subject);
    const bool sized = named && std::abs(beside.causes[0].seconds / fault.seconds - 1) <= 0.1;
    if (sized) ++good, ++right[kind].first;
    else if (right[kind].second - right[kind].first <= 3)
      std::printf("kind %d  %s: %s, %.4g s; named %s (%s) %.4g s, gap %.4g s, next %s\n", kind, line.c_str(),
          fault.what.c_str(), fault.seconds,
          beside.causes.empty() ? "nothing" : std::string(to_text(beside.causes[0].kind, 1)).c_str(),
          beside.causes.empty() ? "" : beside.causes[0].subject.c_str(),
          beside.causes.empty() ? 0 : beside.causes[0].seconds, beside.gap.difference(),
          beside.causes.size() < 2 ? "" : std::string(to_text(beside.causes[1].kind, 1)).c_str());
  }
  for (const auto& [kind, counts] : right) std::printf("kind %d: %d of %d\n", kind, counts.first, counts.second);
  EXPECT_GE(good, 0.95 * all) << good << " of " << all;
  EXPECT_GE(all, trials(300) * 3 / 4);
}

TEST(RandomFaults, WithoutAFaultNothingIsBlamed) {
  FaultMaker maker(11);
  for (int trial = 0; trial < trials(40); ++trial) {
    const std::string line = maker.run(trial % 2 == 0);
    const Scenario scenario = scenario_of(line);
    EXPECT_TRUE(held(scenario, timeline_of(scenario)).causes.empty()) << line;
  }
}

}  // namespace
}  // namespace stepcast::comparison::random_faults_test
