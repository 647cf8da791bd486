// GPU side only. The GPUs of one process, each with a thread of its own, as all of them take a step of a collective.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/collective/collective_rank.h"
#include "kernels/bench/device.h"
#include "kernels/process/worker.h"

namespace stepcast::kernels::gpu {

class CollectiveTeam {
 public:
  CollectiveTeam() = default;
  CollectiveTeam(CollectiveTeam&&) noexcept = default;
  CollectiveTeam& operator=(CollectiveTeam&&) noexcept;
  ~CollectiveTeam();
  /// One member per GPU of `indices` (driver order), started.
  static Expected<CollectiveTeam> make(
      const NcclLibrary& nccl, std::span<const int> indices, std::span<const DeviceInfo> devices);

  /// `step` on these members beside each other, on the thread of each: what each gave, in the order of `members`. Fails
  /// with the first member's error. Who does not come back at all loses the team: nothing runs any more.
  /// The step outlives the caller where a thread hangs: it captures values, no references.
  template <typename T>
  Expected<std::vector<T>> each(
      const std::vector<int>& members, std::function<Expected<T>(CollectiveRank&, int place)> step);

  [[nodiscard]] bool lost() const { return lost_; }
  [[nodiscard]] std::size_t size() const { return members_.size(); }

 private:
  struct Member {
    std::shared_ptr<CollectiveRank> rank;
    std::unique_ptr<Worker> worker;
  };
  /// Waits for all; aborts communicators of those who hang, and gives them a last moment.
  bool all_come_back(const std::vector<int>& members);

  std::vector<Member> members_;
  std::shared_ptr<std::atomic<bool>> abandon_ = std::make_shared<std::atomic<bool>>(false);
  bool lost_ = false;
};

template <typename T>
Expected<std::vector<T>> CollectiveTeam::each(
    const std::vector<int>& members, std::function<Expected<T>(CollectiveRank&, int)> step) {
  if (lost_) return fail("GPUs", "a thread of an earlier call hangs", "start again");
  struct Shared {
    std::function<Expected<T>(CollectiveRank&, int)> step;
    std::vector<std::optional<Expected<T>>> answers;
  };
  auto shared = std::make_shared<Shared>();
  shared->step = std::move(step);
  shared->answers.resize(members.size());
  *abandon_ = false;
  for (std::size_t place = 0; place < members.size(); ++place) {
    const Member& member = members_.at(static_cast<std::size_t>(members[place]));
    member.worker->start([shared, place, rank = member.rank, abandon = abandon_] {
      auto& answer = shared->answers[place];
      answer.emplace(shared->step(*rank, static_cast<int>(place)));
      if (!*answer) *abandon = true;
    });
  }
  if (!all_come_back(members))
    return fail("NCCL", "a call did not return and could not be aborted",
        "start again; NCCL_DEBUG=INFO shows what it waits for");
  // An error that came by itself tells more than those of members who gave up because of it.
  const Error* first = nullptr;
  std::vector<T> out;
  for (auto& answer : shared->answers) {
    if (answer->has_value()) {
      out.push_back(std::move(**answer));
    } else if (first == nullptr || first->what == given_up) {
      first = &answer->error();
    }
  }
  if (first != nullptr) return tl::unexpected(*first);
  return out;
}

}  // namespace stepcast::kernels::gpu
