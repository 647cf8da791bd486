// How many ranks a command starts: options of launchers, headers of jobs, variables of the environment.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/scripts/launch_reader.h"
#include "calibrate/import/scripts/launch_words.h"
#include "calibrate/import/tables/plain_words.h"

namespace stepcast::calibrate {
namespace {

/// "mi250" of mi250:8 and gpu:mi250:8; "" where only a number or "gpu" is asked for.
std::string kind_of_gpus(std::string_view value) {
  if (value.starts_with("gpu:")) value.remove_prefix(4);
  const std::size_t colon = value.find(':');
  return colon == value.npos || launch_count(value.substr(0, colon)) > 0 ? "" : std::string(value.substr(0, colon));
}

/// A word of a job's header, or of what srun and mpirun start, that sets parts of different sizes apart
/// (slurm.schedmd.com/heterogeneous_jobs.html; "packjob" before Slurm 20.02; man mpirun of Open MPI).
constexpr std::string_view part_signs[] = {"hetjob", "packjob", ":"};
/// The option of srun that takes several of them.
constexpr std::string_view part_groups[] = {"het_group", "pack_group"};
constexpr std::string_view of_parts = "a job of several parts, whose nodes are not added up";

/// Of torchrun's MINIMUM:MAXIMUM, where both are the same.
std::int64_t nodes_of_range(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return launch_count(text);
  return text.substr(0, colon) == text.substr(colon + 1) ? launch_count(text.substr(0, colon)) : 0;
}

}  // namespace

/// "worker-0:0,1@worker-1:0,1" of deepspeed's --include: nodes and GPUs of each; nothing where a node names none.
bool LaunchReader::take_included(std::string_view text) {
  std::int64_t nodes = 0, gpus = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('@', at), text.size());
    const std::string_view node = text.substr(at, end - at);
    const std::size_t colon = node.find(':');
    if (colon == node.npos || colon + 1 == node.size()) return false;
    const auto here = 1 + std::count(node.begin() + static_cast<std::ptrdiff_t>(colon), node.end(), ',');
    if (nodes > 0 && here != gpus) return false;
    ++nodes, gpus = here, at = end + 1;
  }
  out_.nodes = nodes, out_.gpus_per_node = gpus;
  return true;
}

bool LaunchReader::starts_its_ranks() const {
  const auto says = [&](const char* name) { return out_.environment.contains(name) || out_.exported.contains(name); };
  return each_device_ || (by_environment_ && (says("NPROC_PER_NODE") || says("NNODES")));
}

/// What starts its ranks itself is started once a node: an outer launcher's tasks are such starts. LLaMA-Factory's
/// launcher.py and ms-swift's cli/main.py have NNODES 1 unless told.
void LaunchReader::take_starts() {
  const bool outer = find_launch_option(launcher_, "") != nullptr;
  std::int64_t nodes = out_.nodes, of_node = out_.gpus_per_node, tasks = out_.ranks;
  if (outer && nodes == 0 && tasks > 0)
    nodes = of_node > 0 ? tasks / of_node : tasks == 1 ? 1 : LaunchLine::unknown_count;
  if (outer && tasks == 0)
    tasks = of_node < 0 || nodes < 0 ? of_node : std::max<std::int64_t>(1, of_node) * std::max<std::int64_t>(1, nodes);
  out_.ranks = out_.gpus_per_node = out_.nodes = 0;
  if (by_environment_) take_environment();
  const auto leave_open = [&](std::string what) {
    out_.nodes = out_.gpus_per_node = LaunchLine::unknown_count;
    out_.unknown.insert(out_.unknown.begin(), std::move(what));
  };
  if (out_.nodes == 0 && (nodes < 0 || nodes > 1))
    return leave_open(fmt::format("{}, which {} takes for 1 while the job has several nodes",
        by_environment_ ? "NNODES" : "the number of machines", out_.program));
  if (outer && (tasks < 0 || tasks > std::max<std::int64_t>(1, nodes)))
    return leave_open(fmt::format(
        "the GPUs that each task of {} sees: {} tasks a node start {} each, which starts a rank for each GPU",
        launcher_, tasks > 0 ? "several" : "untold", out_.program));
  if (out_.gpus_per_node == 0) take_visible();
  if (out_.gpus_per_node == 0 && each_device_) out_.gpus_per_node = out_.node_gpus;
}

/// GPUs of a node that Slurm's job asks for: "8", "h100:8", "gpu:8", "gpu:h100:8".
void LaunchReader::take_node_gpus(const GivenArgument& given) {
  std::string_view text = given.value;
  if (given.name == "gres" && !text.starts_with("gpu")) return;
  if (given.name != "gres" && given.name != "gpus_per_node") return;
  text = text.substr(0, text.find(','));
  const std::size_t colon = text.rfind(':');
  out_.node_gpus = text == "gpu" ? 1 : launch_count(colon == text.npos ? text : text.substr(colon + 1));
}

/// Of programs that start their ranks themselves, as many as these say.
void LaunchReader::take_environment() {
  const std::pair<const char*, std::int64_t LaunchLine::*> counts[] = {
      {"NPROC_PER_NODE", &LaunchLine::gpus_per_node}, {"NNODES", &LaunchLine::nodes}};
  for (const ArgumentMap* names : {&out_.exported, &out_.environment})
    for (const auto& [name, field] : counts)
      if (const auto found = names->find(name); found != names->end()) {
        out_.*field = launch_count(found->second);
        if (out_.*field == 0)
          out_.*field = LaunchLine::unknown_count,
          out_.unknown.insert(out_.unknown.begin(), found->first + "=" + found->second);
      }
}

/// Without a launcher: the GPUs that it sees, where it starts a rank for each or sees one.
void LaunchReader::take_visible() {
  const bool alone = each_device_ || launcher_.empty() || launcher_ == "python" || launcher_ == "python3";
  for (const ArgumentMap* names : {&out_.environment, &out_.exported}) {
    const auto found = names->find("CUDA_VISIBLE_DEVICES");
    if (!alone || found == names->end()) continue;
    const std::int64_t devices = visible_devices(found->second);
    if (devices == 0 || (devices > 1 && !each_device_)) continue;
    out_.gpus_per_node = devices;
    out_.notes.push_back(
        fmt::format("CUDA_VISIBLE_DEVICES={}: {} GPU{}", found->second, devices, devices > 1 ? "s" : ""));
    return;
  }
}

/// "srun -N 4 a.py : -N 2 b.py", "srun --het-group=0,1 a.py".
bool LaunchReader::has_parts() const {
  const std::string_view first = words_.empty() ? "" : launcher_kind(words_.front().text);
  if (first != "srun" && first != "mpirun") return false;
  for (std::size_t at = 1; at < words_.size(); ++at) {
    const std::string& word = words_[at].text;
    const auto names = [&](std::string_view group) { return argument_name(word.substr(0, word.find('='))) == group; };
    // the value of an option, and the last word, set no part off
    if (word == ":" && at + 1 < words_.size() && !is_option(words_[at - 1].text)) return true;
    if (is_option(word) && std::ranges::any_of(part_groups, names)) return true;
  }
  return false;
}

/// Leaves a launcher for one inside of it.
void LaunchReader::take_step() {
  if (launcher_ != "srun") return;
  in_step_ = true, step_nodes_ = out_.nodes, step_tasks_ = out_.ranks, step_node_tasks_ = out_.gpus_per_node;
}

/// How often srun starts what is inside; 0 where that is not known. A step of one node or task may be one of many that
/// a loop starts.
std::int64_t LaunchReader::starts_of_step(const LaunchLine& batch) const {
  if (!in_step_) return 0;
  const std::int64_t nodes = step_nodes_ != 0 ? step_nodes_ : batch.nodes;
  if (step_tasks_ != 0) return step_tasks_;
  if (step_node_tasks_ != 0) return nodes > 0 && step_node_tasks_ > 0 ? nodes * step_node_tasks_ : 0;
  if (step_nodes_ == 0 && batch.ranks != 0) return batch.ranks;
  return nodes;
}

/// 0 where the script does not set it, or to no count.
std::int64_t LaunchReader::set_count(std::string_view name) const {
  for (const ArgumentMap* names : {&out_.environment, &out_.exported})
    if (const auto found = names->find(std::string(name)); found != names->end()) return launch_count(found->second);
  return 0;
}

/// Variables that the script itself sets, against its job's header, and of WORLD_SIZE against what is started: it
/// counts ranks, or with some operators of Kubernetes nodes.
std::string LaunchReader::contradicted_variable(const LaunchLine& batch) const {
  struct HeldVariable {
    std::string_view name;
    std::int64_t LaunchLine::*field;
    std::string_view counts;
  };
  constexpr HeldVariable held[] = {{"NNODES", &LaunchLine::nodes, "nodes"}, {"NUM_NODES", &LaunchLine::nodes, "nodes"},
      {"SLURM_NNODES", &LaunchLine::nodes, "nodes"}, {"SLURM_JOB_NUM_NODES", &LaunchLine::nodes, "nodes"},
      {"SLURM_NTASKS", &LaunchLine::ranks, "tasks"}, {"SLURM_NPROCS", &LaunchLine::ranks, "tasks"},
      {"SLURM_NTASKS_PER_NODE", &LaunchLine::gpus_per_node, "tasks a node"}};
  for (const HeldVariable& row : held) {
    const bool of_step = row.field == &LaunchLine::nodes && in_step_ && step_nodes_ > 0;
    const std::int64_t count = set_count(row.name), held_to = of_step ? step_nodes_ : batch.*row.field;
    if (count > 0 && held_to > 0 && count != held_to)
      return fmt::format("the script sets {}={}, and its {} has {} {}", row.name, count, of_step ? "step" : "job",
          held_to, row.counts);
  }
  const std::int64_t world = set_count("WORLD_SIZE"), nodes = out_.nodes > 0 ? out_.nodes : batch.nodes;
  LaunchLine whole = out_;
  if (whole.nodes == 0) whole.nodes = batch.nodes;
  if (whole.gpus_per_node == 0 && whole.ranks == 0)
    whole.gpus_per_node = batch.gpus_per_node, whole.ranks = batch.ranks;
  const std::int64_t gpus = whole.gpus();
  if (world > 0 && gpus > 0 && world != gpus && world != nodes)
    return fmt::format("the script sets WORLD_SIZE={}, and {} ranks are started", world, gpus);
  return {};
}

/// What a launcher is told against the job that it runs in: Slurm refuses a step of more nodes than its job has (man
/// srun), and what is started on more nodes than it counts, or counts more than there are, does not meet.
void LaunchReader::hold_against_job(const LaunchLine& batch) {
  take_step();
  const std::int64_t job = batch.nodes;
  if (!batch.doubted.empty()) out_.doubted = batch.doubted;
  else if (has_parts()) out_.doubted = of_parts;
  else if (job > 0 && in_step_ && step_nodes_ > job)
    out_.doubted = fmt::format("srun asks for {} nodes in a job of {}, and Slurm refuses that", step_nodes_, job);
  else if (job > 0 && told_nodes_ > job)
    out_.doubted = fmt::format("{} waits for {} nodes in a job of {}", launcher_, told_nodes_, job);
  else out_.doubted = contradicted_variable(batch);
  if (!out_.doubted.empty()) return;
  const std::int64_t starts = starts_of_step(batch);
  const bool each_node = step_tasks_ == 0 && step_node_tasks_ == 0 && (step_nodes_ != 0 || batch.ranks == 0);
  if (told_nodes_ > 0 && starts > told_nodes_)
    out_.doubted =
        each_node ? fmt::format("srun starts {} on {} nodes, and it is told {}", launcher_, starts, told_nodes_)
                  : fmt::format("srun starts {} {} times, and it is told {} nodes", launcher_, starts, told_nodes_);
  // as many scripts have it that start one a node by other means
  if (out_.doubted.empty() && told_nodes_ > 0 && starts == job && starts > 0 && each_node && step_nodes_ == 0 &&
      batch.gpus_per_node > 1)
    out_.notes.push_back(fmt::format("srun starts {} {} times a node, as the job's header has it: --ntasks-per-node=1",
        launcher_, batch.gpus_per_node));
  if (told_nodes_ > 0 && job > told_nodes_ && !in_step_)  // the rest of the job may run something else
    out_.notes.push_back(fmt::format("{} is told {} nodes in a job of {}", launcher_, told_nodes_, job));
  for (const std::string_view name : {"NNODES", "NUM_NODES"})
    if (const std::int64_t set = set_count(name); set > 0 && told_nodes_ > 0 && set != told_nodes_)
      out_.notes.push_back(fmt::format(
          "the script sets {}={}, and {} is told {} nodes, which counts", name, set, launcher_, told_nodes_));
  const std::size_t colon = nodes_range_.find(':');
  const std::int64_t started = in_step_ && step_nodes_ > 0 ? step_nodes_ : job;
  if (colon == nodes_range_.npos || started <= 0) return;
  const std::int64_t least = launch_count(nodes_range_.substr(0, colon)),
                     most = launch_count(nodes_range_.substr(colon + 1));
  if (least <= 0 || most <= 0) return;
  const char* whose = started == job ? "job" : "step";
  if (started < least || started > most)
    out_.doubted = fmt::format("{} takes {} nodes, and the {} has {}", launcher_, nodes_range_, whose, started);
  else
    out_.nodes = started,
    out_.notes.push_back(fmt::format("{} takes {} nodes: the {} of the {}", launcher_, nodes_range_, started, whose));
}

/// What #SBATCH lines add up to.
void LaunchReader::add_batch(const ShellCommand& command, LaunchLine& batch) {
  LaunchReader reader(command);
  batch.notes.insert(batch.notes.end(), command.notes.begin(), command.notes.end());
  reader.launcher_ = "srun";
  for (reader.at_ = 1; reader.at_ < command.words.size();) {
    if (std::ranges::find(part_signs, reader.text()) != std::end(part_signs)) batch.doubted = of_parts;
    reader.launcher_option();
  }
  for (const auto field : {&LaunchLine::nodes, &LaunchLine::ranks, &LaunchLine::gpus_per_node, &LaunchLine::node_gpus})
    if (reader.out_.*field != 0) batch.*field = reader.out_.*field;
  for (const GivenArgument& given : reader.out_.launcher_given)
    if (given.name == "gres" || given.name == "gpus_per_node" || given.name == "gpus" || given.name == "G")
      if (std::string kind = kind_of_gpus(given.value); !kind.empty()) batch.gpu_kind = std::move(kind);
}

void LaunchReader::take_count(const LaunchOption& option, const GivenArgument& given) {
  out_.*option.field = option.name == "nnodes" ? nodes_of_range(given.value) : launch_count(given.value);
  const bool counts_nodes = option.innermost && option.field == &LaunchLine::nodes;
  if (counts_nodes) told_nodes_ = out_.nodes, nodes_range_ = out_.nodes > 0 ? "" : given.value;
  if (out_.*option.field > 0) return;
  out_.*option.field = LaunchLine::unknown_count;
  out_.unknown.push_back(given.name + "=" + given.value);
}

/// Resource sets of Summit's jsrun: -n of them with -a ranks each, -r on a node.
void LaunchReader::take_sets(const GivenArgument& given) {
  const std::int64_t count = launch_count(given.value) > 0 ? launch_count(given.value) : LaunchLine::unknown_count;
  if (given.name == "n" || given.name == "nrs") sets_ = count;
  if (given.name == "a" || given.name == "tasks_per_rs") of_set_ = count;
  if (given.name == "r" || given.name == "rs_per_host") sets_of_node_ = count;
  const bool known = sets_ >= 0 && of_set_ > 0 && sets_of_node_ >= 0;
  out_.ranks = known ? sets_ * of_set_ : LaunchLine::unknown_count;
  out_.gpus_per_node = known ? sets_of_node_ * of_set_ : LaunchLine::unknown_count;
  out_.nodes = known && sets_of_node_ > 0 ? (sets_ + sets_of_node_ - 1) / sets_of_node_ : 0;
  if (count < 0 && (sets_ < 0 || of_set_ < 0 || sets_of_node_ < 0))
    out_.unknown.push_back(given.name + "=" + given.value);
}

}  // namespace stepcast::calibrate
