#include "kernels/process/launch_place.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::kernels {
namespace {

using Environment = std::function<const char*(const char*)>;
using Names = std::array<const char*, 2>;  ///< the first that is set counts

/// A launcher by its variables. It is the one at work where all of `marks` are set.
struct Launcher {
  const char* name;
  Names marks, process, processes, local, on_host, nodes;
  std::array<const char*, 3> job;  ///< together they name this start of the program
};

// The innermost launcher comes first: torchrun may have been started by srun, mpirun starts its daemons by srun, and
// both leave Slurm's variables of the outer process in place.
//   torchrun   pytorch.org/docs/stable/elastic/run.html, "Environment Variables"
//   mpirun     Open MPI 4 FAQ, "running MPI jobs", "What environment variables ... are guaranteed"
//   mpiexec    Hydra of MPICH and of Intel MPI: PMI_* with MPI_LOCALRANKID, MPI_LOCALNRANKS (pm/hydra/proxy)
//   srun       srun(1), "OUTPUT ENVIRONMENT VARIABLES". A batch or interactive shell of a job has SLURM_PROCID and
//              SLURM_NTASKS too, but is no member of a step of SLURM_STEP_NUM_TASKS tasks.
constexpr Launcher launchers[] = {
    {"torchrun", {"RANK", "WORLD_SIZE"}, {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}, {},
        {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}},
    {"mpirun", {"OMPI_COMM_WORLD_RANK"}, {"OMPI_COMM_WORLD_RANK"}, {"OMPI_COMM_WORLD_SIZE"},
        {"OMPI_COMM_WORLD_LOCAL_RANK"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"}, {},
        {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "SLURM_JOB_ID"}},
    {"mpiexec", {"PMI_RANK", "MPI_LOCALRANKID"}, {"PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALRANKID"}, {"MPI_LOCALNRANKS"},
        {}, {"SLURM_JOB_ID", "PBS_JOBID"}},
    {"srun", {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS"}, {"SLURM_LOCALID"},
        {}, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"mpiexec", {"PMI_RANK", "PMI_SIZE"}, {"PMI_RANK"}, {"PMI_SIZE"}, {"PMI_LOCAL_RANK"}, {"PMI_LOCAL_SIZE"}, {},
        {"PALS_APID", "PBS_JOBID"}},
};

constexpr const char* meeting_hint =
    "set MASTER_ADDR to the host of process 0 and MASTER_PORT to a port that is free there";

/// A variable that is set, and what it says.
struct Setting {
  const char* name;
  std::string_view text;
};

std::optional<Setting> setting(const Environment& environment, const char* name) {
  if (name == nullptr) return std::nullopt;
  const char* text = environment(name);
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional(Setting{name, text});
}

std::optional<Setting> first_of(const Environment& environment, const Names& names) {
  for (const char* name : names)
    if (auto found = setting(environment, name)) return found;
  return std::nullopt;
}

Expected<int> number(const Setting& from, int least, int most) {
  const auto value = parsed_number<int>(from.text);
  if (!value || *value < least || *value > most)
    return fail(from.name, fmt::format("'{}'", from.text), fmt::format("a whole number from {} to {}", least, most));
  return *value;
}

constexpr int most_processes = 1 << 20;

/// The number that one of the names gives; `otherwise` where none is set.
Expected<int> number_of(const Environment& environment, const Names& names, int least, int otherwise) {
  const auto found = first_of(environment, names);
  return found ? number(*found, least, most_processes) : Expected<int>(otherwise);
}

const Launcher* launcher_of(const Environment& environment) {
  for (const Launcher& launcher : launchers) {
    bool all = true;
    for (const char* mark : launcher.marks) all &= mark == nullptr || setting(environment, mark).has_value();
    if (all) return &launcher;
  }
  return nullptr;
}

/// RANK without WORLD_SIZE: somebody meant a launcher, and the half that is missing would be guessed.
Expected<void> no_half_launcher(const Environment& environment) {
  constexpr std::array<std::array<const char*, 2>, 2> pairs{{{"RANK", "WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}}};
  for (const auto& [one, other] : pairs) {
    const bool has_one = setting(environment, one).has_value(), has_other = setting(environment, other).has_value();
    if (has_one != has_other)
      return fail(has_one ? other : one, fmt::format("not set, though {} is", has_one ? one : other),
          fmt::format("set both, or neither: unset {}", has_one ? one : other));
  }
  return {};
}

Expected<void> read_counts(const Environment& environment, const Launcher& launcher, LaunchPlace& place) {
  const auto total = first_of(environment, launcher.processes);
  if (!total)
    return fail(launcher.processes[0], fmt::format("not set, though {} is", launcher.process[0]),
        "started by hand? unset both");
  struct Field {
    const Names& names;
    int least, otherwise;
    int LaunchPlace::*into;
  };
  for (const Field& field :
      {Field{launcher.processes, 1, 1, &LaunchPlace::processes}, Field{launcher.process, 0, 0, &LaunchPlace::process},
          Field{launcher.local, 0, 0, &LaunchPlace::local}, Field{launcher.on_host, 1, 0, &LaunchPlace::on_host}}) {
    TRY(place.*field.into, number_of(environment, field.names, field.least, field.otherwise));
  }
  if (place.processes == 1) place.on_host = 1;
  if (const auto counts = setting(environment, "SLURM_STEP_TASKS_PER_NODE");
      counts && std::string_view(launcher.name) == "srun") {
    TRY(const auto node, number_of(environment, {"SLURM_NODEID"}, 0, 0));
    place.on_host = slurm_tasks_on(counts->text, node);
  }
  return {};
}

Expected<void> check_counts(const Launcher& launcher, const LaunchPlace& place) {
  const auto beyond = [](const char* name, int value, const char* of, int count) {
    return fail(name, fmt::format("{}, but {} is {}", value, of, count),
        "variables of two launchers mixed? unset those of the outer one");
  };
  if (place.process >= place.processes)
    return beyond(launcher.process[0], place.process, launcher.processes[0], place.processes);
  const char* here = launcher.on_host[0] != nullptr ? launcher.on_host[0] : "SLURM_STEP_TASKS_PER_NODE";
  if (place.on_host > place.processes) return beyond(here, place.on_host, launcher.processes[0], place.processes);
  if (place.on_host > 0 && place.local >= place.on_host)
    return beyond(
        launcher.local[0] != nullptr ? launcher.local[0] : launcher.process[0], place.local, here, place.on_host);
  return {};
}

std::string job_of(const Environment& environment, const Launcher& launcher) {
  std::string job = launcher.name;
  for (const char* name : launcher.job)
    if (const auto part = setting(environment, name)) job += fmt::format(":{}", part->text);
  return job;
}

/// A port that all processes of a job find alike, below those that Linux hands out by itself (ip_local_port_range
/// starts at 32768). The FNV-1a hash of the job's name chooses it.
int port_of(std::string_view job) {
  constexpr int first = 20000, count = 10000;
  return first + static_cast<int>(fnv1a(job) % count);
}

bool on_one_host(const Environment& environment, const Launcher& launcher, const LaunchPlace& place) {
  if (place.on_host == place.processes) return true;
  const auto nodes = first_of(environment, launcher.nodes);
  return nodes && nodes->text == "1";
}

Expected<void> find_meeting(const Environment& environment, const Launcher& launcher, LaunchPlace& place) {
  place.meet_port = port_of(place.job);
  // torchrun's agent itself listens on MASTER_PORT where this is set (torch/distributed/elastic/agent/server/api.py).
  const auto agent = setting(environment, "TORCHELASTIC_USE_AGENT_STORE");
  if (const auto port = setting(environment, "MASTER_PORT")) {
    TRY(const auto given, number(*port, 1, 65535));
    if (!agent || agent->text != "True") place.meet_port = given;
  }
  if (const auto host = setting(environment, "MASTER_ADDR")) place.meet_host = host->text;
  else if (on_one_host(environment, launcher, place)) place.meet_host = "127.0.0.1";
  else if (const auto hosts = setting(environment, "SLURM_STEP_NODELIST");
           hosts && std::string_view(launcher.name) == "srun")
    place.meet_host = slurm_first_host(hosts->text);
  if (place.meet_host.empty())
    return fail("MASTER_ADDR",
        fmt::format(
            "{} processes were started by {}, and no variable says where process 0 is", place.processes, launcher.name),
        meeting_hint);
  return {};
}

}  // namespace

int slurm_tasks_on(std::string_view counts, int node) {
  while (!counts.empty()) {
    const std::string_view item = counts.substr(0, counts.find(','));
    counts.remove_prefix(std::min(counts.size(), item.size() + 1));
    int tasks = 0, times = 1;
    const char* end = item.data() + item.size();
    const char* rest = std::from_chars(item.data(), end, tasks).ptr;
    if (rest != end) {
      constexpr std::string_view opening = "(x";
      const std::string_view repeat(rest, static_cast<std::size_t>(end - rest));
      if (!repeat.starts_with(opening)) return 0;
      const auto read = std::from_chars(rest + opening.size(), end, times);
      if (read.ec != std::errc() || std::string_view(read.ptr, static_cast<std::size_t>(end - read.ptr)) != ")")
        return 0;
    }
    if (node < times) return tasks;
    node -= times;
  }
  return 0;
}

std::string slurm_first_host(std::string_view hosts) {
  std::string name(hosts.substr(0, hosts.find_first_of("[,")));
  hosts.remove_prefix(name.size());
  if (!hosts.starts_with('[')) return name;
  hosts.remove_prefix(1);
  name += hosts.substr(0, hosts.find_first_of("-,]"));
  if (const auto close = hosts.find(']'); close != std::string_view::npos) {
    const std::string_view after = hosts.substr(close + 1);
    name += after.substr(0, after.find_first_of("[,"));
  }
  return name;
}

Expected<LaunchPlace> launch_place(const Environment& environment) {
  LaunchPlace place;
  TRY(no_half_launcher(environment));
  const Launcher* launcher = launcher_of(environment);
  if (launcher == nullptr) return place;
  place.launcher = launcher->name;
  TRY(read_counts(environment, *launcher, place));
  TRY(check_counts(*launcher, place));
  place.job = job_of(environment, *launcher);
  if (place.processes == 1) return place;
  TRY(find_meeting(environment, *launcher, place));
  return place;
}

Expected<LaunchPlace> launch_place() {
  return launch_place([](const char* name) { return std::getenv(name); });
}

}  // namespace stepcast::kernels
