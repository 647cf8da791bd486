// Finds which part of the work is this process's: --shard i/n, or what the batch system says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::sweep {

struct Shard {
  std::uint64_t index = 0, count = 1;  ///< index from 0
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// The value of a variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;
Environment process_environment();

/// "2/8" (from 0 to 7), or "auto" / "auto/8": by the environment. Known:
///   Slurm arrays          SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP and _COUNT; they need not begin at 0, nor step by 1
///   OpenMPI               OMPI_COMM_WORLD_RANK, _SIZE
///   MPICH and Intel MPI   PMI_RANK, PMI_SIZE
/// srun SLURM_PROCID, SLURM_NTASKS, in a job step only: a batch script has them too, and is one process
///   Kubernetes            JOB_COMPLETION_INDEX of an indexed job, which does not say of how many: auto/N
/// An array whose tasks start several ranks each is as many shards as there are ranks in all. auto/N checks the count
/// that is found; a part of a Slurm array, handed in again, needs it, and its tasks are then those of an array of N
/// that counts from 0. Errors: not of this form; an index beyond the count; variables that contradict each other (with
/// their values), such as an array given as a list; none of them set (with those that were looked for).
Expected<Shard> read_shard(const std::string& text, const std::string& where, const Environment& environment);

/// Where the shard comes from: "Slurm array task 5: shard 1/3"; "--shard 2/8" when it was given. Errors of read_shard.
Expected<std::string> shard_source(const std::string& text, const std::string& where, const Environment& environment);

/// The slice of [0, size) that is this shard's: contiguous, sizes differ by one at most, together all of it.
struct IndexRange {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};
IndexRange range_of(const Shard& shard, std::uint64_t size);

/// Sorted, disjoint and not touching: what is done, and what is left of a range.
using Ranges = std::vector<IndexRange>;
/// False when it overlaps what is there or ends before it begins; nothing is changed then. An empty range changes
/// nothing.
bool add_range(Ranges& ranges, IndexRange more);
Ranges missing(const Ranges& done, IndexRange all);

}  // namespace stepcast::sweep
