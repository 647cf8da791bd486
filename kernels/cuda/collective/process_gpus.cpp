#include "kernels/cuda/collective/process_gpus.h"

#include <algorithm>

#include "kernels/process/agreement.h"
#include "kernels/library/library_version.h"
#include "kernels/library/nccl_library.h"
#include "kernels/library/nvml.h"

namespace stepcast::kernels::gpu {
namespace {

NvLinks links_of(const DeviceInfo& device) {
  const auto library = Nvml::open();
  if (!library || device.bus_id.empty()) return {};
  const auto known = library->gpu(device.bus_id);
  NvLinks links = known ? known->links() : NvLinks{};
  // Links that are up and lead to no GPU lead to a switch, also where a virtual machine hides the other end.
  links.switched = links.switched || (links.active > 0 && links.gpus.empty());
  return links;
}

GpuSettings settings_of(const DeviceInfo& device, const NcclLibrary& nccl) {
  GpuSettings settings;
  if (const auto library = Nvml::open(); library && !device.bus_id.empty())
    if (const auto known = library->gpu(device.bus_id)) known->describe(settings);
  int runtime = 0;
  if (checked(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion"))
    settings.cuda = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  settings.cublas = cublas_state(CUDART_VERSION / 1000).version;
  settings.cudnn = cudnn_state().version;
  settings.nccl = nccl.version().value_or("");
  return settings;
}

/// A process's number among those of its host, and how many those are: by what they say of themselves, because not
/// every launcher tells.
struct HostShare {
  int local = 0, processes = 1;
};
Expected<HostShare> share_of_host(Rendezvous& all, const RankDescription& here) {
  TRY(const auto hosts, all.all_gather(here.host + "\n" + here.machine));
  const auto mine = hosts.begin() + all.process();
  return HostShare{static_cast<int>(std::count(hosts.begin(), mine, *mine)),
      static_cast<int>(std::count(hosts.begin(), hosts.end(), *mine))};
}

Expected<std::vector<double>> free_bytes(CollectiveTeam& team) {
  std::vector<int> all;
  for (std::size_t i = 0; i < team.size(); ++i) all.push_back(static_cast<int>(i));
  return team.each<double>(all, [](CollectiveRank& rank, int) -> Expected<double> {
    const auto bytes = rank.free_memory();
    if (!bytes) return tl::unexpected(bytes.error());
    return bytes->value();
  });
}

/// Starts this process's GPUs and describes them.
Expected<std::string> start_gpus(ProcessGpus& into, const RankDescription& here, const HostShare& share) {
  TRY(const auto nccl, nccl_library());
  TRY(const auto found, devices());
  TRY(const auto indices, gpus_of_process(static_cast<int>(found.size()), share.local, share.processes));
  into.device = found[static_cast<std::size_t>(indices.front())];
  into.settings = settings_of(into.device, *nccl);
  TRY(into.team, CollectiveTeam::make(*nccl, indices, found));
  TRY(const auto free, free_bytes(into.team));
  std::vector<RankDescription> descriptions;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const DeviceInfo& device = found[static_cast<std::size_t>(indices[i])];
    descriptions.push_back(
        {here.host, here.machine, device.name, plain_bus_id(device.bus_id), Bytes(free[i]), links_of(device)});
  }
  return text_of(descriptions);
}

}  // namespace

Expected<ProcessGpus> find_gpus(Rendezvous& processes, const LaunchPlace& place) {
  const RankDescription here = this_host();
  TRY(const auto share, share_of_host(processes, here));
  ProcessGpus out;
  TRY(const auto all, agree(processes, start_gpus(out, here, share)));
  std::vector<std::vector<RankDescription>> described;
  for (const std::string& text : all) {
    TRY(auto read, read_ranks(text));
    if (static_cast<int>(described.size()) < place.process) out.first_rank += static_cast<int>(read.size());
    described.push_back(std::move(read));
  }
  TRY(out.table, rank_table(described));
  return out;
}

}  // namespace stepcast::kernels::gpu
