// A work that is ready to be timed: it is checked, its buffers are laid out so that calls find them cold, and it is
// recorded and warmed up.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "calibrate/measure/method.h"
#include "calibrate/measure/rotation.h"
#include "kernels/bench/gpu_bench.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

struct ReadyWork {
  std::unique_ptr<PreparedWork> work;
  std::string name, kernel;
  Rotation rotation;
  Check check;
  Seconds per_call;  ///< of the warm-up replay

  /// One replay: seconds per call. Fails also on a time that is none.
  Expected<Seconds> replay() const;
  /// Records as many calls anew and replays them once.
  Expected<void> record(int calls);
};

/// Prepare, one set of buffers, check against float64, a probe of the time per call, the rotation, its buffers, the
/// recording and a warm-up replay. The check comes before anything else runs on the buffers: kernels that add to their
/// result leave something else there afterwards. Fails on a bad check and on a rotation that is not cold.
Expected<ReadyWork> ready_work(
    GpuBench& bench, const Work& work, const MethodRules& rules, const std::function<bool()>& stop);
Expected<ReadyWork> ready_work(
    GpuBench& bench, const Sequence& sequence, const MethodRules& rules, const std::function<bool()>& stop);

/// `where` of the Error of everything that was told to stop.
inline constexpr const char* interrupted_where = "interrupted";
inline tl::unexpected<Error> interrupted(const std::string& name) {
  return fail(
      interrupted_where, name + " was not timed to its end", "the same command again goes on from what was kept");
}

}  // namespace stepcast::calibrate
