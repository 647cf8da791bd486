#include "studies/engines/line/host_gpus.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "calibrate/import/scripts/launch_words.h"
#include "model/base/contains.h"
#include "model/base/whole_number.h"
#include "model/machine/gpu_words.h"

namespace stepcast::engines {
namespace {

using Kind = YamlNode::Kind;

const YamlNode* below(const YamlNode* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

/// A variable may stand for several.
bool is_open(std::string_view text) { return text.empty() || text.find_first_of("$,{") != text.npos; }

std::int64_t number_in(std::string_view text) {
  return std::max<std::int64_t>(0, parsed_number<std::int64_t>(text).value_or(0));
}

/// Slurm's "4", "a100:4", "gpu:4", "gpu:a100:4" and "gpu" (slurm.schedmd.com/sbatch.html, --gres and --gpus-per-node).
void take_slurm(std::string_view text, HostGpus& out) {
  text = text.substr(0, text.find('('));
  const std::size_t colon = text.find(':');
  const bool counted = colon == text.npos && (text.empty() || number_in(text) > 0);
  if (!counted) out.kind = text.substr(0, colon);
  const std::string_view count = counted ? text : colon == text.npos ? "" : text.substr(colon + 1);
  out.count = count.empty() ? 1 : number_in(count);
}

/// Of --gres, which may ask for other things beside them.
void take_generic(std::string_view list, HostGpus& out) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, comma), gpu = one.substr(0, 3);
    if (gpu == "gpu" && (one.size() == 3 || one[3] == ':'))
      take_slurm(one.substr(std::min<std::size_t>(4, one.size())), out);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

/// Docker's "2" and "device=0,1", the latter also inside quotes of its own (docs.docker.com, "GPU access").
void take_docker(std::string_view text, HostGpus& out) {
  while (!text.empty() && (text.front() == '"' || text.front() == '\'')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == '"' || text.back() == '\'')) text.remove_suffix(1);
  constexpr std::string_view device = "device=";
  if (!text.starts_with(device)) {
    out.count = number_in(text);
    return;
  }
  text.remove_prefix(device.size());
  out.count = std::ranges::count(text, ',') + 1;
}

/// "nvidia.com/gpu=0" of the Container Device Interface; "nvidia.com/gpu=all" counts none.
void take_device(std::string_view text, HostGpus& out, std::set<std::string, std::less<>>& devices) {
  if (const auto vendor = vendor_of(text); !vendor.empty()) out.vendor = vendor;
  const std::size_t equals = text.find("/gpu=");
  if (equals == text.npos || text.ends_with("=all")) return;
  devices.insert(std::string(text));
  out.count = static_cast<std::int64_t>(devices.size());
}

/// "/data:/models" of a mount, or a file.
bool is_place(std::string_view word) {
  return word.starts_with('/') || word.starts_with('.') || word.find(":/") != word.npos || word.find("=/") != word.npos;
}

enum class Runner : unsigned char { other, slurm, docker };

Runner runner_of(std::string_view word) {
  constexpr std::string_view slurm[] = {"srun", "salloc", "#SBATCH"}, docker[] = {"docker", "podman", "nerdctl"};
  const std::string_view name = word.substr(word.rfind('/') + 1);
  if (contains(slurm, name)) return Runner::slurm;
  return contains(docker, name) ? Runner::docker : Runner::other;
}

/// Items of a list, or a text alone.
template <typename Take> void each_text(const YamlNode* node, Take take) {
  if (node == nullptr) return;
  if (node->kind == Kind::scalar) take(*node);
  for (const YamlNode& item : node->items) take(item);
}

/// Entries of Compose's devices: a driver, and a count or the devices' names (docs.docker.com, "Run Docker Compose
/// services with GPU access").
void take_reservation(const YamlNode& item, HostGpus& out) {
  if (item.kind != Kind::map) return;
  if (const YamlNode* names = item.find("device_ids"))
    out.count = std::ranges::any_of(names->items, [](const YamlNode& name) { return is_open(name.text); })
                    ? 0
                    : static_cast<std::int64_t>(names->items.size());
  else if (const YamlNode* count = item.find("count")) out.count = number_in(count->text);
  if (const YamlNode* driver = item.find("driver")) {
    if (driver->text == "nvidia") out.vendor = vendor_of("nvidia.com/gpu");
    else if (driver->text == "amdgpu") out.vendor = vendor_of("amd.com/gpu");
  }
}

}  // namespace

HostGpus gpus_of_words(std::span<const ShellWord> words) {
  HostGpus out;
  std::int64_t tasks = 0, node_tasks = 0;
  std::set<std::string, std::less<>> devices;
  Runner runner = Runner::other;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at].text;
    if (!word.starts_with('-')) {
      if (const Runner next = runner_of(word); next != Runner::other) runner = next;
      else if (runner == Runner::docker && !is_place(word))
        if (const auto vendor = vendor_of(word); !vendor.empty()) out.vendor = vendor;
      continue;
    }
    const bool glued = word.size() > 2 && word[1] != '-' && word[2] >= '0' && word[2] <= '9';  // -N2
    const std::size_t end = glued ? 2 : std::min(word.find('='), word.size());
    const std::string_view option = word.substr(0, end);
    const bool inside = end < word.size();
    const bool open = inside ? !words[at].unset.empty() : at + 1 < words.size() && !words[at + 1].unset.empty();
    const std::string_view value = open                    ? std::string_view()
                                   : glued                 ? word.substr(2)
                                   : inside                ? word.substr(end + 1)
                                   : at + 1 < words.size() ? std::string_view(words[at + 1].text)
                                                           : std::string_view();
    if (runner == Runner::slurm) {
      const bool of_nodes = option == "--nodes" || option == "-N";
      if (of_nodes) out.nodes = number_in(value) > 0 ? number_in(value) : -1;  // a range, or a variable
      if (open) continue;
      if (option == "--gres") take_generic(value, out);
      if (option == "--gpus-per-node") take_slurm(value, out);
      if (option == "--ntasks" || option == "-n") tasks = number_in(value);
      if (option == "--ntasks-per-node") node_tasks = number_in(value);
      if (option == "--gpus" || option == "-G") {
        HostGpus all;
        take_slurm(value, all);
        out.all = all.count;
        if (!all.kind.empty()) out.kind = all.kind;
      }
    } else if (runner == Runner::docker && !open) {
      if (option == "--gpus") take_docker(value, out);
      if (option == "--device") take_device(value, out, devices);
    }
  }
  if (out.nodes == 0 && node_tasks > 0 && tasks > node_tasks) out.nodes = (tasks + node_tasks - 1) / node_tasks;
  return out;
}

HostGpus within(const HostGpus& inner, const HostGpus& outer) {
  HostGpus both = inner;
  if (both.kind.empty()) both.kind = outer.kind;
  if (both.vendor.empty()) both.vendor = outer.vendor;
  if (both.count == 0 && both.all == 0) both.count = outer.count, both.all = outer.all;
  if (both.nodes == 0) both.nodes = outer.nodes, both.several = both.several || outer.several;
  return both;
}

HostGpus gpus_of_container(const YamlNode& container) {
  HostGpus out;
  if (const YamlNode* image = container.find("image")) out.vendor = vendor_of(image->text);
  const YamlNode* resources = container.find("resources");
  for (const char* key : {"requests", "limits"})
    if (const YamlNode* amounts = below(resources, key))
      for (const YamlNode& one : amounts->entries)
        if (one.key == "nvidia.com/gpu" || one.key == "amd.com/gpu")
          out.vendor = vendor_of(one.key), out.count = number_in(one.text);
  std::set<std::string, std::less<>> devices;
  each_text(container.find("devices"), [&](const YamlNode& device) { take_device(device.text, out, devices); });
  each_text(container.find("gpus"), [&](const YamlNode& item) {
    if (item.kind == Kind::scalar) out.count = number_in(item.text);
    else take_reservation(item, out);
  });
  const YamlNode* reserved = below(below(container.find("deploy"), "resources"), "reservations");
  each_text(below(reserved, "devices"), [&](const YamlNode& item) { take_reservation(item, out); });
  return out;
}

}  // namespace stepcast::engines
