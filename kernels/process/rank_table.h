// Which GPUs take part in collectives, where they stand and what joins them: what each process knows of its own GPUs,
// put together. Plain host code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/bench/collective_bench.h"
#include "kernels/library/nvml.h"

namespace stepcast::kernels {

/// A GPU as its process describes it to the others.
struct RankDescription {
  std::string host;     ///< its name
  std::string machine;  ///< tells hosts of one name apart: containers, the kernel's boot id
  std::string device, bus_id;
  Bytes free;
  NvLinks links;
};
/// On one line each, and back. Fails on text that is no description.
std::string text_of(const std::vector<RankDescription>& ranks);
Expected<std::vector<RankDescription>> read_ranks(std::string_view text);

/// This host: its name and boot id.
RankDescription this_host();

/// All GPUs, numbered process by process.
struct RankTable {
  std::vector<RankPlace> places;
  std::vector<RankDescription> descriptions;
  [[nodiscard]] std::string joins(int rank, int other) const;
  [[nodiscard]] Bytes least_free() const;
};
/// `processes[p]` is what process p has. Fails where two processes were given one GPU, naming both, or GPUs differ in
/// kind.
Expected<RankTable> rank_table(const std::vector<std::vector<RankDescription>>& processes);

/// The GPUs of one of `on_host` processes that all see `visible` ones: the one there is where the launcher gave each
/// its own, else equal parts in order. Fails where there are fewer GPUs than processes.
Expected<std::vector<int>> gpus_of_process(int visible, int local, int on_host);

}  // namespace stepcast::kernels
