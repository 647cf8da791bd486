#include "studies/launch/jobs/job_manifest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

/// Of one document, as what the row says of its kind.
class ManifestReader {
 public:
  ManifestReader(const JobKind& kind, const YamlNode& spec, const std::string& where)
      : kind_(kind), spec_(spec), where_(where) {}

  Expected<JobManifest> read() {
    const YamlNode& place = kind_.key.empty() ? spec_ : *spec_.find(kind_.key);
    TRY(const auto pods, kind_.pods(place, where_));
    JobManifest job;
    job.kind = kind_.kind;
    for (const Pods& some : pods) TRY(is_launcher(some) ? take_launch(some, job) : take_pods(some, job));
    if (job.script.empty())
      return fail(place_in_manifest(where_, spec_), fmt::format("no pod of the {} trains", kind_.kind));
    TRY(const auto ranks, ranks_of_pod());
    if (ranks > 0 && (job.gpus_per_node == 0 || ranks < job.gpus_per_node)) job.gpus_per_node = ranks;
    return job;
  }

 private:
  [[nodiscard]] bool is_launcher(const Pods& pods) const {
    return !kind_.launcher.empty() && pods.name == kind_.launcher;
  }

  /// "auto" and "gpu" are a rank for each GPU.
  Expected<std::int64_t> ranks_of_pod() const {
    if (kind_.ranks.empty()) return 0;
    const YamlNode* told = spec_.find(kind_.ranks);
    if (told == nullptr || told->text == "auto" || told->text == "gpu") return 0;
    return manifest_count(told, where_, 0);
  }

  Expected<void> take_launch(const Pods& pods, JobManifest& job) const {
    TRY(job.script, script_of_container(*pods.container, where_));
    return {};
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
    TRY(auto script, script_of_container(*pods.container, where_));
    if (const auto run = alike_on_all_nodes(script); job.script.empty()) job.script = std::move(script), run_ = run;
    else if (run != run_)
      return fail(place_in_manifest(where_, *pods.container),
          fmt::format("pods of {} run another command than those before them", pods.name),
          "the command of the pods that train, as a script");
    return {};
  }

  const JobKind& kind_;
  const YamlNode& spec_;
  const std::string& where_;
  std::string run_;
};

/// $NAME and ${NAME}, as envsubst puts them into templates of manifests.
std::string filled_in(std::string text, const std::map<std::string, std::string>& defined) {
  const auto in_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (const auto& [name, value] : defined)
    for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1)) {
      const bool braced = text.compare(at + 1, name.size() + 2, "{" + name + "}") == 0;
      const std::size_t end = at + 1 + name.size();
      const bool bare = text.compare(at + 1, name.size(), name) == 0 && (end >= text.size() || !in_name(text[end]));
      if (braced || bare) text.replace(at, name.size() + (braced ? 3 : 1), value);
    }
  return text;
}

/// A ray job's own words.
Expected<JobManifest> ray_manifest(const YamlNode& document, const std::string& where) {
  const YamlNode* entry = node_inside(&document, {"spec", "entrypoint"});
  if (entry == nullptr || entry->text.empty())
    return fail(place_in_manifest(where, document), "the RayJob has no entrypoint", "spec.entrypoint");
  return JobManifest{std::string(ray_job), script_of_entrypoint(*entry), 0, 0, ""};
}

}  // namespace

bool is_job_manifest(const std::string& text, const std::string& where) {
  if (text.starts_with("#!") || text.find("apiVersion:") == std::string::npos) return false;
  const auto documents = read_yaml(text, where);
  return documents && std::ranges::any_of(*documents, is_job);
}

Expected<JobManifest> read_job_manifest(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined) {
  const auto documents = read_yaml(filled_in(text, defined), where);
  if (!documents) return tl::unexpected(documents.error().error());  // is_job_manifest() has read it
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
  return kind == nullptr ? ray_manifest(*found, where) : ManifestReader(*kind, *found->find("spec"), where).read();
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
  line.nodes = job.nodes;
  // A program that no launcher starts is one rank of each pod, or starts others itself.
  if (line.gpus_per_node <= 0 && (!line.launcher.empty() || job.gpus_per_node == 1))
    line.gpus_per_node = job.gpus_per_node;
  return {};
}

}  // namespace stepcast::launch
