// Traces read back: the format, what follows each other and pairs, and sums that are those of the step report.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/base/json_writer.h"
#include "studies/run/figures/phases.h"
#include "studies/timeline/trace_writer.h"
#include "tests/studies/timeline/forecast_of.h"
#include "tests/trials.h"

namespace stepcast::timeline::trace_test {
namespace {

using testing::HasSubstr;
using timeline_testing::forecast_of;
using timeline_testing::forecasts;
using TraceDocument = nlohmann::json;

constexpr double grain = 1.001e-6;  ///< of times in a trace, in microseconds, and what a double adds to a sum of two

TraceDocument events_of(const StepScene& scene, const TraceChoice& choice) {
  const TraceDocument document = TraceDocument::parse(scene_trace(scene, choice));
  EXPECT_EQ(document.at("displayTimeUnit"), "ms");
  EXPECT_TRUE(document.at("otherData").at("generator").get<std::string>().starts_with("stepcast "));
  EXPECT_EQ(document.at("otherData").at("title"), scene.title);
  return document.at("traceEvents");
}

/// Keys that an event of each phase has, and no others.
const std::map<std::string, std::set<std::string>>& keys_by_phase() {
  static const std::map<std::string, std::set<std::string>> keys = {
      {"X", {"ph", "pid", "tid", "ts", "dur", "name", "cat", "args"}},
      {"s", {"ph", "pid", "tid", "ts", "id", "name", "cat"}},
      {"f", {"ph", "pid", "tid", "ts", "id", "name", "cat", "bp"}}, {"C", {"ph", "pid", "ts", "name", "args"}},
      {"M", {"ph", "pid", "tid", "name", "args"}}};
  return keys;
}

void expect_schema(const TraceDocument& events) {
  for (const auto& event : events) {
    const auto known = keys_by_phase().find(event.at("ph").get<std::string>());
    ASSERT_NE(known, keys_by_phase().end()) << event;
    for (const auto& [key, value] : event.items()) ASSERT_TRUE(known->second.contains(key)) << event;
    for (const std::string& key : known->second)
      ASSERT_TRUE(key == "args" || event.contains(key)) << key << " in " << event;
    for (const char* key : {"ts", "dur"}) {
      if (!event.contains(key)) continue;
      ASSERT_TRUE(event.at(key).is_number()) << event;
      ASSERT_GE(event.at(key).get<double>(), 0) << event;
    }
    for (const char* key : {"pid", "tid", "id"})
      ASSERT_TRUE(!event.contains(key) || event.at(key).is_number_integer()) << event;
    ASSERT_FALSE(event.at("name").get<std::string>().empty());
  }
}

struct ReadSlice {
  double start = 0, end = 0;
  std::string name, category;
};
using Threads = std::map<std::pair<std::int64_t, int>, std::vector<ReadSlice>>;

Threads threads_of(const TraceDocument& events) {
  Threads threads;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts"), length = event.at("dur");
    threads[{event.at("pid"), event.at("tid")}].push_back({start, start + length, event.at("name"), event.at("cat")});
  }
  for (auto& [thread, slices] : threads)
    std::stable_sort(
        slices.begin(), slices.end(), [](const ReadSlice& a, const ReadSlice& b) { return a.start < b.start; });
  return threads;
}

void expect_nested(const Threads& threads) {
  for (const auto& [thread, slices] : threads) {
    std::vector<double> open;
    for (const ReadSlice& slice : slices) {
      while (!open.empty() && open.back() <= slice.start + grain) open.pop_back();
      ASSERT_TRUE(open.empty() || slice.end <= open.back() + grain)
          << slice.name << " on " << thread.first << ":" << thread.second;
      open.push_back(slice.end);
    }
  }
}

/// Each arrow has both ends, begins where a slice begins and ends where one does.
void expect_arrows(const TraceDocument& events, const Threads& threads) {
  std::map<std::int64_t, std::vector<TraceDocument>> ends;
  for (const auto& event : events)
    if (event.at("ph") == "s" || event.at("ph") == "f") ends[event.at("id")].push_back(event);
  EXPECT_FALSE(ends.empty());
  for (auto& [id, pair] : ends) {
    ASSERT_EQ(pair.size(), 2U) << id;
    if (pair[0].at("ph") == "f") std::swap(pair[0], pair[1]);
    ASSERT_EQ(pair[0].at("cat"), pair[1].at("cat"));
    ASSERT_EQ(pair[0].at("ph"), "s");
    ASSERT_EQ(pair[1].at("ph"), "f");
    ASSERT_LE(pair[0].at("ts").get<double>(), pair[1].at("ts").get<double>() + grain);
    for (const auto& end : pair) {
      const auto thread = threads.find({end.at("pid"), end.at("tid")});
      ASSERT_NE(thread, threads.end()) << end;
      const double time = end.at("ts");
      const auto after = std::upper_bound(thread->second.begin(), thread->second.end(), time + grain,
          [](double value, const ReadSlice& slice) { return value < slice.start; });
      ASSERT_NE(after, thread->second.begin()) << end;
      ASSERT_NEAR(std::prev(after)->start, time, grain) << "no slice begins here: " << end;
    }
  }
}

void expect_names(const TraceDocument& events, const Threads& threads) {
  std::set<std::pair<std::int64_t, int>> named;
  std::set<std::int64_t> processes;
  for (const auto& event : events) {
    const auto process = event.at("pid").get<std::int64_t>();
    if (event.at("name") == "thread_name") {
      EXPECT_TRUE(named.emplace(process, event.at("tid").get<int>()).second) << "named twice";
    }
    if (event.at("name") == "process_name") {
      EXPECT_TRUE(processes.insert(process).second) << "named twice";
    }
  }
  for (const auto& [thread, slices] : threads) {
    EXPECT_TRUE(named.contains(thread)) << thread.first << ":" << thread.second;
    EXPECT_TRUE(processes.contains(thread.first));
  }
}

TEST(SceneTrace, IsWellFormed) {
  for (std::size_t i = 0; i < forecasts().size(); i += sanitized ? 3 : 1) {
    const std::string& line = forecasts()[i];
    const auto made = forecast_of(line);
    for (const TraceDetail detail : {TraceDetail::actions, TraceDetail::kernels}) {
      SCOPED_TRACE(line + (detail == TraceDetail::actions ? ", actions" : ", kernels"));
      const TraceChoice choice{detail, false};
      const TraceDocument events = events_of(made->scene, choice);
      expect_schema(events);
      const Threads threads = threads_of(events);
      expect_nested(threads);
      expect_names(events, threads);
      if (made->prediction.program.stages > 1) expect_arrows(events, threads);
      EXPECT_EQ(static_cast<std::int64_t>(events.size()), trace_events(made->scene, choice));
    }
  }
}

/// Seconds by category on the process of the slowest stage.
/// Of kernels without their class, which stands last.
std::string sum_key(const ReadSlice& slice) {
  if (slice.category == "phase") return "phase " + slice.name;
  if (!slice.category.starts_with("kernel,")) return slice.category;
  return slice.category.substr(0, slice.category.rfind(','));
}

std::map<std::string, double> sums_of(const Threads& threads, int process) {
  std::map<std::string, double> sums;
  for (const auto& [thread, slices] : threads) {
    if (thread.first != process) continue;
    for (const ReadSlice& slice : slices) sums[sum_key(slice)] += 1e-6 * (slice.end - slice.start);
  }
  return sums;
}

TEST(SceneTrace, SumsAreThePhasesOfTheStep) {
  int held = 0;
  for (std::size_t i = 0; i < forecasts().size(); i += sanitized ? 3 : 1) {
    const std::string& line = forecasts()[i];
    SCOPED_TRACE(line);
    const auto made = forecast_of(line);
    const StepReport& step = made->prediction.step;
    const Threads threads = threads_of(events_of(made->scene, {}));
    auto sums = sums_of(threads, step.slowest_stage);
    held += sums["hold"] > 0 ? 1 : 0;
    const auto expect = [&](double sum, Seconds phase, std::string_view name) {
      EXPECT_NEAR(sum, phase.value(), 1e-6 * phase.value() + 1e-12) << name;
    };
    const double backward = sums["kernel,recompute"] + sums["kernel,input_grad"] + sums["kernel,weight_grad"];
    const double kernels = sums["kernel,forward"];
    expect(kernels, step.phases.forward, "forward");
    expect(backward, step.phases.backward, "backward");
    expect(sums["wait"] + sums["hold"], step.phases.exposed_communication, "exposed communication");
    expect(sums["phase pipeline"] - kernels - backward - sums["wait"] - sums["hold"], step.phases.bubble, "bubble");
    int skipped = 0;
    for (const PhaseRow& phase : phase_rows(step.phases)) {
      const bool inside = sums.find("phase " + std::string(phase.name)) == sums.end();
      skipped += inside && phase.time > Seconds(0) ? 1 : 0;
      if (!inside) expect(sums["phase " + std::string(phase.name)], phase.time, phase.name);
    }
    EXPECT_LE(skipped, 4) << "forward, backward, bubble, exposed communication";
    double last = 0;
    for (const auto& [thread, slices] : threads) last = std::max(last, slices.back().end);
    EXPECT_NEAR(1e-6 * last, step.step_time.value(), 1e-11);
  }
  EXPECT_GT(held, 0) << "some software's hops block";
}

TEST(SceneTrace, HasAllRanksWithAllStreams) {
  const auto made = forecast_of("llama3-8b --machine dgx-h100 --gpus 64 --tp 2 --pp 4 --global-batch 16");
  const TraceChoice choice{TraceDetail::kernels, true};
  const TraceDocument events = events_of(made->scene, choice);
  EXPECT_EQ(static_cast<std::int64_t>(events.size()), trace_events(made->scene, choice));
  std::map<std::int64_t, std::set<int>> streams;
  std::map<std::int64_t, std::string> names;
  for (const auto& event : events) {
    if (event.at("name") == "thread_name") streams[event.at("pid")].insert(event.at("tid").get<int>());
    if (event.at("name") == "process_name") names[event.at("pid")] = event.at("args").at("name");
  }
  ASSERT_EQ(streams.size(), 64U);
  for (const auto& [rank, threads] : streams) EXPECT_GE(threads.size(), 8U) << rank;
  EXPECT_EQ(names.at(17), "rank 17 (stage 1)") << "stages lie 16 ranks apart";
  EXPECT_EQ(names.at(63), "rank 63 (stage 3)");
  const Threads threads = threads_of(events);
  expect_nested(threads);
  expect_arrows(events, threads);
  EXPECT_EQ(threads.at({16, StepScene::compute_stream}).size(), threads.at({31, StepScene::compute_stream}).size());
}

TEST(SceneTrace, HopsOfAllRanksJoinNeighboursInTheirOwnPipeline) {
  const auto made = forecast_of("llama3-8b --machine dgx-h100 --gpus 64 --tp 2 --pp 4 --global-batch 16");
  std::map<std::int64_t, std::int64_t> sent, taken;
  for (const auto& event : events_of(made->scene, {TraceDetail::actions, true})) {
    if (event.at("ph") == "s") sent[event.at("id")] = event.at("pid");
    if (event.at("ph") == "f") taken[event.at("id")] = event.at("pid");
  }
  EXPECT_EQ(static_cast<std::int64_t>(sent.size()), 16 * made->prediction.step.timeline.messages);
  for (const auto& [id, rank] : sent) EXPECT_EQ(std::abs(taken.at(id) - rank), 16);
}

// Viewers join an end of an arrow to a slice that they have read before.
TEST(SceneTrace, ArrowsComeAfterTheSlicesThatTheyJoin) {
  const auto made = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --schedule dualpipe --global-batch 64");
  std::set<std::tuple<std::int64_t, int, double>> begun;
  int arrows = 0;
  for (const auto& event : events_of(made->scene, {})) {
    const std::string phase = event.at("ph");
    if (phase != "X" && phase != "s" && phase != "f") continue;
    const std::tuple<std::int64_t, int, double> at{event.at("pid"), event.at("tid"), event.at("ts")};
    if (phase == "X") begun.insert(at);
    else EXPECT_TRUE(begun.contains(at)) << event;
    arrows += phase == "s" ? 1 : 0;
  }
  EXPECT_GT(arrows, 100);
}

TEST(SceneTrace, MemoryReturnsToWhatLasts) {
  for (const std::string& line : forecasts()) {
    SCOPED_TRACE(line);
    const auto made = forecast_of(line);
    std::map<std::int64_t, std::vector<std::int64_t>> held;
    for (const auto& event : events_of(made->scene, {TraceDetail::actions, false}))
      if (event.at("ph") == "C") held[event.at("pid")].push_back(event.at("args").at("bytes"));
    ASSERT_EQ(held.size(), static_cast<std::size_t>(made->scene.order->ranks));
    for (const auto& [rank, bytes] : held) {
      EXPECT_EQ(bytes.back(), bytes.front());
      EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), bytes.front());
      EXPECT_GT(*std::max_element(bytes.begin(), bytes.end()), bytes.front());
    }
  }
}

TEST(SceneTrace, SlowActionsStretchWhatIsInside) {
  const auto made = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --global-batch 16");
  StepScene& scene = made->scene;
  for (std::size_t i = 0; i < scene.inside_seconds.size(); ++i) {
    scene.inside_seconds[i] /= 2;
    for (SceneSpan& span : scene.inside[i]) span.start /= 2, span.end /= 2;
  }
  auto sums = sums_of(threads_of(events_of(scene, {})), scene.slowest_stage);
  EXPECT_NEAR(
      sums["wait"] + sums["hold"], made->prediction.step.phases.exposed_communication.value(), 1e-6 * scene.end);
  const double backward = sums["kernel,recompute"] + sums["kernel,input_grad"] + sums["kernel,weight_grad"];
  EXPECT_NEAR(backward, made->prediction.step.phases.backward.value(), 1e-6 * scene.end);
}

TEST(SceneTrace, HostileNamesAreEscaped) {
  const auto made = forecast_of("llama3-8b --gpus 64 --tp 2 --pp 4 --global-batch 16");
  StepScene& scene = made->scene;
  const std::string hostile = "\"},{\\\n\t</script>\x01 " + std::string(500, 'x');
  scene.title = hostile;
  for (std::string& name : scene.names) name = hostile + name;
  for (SceneStream& stream : scene.streams) stream.name = hostile + stream.name;
  for (SceneStretch& stretch : scene.around) stretch.name = hostile + stretch.name;
  scene.counter = hostile;
  const TraceDocument events = events_of(scene, {});
  expect_schema(events);
  int kernels = 0;
  for (const auto& event : events) kernels += event.at("name").get<std::string>().starts_with(hostile) ? 1 : 0;
  EXPECT_GT(kernels, 100);
}

TEST(SceneTrace, TooManyEventsAreRefusedWithWhatMakesThemLess) {
  const auto made = forecast_of("llama3-70b --gpus 8192 --tp 8 --pp 8 --global-batch 8192 --micro-batch 1");
  const auto refused = check_trace_size(made->scene, {TraceDetail::kernels, true}, "t.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "t.json");
  EXPECT_THAT(refused.error().what, HasSubstr("4,000,000"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--detail actions"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--ranks stages"));
  EXPECT_TRUE(check_trace_size(made->scene, {TraceDetail::actions, false}, "t.json"));
}

TEST(TraceWriter, RoundsStartsAndEnds) {
  TraceWriter writer(1, false);
  writer.begin(trace_mark, "\"t\"", "\"u\"");
  writer.slice({0, 0}, 0.1234564, 1.0000006, "\"a\"", "c", "");
  writer.slice({0, 0}, 1.0000006, 2.5, "\"b\"", "c", "{\"layer\":1}");
  writer.slice({0, 0}, 3e13, 4e13, "\"far\"", "c", "");
  const std::string text = writer.finish();
  EXPECT_THAT(text, HasSubstr(R"("ts":0.123456,"dur":0.876545,)"));
  EXPECT_THAT(text, HasSubstr(R"("ts":1.000001,"dur":1.499999,)"));
  const TraceDocument events = TraceDocument::parse(text).at("traceEvents");
  EXPECT_EQ(writer.events(), 3);
  EXPECT_EQ(events[2].at("dur"), 1e13);
  EXPECT_EQ(events[1].at("args").at("layer"), 1);
}

}  // namespace
}  // namespace stepcast::timeline::trace_test
