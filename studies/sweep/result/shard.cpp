#include "studies/sweep/result/shard.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace stepcast::sweep {
namespace {

/// Products of two counts stay exact.
constexpr std::uint64_t most_shards = 1'000'000'000;
constexpr const char* shard_example = "write it like 2/8, of 0/8 to 7/8, or auto";

struct FoundShard {
  Shard shard;
  std::string source;
};
using MaybeShard = Expected<std::optional<FoundShard>>;

/// Digits only, up to `most`.
std::optional<std::uint64_t> shard_number(std::string_view text, std::uint64_t most = most_shards) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && end == text.data() + text.size() && value <= most;
  return whole ? std::optional(value) : std::nullopt;
}

/// Variables by name, with the first error among them.
class ShardVariables {
 public:
  ShardVariables(const Environment& environment, const std::string& where) : environment_(environment), where_(where) {}

  [[nodiscard]] std::optional<std::string> text(const char* name) const {
    auto value = environment_(name);
    return value && !value->empty() ? value : std::nullopt;  // job scripts set empty ones
  }
  [[nodiscard]] bool has(const char* name) const { return text(name).has_value(); }
  [[nodiscard]] Expected<std::uint64_t> number(const char* name, const char* beside) const {
    const auto value = text(name);
    if (!value)
      return fail(where_, fmt::format("{} is set and {} is not", beside, name), "set both, or give the shard: 2/8");
    if (const auto number = shard_number(*value)) return *number;
    return fail(where_, fmt::format("{} is '{}'", name, value->substr(0, 60)),
        fmt::format("a whole number up to {} is needed; or give the shard: 2/8", most_shards));
  }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const Environment& environment_;
  const std::string& where_;
};

/// A part of an array, handed in again because its tasks were lost, does not tell how large the whole was.
MaybeShard part_of_array(
    const ShardVariables& variables, std::uint64_t id, std::uint64_t tasks, std::optional<std::uint64_t> count) {
  if (count && id < *count) return FoundShard{{id, *count}, fmt::format("Slurm array task {}", id)};
  if (count)
    return fail(variables.where(), fmt::format("Slurm array task {} lies beyond the {} of auto/{}", id, *count, *count),
        "tasks of an array of N count from 0 to N-1; or give the shard: 2/8");
  return fail(variables.where(),
      fmt::format("the Slurm array has {} task, number {}: a part of a larger one?", tasks, id),
      "write auto/N with N tasks of the whole, which count from 0; or give the shard: 2/8");
}

/// sbatch --array=2-8:3 gives the tasks 2, 5 and 8. Of a list like 1,4,6 only the ends and the count are told: which
/// task is the second one is not.
MaybeShard slurm_array(const ShardVariables& variables, std::optional<std::uint64_t> wanted, bool tasks_of_tasks) {
  constexpr const char* names[] = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
      "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"};
  if (!variables.has(names[0])) return std::nullopt;
  std::uint64_t values[5] = {};
  for (int i = 0; i < 5; ++i) {
    TRY(values[i], variables.number(names[i], names[0]));
  }
  const auto [id, least, most, step, count] = values;
  if (!tasks_of_tasks && (wanted ? count != *wanted : count == 1 && id != 0))
    return part_of_array(variables, id, count, wanted);
  const bool regular =
      step > 0 && least <= id && id <= most && (id - least) % step == 0 && (most - least) / step + 1 == count;
  if (!regular)
    return fail(variables.where(),
        fmt::format(
            "the Slurm array is not a regular one: task {} of {} from {} to {} by {}", id, count, least, most, step),
        "submit it with --array=0-7 or --array=1-15:2, not with a list; or give the shard: 2/8");
  const Shard shard{(id - least) / step, count};
  return FoundShard{shard, fmt::format("Slurm array task {}", id)};
}

MaybeShard launched_ranks(
    const ShardVariables& variables, const char* index_name, const char* count_name, const char* source) {
  if (!variables.has(index_name)) return std::nullopt;
  TRY(const auto index, variables.number(index_name, index_name));
  TRY(const auto count, variables.number(count_name, index_name));
  if (index >= count)
    return fail(variables.where(), fmt::format("{} is {} and {} is {}", index_name, index, count_name, count),
        "the index is below the count; or give the shard: 2/8");
  return FoundShard{{index, count}, fmt::format("{} {}", source, index)};
}

/// Seen with Slurm 22.05: a batch script has SLURM_PROCID=0 and its job's SLURM_NTASKS, but no SLURM_STEP_ID; one
/// submitted from inside a step inherits that step's SLURM_STEP_ID and SLURM_STEP_NUM_TASKS, but has an SLURM_NTASKS of
/// its own.
bool in_slurm_step(const ShardVariables& variables) {
  // slurm/slurm.h: batch scripts, interactive shells and the like from here on
  constexpr std::uint64_t beyond_srun = 0xfffffff0;
  const auto step = variables.text("SLURM_STEP_ID");
  const auto tasks = variables.text("SLURM_STEP_NUM_TASKS");
  return step && shard_number(*step, beyond_srun - 1) && (!tasks || tasks == variables.text("SLURM_NTASKS"));
}

/// mpirun starts its own daemons with srun, so that its ranks see the daemons' SLURM_PROCID: what MPI says comes first.
MaybeShard started_ranks(const ShardVariables& variables) {
  // clang-format off
  struct Launcher { const char* index; const char* count; const char* source; bool slurm; };
  // clang-format on
  constexpr Launcher launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OpenMPI rank", false},
      {"PMI_RANK", "PMI_SIZE", "MPI rank", false}, {"SLURM_PROCID", "SLURM_NTASKS", "srun task", true}};
  for (const Launcher& launcher : launchers) {
    if (launcher.slurm && !in_slurm_step(variables)) continue;
    auto found = launched_ranks(variables, launcher.index, launcher.count, launcher.source);
    if (!found || *found) return found;
  }
  return std::nullopt;
}

MaybeShard kubernetes_index(const ShardVariables& variables, std::optional<std::uint64_t> count) {
  constexpr const char* name = "JOB_COMPLETION_INDEX";
  if (!variables.has(name)) return std::nullopt;
  TRY(const auto index, variables.number(name, name));
  if (!count)
    return fail(variables.where(), fmt::format("{} is {}, but a Kubernetes job does not say of how many", name, index),
        "write auto/N with N of the job's completions");
  if (index >= *count)
    return fail(variables.where(), fmt::format("{} is {}, beyond the {} of auto/{}", name, index, *count, *count),
        "N is the number of the job's completions");
  return FoundShard{{index, *count}, fmt::format("Kubernetes job index {}", index)};
}

/// Each task of the array has all the ranks.
FoundShard both_of(const FoundShard& array, const FoundShard& ranks) {
  const Shard &outer = array.shard, &inner = ranks.shard;
  return {{outer.index * inner.count + inner.index, outer.count * inner.count},
      fmt::format(
          "{} ({}/{}) and {} ({}/{})", array.source, outer.index, outer.count, ranks.source, inner.index, inner.count)};
}

tl::unexpected<Error> nothing_found(const ShardVariables& variables) {
  const auto tasks = variables.text("SLURM_NTASKS");
  if (variables.has("SLURM_JOB_ID") && tasks && tasks != "1")
    return fail(variables.where(),
        fmt::format("this is the one process of a Slurm batch script, not one of its {} tasks", *tasks),
        "start it with srun, submit an array, or give the shard: 2/8");
  return fail(variables.where(), "the environment does not say which shard this is",
      "looked for SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID in a step, JOB_COMPLETION_INDEX; "
      "or give "
      "the shard: 2/8");
}

Expected<FoundShard> shard_of_environment(const ShardVariables& variables, std::optional<std::uint64_t> count) {
  TRY(const auto ranks, started_ranks(variables));
  const bool tasks_of_tasks = ranks && ranks->shard.count > 1;
  TRY(const auto array, slurm_array(variables, count, tasks_of_tasks));
  if (array && ranks && array->shard.count > 1 && ranks->shard.count > 1) return both_of(*array, *ranks);
  if (array && (!ranks || array->shard.count > 1)) return *array;
  if (ranks) return *ranks;
  TRY(const auto index, kubernetes_index(variables, count));
  return index ? Expected<FoundShard>(*index) : nothing_found(variables);
}

Expected<FoundShard> automatic_shard(
    const std::string& text, const std::string& where, const Environment& environment) {
  std::optional<std::uint64_t> count;
  if (text != "auto") {
    count = shard_number(std::string_view(text).substr(std::string_view("auto/").size()));
    if (!count || *count == 0)
      return fail(where, fmt::format("'{}' has no number of shards", text.substr(0, 60)), "write it like auto/8");
  }
  auto found = shard_of_environment(ShardVariables(environment, where), count);
  if (found && count && found->shard.count != *count)
    return fail(where,
        fmt::format("auto/{} was asked for, and {} is one of {}", *count, found->source, found->shard.count),
        "write auto, or start as many");
  return found.map([](FoundShard one) {
    one.source += fmt::format(": shard {}/{}", one.shard.index, one.shard.count);
    return one;
  });
}

Expected<FoundShard> written_shard(const std::string& text, const std::string& where) {
  const std::size_t slash = text.find('/');
  const auto index = shard_number(std::string_view(text).substr(0, slash));
  const auto count = slash == std::string::npos ? std::nullopt : shard_number(std::string_view(text).substr(slash + 1));
  if (!index || !count) return fail(where, fmt::format("'{}' is no shard", text.substr(0, 60)), shard_example);
  if (*count == 0) return fail(where, fmt::format("'{}' has no shards at all", text), shard_example);
  if (*index >= *count)
    return fail(where, fmt::format("there is no shard {} of {}", *index, *count),
        fmt::format("they are 0/{} to {}/{}", *count, *count - 1, *count));
  return FoundShard{{*index, *count}, fmt::format("{} {}", where, text)};
}

Expected<FoundShard> find_shard(const std::string& text, const std::string& where, const Environment& environment) {
  const bool automatic = text == "auto" || text.starts_with("auto/");
  return automatic ? automatic_shard(text, where, environment) : written_shard(text, where);
}

}  // namespace

Environment process_environment() {
  return [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Expected<Shard> read_shard(const std::string& text, const std::string& where, const Environment& environment) {
  return find_shard(text, where, environment).map([](const FoundShard& found) { return found.shard; });
}

Expected<std::string> shard_source(const std::string& text, const std::string& where, const Environment& environment) {
  return find_shard(text, where, environment).map([](const FoundShard& found) { return found.source; });
}

IndexRange range_of(const Shard& shard, std::uint64_t size) {
  const std::uint64_t share = size / shard.count, rest = size % shard.count;
  const std::uint64_t begin = shard.index * share + std::min(shard.index, rest);
  return {begin, begin + share + (shard.index < rest ? 1 : 0)};
}

bool add_range(Ranges& ranges, IndexRange more) {
  if (more.begin > more.end) return false;
  if (more.begin == more.end) return true;
  const auto after =
      std::partition_point(ranges.begin(), ranges.end(), [&](const IndexRange& one) { return one.end <= more.begin; });
  if (after != ranges.end() && after->begin < more.end) return false;
  const bool joins_before = after != ranges.begin() && (after - 1)->end == more.begin;
  const bool joins_after = after != ranges.end() && after->begin == more.end;
  if (joins_before && joins_after) {
    (after - 1)->end = after->end;
    ranges.erase(after);
  } else if (joins_before) {
    (after - 1)->end = more.end;
  } else if (joins_after) {
    after->begin = more.begin;
  } else {
    ranges.insert(after, more);
  }
  return true;
}

Ranges missing(const Ranges& done, IndexRange all) {
  Ranges left;
  std::uint64_t from = all.begin;
  for (const IndexRange& one : done) {
    if (one.end <= from) continue;
    if (one.begin >= all.end) break;
    if (one.begin > from) left.push_back({from, one.begin});
    from = one.end;
  }
  if (from < all.end) left.push_back({from, all.end});
  return left;
}

}  // namespace stepcast::sweep
