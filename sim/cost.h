// The price of one work or move: time with its provenance and interval. Pure functions of Program items, Machine,
// Profile.
#pragma once

#include <array>
#include <cstdint>

#include "dataflow/program.h"
#include "model/machine/machine.h"
#include "model/profile/hyper_connection_law.h"
#include "model/profile/profile.h"
#include "model/stack.h"
#include "model/step_tuning.h"

namespace stepcast::sim {

struct Price {
  Seconds time;
  Source source = Source::assumed;
  Spread spread;
  const char* law = "";       ///< static text: "gemm roofline bf16", "curve nvswitch all_gather", for --explain
  bool extrapolated = false;  ///< outside what the law was fitted on
  int tier = 0;               ///< moves: level whose fabric carries it, which is the stream it runs on
};

/// What the price of a work is made of, for reports.
struct WorkParts {
  Precision precision = Precision::bf16;  ///< whose peak limits it; of work without products the type of its operands
  double operand_bytes = 2;               ///< per element as multiplied: a narrow plan casts wider operands down
  Bytes bytes;                            ///< device memory, every element once
  Bytes casting;                          ///< moved by a cast beside it
  Seconds launch;                         ///< what starting it takes of its time
};

/// The question that a step's product asks of a law: what `stepcast kernel` and `calibrate measure` call it. Works give
/// the input gradient as m x k_forward x n_forward, the weight gradient as k_forward x n_forward x m: the rows of dw in
/// model/profile/query.h are those of w, n_forward.
GemmQuery product_query(const KernelWork& work, Precision precision);

/// What a launch asks that mixes residual streams (KernelWork::streams).
HyperConnectionShape mixing_shape(const KernelWork& work);

/// How a group lies on the machine: how many members share each level's instance.
struct Span {
  int level = 0;            ///< index of the outermost level the group crosses
  std::int64_t inside = 1;  ///< members under one instance of level 0 (NVLink domain)
  std::int64_t nodes = 1;   ///< distinct instances of level 0
};
/// `ranks` in use, numbered from 0 in machine order; 0 = all of the machine. Where groups lie unequally (6 ranks on
/// nodes of 8), the worst of them counts: all ranks wait for it.
Span span_of(const Group& group, const Machine& machine, std::int64_t ranks = 0);

/// Members of the group under one instance of a level of `gpus` GPUs.
std::int64_t members_inside(const Group& group, std::int64_t gpus, std::int64_t ranks = 0);

/// Binds what prices depend on. Cheap to copy; holds references that must outlive it.
class CostModel {
 public:
  /// `ranks` in use, 0 = all of the machine. `fit`: what measured steps say, nullptr where nobody measured any; copied.
  CostModel(const Machine& machine, const Profile& profile, const Stack& stack, Precision precision,
      std::int64_t ranks = 0, const StepFit* fit = nullptr);
  [[nodiscard]] CostModel with_ranks(std::int64_t ranks) const;

  [[nodiscard]] Price work(const KernelWork& work) const;
  [[nodiscard]] WorkParts parts(const KernelWork& work) const;
  /// `group` of the move; local moves cost nothing.
  [[nodiscard]] Price move(const Move& move, const Group& group) const;
  /// Point-to-point of `bytes` between ranks `distance` apart while all ranks of the stage send theirs.
  [[nodiscard]] Price send(Bytes bytes, std::int64_t distance) const;
  /// The same between two ranks, which may stand on different nodes although they are near.
  [[nodiscard]] Price send(Bytes bytes, std::int64_t from, std::int64_t to) const;
  /// The same over the outermost tier, wherever the two ranks stand.
  [[nodiscard]] Price send_out(Bytes bytes) const {
    return send_at(static_cast<int>(machine_->levels.size()) - 1, bytes);
  }
  /// Bytes read and written once by a kernel that does nothing else (optimizer, gradient norm): the law alone, for the
  /// step parameter of memory speaks of passes over activations.
  [[nodiscard]] Price memory(Bytes bytes) const;

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const Profile& profile() const { return *profile_; }
  [[nodiscard]] const Stack& stack() const { return *stack_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] const StepTuning& tuning() const { return tuning_; }
  /// The profile's, with the contention that steps show.
  [[nodiscard]] OverlapLaw overlap() const;
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }

 private:
  static constexpr int precisions = 7;

  [[nodiscard]] WorkParts product_parts(const KernelWork& work) const;
  [[nodiscard]] Price gemm(const KernelWork& work) const;
  [[nodiscard]] Price attention(const KernelWork& work) const;
  [[nodiscard]] Price scan(const KernelWork& work) const;
  [[nodiscard]] Price mixing(const KernelWork& work) const;
  /// Kernels' time on the slowest of `ranks` over their mean.
  [[nodiscard]] double slowest_of(std::int64_t ranks) const;
  [[nodiscard]] Precision attention_precision(const KernelWork& work) const;
  [[nodiscard]] Price collective(CollectiveKind kind, Bytes received, const Group& group, const Span& span) const;
  [[nodiscard]] Price send_at(int tier, Bytes bytes) const;
  [[nodiscard]] Price inside_node(CollectiveKind kind, std::int64_t ranks, Bytes received) const;
  [[nodiscard]] double distinct_share(const Move& move, const Span& span, std::int64_t ranks) const;
  [[nodiscard]] double cast_share(const Move& move) const;
  [[nodiscard]] double shown_of(const Move& move, const Span& span) const;
  [[nodiscard]] Price ring(const Move& move, const Group& group, const Span& span) const;

  const Machine* machine_;
  const Profile* profile_;
  const Stack* stack_;
  Precision precision_;
  std::int64_t ranks_;
  double slowest_rank_;
  StepTuning tuning_;
  std::array<RooflineLaw, precisions> roofline_;  ///< by Precision; from the datasheet where the profile has none
};

}  // namespace stepcast::sim
