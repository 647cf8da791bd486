// Which part of the work is this process's: --shard i/n, or what the batch system says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"

namespace stepcast {

struct Shard {
  std::uint64_t index = 0, count = 1;   ///< index from 0
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// "2/8" (from 0 to 7), or "auto" / "auto/8": by the environment. Known: Slurm arrays (SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT),
/// srun (SLURM_PROCID, SLURM_NTASKS), OpenMPI (OMPI_COMM_WORLD_RANK, _SIZE), MPICH and Intel MPI (PMI_RANK, PMI_SIZE), Kubernetes
/// indexed jobs (JOB_COMPLETION_INDEX, which needs the count: auto/N). Errors say which variables were looked for.
using Environment = std::function<std::optional<std::string>(const char*)>;
Expected<Shard> read_shard(const std::string& text, const std::string& where, const Environment& environment);
Environment process_environment();

/// Where "auto" found it: "Slurm array task 3 of 8".
Expected<std::string> shard_source(const Environment& environment);

/// The slice of [0, size) that is this shard's: contiguous, sizes differ by one at most, together all of it.
struct IndexRange {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};
IndexRange range_of(const Shard& shard, std::uint64_t size);

/// Sorted, disjoint and not touching: what is done, and what is left of a range.
using Ranges = std::vector<IndexRange>;
/// False when it overlaps what is there; nothing is changed then.
bool add_range(Ranges& ranges, IndexRange more);
Ranges missing(const Ranges& done, IndexRange all);

}  // namespace stepcast
