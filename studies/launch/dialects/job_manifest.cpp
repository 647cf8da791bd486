#include "studies/launch/dialects/job_manifest.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/contains.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"
#include "model/yaml/yaml.h"

namespace stepcast::launch {
namespace {

using Kind = YamlNode::Kind;

/// Pods of one kind within a job.
struct Pods {
  std::string name;
  std::int64_t count = 0;
  const YamlNode* spec = nullptr;       ///< of the pod
  const YamlNode* container = nullptr;  ///< with the command
};

const YamlNode* inside(const YamlNode* node, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) node = node == nullptr ? nullptr : node->find(key);
  return node;
}

std::string text_at(const YamlNode* node, std::initializer_list<std::string_view> path) {
  const YamlNode* found = inside(node, path);
  return found == nullptr ? "" : found->text;
}

std::string place_of(const std::string& where, const YamlNode& node) {
  return fmt::format("{}:{}", where, node.position.line);
}

/// Error: no whole number.
Expected<std::int64_t> count_at(const YamlNode* node, const std::string& where, std::int64_t otherwise) {
  if (node == nullptr || node->kind == Kind::null) return otherwise;
  const auto count = parsed_number<std::int64_t>(node->text);
  if (count && *count >= 0 && *count <= 1'000'000) return *count;
  return fail(place_of(where, *node), fmt::format("{} '{:.40}' is no count", node->key, node->text),
      "a whole number in the manifest");
}

bool asks_for_gpus(const YamlNode& container) {
  const YamlNode* limits = inside(&container, {"resources", "limits"});
  return limits != nullptr &&
         std::ranges::any_of(limits->entries, [](const YamlNode& entry) { return entry.key.ends_with("/gpu"); });
}

Expected<void> add_pods(const YamlNode* spec, std::string name, std::int64_t count, std::vector<Pods>& out) {
  const YamlNode* containers = inside(spec, {"containers"});
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
    TRY(const auto count, count_at(role.find("replicas"), where, 1));
    TRY(add_pods(inside(&role, {"template", "spec"}), role.key, count, out));
  }
  return out;
}

/// [{name, replicas, template}] of JobSet, whose templates are jobs, and of Volcano, whose are pods.
Expected<std::vector<Pods>> pods_of_list(const YamlNode& list, const std::string& where) {
  std::vector<Pods> out;
  for (const YamlNode& role : list.items) {
    TRY(const auto jobs, count_at(role.find("replicas"), where, 1));
    const YamlNode* job = inside(&role, {"template", "spec"});
    TRY(const auto each, count_at(inside(job, {"parallelism"}), where, 1));
    const YamlNode* nested = inside(job, {"template", "spec"});
    TRY(add_pods(nested == nullptr ? job : nested, text_at(&role, {"name"}), jobs * each, out));
  }
  return out;
}

/// One spec of pods, as many as the job asks for at once.
Expected<std::vector<Pods>> pods_of_job(const YamlNode& spec, const std::string& where) {
  std::vector<Pods> out;
  TRY(const auto count, count_at(spec.find("parallelism"), where, 1));
  TRY(add_pods(inside(&spec, {"template", "spec"}), "pod", count, out));
  return out;
}

/// The trainer is its pods' container itself.
Expected<std::vector<Pods>> pods_of_trainer(const YamlNode& trainer, const std::string& where) {
  TRY(const auto count, count_at(trainer.find("numNodes"), where, 1));
  return std::vector<Pods>{{"node", count, &trainer, &trainer}};
}

/// Where a kind keeps its pods. Sources: kubeflow/training-operator pkg/apis/kubeflow.org/v1 (PyTorchJob, MPIJob),
/// kubeflow/trainer pkg/apis/trainer/v1alpha1 (TrainJob), kubernetes-sigs/jobset api/jobset/v1alpha2, volcano-sh/apis
/// batch/v1alpha1, kubernetes api/batch/v1.
struct JobKind {
  std::string_view kind;
  std::string_view key;  ///< in `spec`; "": that itself
  Expected<std::vector<Pods>> (*pods)(const YamlNode& node, const std::string& where);
  std::string_view ranks;     ///< of a pod, in `spec`: "nprocPerNode"
  std::string_view launcher;  ///< the role whose command starts all others'; "": each pod runs the launch
};
constexpr JobKind job_kinds[] = {
    {"PyTorchJob", "pytorchReplicaSpecs", pods_of_map, "nprocPerNode", ""},
    {"MPIJob", "mpiReplicaSpecs", pods_of_map, "slotsPerWorker", "Launcher"},
    {"TrainJob", "trainer", pods_of_trainer, "", ""},
    {"JobSet", "replicatedJobs", pods_of_list, "", ""},
    {"Job", "tasks", pods_of_list, "", ""},
    {"Job", "", pods_of_job, "", ""},
};
/// Its entrypoint is a script, and the program counts the nodes itself.
constexpr std::string_view ray_job = "RayJob";

const JobKind* kind_of(const YamlNode& document) {
  const std::string kind = text_at(&document, {"kind"});
  const YamlNode* spec = document.find("spec");
  const auto row = std::ranges::find_if(job_kinds, [&](const JobKind& known) {
    return known.kind == kind && spec != nullptr && (known.key.empty() || spec->find(known.key) != nullptr);
  });
  return row == std::end(job_kinds) ? nullptr : row;
}

bool is_job(const YamlNode& document) {
  return document.find("apiVersion") != nullptr &&
         (kind_of(document) != nullptr || text_at(&document, {"kind"}) == ray_job);
}

/// What a container asks for of one resource whose name ends so; 0: nothing.
Expected<std::int64_t> gpus_of(const YamlNode& container, const std::string& where) {
  for (const std::string_view of : {"resources", "resourcesPerNode"})
    for (const std::string_view how : {"limits", "requests"}) {
      const YamlNode* asked = inside(&container, {of, how});
      if (asked == nullptr) continue;
      for (const YamlNode& resource : asked->entries) {
        if (const std::string_view chip = other_chip(resource.key); !chip.empty())
          return fail(place_of(where, resource), fmt::format("the job asks for {}, which are no GPUs", chip),
              "a launch for GPUs");
        if (resource.key.ends_with("/gpu")) return count_at(&resource, where, 0);
      }
    }
  return 0;
}

std::string gpu_kind_of(const YamlNode* spec) {
  const YamlNode* selector = inside(spec, {"nodeSelector"});
  if (selector == nullptr) return "";
  for (const YamlNode& entry : selector->entries)
    if (entry.key.ends_with("gke-accelerator") || entry.key.ends_with("gpu.product")) return entry.text;
  return "";
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Values of secrets and fields are not there.
Variables environment_of(const YamlNode& container) {
  Variables out;
  const YamlNode* list = container.find("env");
  if (list == nullptr) return out;
  for (const YamlNode& item : list->items)
    if (const YamlNode* name = item.find("name"), *value = item.find("value"); name != nullptr && value != nullptr)
      out.emplace_back(name->text, value->text);
  return out;
}

/// $(NAME), which Kubernetes puts in itself before the command starts.
void put_in(std::string& text, const Variables& variables) {
  for (const auto& [name, value] : variables)
    for (std::size_t at = text.find("$(" + name + ")"); at != text.npos; at = text.find("$(" + name + ")", at)) {
      text.replace(at, name.size() + 3, value);
      at += value.size();
    }
}

struct Words {
  std::vector<std::string> texts;
  std::vector<int> lines;
};

void add_words(const YamlNode* node, const Variables& variables, Words& out) {
  if (node == nullptr) return;
  const auto add = [&](const YamlNode& word) {
    if (word.kind != Kind::scalar) return;
    out.texts.push_back(word.text);
    // A block begins on the line below its sign.
    out.lines.push_back(word.position.line + (!word.quoted && contains(word.text, '\n') ? 1 : 0));
    put_in(out.texts.back(), variables);
  };
  add(*node);
  for (const YamlNode& item : node->items) add(item);
}

bool is_shell(std::string_view word) {
  constexpr std::array shells = {"sh", "bash", "ash", "dash", "zsh"};
  return contains(shells, last_of_path(word));
}

/// "bash -c SCRIPT": the place of the script among the words; 0: none.
std::size_t script_of(const Words& words) {
  if (words.texts.empty() || !is_shell(words.texts.front())) return 0;
  for (std::size_t i = 1; i + 1 < words.texts.size() && words.texts[i].starts_with('-'); ++i)
    if (!words.texts[i].starts_with("--") && words.texts[i].ends_with('c'))
      return words.texts[i + 1] == "--" && i + 2 < words.texts.size() ? i + 2 : i + 1;
  return 0;
}

/// What a container runs, below an environment on the first line; each line of it where the manifest has it.
std::string script_text(const Words& words, const Variables& variables) {
  const std::size_t script = script_of(words);
  const bool one = words.texts.size() == 1;
  std::string text;
  for (const auto& [name, value] : variables) text += fmt::format("export {}={}; ", name, quoted(value));
  const int line = words.lines[script];
  text += std::string(static_cast<std::size_t>(std::max(1, line - 1)), '\n');
  if (script > 0 || one) return text + words.texts[script] + '\n';
  for (const std::string& word : words.texts) text += quoted(word) + ' ';
  return text + '\n';
}

Expected<std::string> script_of(const YamlNode& container, const std::string& where) {
  const Variables variables = environment_of(container);
  Words words;
  add_words(container.find("command"), variables, words);
  add_words(container.find("args"), variables, words);
  if (words.texts.empty())
    return fail(place_of(where, container), "the container runs what its image does, which is not told",
        "command: and args: of the manifest, or the launch itself");
  return script_text(words, variables);
}

/// What a script says, without the place of its node and lines that only stand for those of the manifest.
std::string alike_on_all_nodes(const std::string& script) {
  std::string out;
  std::ranges::copy_if(script, std::back_inserter(out), [](char c) { return c != '\n'; });
  for (const std::string_view name : {"--node_rank", "--node-rank", "--machine_rank"})
    for (std::size_t at = out.find(name); at != out.npos; at = out.find(name, at)) {
      const std::size_t value = std::min(out.find_first_not_of("= '", at + name.size()), out.size());
      out.erase(at, std::min(out.find_first_of(" '\"", value), out.size()) - at);
    }
  return out;
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
    for (const Pods& some : pods) TRY(some.name == kind_.launcher ? take_launch(some, job) : take_pods(some, job));
    if (job.script.empty()) return fail(place_of(where_, spec_), fmt::format("no pod of the {} trains", kind_.kind));
    TRY(const auto ranks, ranks_of_pod());
    if (ranks > 0 && (job.gpus_per_node == 0 || ranks < job.gpus_per_node)) job.gpus_per_node = ranks;
    return job;
  }

 private:
  /// "auto" and "gpu" are a rank for each GPU.
  Expected<std::int64_t> ranks_of_pod() const {
    if (kind_.ranks.empty()) return 0;
    const YamlNode* told = spec_.find(kind_.ranks);
    if (told == nullptr || told->text == "auto" || told->text == "gpu") return 0;
    return count_at(told, where_, 0);
  }

  Expected<void> take_launch(const Pods& pods, JobManifest& job) const {
    TRY(job.script, script_of(*pods.container, where_));
    return {};
  }

  /// Pods without GPUs beside others train nothing.
  Expected<void> take_pods(const Pods& pods, JobManifest& job) {
    TRY(const auto gpus, gpus_of(*pods.container, where_));
    if (gpus == 0) return {};
    if (job.nodes > 0 && gpus != job.gpus_per_node)
      return fail(place_of(where_, *pods.container),
          fmt::format("pods of {} have {} GPUs, others {}", pods.name, gpus, job.gpus_per_node),
          "a job whose pods are alike");
    job.nodes += pods.count, job.gpus_per_node = gpus;
    if (job.gpu_kind.empty()) job.gpu_kind = gpu_kind_of(pods.spec);
    if (!kind_.launcher.empty()) return {};
    TRY(auto script, script_of(*pods.container, where_));
    if (const auto run = alike_on_all_nodes(script); job.script.empty()) job.script = std::move(script), run_ = run;
    else if (run != run_)
      return fail(place_of(where_, *pods.container),
          fmt::format("pods of {} run another command than those before them", pods.name),
          "the command of the pods that train, as a script");
    return {};
  }

  const JobKind& kind_;
  const YamlNode& spec_;
  const std::string& where_;
  std::string run_;
};

/// A ray job's own words.
Expected<JobManifest> ray_manifest(const YamlNode& document, const std::string& where) {
  const YamlNode* entry = inside(&document, {"spec", "entrypoint"});
  if (entry == nullptr || entry->text.empty())
    return fail(place_of(where, document), "the RayJob has no entrypoint", "spec.entrypoint");
  Words words;
  add_words(entry, {}, words);
  return JobManifest{std::string(ray_job), script_text(words, {}), 0, 0, ""};
}

}  // namespace

bool is_job_manifest(const std::string& text, const std::string& where) {
  if (text.starts_with("#!") || text.find("apiVersion:") == std::string::npos) return false;
  const auto documents = read_yaml(text, where);
  return documents && std::ranges::any_of(*documents, is_job);
}

Expected<JobManifest> read_job_manifest(const std::string& text, const std::string& where) {
  const auto documents = read_yaml(text, where);
  if (!documents) return tl::unexpected(documents.error().error());  // is_job_manifest() has read it
  const YamlNode* found = nullptr;
  for (const YamlNode& document : *documents) {
    if (!is_job(document)) continue;
    if (found != nullptr)
      return fail(place_of(where, document), "a second job in one file", "one job: the others in files of their own");
    found = &document;
  }
  if (found == nullptr)
    return fail(where, "no job of Kubernetes that is known", "PyTorchJob, MPIJob, TrainJob, JobSet");
  const JobKind* kind = kind_of(*found);
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
