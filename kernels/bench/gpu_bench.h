// A GPU whose work is timed. calibrate/measure/ decides what, how often and when to stop; whatever implements this only
// runs and times. cuda/gpu_bench_cuda.cpp is the real one, gpu_side_loaded.cpp reaches it from the program, tests bring
// their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/bench/device.h"
#include "kernels/bench/work.h"
#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::kernels {

/// What the card does now, by NVML. 0: the driver does not say.
struct GpuState {
  double sm_clock_mhz = 0, memory_clock_mhz = 0, power_w = 0, temperature_c = 0;
  bool power_capped = false;      ///< clocks are down because of the board's power
  bool thermally_slowed = false;  ///< or because it is too hot, or told so from outside
};

/// What is set on the card, by NVML.
struct GpuSettings {
  std::string driver, cuda, cublas, cudnn, nccl;  ///< versions; "" = not there
  double power_limit_w = 0, default_power_limit_w = 0;
  double default_sm_clock_mhz = 0;  ///< what the driver runs applications at; 0 = not known
  bool ecc = false, mig = false, persistence = false;
  std::vector<std::string> other_processes;  ///< pid and name of what else uses the card now
};

/// What a kernel made against the same in float64.
struct Check {
  double error = 0;    ///< largest |got - reference|, over the reference's own scale
  double allowed = 0;  ///< for this precision and length of sums; the kernel's comment derives it
  std::int64_t compared = 0;
  [[nodiscard]] bool good() const { return compared > 0 && error <= allowed; }  // NaN is not good
};

/// One thing to time. Order of use: allocate, check, record, replay as often as wanted; record may be called again.
class PreparedWork {
 public:
  virtual ~PreparedWork() = default;
  /// Bytes that one call reads or writes: what one set of buffers takes. 0 for launches.
  [[nodiscard]] virtual Bytes touched() const = 0;
  /// The kernel's own name where the library gives it, else "".
  [[nodiscard]] virtual std::string kernel() const { return {}; }
  /// That many sets of buffers, inputs filled with normal random numbers.
  virtual Expected<void> allocate(int copies) = 0;
  /// Runs the first set once and compares with float64: all of a small result, a random part of a large one.
  virtual Expected<Check> check() = 0;
  /// `calls` calls that go round the sets, as one CUDA graph (launch costs: in whatever form they are defined).
  virtual Expected<void> record(int calls) = 0;
  /// Time on the GPU from the first call to the last of what was recorded: of all calls, not of one. With `flush` the
  /// level-2 cache is first filled with other data, which is not timed.
  virtual Expected<Seconds> replay(bool flush) = 0;
};

class GpuBench {
 public:
  virtual ~GpuBench() = default;
  [[nodiscard]] virtual const DeviceInfo& device() const = 0;
  [[nodiscard]] virtual const GpuSettings& settings() const = 0;
  virtual Expected<GpuState> state() = 0;
  virtual Expected<Bytes> free_memory() = 0;
  /// Fails where this GPU or its libraries cannot do the work; the GPU stays usable. The bench must outlive what it
  /// prepared.
  virtual Expected<std::unique_ptr<PreparedWork>> prepare(const Work& work) = 0;
  /// One call of the result is one round of all the sequence's works. Without a graph a replay's time is the host's: to
  /// the end of the last work from the launch of the first. Fails as prepare() does, and on works with others beside.
  virtual Expected<std::unique_ptr<PreparedWork>> prepare(const Sequence& sequence) = 0;
  /// Fails once nothing more will run on the GPU: after an illegal access, a lost card, ...
  virtual Expected<void> usable() = 0;
  /// A steady clock, and a pause on it.
  [[nodiscard]] virtual Seconds now() const = 0;
  virtual void wait(Seconds duration) = 0;
};

/// The GPU of this index in driver order; where no GPU side is built, the Error says how to get it.
Expected<std::unique_ptr<GpuBench>> open_gpu(int index);

}  // namespace stepcast::kernels
