// The GPUs of one or several hosts whose NCCL collectives are timed. Every process calls the same functions with the
// same arguments in the same order, and gets the same answers, Errors included. send_recv is nccl-tests' sendrecv: each
// rank sends the buffer to the next one of the group and receives that of the one before, in a ring; a pair exchanges.
// cuda/collective_bench_cuda.cpp is the real one, with one thread for each GPU of a process; gpu_side_loaded.cpp
// reaches it from the program, tests bring their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/bench/gpu_bench.h"
#include "model/base/error.h"
#include "model/profile/query.h"

namespace stepcast::kernels {

struct LaunchPlace;  // kernels/process/launch_place.h

/// Where a rank stands.
struct RankPlace {
  int rank = 0, node = 0, process = 0;
  std::string host, device, bus_id;
};

/// Who takes part: ranks in their order in the group.
struct CollectiveGroup {
  std::vector<int> ranks;
  std::string fabric;      ///< what joins them: "nvswitch", "nvlink_mesh", "pcie"; across nodes the one between those
  std::int64_t nodes = 1;  ///< that they stand on
  std::string placement;   ///< in words: "4 neighbours", "2 per node on 2 nodes, every 4th GPU"
};

/// A product and a collective that share a group's GPUs, per call of the slowest member.
struct BesideTimes {
  Seconds gemm_alone, gemm_beside, collective_alone, collective_beside;
};

class CollectiveBench {
 public:
  virtual ~CollectiveBench() = default;
  [[nodiscard]] virtual const std::vector<RankPlace>& ranks() const = 0;
  /// What joins two ranks: "nvswitch", "nvlink_mesh", "pcie", "network".
  [[nodiscard]] virtual std::string joins(int rank, int other) const = 0;
  [[nodiscard]] virtual const DeviceInfo& device() const = 0;
  [[nodiscard]] virtual const GpuSettings& settings() const = 0;
  [[nodiscard]] virtual std::string launch_mode() const = 0;  ///< "thread per GPU", "process per GPU"
  [[nodiscard]] virtual bool first() const = 0;               ///< whether this is process 0, which keeps the results
  /// Of the fullest GPU, when the bench was opened.
  [[nodiscard]] virtual Bytes free_memory() const = 0;
  [[nodiscard]] virtual Seconds now() const = 0;  ///< a steady clock, each process its own
  /// Communicators of the group; the one before is closed.
  virtual Expected<void> open(const CollectiveGroup& group) = 0;
  /// Small exact numbers sent through the collective, every element compared.
  virtual Expected<Check> check(CollectiveKind kind, Bytes buffer) = 0;
  /// For each of `batches` batches of `calls` calls back to back: seconds per call of the slowest member.
  virtual Expected<std::vector<Seconds>> time(CollectiveKind kind, Bytes buffer, int calls, int batches) = 0;
  /// Interference: on every member the product is timed alone, the collective alone, and each while the other runs in a
  /// second stream of the same GPU all the time (checked: the neighbour must end after what is timed). Each of the four
  /// takes about `duration`. What a training step with overlapped communication does to its products, and they to it.
  virtual Expected<BesideTimes> time_beside(
      const GemmQuery& gemm, CollectiveKind kind, Bytes buffer, Seconds duration) = 0;
  /// Whether any process was told to stop (Ctrl-C in one stops all at the same place).
  virtual Expected<bool> agree_to_stop(bool here) = 0;
  /// What process 0 says: for decisions by its clock or its files.
  virtual Expected<std::string> from_first(const std::string& here) = 0;
  /// After a call failed: whether other groups can still be opened. Fails once nothing more will run, everywhere.
  virtual Expected<void> usable() = 0;
};

/// All GPUs that the launcher gave this process, joined with those of the other processes.
Expected<std::unique_ptr<CollectiveBench>> open_collectives(const LaunchPlace& place);

}  // namespace stepcast::kernels
