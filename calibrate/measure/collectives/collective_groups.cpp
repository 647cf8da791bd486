
#include "calibrate/measure/collectives/collective_plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace stepcast::calibrate {
namespace {

using Ranks = std::vector<int>;

/// The GPUs of each host, in order of rank; every host as many as the smallest has, so that groups stand in equal
/// parts.
std::vector<Ranks> hosts_of(const CollectiveBench& bench) {
  std::map<int, Ranks> by_node;
  for (const RankPlace& place : bench.ranks()) by_node[place.node].push_back(place.rank);
  std::size_t fewest = bench.ranks().size();
  for (const auto& [node, ranks] : by_node) fewest = std::min(fewest, ranks.size());
  std::vector<Ranks> hosts;
  for (auto& [node, ranks] : by_node) {
    ranks.resize(fewest);
    hosts.push_back(std::move(ranks));
  }
  return hosts;
}

bool by_nvlink(const std::string& joint) { return joint == "nvlink_mesh" || joint == "nvswitch"; }

/// Whether rings over NVLink alone can lead through all: two ways out of each rank, one where there are only two ranks.
bool nvlink_leads_through(const CollectiveBench& bench, const Ranks& ranks) {
  const std::ptrdiff_t ways = ranks.size() == 2 ? 1 : 2;
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return std::count_if(ranks.begin(), ranks.end(),
               [&](int other) { return other != rank && by_nvlink(bench.joins(rank, other)); }) >= ways;
  });
}

/// What joins a group of one host: NCCL's rings and trees go over the best links that lead through all of it.
std::string fabric_of(const CollectiveBench& bench, const Ranks& ranks) {
  bool switched = true;
  for (const int rank : ranks)
    for (const int other : ranks) switched &= rank == other || bench.joins(rank, other) == "nvswitch";
  if (switched) return "nvswitch";
  return nvlink_leads_through(bench, ranks) ? "nvlink_mesh" : "pcie";
}

/// 2, 4, 8, ... where they divide the number, and the number itself.
std::vector<std::size_t> group_sizes(std::size_t all) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 2; size < all; size *= 2)
    if (all % size == 0) sizes.push_back(size);
  if (all >= 2) sizes.push_back(all);
  return sizes;
}

Ranks every(const Ranks& host, std::size_t stride, std::size_t count) {
  Ranks ranks;
  for (std::size_t i = 0; i < count; ++i) ranks.push_back(host[i * stride]);
  return ranks;
}

/// Neighbours, and the same number spread over the host where other links join them.
void add_groups_of_host(const CollectiveBench& bench, const Ranks& host, std::vector<CollectiveGroup>& groups) {
  for (const std::size_t size : group_sizes(host.size())) {
    const Ranks near = every(host, 1, size);
    const std::string fabric = fabric_of(bench, near);
    groups.push_back({near, fabric, 1, fmt::format("{} neighbours", size)});
    const std::size_t stride = host.size() / size;
    if (stride == 1) continue;
    const Ranks spread = every(host, stride, size);
    if (std::string other = fabric_of(bench, spread); other != fabric)
      groups.push_back(
          {spread, std::move(other), 1, fmt::format("{} spread over the host, every {}. GPU", size, stride)});
  }
}

/// The slowest joint between hosts that anybody reports: "network", or what the bench knows better.
std::string fabric_between(const CollectiveBench& bench, const std::vector<Ranks>& hosts) {
  return bench.joins(hosts[0].front(), hosts[1].front());
}

void add_groups_across(
    const CollectiveBench& bench, const std::vector<Ranks>& hosts, std::vector<CollectiveGroup>& groups) {
  std::vector<std::size_t> counts;
  for (std::size_t count = 2; count < hosts.size(); count *= 2) counts.push_back(count);
  if (hosts.size() >= 2) counts.push_back(hosts.size());
  for (const std::size_t count : counts) {
    const auto nodes = static_cast<std::int64_t>(count);
    for (const std::size_t of_each : {std::size_t{1}, hosts.front().size()}) {
      Ranks ranks;
      for (std::size_t host = 0; host < count; ++host)
        ranks.insert(ranks.end(), hosts[host].begin(), hosts[host].begin() + static_cast<std::ptrdiff_t>(of_each));
      groups.push_back({std::move(ranks), fabric_between(bench, hosts), nodes,
          fmt::format("{} per node on {} nodes", of_each, nodes)});
      if (hosts.front().size() == 1) break;
    }
  }
}

}  // namespace

std::vector<CollectiveGroup> collective_groups(const CollectiveBench& bench) {
  std::vector<CollectiveGroup> groups;
  const std::vector<Ranks> hosts = hosts_of(bench);
  if (hosts.empty()) return groups;
  add_groups_of_host(bench, hosts.front(), groups);
  add_groups_across(bench, hosts, groups);
  return groups;
}

}  // namespace stepcast::calibrate
