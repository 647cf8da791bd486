#include "studies/launch/jobs/pods.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"

namespace stepcast::launch {

const YamlNode* node_inside(const YamlNode* node, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) node = node == nullptr ? nullptr : node->find(key);
  return node;
}

std::string manifest_text(const YamlNode* node) { return node == nullptr ? "" : node->text; }

std::string place_in_manifest(const std::string& where, const YamlNode& node) {
  return fmt::format("{}:{}", where, node.position.line);
}

Expected<std::int64_t> manifest_count(const YamlNode* node, const std::string& where, std::int64_t otherwise) {
  if (node == nullptr || node->kind == YamlNode::Kind::null) return otherwise;
  const auto count = parsed_number<std::int64_t>(node->text);
  if (count && *count >= 0 && *count <= 1'000'000) return *count;
  return fail(place_in_manifest(where, *node), fmt::format("{} '{:.40}' is no count", node->key, node->text),
      node->text.starts_with('$') ? "--define of that variable" : "a whole number in the manifest");
}

namespace {

bool asks_for_gpus(const YamlNode& container) {
  for (const std::string_view how : {"limits", "requests"}) {
    const YamlNode* asked = node_inside(&container, {"resources", how});
    const auto of_gpus = [](const YamlNode& entry) { return entry.key.ends_with("/gpu"); };
    if (asked != nullptr && std::ranges::any_of(asked->entries, of_gpus)) return true;
  }
  return false;
}

Expected<void> add_pods(const YamlNode* spec, std::string name, std::int64_t count, std::vector<Pods>& out) {
  const YamlNode* containers = node_inside(spec, {"containers"});
  if (containers == nullptr || containers->items.empty() || count == 0) return {};
  const auto trains = std::ranges::find_if(containers->items, asks_for_gpus);  // beside others that serve its network
  const bool none = trains == containers->items.end();
  out.push_back({std::move(name), count, spec, none ? &containers->items.front() : &*trains});
  return {};
}

/// {Master: {replicas, template: {spec}}, Worker: ...}.
Expected<std::vector<Pods>> pods_of_map(const YamlNode& map, const std::string& where) {
  std::vector<Pods> out;
  for (const YamlNode& role : map.entries) {
    TRY(const auto count, manifest_count(role.find("replicas"), where, 1));
    TRY(add_pods(node_inside(&role, {"template", "spec"}), role.key, count, out));
  }
  return out;
}

/// [{name, replicas, template}] of JobSet, whose templates are jobs, and of Volcano, whose are pods.
Expected<std::vector<Pods>> pods_of_list(const YamlNode& list, const std::string& where) {
  std::vector<Pods> out;
  for (const YamlNode& role : list.items) {
    TRY(const auto jobs, manifest_count(role.find("replicas"), where, 1));
    const YamlNode* job = node_inside(&role, {"template", "spec"});
    TRY(const auto each, manifest_count(node_inside(job, {"parallelism"}), where, 1));
    const YamlNode* nested = node_inside(job, {"template", "spec"});
    TRY(add_pods(nested == nullptr ? job : nested, manifest_text(role.find("name")), jobs * each, out));
  }
  return out;
}

/// One spec of pods, as many as the job asks for at once.
Expected<std::vector<Pods>> pods_of_job(const YamlNode& spec, const std::string& where) {
  std::vector<Pods> out;
  TRY(const auto count, manifest_count(spec.find("parallelism"), where, 1));
  TRY(add_pods(node_inside(&spec, {"template", "spec"}), "pod", count, out));
  return out;
}

/// The trainer is its pods' container itself.
Expected<std::vector<Pods>> pods_of_trainer(const YamlNode& trainer, const std::string& where) {
  TRY(const auto count, manifest_count(trainer.find("numNodes"), where, 1));
  return std::vector<Pods>{{"node", count, &trainer, &trainer}};
}

constexpr JobKind job_kinds[] = {
    {"PyTorchJob", "pytorchReplicaSpecs", pods_of_map, "nprocPerNode", 0, true, ""},
    {"HyperPodPyTorchJob", "replicaSpecs", pods_of_list, "nprocPerNode", 0, true, ""},
    {"MPIJob", "mpiReplicaSpecs", pods_of_map, "slotsPerWorker", 1, true, "Launcher"},
    {"TrainJob", "trainer", pods_of_trainer, "numProcPerNode", 0, true, ""},
    {"JobSet", "replicatedJobs", pods_of_list, "", 0, false, ""},
    {"Job", "tasks", pods_of_list, "", 0, false, ""},
    {"Job", "", pods_of_job, "", 0, false, ""},
};

}  // namespace

const JobKind* job_kind_of(const YamlNode& document) {
  const std::string kind = manifest_text(document.find("kind"));
  const YamlNode* spec = document.find("spec");
  const auto row = std::ranges::find_if(job_kinds, [&](const JobKind& known) {
    return known.kind == kind && spec != nullptr && (known.key.empty() || spec->find(known.key) != nullptr);
  });
  return row == std::end(job_kinds) ? nullptr : row;
}

Expected<std::int64_t> gpus_of_container(const YamlNode& container, const std::string& where) {
  for (const std::string_view of : {"resources", "resourcesPerNode"})
    for (const std::string_view how : {"limits", "requests"}) {
      const YamlNode* asked = node_inside(&container, {of, how});
      if (asked == nullptr) continue;
      for (const YamlNode& resource : asked->entries) {
        if (const std::string_view chip = other_chip(resource.key); !chip.empty())
          return fail(place_in_manifest(where, resource), fmt::format("the job asks for {}, which are no GPUs", chip),
              "a launch for GPUs");
        if (resource.key.ends_with("/gpu")) return manifest_count(&resource, where, 0);
      }
    }
  return 0;
}

std::string gpu_kind_of_pod(const YamlNode* spec) {
  const YamlNode* selector = node_inside(spec, {"nodeSelector"});
  if (selector == nullptr) return "";
  for (const YamlNode& entry : selector->entries)
    if (entry.key.ends_with("gke-accelerator") || entry.key.ends_with("gpu.product")) return entry.text;
  return "";
}

}  // namespace stepcast::launch
