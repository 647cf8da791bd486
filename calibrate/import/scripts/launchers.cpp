#include "calibrate/import/scripts/launchers.h"

#include <algorithm>

#include "calibrate/import/tables/plain_words.h"

namespace stepcast::calibrate {
namespace {

constexpr std::string_view launchers[] = {"torchrun", "deepspeed", "srun", "mpirun", "mpiexec", "accelerate",
    "composer", "python", "python3", "bash", "sh", "numactl", "run_train.sh", "nemo", "#SBATCH", "pdsh", "ssh",
    "singularity", "apptainer", "docker", "podman", "timeout", "taskset", "nsys", "uv", "bcprun", "jsrun", "sbatch",
    "msrun", "ray", "hipprof", "rocprof", "rocprofv3", "ncu", "orterun", "aprun", "colossalai", "tune", "hyperpodrun",
    "flux"};

/// Programs that are no files: their first word says what they do. `by_environment`: they hand NPROC_PER_NODE and
/// NNODES to torchrun (modelscope/ms-swift swift/cli/main.py, hiyouga/LLaMA-Factory src/llamafactory/launcher.py); trl
/// and axolotl start their ranks by Accelerate, which reads neither; LitGPT is told by its own arguments.
/// `each_device`: a rank for each GPU that is there.
struct CommandProgram {
  std::string_view name;
  bool by_environment, each_device;
};
constexpr CommandProgram programs[] = {{"swift", true, false}, {"megatron", true, false}, {"trl", false, true},
    {"axolotl", false, true}, {"llamafactory-cli", true, true}, {"lmf", true, true}, {"llamafactory.cli", true, true},
    {"litgpt", false, false}, {"oumi", false, false}, {"automodel", false, false}};

const CommandProgram* find_command_program(std::string_view word) {
  const auto row = std::ranges::find(programs, last_of_path(word), &CommandProgram::name);
  return row == std::end(programs) ? nullptr : row;
}

constexpr LaunchOption launch_options[] = {
    {"torchrun", "nproc_per_node", &LaunchLine::gpus_per_node, true},
    {"torchrun", "nnodes", &LaunchLine::nodes, true},
    {"deepspeed", "num_gpus", &LaunchLine::gpus_per_node, true},
    {"deepspeed", "num_nodes", &LaunchLine::nodes, true},
    {"accelerate", "num_processes", &LaunchLine::ranks, true},
    {"accelerate", "num_machines", &LaunchLine::nodes, true},
    {"composer", "n", &LaunchLine::gpus_per_node, true},
    {"composer", "nproc", &LaunchLine::gpus_per_node, true},
    {"composer", "world_size", &LaunchLine::ranks, true},
    {"srun", "N", &LaunchLine::nodes, false},
    {"srun", "nodes", &LaunchLine::nodes, false},
    {"srun", "n", &LaunchLine::ranks, false},
    {"srun", "ntasks", &LaunchLine::ranks, false},
    {"srun", "ntasks_per_node", &LaunchLine::gpus_per_node, false},
    {"mpirun", "np", &LaunchLine::ranks, false},
    {"mpirun", "n", &LaunchLine::ranks, false},
    {"mpirun", "npernode", &LaunchLine::gpus_per_node, false},
    {"mpirun", "ppn", &LaunchLine::gpus_per_node, false},
    {"aprun", "n", &LaunchLine::ranks, false},
    {"aprun", "N", &LaunchLine::gpus_per_node, false},
    {"flux", "N", &LaunchLine::nodes, false},
    {"flux", "nodes", &LaunchLine::nodes, false},
    {"flux", "n", &LaunchLine::ranks, false},
    {"flux", "ntasks", &LaunchLine::ranks, false},
    {"flux", "tasks_per_node", &LaunchLine::gpus_per_node, false},
    {"msrun", "worker_num", &LaunchLine::ranks, true},
    {"msrun", "local_worker_num", &LaunchLine::gpus_per_node, true},
    {"bcprun", "nnodes", &LaunchLine::nodes, true},
    {"bcprun", "n", &LaunchLine::nodes, true},
    {"bcprun", "npernode", &LaunchLine::gpus_per_node, true},
    {"bcprun", "p", &LaunchLine::gpus_per_node, true},
    {"colossalai", "nproc_per_node", &LaunchLine::gpus_per_node, true},
    {"tune", "nproc_per_node", &LaunchLine::gpus_per_node, true},
    {"tune", "nnodes", &LaunchLine::nodes, true},
};

/// Options of torchrun that take no value (pytorch/pytorch: torch/distributed/run.py, get_args_parser).
constexpr std::string_view torchrun_switches[] = {"standalone", "no_python", "run_path", "virtual_local_rank"};

/// Launchers whose -m names no module.
constexpr std::string_view own_m[] = {"srun", "mpirun", "docker", "numactl", "taskset", "jsrun", "flux", "aprun"};

}  // namespace

const LaunchOption* find_launch_option(std::string_view launcher, std::string_view name) {
  const auto row = std::find_if(std::begin(launch_options), std::end(launch_options),
      [&](const LaunchOption& option) { return option.launcher == launcher && (name.empty() || option.name == name); });
  return row == std::end(launch_options) ? nullptr : row;
}

bool names_module(std::string_view launcher) {
  return std::find(std::begin(own_m), std::end(own_m), launcher) == std::end(own_m);
}

bool is_launcher_switch(std::string_view launcher, std::string_view name) {
  return launcher == "torchrun" && std::ranges::find(torchrun_switches, name) != std::end(torchrun_switches);
}

std::string_view launcher_kind(std::string_view word) {
  word = last_of_path(word);
  if (word == "mpiexec" || word == "orterun") return "mpirun";
  if (word == "#SBATCH" || word == "sbatch") return "srun";
  if (word == "hyperpodrun") return "torchrun";  // SageMaker HyperPod's elastic agent takes torchrun's options
  if (word == "torch.distributed.run" || word == "torch.distributed.launch") return "torchrun";
  if (word == "accelerate.commands.launch") return "accelerate";
  if (word == "deepspeed.launcher.launch" || word == "deepspeed.launcher.runner") return "deepspeed";
  return word;
}

bool is_command_program(std::string_view word) { return find_command_program(word) != nullptr; }

bool starts_ranks_by_environment(std::string_view word) {
  const CommandProgram* row = find_command_program(word);
  return row != nullptr && row->by_environment;
}

bool takes_each_device(std::string_view word) {
  const CommandProgram* row = find_command_program(word);
  return row != nullptr && row->each_device;
}

bool is_launcher(std::string_view word) {
  word = last_of_path(word);
  if (word.starts_with("python3.")) return true;
  return std::find(std::begin(launchers), std::end(launchers), word) != std::end(launchers);
}

}  // namespace stepcast::calibrate
