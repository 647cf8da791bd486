#include "calibrate/measure/ready_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model/base/quantity_text.h"

namespace stepcast::calibrate {
namespace {

/// A single call in a graph is timed with what starting the graph costs, some 10 us; short ones are probed by several.
constexpr double calls_of_second_probe = 16;
constexpr Seconds long_enough_alone{200e-6};

Expected<Seconds> replay_per_call(PreparedWork& work, const Rotation& rotation, const std::string& name) {
  TRY(const auto time, work.replay(rotation.flush));
  if (!(time.value() > 0) || !std::isfinite(time.value()))
    return fail(name, fmt::format("a replay of {} calls took {} s", rotation.calls, time.value()),
        "the events of the GPU gave no time; try again");
  return time / rotation.calls;
}

/// The quicker of two replays: the first one loads the kernel.
Expected<Seconds> probe_calls(PreparedWork& work, int calls, const std::string& name) {
  TRY(work.record(calls));
  const Rotation probe{1, calls, false};
  TRY(const auto first, replay_per_call(work, probe, name));
  TRY(const auto second, replay_per_call(work, probe, name));
  return std::min(first, second);
}

Expected<Seconds> probe_time(PreparedWork& work, const std::string& name) {
  const auto alone = probe_calls(work, 1, name);
  if (!alone || *alone >= long_enough_alone) return alone;
  return probe_calls(work, static_cast<int>(calls_of_second_probe), name);
}

/// Nothing wrong is ever timed.
Expected<Check> good_check(PreparedWork& work, const std::string& name) {
  const auto check = work.check();
  if (!check || check->good()) return check;
  const std::string kernel = work.kernel().empty() ? "its kernel" : "kernel " + work.kernel();
  return fail(name,
      fmt::format("{} gives wrong numbers: error {:.3g} where {:.3g} is allowed, over {} values", kernel, check->error,
          check->allowed, check->compared),
      "it was not timed; the GPU, its driver or the library may be at fault");
}

Expected<Rotation> rotation_of(const std::string& name, bool warm, const PreparedWork& prepared, Bytes l2,
    Seconds per_call, Bytes free, const MethodRules& rules) {
  if (warm) return warm_rotation(per_call, rules);
  const auto rotation = cold_rotation(prepared.touched(), l2, per_call, free, rules);
  if (!rotation || is_cold(*rotation, prepared.touched(), l2)) return rotation;
  return fail(name,
      fmt::format("{} sets of {} and {} calls do not keep a level-2 cache of {} cold", rotation->copies,
          format_bytes(prepared.touched()), rotation->calls, format_bytes(l2)),
      "the method's figures contradict each other: caches_between must be 2 or more");
}

Expected<ReadyWork> made_ready(GpuBench& bench, Expected<std::unique_ptr<PreparedWork>> prepared, std::string name,
    bool warm, const MethodRules& rules, const std::function<bool()>& stop) {
  ReadyWork ready;
  ready.name = std::move(name);
  const auto told_to_stop = [&] { return stop && stop(); };
  TRY(ready.work, std::move(prepared));
  PreparedWork& made = *ready.work;
  TRY(const auto free, bench.free_memory());
  TRY(sets_that_fit(made.touched(), free, rules));

  TRY(made.allocate(1));
  TRY(const auto check, good_check(made, ready.name));
  ready.check = check;
  if (told_to_stop()) return interrupted(ready.name);
  TRY(const auto per_call, probe_time(made, ready.name));

  TRY(const auto rotation, rotation_of(ready.name, warm, made, bench.device().l2, per_call, free, rules));
  ready.rotation = rotation;
  if (told_to_stop()) return interrupted(ready.name);
  if (rotation.copies > 1) TRY(made.allocate(rotation.copies));
  TRY(ready.record(rotation.calls));
  ready.kernel = made.kernel();
  return ready;
}

}  // namespace

Expected<Seconds> ReadyWork::replay() const { return replay_per_call(*work, rotation, name); }

Expected<void> ReadyWork::record(int calls) {
  TRY(work->record(calls));
  rotation.calls = calls;
  TRY(per_call, replay());
  return {};
}

Expected<ReadyWork> ready_work(
    GpuBench& bench, const Work& work, const MethodRules& rules, const std::function<bool()>& stop) {
  if (stop && stop()) return interrupted(to_text(work));
  return made_ready(bench, bench.prepare(work), to_text(work), work.warm, rules, stop);
}

Expected<ReadyWork> ready_work(
    GpuBench& bench, const Sequence& sequence, const MethodRules& rules, const std::function<bool()>& stop) {
  if (stop && stop()) return interrupted(sequence.name);
  return made_ready(bench, bench.prepare(sequence), sequence.name, false, rules, stop);
}

}  // namespace stepcast::calibrate
