#include "kernels/process/rank_table.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::kernels {
namespace {

constexpr std::size_t description_fields = 7;

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string without_separators(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter == '\t' || letter == '\n' || letter == ','; }, ' ');
  return text;
}

}  // namespace

std::string text_of(const std::vector<RankDescription>& ranks) {
  std::string text;
  for (const RankDescription& rank : ranks)
    text += fmt::format("{}\t{}\t{}\t{}\t{:.0f}\t{}\t{}\n", without_separators(rank.host),
        without_separators(rank.machine), without_separators(rank.device), rank.bus_id, rank.free.value(),
        rank.links.switched ? 1 : 0, fmt::join(rank.links.gpus, ","));
  return text;
}

Expected<std::vector<RankDescription>> read_ranks(std::string_view text) {
  std::vector<RankDescription> ranks;
  for (const std::string_view line : parts_of(text, '\n')) {
    if (line.empty()) continue;
    const auto fields = parts_of(line, '\t');
    double free = 0;
    if (fields.size() != description_fields ||
        std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), free).ec != std::errc())
      return fail("another process", fmt::format("describes a GPU as '{:.80}'", line),
          "all processes must be of one build of stepcast");
    RankDescription rank{std::string(fields[0]), std::string(fields[1]), std::string(fields[2]), std::string(fields[3]),
        Bytes(free), {}};
    rank.links.switched = fields[5] == "1";
    for (const std::string_view gpu : parts_of(fields[6], ','))
      if (!gpu.empty()) rank.links.gpus.emplace_back(gpu);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

RankDescription this_host() {
  RankDescription here;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) here.host = name.data();
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, here.machine);
  return here;
}

std::string RankTable::joins(int rank, int other) const {
  const RankPlace &a = places.at(static_cast<std::size_t>(rank)), &b = places.at(static_cast<std::size_t>(other));
  if (a.node != b.node) return "network";
  const NvLinks& links = descriptions.at(static_cast<std::size_t>(rank)).links;
  if (links.switched && descriptions.at(static_cast<std::size_t>(other)).links.switched) return "nvswitch";
  return std::find(links.gpus.begin(), links.gpus.end(), plain_bus_id(b.bus_id)) != links.gpus.end() ? "nvlink_mesh"
                                                                                                     : "pcie";
}

Bytes RankTable::least_free() const {
  Bytes least;
  for (const RankDescription& rank : descriptions) least = least.value() == 0 ? rank.free : std::min(least, rank.free);
  return least;
}

Expected<RankTable> rank_table(const std::vector<std::vector<RankDescription>>& processes) {
  RankTable table;
  std::map<std::pair<std::string, std::string>, int> nodes, owners;
  for (std::size_t process = 0; process < processes.size(); ++process)
    for (const RankDescription& gpu : processes[process]) {
      const auto of = static_cast<int>(process), next_node = static_cast<int>(nodes.size());
      const std::pair host(gpu.host, gpu.machine);
      const int node = nodes.try_emplace(host, next_node).first->second;
      const auto owner = owners.try_emplace({fmt::format("{}", node), gpu.bus_id}, of);
      if (!owner.second)
        return fail("GPUs",
            fmt::format(
                "processes {} and {} on {} both have the one at {}", owner.first->second, of, gpu.host, gpu.bus_id),
            "start as many processes per host as it has GPUs, or let CUDA_VISIBLE_DEVICES give each its own");
      if (!table.descriptions.empty() && gpu.device != table.descriptions.front().device)
        return fail("GPUs",
            fmt::format("'{}' on {} and '{}' on {}", table.descriptions.front().device, table.descriptions.front().host,
                gpu.device, gpu.host),
            "times of a group are those of its slowest member: choose GPUs of one kind with CUDA_VISIBLE_DEVICES");
      table.places.push_back({static_cast<int>(table.places.size()), node, of, gpu.host, gpu.device, gpu.bus_id});
      table.descriptions.push_back(gpu);
    }
  if (table.places.empty()) return fail("GPUs", "no process has one", "nvidia-smi shows what the driver sees");
  return table;
}

Expected<std::vector<int>> gpus_of_process(int visible, int local, int on_host) {
  if (visible == 1) return std::vector<int>{0};
  const int each = visible / on_host;
  if (each == 0)
    return fail(
        "GPUs", fmt::format("{} on this host for {} processes", visible, on_host), "start at most one process per GPU");
  std::vector<int> mine;
  for (int i = 0; i < each; ++i) mine.push_back(local * each + i);
  return mine;
}

}  // namespace stepcast::kernels
