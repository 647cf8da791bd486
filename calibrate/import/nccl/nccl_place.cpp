// Over how many ranks, on how many nodes: from busbw/algbw or a rank's part where they are exact enough, held against
// the device lines, the header, the file name and what the user says.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "calibrate/import/nccl/nccl_run.h"
#include "calibrate/import/tables/plain_words.h"

namespace stepcast::calibrate::nccl {
namespace {

std::int64_t listed_ranks(const Run& run) {
  std::int64_t ranks = 0;
  for (const Device& device : run.devices) ranks = std::max<std::int64_t>(ranks, device.rank + 1);
  return ranks;
}

/// Every rank up to the last has its line.
bool lists_all(const Run& run) {
  std::set<int> ranks;
  for (const Device& device : run.devices) ranks.insert(device.rank);
  return !ranks.empty() && static_cast<std::int64_t>(ranks.size()) == listed_ranks(run);
}

bool allowed(const KindRanks& kind, std::int64_t ranks) {
  return ranks >= kind.least && (kind.greatest == 0 || ranks <= kind.greatest);
}

std::string allowed_text(const KindRanks& kind) {
  if (kind.least == kind.greatest) return fmt::format("{} ranks", kind.least);
  if (kind.greatest == 0) return fmt::format("{} ranks or more", kind.least);
  return fmt::format("{} to {} ranks", kind.least, kind.greatest);
}

/// Where rounding leaves several counts and no line says which: GPUs come in full nodes, and within this ratio the
/// count changes neither busbw nor its latency by more than the tables scatter.
constexpr double narrow_range = 1.25;

std::int64_t middle_of(const KindRanks& kind, std::int64_t per_node) {
  const double middle = std::sqrt(static_cast<double>(kind.least) * static_cast<double>(kind.greatest));
  const auto whole = static_cast<std::int64_t>(std::llround(middle / static_cast<double>(per_node))) * per_node;
  return allowed(kind, whole) ? whole : static_cast<std::int64_t>(middle);
}

struct Claim {
  std::int64_t ranks;
  const char* by;
};

std::vector<Claim> claims_of(const Run& run, const std::string& where) {
  std::vector<Claim> claims;
  if (const std::int64_t listed = listed_ranks(run); listed > 0) claims.push_back({listed, "the device lines"});
  const auto layout = layout_in_name(last_of_path(where));
  if (layout && layout->nodes > 0) claims.push_back({layout->nodes * layout->gpus, "the file name"});
  // One process alone: its threads and GPUs. Of several only the device lines tell.
  if (run.devices.empty() && run.threads * run.gpus > 1)
    claims.push_back({std::int64_t{run.threads} * run.gpus, "nThread x nGpus"});
  return claims;
}

Expected<std::int64_t> find_ranks(const Run& run, const KindRanks& kind, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes) {
  if (options.ranks > 0) {
    if (allowed(kind, options.ranks)) return options.ranks;
    return fail(
        where, fmt::format("the rows are of {}", allowed_text(kind)), fmt::format("given as {}", options.ranks));
  }
  const std::vector<Claim> claims = claims_of(run, where);
  for (const Claim& claim : claims) {
    // Lists of devices are cut, and a process knows its own GPUs only: fewer than the rows say is no contradiction.
    const bool partial = claim.ranks < kind.least && std::string_view(claim.by) != "the file name";
    if (!allowed(kind, claim.ranks) && !partial)
      notes.push_back(fmt::format("{}: {} ranks by {}, {} by busbw / algbw of the rows: the latter are taken", where,
          claim.ranks, claim.by, allowed_text(kind)));
  }
  if (kind.least == kind.greatest) return kind.least;
  const Claim* taken = nullptr;
  for (const Claim& claim : claims) {
    if (!allowed(kind, claim.ranks)) continue;
    if (taken && taken->ranks != claim.ranks)
      return fail(where, fmt::format("{} ranks by {}, {} by {}", taken->ranks, taken->by, claim.ranks, claim.by),
          "say it: --ranks N");
    if (!taken) taken = &claim;
  }
  const std::int64_t per_process = std::int64_t{run.threads} * run.gpus;
  if (taken && per_process > 1 && taken->ranks % per_process != 0)
    return fail(where, fmt::format("{} ranks by {}, in processes of {}", taken->ranks, taken->by, per_process),
        "say it: --ranks N");
  if (taken) return taken->ranks;
  if (kind.greatest > 0 && static_cast<double>(kind.greatest) <= narrow_range * static_cast<double>(kind.least)) {
    const auto layout = layout_in_name(last_of_path(where));
    const std::int64_t per_node = layout ? layout->gpus : 8;
    const std::int64_t ranks = middle_of(kind, per_node);
    notes.push_back(fmt::format("{}: the digits of busbw / algbw allow {}; {} taken, a multiple of {} in their middle",
        where, allowed_text(kind), ranks, per_node));
    return ranks;
  }
  return fail(where,
      kind.greatest == 0 ? "nothing says over how many ranks it ran"
                         : fmt::format("the digits of busbw / algbw allow {}", allowed_text(kind)),
      "say it: --ranks N, or 2x8 in the file name for 2 nodes of 8 GPUs");
}

std::map<std::string, std::vector<int>> devices_by_host(const Run& run) {
  std::map<std::string, std::vector<int>> hosts;
  for (const Device& device : run.devices) hosts[device.host].push_back(device.device);
  return hosts;
}

/// The hosts, where each lists as many devices as the others and counts them from 0, or has a container with one device
/// around each process; else 0: a name or number there is damaged, or the parts are unequal.
std::int64_t hosts_of(const Run& run) {
  const auto hosts = devices_by_host(run);
  for (auto [host, devices] : hosts) {
    std::sort(devices.begin(), devices.end());
    bool counted = true;
    for (std::size_t i = 0; i < devices.size(); ++i) counted = counted && devices[i] == static_cast<int>(i);
    const bool alone = devices.front() == 0 && devices.back() == 0;
    if ((!counted && !alone) || devices.size() != hosts.begin()->second.size()) return 0;
  }
  return static_cast<std::int64_t>(hosts.size());
}

/// From a list that is cut: the last rank has the last device of its node.
std::int64_t nodes_by_last_device(const Run& run, std::int64_t ranks) {
  int per_node = 0, last_rank = -1, last_device = -1;
  for (const Device& device : run.devices) {
    per_node = std::max(per_node, device.device + 1);
    if (device.rank > last_rank) last_rank = device.rank, last_device = device.device;
  }
  if (per_node == 0 || last_device + 1 != per_node || (last_rank + 1) % per_node != 0 || ranks % per_node != 0)
    return 0;
  return last_rank + 1 == per_node && devices_by_host(run).size() == 1 && ranks > per_node ? 0 : ranks / per_node;
}

Expected<std::int64_t> find_nodes(const Run& run, std::int64_t ranks, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes) {
  const bool all = lists_all(run) && listed_ranks(run) == ranks;
  if (options.nodes > 0) {
    if (ranks % options.nodes != 0)
      return fail(where, fmt::format("{} ranks on {} nodes", ranks, options.nodes), "nodes that divide the ranks");
    if (all && hosts_of(run) > 0 && hosts_of(run) != options.nodes)
      return fail(where, fmt::format("the device lines name {} hosts", hosts_of(run)),
          fmt::format("given as {} nodes", options.nodes));
    return options.nodes;
  }
  if (all && hosts_of(run) == 0)
    notes.push_back(fmt::format("{}: the device lines do not name the same devices on each host: not used", where));
  if (all && hosts_of(run) > 0) {
    const auto layout = layout_in_name(last_of_path(where));
    if (layout && layout->nodes > 0 && layout->nodes != hosts_of(run) && layout->nodes * layout->gpus == ranks)
      return fail(where,
          fmt::format("the device lines name {} hosts, the file name {} nodes", hosts_of(run), layout->nodes),
          "say it: --nodes N");
    return hosts_of(run);
  }
  if (const auto layout = layout_in_name(last_of_path(where))) {
    if (layout->nodes * layout->gpus == ranks) return layout->nodes;
    if (layout->gpus > 0 && ranks % layout->gpus == 0) {
      notes.push_back(fmt::format(
          "{}: {} nodes, as the file name says {} GPUs on each", where, ranks / layout->gpus, layout->gpus));
      return ranks / layout->gpus;
    }
  }
  if (const std::int64_t nodes = nodes_by_last_device(run, ranks); nodes > 0) {
    notes.push_back(fmt::format("{}: {} nodes, by the device number of the last rank that is listed", where, nodes));
    return nodes;
  }
  constexpr std::int64_t usual_node = 8;
  if (ranks > usual_node)
    return fail(where, fmt::format("nothing says on how many nodes the {} ranks ran", ranks),
        "say it: --nodes N, or 2x8 in the file name for 2 nodes of 8 GPUs");
  notes.push_back(fmt::format(
      "{}: nothing says on how many nodes the {} ranks ran; one taken, --nodes says otherwise", where, ranks));
  return 1;
}

}  // namespace

std::optional<NamedLayout> layout_in_name(std::string_view name) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t x = name.find('x'); x != std::string_view::npos; x = name.find('x', x + 1)) {
    std::size_t begin = x, end = x + 1;
    while (begin > 0 && digit(name[begin - 1])) --begin;
    while (end < name.size() && digit(name[end])) ++end;
    const bool unknown_nodes = begin == x && x > 0 && (name[x - 1] == 'N' || name[x - 1] == 'n');
    if (unknown_nodes) --begin;
    if (begin == x || end == x + 1 || end - x > 5 || x - begin > 6) continue;
    if ((begin > 0 && letter(name[begin - 1])) || (end < name.size() && letter(name[end]))) continue;
    NamedLayout layout;
    layout.before = name.substr(0, begin > 0 ? begin - 1 : 0);
    if (!unknown_nodes) std::from_chars(name.data() + begin, name.data() + x, layout.nodes);
    std::from_chars(name.data() + x + 1, name.data() + end, layout.gpus);
    if (layout.gpus > 0 && (layout.nodes > 0 || unknown_nodes)) return layout;
  }
  return std::nullopt;
}

Expected<RanksNodes> place_ranks(const Run& run, const KindRanks& kind, const std::string& where,
    const ImportOptions& options, std::vector<std::string>& notes) {
  TRY(const auto ranks, find_ranks(run, kind, where, options, notes));
  const std::int64_t per_process = std::int64_t{run.threads} * run.gpus;
  if (per_process > 0 && ranks % per_process != 0)
    notes.push_back(fmt::format("{}: {} ranks are no whole number of processes with {} threads x {} GPUs", where, ranks,
        run.threads, run.gpus));
  TRY(const auto nodes, find_nodes(run, ranks, where, options, notes));
  if (ranks % nodes != 0)
    return fail(
        where, fmt::format("{} ranks on {} nodes", ranks, nodes), "the same number on each node; say it: --nodes N");
  return RanksNodes{ranks, nodes};
}

}  // namespace stepcast::calibrate::nccl
