// Backward in two halves: the input gradient goes on at once, the weight gradient fills what would be idle time.
// Zero Bubble Pipeline Parallelism (Qi et al., arXiv 2401.10241); ZB-V from Pipeline Parallelism with Controllable
// Memory (Qi et al., arXiv 2405.15362).
#include <algorithm>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim::orders {
namespace {

Expected<void> legal_interleaved_zb(const ScheduleSize& size) {
  return equal_rounds("interleaved-zb", size.ranks, size.micro_batches);
}

/// The units of an interleaved rank in the order in which they run ahead and come back.
class RoundTable {
 public:
  RoundTable(const ScheduleSize& size, int group)
      : ranks_(size.ranks), chunks_(size.chunks), micro_batches_(size.micro_batches), group_(group) {}
  [[nodiscard]] int units() const { return chunks_ * micro_batches_; }
  [[nodiscard]] Action at(ActionKind kind, int rank, int i) const {
    const int block = i / (group_ * chunks_), inside = i % (group_ * chunks_);
    const int chunk = inside / group_, micro_batch = block * group_ + inside % group_;
    const int taken = kind == ActionKind::forward ? chunk : chunks_ - 1 - chunk;
    return {kind, taken * ranks_ + rank, micro_batch};
  }

 private:
  int ranks_, chunks_, micro_batches_, group_;
};

/// Rank r runs (v-1)g + reach (p-1-r) units ahead, then [F, I]; after reach r input gradients each is followed by the
/// oldest weight gradient; those left come last.
Order make_rounds(const ScheduleSize& size, int group, int reach) {
  const RoundTable table(size, group);
  const int units = table.units();
  const auto ahead = [&](int rank) { return (size.chunks - 1) * group + reach * (size.ranks - 1 - rank); };
  const auto forward = [&](OrderWriter& writer, int rank, int i) {
    writer.add(table.at(ActionKind::forward, rank, i));
  };
  const auto backward = [&](OrderWriter& writer, int rank, int i) {
    const int kept_back = reach * rank;
    writer.add(table.at(ActionKind::input_grad, rank, i));
    const int last = i + 1 < units ? i - kept_back : i;
    for (int w = std::max(0, i - kept_back); w <= last; ++w) writer.add(table.at(ActionKind::weight_grad, rank, w));
  };
  return run_ahead(size, units, ahead, forward, backward);
}

Order make_zb_h1(const ScheduleSize& size) { return make_rounds(size, size.micro_batches, 1); }

Order make_interleaved_zb(const ScheduleSize& size) {
  return make_rounds(size, group_of_rounds(size.ranks, size.micro_batches), 1);
}

/// Twice as far ahead, 2(p-r)-1 forwards before the first backward, with twice as many weight gradients kept back.
Order make_zb_h2(const ScheduleSize& size) { return make_rounds(size, size.micro_batches, 2); }

/// One rank of ZB-V: near is its stage on the way out (r), far the one on the way back (2p-1-r).
class ZbvRank {
 public:
  ZbvRank(OrderWriter& writer, const ScheduleSize& size, int rank)
      : writer_(writer), micro_batches_(size.micro_batches), stage_{rank, 2 * size.ranks - 1 - rank} {}
  void forward(int chunk) {
    const int u = forwards_[chunk]++;
    if (u < micro_batches_) writer_.forward(stage_[chunk], u);
  }
  void input_grad(int chunk) {
    const int u = input_grads_[chunk]++;
    if (u < micro_batches_) writer_.input_grad(stage_[chunk], u);
  }
  void weight_grad(int chunk) {
    const int u = weight_grads_[chunk]++;
    if (u < micro_batches_) writer_.weight_grad(stage_[chunk], u);
  }
  [[nodiscard]] int forwards(int chunk) const { return forwards_[chunk]; }
  void flush(int chunk) {
    while (weight_grads_[chunk] < input_grads_[chunk]) weight_grad(chunk);
  }

 private:
  OrderWriter& writer_;
  int micro_batches_;
  int stage_[2];
  int forwards_[2] = {}, input_grads_[2] = {}, weight_grads_[2] = {};
};

constexpr int near_chunk = 0, far_chunk = 1;

/// The phases as PyTorch's ScheduleZBVZeroBubble has them, laid out for at least 2p-1 micro-batches; those beyond m are
/// left out.
void write_zb_v(ZbvRank& at, int ranks, int rank, int micro_batches) {
  const int laid_out = std::max(2 * ranks - 1, micro_batches);
  for (int i = 0; i < 2 * (ranks - rank) - 1; ++i) at.forward(near_chunk);
  for (int i = 0; i < rank; ++i) {
    at.forward(far_chunk);
    at.forward(near_chunk);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    at.forward(far_chunk);
    at.input_grad(far_chunk);
    at.weight_grad(far_chunk);
  }
  while (at.forwards(far_chunk) < laid_out) {
    if (at.forwards(near_chunk) < laid_out) at.forward(near_chunk);
    at.input_grad(near_chunk);
    at.weight_grad(near_chunk);
    at.forward(far_chunk);
    at.input_grad(far_chunk);
    at.weight_grad(far_chunk);
  }
  for (int i = 0; i < rank; ++i) {
    at.input_grad(near_chunk);
    at.input_grad(far_chunk);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    at.input_grad(near_chunk);
    at.weight_grad(near_chunk);
  }
  at.flush(far_chunk);
  at.flush(near_chunk);
}

Order make_zb_v(const ScheduleSize& size) {
  return write_ranks(size, Placement::v_shape, [&](OrderWriter& writer, int rank) {
    ZbvRank at(writer, size, rank);
    write_zb_v(at, size.ranks, rank, size.micro_batches);
  });
}

}  // namespace

std::vector<ScheduleKind> zero_bubble_kinds() {
  return {{.id = "zb-h1",
              .name = "ZB-H1",
              .source = "Qi et al., arXiv 2401.10241; with one chunk PyTorch's ScheduleInterleavedZeroBubble",
              .splits_backward = true,
              .make = make_zb_h1,
              .peak = [](const ScheduleSize& s, int) { return std::min(s.micro_batches, s.ranks); }},
      {.id = "zb-h2",
          .name = "ZB-H2",
          .source = "Qi et al., arXiv 2401.10241, figure 3 and Table 5",
          .splits_backward = true,
          .make = make_zb_h2,
          .peak = [](const ScheduleSize& s, int) { return std::min(s.micro_batches, 2 * s.ranks - 1); }},
      {.id = "interleaved-zb",
          .name = "Interleaved zero bubble (PyTorch)",
          .source = "PyTorch torch.distributed.pipelining, ScheduleInterleavedZeroBubble (schedules.py)",
          .takes_chunks = true,
          .splits_backward = true,
          .equal_rounds = true,
          .legal = legal_interleaved_zb,
          .make = make_interleaved_zb,
          .peak = [](const ScheduleSize& s,
                      int) { return chunk_peak(s, group_of_rounds(s.ranks, s.micro_batches), s.ranks - 1); }},
      {.id = "zb-v",
          .name = "ZB-V",
          .source = "Qi et al., arXiv 2405.15362; phases of PyTorch's ScheduleZBVZeroBubble",
          .own_chunks = 2,
          .splits_backward = true,
          .make = make_zb_v}};
}

}  // namespace stepcast::sim::orders
