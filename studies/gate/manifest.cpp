#include "studies/gate/manifest.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "kernels/library/library_version.h"
#include "model/base/json_writer.h"
#include "model/base/text.h"
#include "model/version.h"
#include "studies/cli/shell_word.h"

namespace stepcast::gate {
namespace {

/// A fact that a tool of the machine prints.
struct ToolFact {
  const char *name, *command;
};
// Fields of nvidia-smi --help-query-gpu; one line for each GPU. The CUDA version of its table is the newest that the
// driver runs; nvcc says the toolkit's.
constexpr ToolFact tool_facts[] = {
    {"host", "hostname"},
    {"kernel", "uname -sr"},
    {"gpu", "nvidia-smi --query-gpu=name --format=csv,noheader || rocm-smi --showproductname --csv"},
    {"gpu_clocks", "nvidia-smi --query-gpu=clocks.sm,clocks.mem,clocks.max.sm --format=csv,noheader"},
    {"gpu_power_limit", "nvidia-smi --query-gpu=power.limit --format=csv,noheader"},
    {"driver", "nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1"},
    {"cuda_of_driver", "nvidia-smi | sed -n 's/.*CUDA Version: *\\([0-9.]*\\).*/\\1/p'"},
    {"cuda_toolkit", "nvcc --version | sed -n 's/.*release \\([0-9.]*\\).*/\\1/p'"},
};

/// Variables that tell the image, by who sets them: Apptainer and Singularity, Enroot and Pyxis, Kubernetes manifests.
constexpr const char* container_variables[] = {
    "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "PYXIS_CONTAINER_IMAGE", "ENROOT_CONTAINER", "CONTAINER_IMAGE"};

std::optional<std::string> container(const ManifestSources& sources) {
  for (const char* name : container_variables)
    if (const char* value = sources.variable(name); value != nullptr && *value != '\0') return value;
  if (sources.exists("/.dockerenv")) return "docker, image not known";
  if (sources.exists("/run/.containerenv")) return "podman, image not known";
  return std::nullopt;
}

std::optional<std::string> said(std::string text) {
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

std::optional<std::string> printed_by(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      ::popen(("{ " + command + "; } 2>/dev/null </dev/null").c_str(), "r"), ::pclose);
  if (!pipe) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  constexpr std::size_t most = 65'536;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe.get()))
    if (text.size() < most) text.append(part.data(), got);
  return said(std::string(stripped(text)));
}

void write_facts(JsonWriter& json, const std::vector<ManifestFact>& facts) {
  for (const ManifestFact& fact : facts) {
    if (fact.value) json.field(fact.name, *fact.value);
    else json.null_field(fact.name);
  }
}

}  // namespace

ManifestSources this_machine() {
  return {printed_by, [](const char* name) -> const char* { return std::getenv(name); },
      [](const char* path) { return ::access(path, F_OK) == 0; }};
}

std::string commit_of(const std::string& folder, const ManifestSources& sources) {
  const std::string git = "git -C " + cli::shell_word(folder.empty() ? "." : folder) + " ";
  const auto head = sources.shell(git + "rev-parse HEAD");
  if (!head) return {};
  return *head + (sources.shell(git + "status --porcelain --untracked-files=no") ? "-dirty" : "");
}

Manifest make_manifest(const std::string& folder, const std::vector<std::string>& variables,
    const std::vector<ManifestFact>& own, const ManifestSources& sources) {
  Manifest manifest{own, {}};
  manifest.facts.push_back({"at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))});
  manifest.facts.push_back({"stepcast", std::string(version())});
  for (const ToolFact& fact : tool_facts) manifest.facts.push_back({fact.name, sources.shell(fact.command)});
  manifest.facts.push_back({"nccl", said(kernels::nccl_state().version)});
  manifest.facts.push_back({"container", container(sources)});
  manifest.facts.push_back({"commit", said(commit_of(folder, sources))});
  for (const std::string& name : variables) {
    const char* value = sources.variable(name.c_str());
    manifest.environment.push_back({name, value == nullptr ? std::nullopt : std::optional<std::string>(value)});
  }
  return manifest;
}

std::string manifest_json(const Manifest& manifest) {
  JsonWriter json;
  json.open();
  write_facts(json, manifest.facts);
  json.open("environment");
  write_facts(json, manifest.environment);
  json.close();
  json.close();
  return json.text();
}

}  // namespace stepcast::gate
