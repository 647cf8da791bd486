#include "studies/compare/traced/table_clocks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stepcast::comparison {
namespace {

constexpr const char* of_one_gpu =
    "traces of one host that saw all of its GPUs; else one trace alone, with a table of its GPU: nvidia-smi -i N "
    "--query-gpu=uuid,clocks.sm,utilization.gpu --format=csv -lms 100";

Expected<void> check_one_host(const ClockTable& table, std::span<RankTrace* const> traces) {
  const auto refuse = [](const std::string& what) { return fail("--clocks", what, of_one_gpu); };
  if (traces.size() > table.gpus.size())
    return refuse(fmt::format("{} has samples of {} GPU{}, and there are {} traces", table.file, table.gpus.size(),
        table.gpus.size() == 1 ? "" : "s", traces.size()));
  const std::int64_t devices = table.gpus.rbegin()->first + 1;
  for (std::size_t i = 0; i < traces.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const RankTrace &one = *traces[i], &other = *traces[j];
      if (one.device == other.device)
        return refuse(fmt::format(
            "{} and {} are both of GPU {}: of two hosts, or each saw one GPU alone", other.file, one.file, one.device));
      const auto [low, high] = std::minmax(one.rank, other.rank);
      if (low >= 0 && high - low >= devices)
        return refuse(fmt::format("{} has GPUs 0 to {}, and there are traces of ranks {} and {}: of two hosts",
            table.file, devices - 1, low, high));
    }
  return {};
}

}  // namespace

Expected<void> take_table_clocks(const ClockTable& table, std::span<RankTrace* const> traces) {
  TRY(check_one_host(table, traces));
  for (RankTrace* const one : traces) {
    RankTrace& trace = *one;
    const auto at = table.numbered ? table.gpus.find(trace.device) : table.gpus.begin();
    if (at == table.gpus.end())
      return fail("--clocks", fmt::format("{} has no samples of GPU {} of {}", table.file, trace.device, trace.file),
          "a table with the column index, of the host that was traced");
    trace.replaced_clocks = std::exchange(trace.clocks, at->second);
    trace.clocks_by = table.numbered ? fmt::format("GPU {} of {}", at->first, table.file)
                                     : fmt::format("the one GPU of {}", table.file);
  }
  return {};
}

}  // namespace stepcast::comparison
