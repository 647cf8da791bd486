// DualPipe and DualPipeV: forwards of one direction run at once with backwards of the other. DeepSeek-V3 (arXiv
// 2412.19437), github.com/deepseek-ai/DualPipe: eight steps per rank. DualPipe runs two copies of the model against
// each other and folds in the middle; DualPipeV cuts that picture in half, so that each rank has both stages of a V.
#include <array>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

/// One rank. Side 0 is the direction (or chunk) whose forward reaches the rank first, side 1 the other.
class DualRank {
 public:
  DualRank(OrderWriter& writer, std::array<int, 2> stage, std::array<int, 2> first)
      : writer_(writer), stage_(stage), forward_(first), backward_(first) {}
  void forward(int side) { writer_.forward(stage_[side], forward_[side]++); }
  void backward(int side) { writer_.backward(stage_[side], backward_[side]++); }
  void input_grad(int side) {
    waiting_.push_back({ActionKind::weight_grad, stage_[side], backward_[side]});
    writer_.input_grad(stage_[side], backward_[side]++);
  }
  /// The oldest of both sides.
  void weight_grad() {
    writer_.weight_grad(waiting_[written_].stage, waiting_[written_].micro_batch);
    ++written_;
  }
  void pair(int forward_side, int backward_side) {
    forward(forward_side);
    writer_.with_next();
    backward(backward_side);
  }

 private:
  OrderWriter& writer_;
  std::array<int, 2> stage_, forward_, backward_;
  std::vector<Action> waiting_;
  std::size_t written_ = 0;
};

/// `depth`: ranks between this one and the outer end; `ranks`: from the end to the fold; `each`: micro-batches a side.
struct DualSteps {
  int depth, ranks, each;
  [[nodiscard]] int inner() const { return ranks - depth - 1; }
  [[nodiscard]] bool at_fold() const { return inner() == 0; }
  [[nodiscard]] int main_pairs() const { return each - 2 * ranks + depth + 1; }
};

void fill_both(DualRank& at, const DualSteps& steps) {
  for (int i = 0; i < 2 * steps.inner(); ++i) at.forward(0);
  for (int i = 0; i <= steps.depth; ++i) {
    at.forward(0);
    at.forward(1);
  }
  for (int i = 0; i < steps.inner(); ++i) {
    at.input_grad(1);
    at.weight_grad();
    at.forward(1);
  }
}

void run_pairs(DualRank& at, const DualSteps& steps) {
  for (int i = 0; i < steps.main_pairs(); ++i) {
    if (i == 0 && steps.at_fold()) {  // running these two at once would only add to the bubble
      at.forward(0);
      at.backward(1);
    } else {
      at.pair(0, 1);
    }
    at.pair(1, 0);
  }
  for (int i = 0; i < steps.inner(); ++i) {
    at.backward(1);
    at.pair(1, 0);
  }
}

void drain_both(DualRank& at, const DualSteps& steps) {
  const int rounds = steps.depth + 1;
  for (int i = 0; i < 2 * rounds; ++i) {  // the second half puts its weight gradients off
    const int side = i % 2 == 0 ? 1 : 0;
    if (i < rounds) {
      at.backward(side);
    } else {
      at.input_grad(side);
    }
  }
  for (int i = 0; i < steps.inner(); ++i) {
    at.weight_grad();
    at.input_grad(0);
  }
  for (int i = 0; i < rounds; ++i) at.weight_grad();
}

void write_steps(DualRank& at, const DualSteps& steps) {
  fill_both(at, steps);
  run_pairs(at, steps);
  drain_both(at, steps);
}

Expected<void> legal_dualpipe(const ScheduleSize& size) {
  TRY(even_ranks("dualpipe", size.ranks));
  TRY(at_least_micro_batches("dualpipe", size.micro_batches, 2 * size.ranks, ", an even number"));
  return even_micro_batches("dualpipe", size.micro_batches);
}

Order make_dualpipe(const ScheduleSize& size) {
  const int p = size.ranks, each = size.micro_batches / 2;
  return write_ranks(size, Placement::both_ways, [&](OrderWriter& writer, int rank) {
    const int ahead = rank, against = p + (p - 1 - rank);
    const bool outer_first = rank < p / 2;
    DualRank at =
        outer_first ? DualRank(writer, {ahead, against}, {0, each}) : DualRank(writer, {against, ahead}, {each, 0});
    write_steps(at, {outer_first ? rank : p - 1 - rank, p / 2, each});
  });
}

Expected<void> legal_dualpipev(const ScheduleSize& size) {
  return at_least_micro_batches("dualpipev", size.micro_batches, 2 * size.ranks);
}

Order make_dualpipev(const ScheduleSize& size) {
  return write_ranks(size, Placement::v_shape, [&](OrderWriter& writer, int rank) {
    DualRank at(writer, {rank, 2 * size.ranks - 1 - rank}, {0, 0});
    write_steps(at, {rank, size.ranks, size.micro_batches});
  });
}

}  // namespace

std::vector<ScheduleKind> both_ways_kinds() {
  return {{.id = "dualpipe",
              .name = "DualPipe",
              .source = "DeepSeek-V3, arXiv 2412.19437; github.com/deepseek-ai/DualPipe dualpipe.py",
              .directions = 2,
              .splits_backward = true,
              .pairs = true,
              .legal = legal_dualpipe,
              .make = make_dualpipe,
              .peak = [](const ScheduleSize& s, int) { return s.ranks + 1; }},
      {.id = "dualpipev",
          .name = "DualPipeV",
          .source = "github.com/deepseek-ai/DualPipe dualpipev.py; PyTorch ScheduleDualPipeV",
          .own_chunks = 2,
          .splits_backward = true,
          .pairs = true,
          .legal = legal_dualpipev,
          .make = make_dualpipev,
          .peak = [](const ScheduleSize& s, int) { return 2 * s.ranks + 1; }},
      chimera_kind()};
}

}  // namespace stepcast::sim::orders
