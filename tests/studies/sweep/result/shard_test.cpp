#include "studies/sweep/result/shard.h"

#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::sweep::shard_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}
Variables joined(Variables a, const Variables& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

/// "2/8" or the error.
std::string shard_of(const std::string& text, const Variables& variables = {}) {
  const auto shard = read_shard(text, "--shard", environment_of(variables));
  return shard ? fmt::format("{}/{}", shard->index, shard->count) : to_text(shard.error());
}
std::string source_of(const std::string& text, const Variables& variables = {}) {
  const auto source = shard_source(text, "--shard", environment_of(variables));
  return source ? *source : to_text(source.error());
}

// As Slurm 22.05 sets them.
Variables array_task(int id, int least, int most, int step, int count) {
  return {{"SLURM_ARRAY_TASK_ID", std::to_string(id)}, {"SLURM_ARRAY_TASK_MIN", std::to_string(least)},
      {"SLURM_ARRAY_TASK_MAX", std::to_string(most)}, {"SLURM_ARRAY_TASK_STEP", std::to_string(step)},
      {"SLURM_ARRAY_TASK_COUNT", std::to_string(count)}};
}
Variables batch_script(int tasks) {
  return {{"SLURM_JOB_ID", "5"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", std::to_string(tasks)}};
}
Variables srun_task(int rank, int tasks) {
  return {{"SLURM_JOB_ID", "5"}, {"SLURM_PROCID", std::to_string(rank)}, {"SLURM_NTASKS", std::to_string(tasks)},
      {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", std::to_string(tasks)}};
}
Variables open_mpi(int rank, int size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)}, {"OMPI_COMM_WORLD_SIZE", std::to_string(size)}};
}

TEST(Shard, AsWritten) {
  EXPECT_EQ(shard_of("0/1"), "0/1");
  EXPECT_EQ(shard_of("2/8", array_task(1, 0, 3, 1, 4)), "2/8");  // what is written counts
  EXPECT_EQ(source_of("2/8"), "--shard 2/8");
}

TEST(Shard, WrongOnesAreExplained) {
  EXPECT_EQ(shard_of("8/8"), "--shard: there is no shard 8 of 8 (they are 0/8 to 7/8)");
  EXPECT_EQ(shard_of("0/0"), "--shard: '0/0' has no shards at all (write it like 2/8, of 0/8 to 7/8, or auto)");
  for (const char* wrong : {"", "3", "/", "1/", "/8", "a/b", "-1/8", "+1/8", " 1/8", "1/8 ", "1/8/2", "1.5/8", "0x1/8",
           "1/2000000000", "18446744073709551617/18446744073709551618", "automatic", "AUTO"})
    EXPECT_THAT(shard_of(wrong), HasSubstr("is no shard (write it like 2/8, of 0/8 to 7/8, or auto)")) << wrong;
  EXPECT_THAT(shard_of("auto/0"), HasSubstr("'auto/0' has no number of shards (write it like auto/8)"));
  EXPECT_THAT(shard_of("auto/x"), HasSubstr("has no number of shards"));
  EXPECT_THAT(shard_of("auto/"), HasSubstr("has no number of shards"));
  EXPECT_LT(shard_of(std::string(100'000, '7')).size(), 300u);
}

TEST(Shard, SlurmArraysNeedNotBeginAtZeroNorStepByOne) {
  EXPECT_EQ(shard_of("auto", array_task(0, 0, 7, 1, 8)), "0/8");
  EXPECT_EQ(shard_of("auto", array_task(7, 0, 7, 1, 8)), "7/8");
  EXPECT_EQ(shard_of("auto", array_task(1, 1, 4, 1, 4)), "0/4");
  EXPECT_EQ(shard_of("auto", array_task(5, 2, 8, 3, 3)), "1/3");
  EXPECT_EQ(shard_of("auto", array_task(8, 2, 8, 3, 3)), "2/3");
  EXPECT_EQ(shard_of("auto", array_task(0, 0, 0, 1, 1)), "0/1");
  EXPECT_EQ(source_of("auto", array_task(5, 2, 8, 3, 3)), "Slurm array task 5: shard 1/3");
}

/// --array=1,4,6: Slurm tells 1, 6 and 3 tasks, and a step of 1.
TEST(Shard, SlurmArraysByListAreRefused) {
  EXPECT_EQ(shard_of("auto", array_task(4, 1, 6, 1, 3)),
      "--shard: the Slurm array is not a regular one: task 4 of 3 from 1 to 6 by 1 (submit it with --array=0-7 or "
      "--array=1-15:2, not with a list; or give the shard: 2/8)");
  EXPECT_THAT(shard_of("auto", array_task(3, 0, 8, 2, 5)), HasSubstr("not a regular one"));  // between two tasks
  EXPECT_THAT(shard_of("auto", array_task(9, 0, 8, 1, 9)), HasSubstr("not a regular one"));  // behind the last
  EXPECT_THAT(shard_of("auto", array_task(0, 1, 8, 1, 8)), HasSubstr("not a regular one"));  // before the first
  EXPECT_THAT(shard_of("auto", array_task(0, 0, 8, 0, 9)), HasSubstr("not a regular one"));
}

TEST(Shard, HalfAnEnvironmentIsAnError) {
  Variables array = array_task(1, 0, 3, 1, 4);
  array.erase("SLURM_ARRAY_TASK_COUNT");
  EXPECT_EQ(shard_of("auto", array),
      "--shard: SLURM_ARRAY_TASK_ID is set and SLURM_ARRAY_TASK_COUNT is not (set both, or give the shard: 2/8)");
  EXPECT_THAT(shard_of("auto", {{"OMPI_COMM_WORLD_RANK", "1"}}), HasSubstr("OMPI_COMM_WORLD_SIZE is not"));
  EXPECT_THAT(shard_of("auto", {{"PMI_RANK", "one"}, {"PMI_SIZE", "4"}}), HasSubstr("PMI_RANK is 'one'"));
  EXPECT_THAT(shard_of("auto", {{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}}), HasSubstr("PMI_RANK is '-1'"));
  EXPECT_THAT(shard_of("auto", open_mpi(4, 4)), HasSubstr("OMPI_COMM_WORLD_RANK is 4 and OMPI_COMM_WORLD_SIZE is 4"));
}

TEST(Shard, RanksOfMpiAndSrun) {
  EXPECT_EQ(shard_of("auto", open_mpi(3, 4)), "3/4");
  EXPECT_EQ(shard_of("auto", open_mpi(0, 1)), "0/1");
  EXPECT_EQ(shard_of("auto", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), "1/2");
  EXPECT_EQ(shard_of("auto", srun_task(2, 3)), "2/3");
  EXPECT_EQ(source_of("auto", open_mpi(3, 4)), "OpenMPI rank 3: shard 3/4");
  EXPECT_EQ(source_of("auto", srun_task(2, 3)), "srun task 2: shard 2/3");
}

/// mpirun over several nodes starts one daemon per node by srun: 4 ranks on 2 nodes.
TEST(Shard, RanksOfMpiComeBeforeItsDaemons) {
  EXPECT_EQ(shard_of("auto", joined(srun_task(1, 2), open_mpi(2, 4))), "2/4");
}

TEST(Shard, ABatchScriptIsOneProcess) {
  EXPECT_EQ(shard_of("auto", batch_script(3)), "--shard: this is the one process of a Slurm batch script, not one of "
                                               "its 3 tasks (start it with srun, submit an array, "
                                               "or give the shard: 2/8)");
  EXPECT_EQ(shard_of("auto", joined(batch_script(2), array_task(5, 2, 8, 3, 3))), "1/3");
  Variables special = srun_task(0, 3);
  for (const char* step : {"4294967291", "4294967290", "4294967280", "batch", ""}) {
    special["SLURM_STEP_ID"] = step;
    EXPECT_THAT(shard_of("auto", special), HasSubstr("batch script")) << step;
  }
  special["SLURM_STEP_ID"] = "4294967279";
  EXPECT_EQ(shard_of("auto", special), "0/3");
}

/// srun -n 1 sbatch -n 2: the script inherits the step it was submitted from.
TEST(Shard, ABatchScriptSubmittedFromAStepIsOneProcess) {
  Variables inherited = batch_script(2);
  inherited["SLURM_STEP_ID"] = "0";
  inherited["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_THAT(shard_of("auto", inherited), HasSubstr("the one process of a Slurm batch script"));
}

/// sbatch --array=5 for the one task of 0-7 that was lost: Slurm tells of one task.
TEST(Shard, PartsOfAnArrayNeedTheNumberOfTheWhole) {
  EXPECT_EQ(shard_of("auto/8", array_task(5, 5, 5, 1, 1)), "5/8");
  EXPECT_EQ(shard_of("auto/8", array_task(3, 2, 3, 1, 2)), "3/8");
  EXPECT_EQ(shard_of("auto/8", array_task(5, 0, 7, 1, 8)), "5/8");
  EXPECT_EQ(shard_of("auto", array_task(5, 5, 5, 1, 1)),
      "--shard: the Slurm array has 1 task, number 5: a part of a larger one? (write auto/N with N tasks of the whole, "
      "which count "
      "from 0; or give the shard: 2/8)");
  EXPECT_THAT(shard_of("auto/4", array_task(5, 5, 5, 1, 1)), HasSubstr("task 5 lies beyond the 4 of auto/4"));
  EXPECT_EQ(shard_of("auto/6", joined(array_task(5, 2, 8, 3, 3), srun_task(1, 2))), "3/6");
}

TEST(Shard, ArraysOfSeveralRanksEach) {
  EXPECT_EQ(shard_of("auto", joined(array_task(5, 2, 8, 3, 3), srun_task(1, 2))), "3/6");
  EXPECT_EQ(shard_of("auto", joined(array_task(5, 2, 8, 3, 3), open_mpi(1, 2))), "3/6");
  EXPECT_EQ(source_of("auto", joined(array_task(5, 2, 8, 3, 3), srun_task(1, 2))),
      "Slurm array task 5 (1/3) and srun task 1 (1/2): shard 3/6");
  EXPECT_EQ(shard_of("auto", joined(array_task(5, 2, 8, 3, 3), srun_task(0, 1))), "1/3");
  EXPECT_EQ(shard_of("auto", joined(array_task(0, 0, 0, 1, 1), srun_task(1, 2))), "1/2");
  std::map<std::string, int> seen;
  for (int task : {2, 5, 8})
    for (int rank : {0, 1}) ++seen[shard_of("auto", joined(array_task(task, 2, 8, 3, 3), srun_task(rank, 2)))];
  EXPECT_EQ(seen.size(), 6u);  // each shard once
}

TEST(Shard, KubernetesNeedsTheCount) {
  const Variables pod = {{"JOB_COMPLETION_INDEX", "3"}};
  EXPECT_EQ(shard_of("auto/8", pod), "3/8");
  EXPECT_EQ(source_of("auto/8", pod), "Kubernetes job index 3: shard 3/8");
  EXPECT_EQ(shard_of("auto", pod), "--shard: JOB_COMPLETION_INDEX is 3, but a Kubernetes job does not say of how many "
                                   "(write auto/N with N of the job's "
                                   "completions)");
  EXPECT_THAT(shard_of("auto/3", pod), HasSubstr("JOB_COMPLETION_INDEX is 3, beyond the 3 of auto/3"));
  EXPECT_EQ(shard_of("auto/8", joined(pod, open_mpi(1, 8))), "1/8");  // an MPI job in pods
}

TEST(Shard, TheCountAskedForIsChecked) {
  EXPECT_EQ(shard_of("auto/4", open_mpi(3, 4)), "3/4");
  EXPECT_EQ(shard_of("auto/8", open_mpi(3, 4)),
      "--shard: auto/8 was asked for, and OpenMPI rank 3 is one of 4 (write auto, or start as many)");
}

TEST(Shard, NothingInTheEnvironment) {
  EXPECT_EQ(shard_of("auto"), "--shard: the environment does not say which shard this is (looked for "
                              "SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, "
                              "PMI_RANK, SLURM_PROCID in a step, JOB_COMPLETION_INDEX; or give the shard: 2/8)");
  EXPECT_THAT(shard_of("auto/8", {{"OMPI_COMM_WORLD_RANK", ""}}), HasSubstr("does not say which shard"));
}

TEST(Shard, TheProcessHasAnEnvironment) {
  EXPECT_TRUE(process_environment()("PATH"));
  EXPECT_FALSE(process_environment()("STEPCAST_NO_SUCH_VARIABLE"));
}

TEST(IndexRanges, ShardsShareOutAllOfIt) {
  EXPECT_EQ(range_of({0, 3}, 10), (IndexRange{0, 4}));
  EXPECT_EQ(range_of({1, 3}, 10), (IndexRange{4, 7}));
  EXPECT_EQ(range_of({2, 3}, 10), (IndexRange{7, 10}));
  for (const std::uint64_t size : {0ull, 1ull, 6ull, 7ull, 8ull, 1000ull, ~0ull}) {
    for (const std::uint64_t count : {1ull, 2ull, 7ull, 64ull}) {
      std::uint64_t from = 0;
      for (std::uint64_t index = 0; index < count; ++index) {
        const IndexRange range = range_of({index, count}, size);
        EXPECT_EQ(range.begin, from);
        EXPECT_GE(range.size(), size / count);
        EXPECT_LE(range.size() - size / count, 1u);
        from = range.end;
      }
      EXPECT_EQ(from, size);
    }
  }
}

TEST(IndexRanges, JoinWhatTouches) {
  Ranges ranges;
  EXPECT_TRUE(add_range(ranges, {4, 6}));
  EXPECT_TRUE(add_range(ranges, {0, 2}));
  EXPECT_THAT(ranges, ElementsAre(IndexRange{0, 2}, IndexRange{4, 6}));
  EXPECT_FALSE(add_range(ranges, {1, 3}));
  EXPECT_FALSE(add_range(ranges, {0, 9}));
  EXPECT_FALSE(add_range(ranges, {3, 2}));
  EXPECT_TRUE(add_range(ranges, {5, 5}));
  EXPECT_THAT(ranges, ElementsAre(IndexRange{0, 2}, IndexRange{4, 6}));
  EXPECT_TRUE(add_range(ranges, {2, 4}));
  EXPECT_THAT(ranges, ElementsAre(IndexRange{0, 6}));
}

TEST(IndexRanges, MissingIsWhatIsNotDone) {
  const Ranges done = {{2, 4}, {6, 8}};
  EXPECT_THAT(missing(done, {0, 10}), ElementsAre(IndexRange{0, 2}, IndexRange{4, 6}, IndexRange{8, 10}));
  EXPECT_THAT(missing(done, {3, 7}), ElementsAre(IndexRange{4, 6}));
  EXPECT_TRUE(missing(done, {2, 4}).empty());
  EXPECT_TRUE(missing(done, {5, 5}).empty());
  EXPECT_THAT(missing({}, {5, 7}), ElementsAre(IndexRange{5, 7}));
}

/// The same done with one bit per index.
struct Bitmap {
  std::vector<bool> bits = std::vector<bool>(64);

  [[nodiscard]] bool add(const IndexRange& range) {
    for (std::uint64_t i = range.begin; i < range.end; ++i)
      if (bits[i]) return false;
    for (std::uint64_t i = range.begin; i < range.end; ++i) bits[i] = true;
    return true;
  }
  /// Longest runs of `value` inside `all`.
  [[nodiscard]] Ranges runs(bool value, const IndexRange& all) const {
    Ranges result;
    for (std::uint64_t i = all.begin; i < all.end; ++i) {
      if (bits[i] != value) continue;
      if (!result.empty() && result.back().end == i) ++result.back().end;
      else result.push_back({i, i + 1});
    }
    return result;
  }
};

TEST(IndexRanges, AgreeWithABitmap) {
  std::mt19937 random(3);
  const auto any_range = [&](std::uint64_t longest) {
    const std::uint64_t begin = random() % 65;
    return IndexRange{begin, std::min<std::uint64_t>(64, begin + random() % (longest + 1))};
  };
  int added = 0, refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Ranges ranges;
    Bitmap bitmap;
    for (int i = 0; i < 30; ++i) {
      const IndexRange more = any_range(8), window = any_range(64);
      const bool fits = bitmap.add(more);
      ASSERT_EQ(add_range(ranges, more), fits) << more.begin << " " << more.end;
      ASSERT_EQ(ranges, bitmap.runs(true, {0, 64}));
      ASSERT_EQ(missing(ranges, window), bitmap.runs(false, window)) << window.begin << " " << window.end;
      ++(fits ? added : refused);
    }
  }
  EXPECT_GT(added, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace stepcast::sweep::shard_test
