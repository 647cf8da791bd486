#include "studies/launch/jobs/job_manifest.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/shell/text.h"
#include "model/base/contains.h"
#include "model/yaml/yaml.h"
#include "studies/launch/jobs/pod_script.h"
#include "studies/launch/jobs/pods.h"

namespace stepcast::launch {
namespace {

/// Its entrypoint is a script, and the program counts the nodes itself.
constexpr std::string_view ray_job = "RayJob";

bool is_job(const YamlNode& document) {
  return document.find("apiVersion") != nullptr &&
         (job_kind_of(document) != nullptr || manifest_text(document.find("kind")) == ray_job);
}

/// The first file that one of both has, and the other has not or with another text; "" = both have the same.
std::string other_file(
    const std::vector<calibrate::LaunchFile>& files, const std::vector<calibrate::LaunchFile>& others) {
  const auto lacks = [](const auto& all, const calibrate::LaunchFile& file) {
    return std::ranges::none_of(
        all, [&](const calibrate::LaunchFile& one) { return one.name == file.name && one.text == file.text; });
  };
  for (const auto& file : files)
    if (lacks(others, file)) return file.name;
  for (const auto& file : others)
    if (lacks(files, file)) return file.name;
  return "";
}

/// Of one document, as what the row says of its kind.
class ManifestReader {
 public:
  ManifestReader(const JobKind& kind, const YamlNode& spec, const ConfigMaps& maps, const std::string& where)
      : kind_(kind), spec_(spec), maps_(maps), where_(where) {}

  Expected<JobManifest> read() {
    const YamlNode& place = kind_.key.empty() ? spec_ : *spec_.find(kind_.key);
    TRY(const auto pods, kind_.pods(place, where_));
    JobManifest job;
    job.kind = kind_.kind;
    for (const Pods& some : pods) TRY(is_launcher(some) ? take_launch(some, job) : take_pods(some, job));
    if (job.script.empty())
      return fail(place_in_manifest(where_, spec_), fmt::format("no pod of the {} asks for GPUs", kind_.kind),
          "nvidia.com/gpu in the limits of its containers, or in resourcesPerNode of a TrainJob");
    TRY(const auto ranks, ranks_of_pod(place));
    job.tells = kind_.tells, job.hosts = !kind_.launcher.empty();
    job.ranks = ranks == 0 ? job.gpus_per_node : ranks;
    if (job.nodes > 0 && job.ranks > job.gpus_per_node)
      return fail(place_in_manifest(where_, spec_),
          fmt::format("{} ranks in a pod, and {} GPUs", job.ranks, job.gpus_per_node), "as many GPUs as ranks");
    return job;
  }

 private:
  [[nodiscard]] bool is_launcher(const Pods& pods) const {
    return !kind_.launcher.empty() && pods.name == kind_.launcher;
  }

  /// "auto" and "gpu" are a rank for each GPU.
  Expected<std::int64_t> ranks_of_pod(const YamlNode& beside) const {
    if (kind_.ranks.empty()) return 0;
    const YamlNode* told = spec_.find(kind_.ranks);
    if (told == nullptr) told = beside.find(kind_.ranks);
    if (told != nullptr && (told->text == "auto" || told->text == "gpu")) return 0;
    return manifest_count(told, where_, kind_.usual_ranks);
  }

  Expected<void> take_launch(const Pods& pods, JobManifest& job) const {
    TRY(job.script, script_of(pods, job));
    return {};
  }

  Expected<std::string> script_of(const Pods& pods, JobManifest& job) const {
    std::vector<std::string> untold;
    const PodVariables variables = maps_.variables(*pods.container, untold);
    std::ranges::copy_if(untold, std::back_inserter(job.untold),
        [&](const std::string& source) { return !contains(job.untold, source); });
    auto files = maps_.mounted(pods.spec, *pods.container);
    if (const std::string other = job.script.empty() ? "" : other_file(files, job.files); !other.empty())
      return fail(place_in_manifest(where_, *pods.container),
          fmt::format("pods of {} find another text as {:.80} than those before them", pods.name, other),
          "the command of the pods that train, as a script");
    job.files = std::move(files);
    return script_of_container(*pods.container, variables, where_);
  }

  /// Pods without GPUs beside others train nothing.
  Expected<void> take_pods(const Pods& pods, JobManifest& job) {
    TRY(const auto gpus, gpus_of_container(*pods.container, where_));
    if (gpus == 0) return {};
    if (job.nodes > 0 && gpus != job.gpus_per_node)
      return fail(place_in_manifest(where_, *pods.container),
          fmt::format("pods of {} have {} GPUs, others {}", pods.name, gpus, job.gpus_per_node),
          "a job whose pods are alike");
    job.nodes += pods.count, job.gpus_per_node = gpus;
    if (job.gpu_kind.empty()) job.gpu_kind = gpu_kind_of_pod(pods.spec);
    if (!kind_.launcher.empty()) return {};
    TRY(auto script, script_of(pods, job));
    if (const auto run = alike_on_all_nodes(script); job.script.empty()) job.script = std::move(script), run_ = run;
    else if (run != run_)
      return fail(place_in_manifest(where_, *pods.container),
          fmt::format("pods of {} run another command than those before them", pods.name),
          "the command of the pods that train, as a script");
    return {};
  }

  const JobKind& kind_;
  const YamlNode& spec_;
  const ConfigMaps& maps_;
  const std::string& where_;
  std::string run_;
};

/// $NAME and ${NAME} of a text, where they are defined.
std::string filled_in(std::string_view text, const std::map<std::string, std::string>& defined) {
  std::string out;
  while (!text.empty()) {
    const bool braced = text.starts_with("${");
    const std::size_t begin = braced ? 2 : 1;
    std::size_t end = begin;
    while (end < text.size() && calibrate::is_shell_name(text[end])) ++end;
    const bool closed = !braced || (end < text.size() && text[end] == '}');
    const auto found =
        text[0] == '$' && closed ? defined.find(std::string(text.substr(begin, end - begin))) : defined.end();
    if (found == defined.end()) out += text[0], text.remove_prefix(1);
    else out += found->second, text.remove_prefix(end + (braced ? 1 : 0));
  }
  return out;
}

/// Is the text of a container a shell's, "bash -c ..."? Else its words are handed over as they stand.
bool runs_shell(const YamlNode& container) {
  const YamlNode* command = container.find("command");
  if (command == nullptr) return false;
  const std::string_view first = command->items.empty() ? std::string_view(command->text) : command->items.front().text;
  const std::string_view program = first.substr(0, first.find_first_of(" \t\n"));
  constexpr std::string_view shells[] = {"bash", "sh", "zsh", "dash"};
  return std::ranges::find(shells, program.substr(program.rfind('/') + 1)) != std::end(shells);
}

/// As envsubst fills templates of manifests. What a shell runs, and files of a ConfigMap, are filled in as scripts are,
/// whose own settings count first.
void fill_in(YamlNode& node, const std::map<std::string, std::string>& defined, bool shell = false) {
  constexpr std::string_view run[] = {"command", "args"}, own[] = {"env", "entrypoint"};
  if ((shell && std::ranges::find(run, node.key) != std::end(run)) || std::ranges::find(own, node.key) != std::end(own))
    return;
  const bool script = node.text.find('\n') != node.text.npos;
  if (!script) node.text = filled_in(node.text, defined);
  for (YamlNode& item : node.items) fill_in(item, defined);
  const bool by_shell = runs_shell(node), of_map = manifest_text(node.find("kind")) == "ConfigMap";
  for (YamlNode& entry : node.entries)
    if (!of_map || entry.key != "data") fill_in(entry, defined, by_shell);
}

/// A ray job's own words.
Expected<JobManifest> ray_manifest(const YamlNode& document, const std::string& where) {
  const YamlNode* entry = node_inside(&document, {"spec", "entrypoint"});
  if (entry == nullptr || entry->text.empty())
    return fail(place_in_manifest(where, document), "the RayJob has no entrypoint", "spec.entrypoint");
  JobManifest job;
  job.kind = ray_job, job.script = script_of_entrypoint(*entry);
  return job;
}

}  // namespace

bool is_job_manifest(const std::string& text, const std::string& where) {
  if (text.starts_with("#!") || text.find("apiVersion:") == std::string::npos) return false;
  const auto documents = read_yaml(text, where);
  return documents && std::ranges::any_of(*documents, is_job);
}

Expected<JobManifest> read_job_manifest(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined) {
  auto documents = read_yaml(text, where);
  if (!documents) return tl::unexpected(documents.error().error());  // is_job_manifest() has read it
  for (YamlNode& document : *documents) fill_in(document, defined);
  const YamlNode* found = nullptr;
  for (const YamlNode& document : *documents) {
    if (!is_job(document)) continue;
    if (found != nullptr)
      return fail(
          place_in_manifest(where, document), "a second job in one file", "one job: the others in files of their own");
    found = &document;
  }
  if (found == nullptr)
    return fail(where, "no job of Kubernetes that is known", "PyTorchJob, MPIJob, TrainJob, JobSet");
  const JobKind* kind = job_kind_of(*found);
  const ConfigMaps maps(*documents);
  return kind == nullptr ? ray_manifest(*found, where)
                         : ManifestReader(*kind, *found->find("spec"), maps, where).read();
}

Expected<void> put_counts(const JobManifest& job, const std::string& where, calibrate::LaunchLine& line) {
  const auto place = [&] { return fmt::format("{}:{}", where, line.line); };
  if (job.nodes == 0) return {};
  if (line.nodes > 0 && line.nodes != job.nodes)
    return fail(place(),
        fmt::format("the launcher is told {} nodes, and the {} has {}", line.nodes, job.kind, job.nodes),
        "the same number in both");
  if (line.gpus_per_node > job.gpus_per_node)
    return fail(place(),
        fmt::format(
            "the launcher starts {} ranks on a node, and its pod has {} GPUs", line.gpus_per_node, job.gpus_per_node),
        "as many GPUs as ranks");
  if (line.ranks > job.nodes * job.gpus_per_node)
    return fail(place(),
        fmt::format("the launcher starts {} ranks, and the {} has {} GPUs", line.ranks, job.kind,
            job.nodes * job.gpus_per_node),
        "as many GPUs as ranks");
  if (line.gpu_kind.empty()) line.gpu_kind = job.gpu_kind;
  // What no controller tells a launcher, it does not know; a program without one is one rank of each pod, or starts
  // others itself.
  const bool bare = !job.hosts && (line.launcher.empty() || line.launcher.starts_with("python"));
  if (job.tells || line.nodes < 0) line.nodes = job.nodes;
  if (line.gpus_per_node < 0 || (line.gpus_per_node == 0 && job.tells && (!bare || job.gpus_per_node == 1)))
    line.gpus_per_node = job.ranks;
  return {};
}

}  // namespace stepcast::launch
