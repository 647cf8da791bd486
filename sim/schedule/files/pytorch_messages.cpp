// Do the communication cells of a PyTorch action list fit its computation? Each send comes after what it sends and has
// its receive on the neighbour's rank; each receive comes before what needs it; no stage computes while its parameters
// are resharded or after its gradients are reduced.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/schedule/files/pytorch_cells.h"

namespace stepcast::sim::pytorch {
namespace {

struct Message {
  bool sends, ahead;
};

Message message_of(Verb verb) {
  return {verb == Verb::send_forward || verb == Verb::send_backward,
      verb == Verb::send_forward || verb == Verb::receive_forward};
}

bool begins_backward(Verb verb) {
  return verb == Verb::backward || verb == Verb::input_grad || verb == Verb::backward_weight;
}

using Passage = std::tuple<bool, int, int>;  // ahead, stage, micro-batch

class MessageCheck {
 public:
  MessageCheck(const Cells& cells, const Order& order) : cells_(cells), order_(order) {}

  Expected<void> walk() {
    for (const CellStep& step : cells_.steps) {
      TRY(check_place(step));
      TRY(carries(step.verb) ? check_message(step) : check_parameters(step));
    }
    return check_matches();
  }

 private:
  Expected<void> check_place(const CellStep& step) const {
    if (step.stage >= order_.stages())
      return refuse(
          cells_, step, "is of a stage that never computes", fmt::format("stages 0 to {}", order_.stages() - 1));
    if (order_.rank_of[step.stage] == step.rank) return {};
    return refuse(cells_, step, fmt::format("is on rank {}", step.rank),
        fmt::format("stage {} sits on rank {}", step.stage, order_.rank_of[step.stage]));
  }

  Expected<void> check_message(const CellStep& step) {
    const Message message = message_of(step.verb);
    const bool to_next = message.ahead == message.sends;  // a receive ahead comes from the stage before
    const int peer = to_next ? order_.after(step.stage) : order_.before(step.stage);
    if (peer < 0 || order_.rank_of[peer] == step.rank)
      return refuse(
          cells_, step, "has no other rank to talk to", "messages between neighbouring stages of different ranks");
    const bool computed = computed_.contains({message.ahead, step.stage, step.micro_batch});
    if (message.sends && !computed) return refuse(cells_, step, "sends what is not computed yet", "compute, then send");
    if (!message.sends && computed) return refuse(cells_, step, "comes after what needs it", "receive, then compute");
    auto& ends = message.sends ? sent_ : received_;
    const Passage passage{message.ahead, message.sends ? peer : step.stage, step.micro_batch};
    if (!ends.emplace(passage, &step).second) return refuse(cells_, step, "is there twice", "each message once");
    return {};
  }

  Expected<void> check_parameters(const CellStep& step) {
    if (step.verb == Verb::unshard) return void(resharded_.erase(step.stage)), Expected<void>{};
    if (step.verb == Verb::reshard) return void(resharded_.insert(step.stage)), Expected<void>{};
    if (step.verb == Verb::reduce_grad) return void(reduced_.insert(step.stage)), Expected<void>{};
    if (resharded_.contains(step.stage))
      return refuse(cells_, step, "computes after RESHARD", fmt::format("{}UNSHARD before it", step.stage));
    if (reduced_.contains(step.stage) && step.verb != Verb::forward)
      return refuse(cells_, step, "comes after REDUCE_GRAD", "gradients are reduced when all are there");
    if (step.verb == Verb::forward) computed_.insert({true, step.stage, step.micro_batch});
    if (begins_backward(step.verb)) computed_.insert({false, step.stage, step.micro_batch});
    return {};
  }

  /// Sends and receives are the same set, and if there are any, every hop between ranks is in it.
  Expected<void> check_matches() const {
    if (sent_.empty() && received_.empty()) return {};
    for (const auto& [passage, step] : sent_) {
      if (!received_.contains(passage)) return refuse(cells_, *step, "is never received", "one receive for each send");
    }
    for (const auto& [passage, step] : received_) {
      if (!sent_.contains(passage)) return refuse(cells_, *step, "waits for what is never sent", "one send for each");
    }
    for (const auto& [ahead, stage, micro_batch] : computed_) {
      const int from = ahead ? order_.before(stage) : order_.after(stage);
      const bool hops = from >= 0 && order_.rank_of[from] != order_.rank_of[stage];
      if (!hops || received_.contains({ahead, stage, micro_batch})) continue;
      return fail(fmt::format("{}:{}", cells_.where, order_.rank_of[stage] + 1),
          fmt::format("{}RECV_{}{} is missing", stage, ahead ? 'F' : 'B', micro_batch),
          "all messages, or none (computation alone)");
    }
    return {};
  }

  const Cells& cells_;
  const Order& order_;
  std::set<Passage> computed_;
  std::map<Passage, const CellStep*> sent_, received_;  ///< by the taking stage
  std::set<int> resharded_, reduced_;
};

}  // namespace

Expected<void> check_messages(const Cells& cells, const Order& order) {
  const bool any = std::ranges::any_of(cells.steps, [](const CellStep& step) { return !computes(step.verb); });
  return any ? MessageCheck(cells, order).walk() : Expected<void>{};
}

}  // namespace stepcast::sim::pytorch
