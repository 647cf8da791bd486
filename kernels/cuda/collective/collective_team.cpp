#include "kernels/cuda/collective/collective_team.h"

namespace stepcast::kernels::gpu {
namespace {

/// Longer than a rank itself waits for its stream: what takes longer hangs inside a call of NCCL or CUDA. The first
/// communicator of hundreds of ranks takes most of a minute.
constexpr Seconds longest_step{180};
constexpr Seconds after_abort{15};

struct Nothing {};

}  // namespace

CollectiveTeam& CollectiveTeam::operator=(CollectiveTeam&& other) noexcept {
  std::swap(members_, other.members_);
  std::swap(abandon_, other.abandon_);
  std::swap(lost_, other.lost_);
  return *this;
}

CollectiveTeam::~CollectiveTeam() {
  if (lost_ || members_.empty()) return;  // what hangs keeps what it uses
  std::vector<int> all;
  for (std::size_t i = 0; i < members_.size(); ++i) all.push_back(static_cast<int>(i));
  (void)each<Nothing>(all, [](CollectiveRank& rank, int) -> Expected<Nothing> {
    rank.finish();
    return Nothing{};
  });
}

Expected<CollectiveTeam> CollectiveTeam::make(
    const NcclLibrary& nccl, std::span<const int> indices, std::span<const DeviceInfo> devices) {
  CollectiveTeam team;
  std::vector<int> all;
  for (const int index : indices) {
    all.push_back(static_cast<int>(all.size()));
    team.members_.push_back(
        {std::make_shared<CollectiveRank>(nccl, index, devices[static_cast<std::size_t>(index)], team.abandon_),
            std::make_unique<Worker>()});
  }
  auto started = team.each<Nothing>(all, [](CollectiveRank& rank, int) -> Expected<Nothing> {
    TRY(rank.start());
    return Nothing{};
  });
  if (!started) return tl::unexpected(std::move(started.error()));
  return team;
}

bool CollectiveTeam::all_come_back(const std::vector<int>& members) {
  const auto wait = [&](Seconds patience) {
    const Deadline until = deadline_in(patience);
    bool all = true;
    for (const int member : members) all &= members_[static_cast<std::size_t>(member)].worker->wait(until);
    return all;
  };
  if (wait(longest_step)) return true;
  *abandon_ = true;
  for (const int member : members)
    if (!members_[static_cast<std::size_t>(member)].worker->wait(deadline_in(Seconds(0))))
      members_[static_cast<std::size_t>(member)].rank->abort();
  lost_ = !wait(after_abort);
  return !lost_;
}

}  // namespace stepcast::kernels::gpu
