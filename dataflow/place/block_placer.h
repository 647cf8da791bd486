// Internal: places one block. Homes, forward, saved set, backward and weight chains are separate files of this class.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataflow/place/block.h"
#include "dataflow/place/moves.h"

namespace stepcast::dataflow {

/// A read of backward: `tensor` at `place` by operator `op`.
struct BackwardUse {
  int tensor = -1, op = -1;
  Placement place;
  bool weight_grad = false;
};

class BlockPlacer {
 public:
  BlockPlacer(const Network& network, const Block& block, const Mesh& mesh, const std::vector<OperatorSplit>& splits,
      const std::vector<Statement>& statements, const PlacingOptions& options);
  BlockPlacer(const BlockPlacer&) = delete;
  BlockPlacer& operator=(const BlockPlacer&) = delete;

  /// Home of the tensor that repeated blocks hand on; the neighbours must use the same.
  void set_carried_home(const Placement& home, bool input, bool output) {
    carried_home_ = home;
    carried_input_ = input;
    carried_output_ = output;
  }
  /// Homes of Block::reads, where the blocks that made them put them.
  void set_read_homes(std::vector<Placement> homes) { read_homes_ = std::move(homes); }
  /// Tensors made here that later blocks read.
  void set_lent(std::vector<int> tensors) { lent_ = std::move(tensors); }
  Placement output_home();
  Expected<Placement> boundary(const Placement& home);

  /// `root`: the block ends in the loss, whose gradient is one. `owner`: emits the chains of its weights.
  Expected<PlacedBlock> place(bool root);

 private:
  // clang-format off
  struct Consumer { int op, input; };
  struct Uses { std::span<const int> producers; std::span<const Consumer> consumers; };
  struct Manners { const MoveStatement* move = nullptr; int statement = -1; };
  // clang-format on

  // place_homes.cpp
  void collect_uses();
  void find_gradients();
  void sort_statements();
  void resolve_home(int tensor);
  [[nodiscard]] Placement natural(int tensor) const;
  [[nodiscard]] bool is_read_from_outside(int tensor) const;
  [[nodiscard]] Placement need(int op, int input) const;
  Placement stated(int tensor, std::string_view what, Placement base, std::string_view class_name);
  AtomMask apply_place(const HomePlace& p, const Statement& statement, int tensor, bool by_name, AtomMask free,
      const Placement& base, Placement& place);
  [[nodiscard]] bool statement_holds(const Statement& statement, int tensor) const;
  void pass_partials(int op);
  void check_divides(int tensor, const Placement& place, const Statement& statement);

  // place_forward.cpp
  void forward();
  void emit_forward(int op, Pass pass);
  int fetch_value(int tensor, const Placement& need, Pass pass, int op);
  [[nodiscard]] double joined_elements(int copy, AtomMask atoms) const;
  [[nodiscard]] double share_that_travels(int tensor, AtomMask atoms) const;
  int emit_hops(
      int from, const std::vector<Hop>& hops, Pass pass, Cargo cargo, int op, When when = When::each_micro_batch);
  [[nodiscard]] Manners manners_of(int tensor, bool gradient, int op) const;
  int add_copy(int tensor, bool gradient, const Placement& place, int parent);
  [[nodiscard]] int find_copy(const std::vector<int>& copies, const Placement& place) const;
  [[nodiscard]] std::vector<Placement> path(int tensor, const Placement& use) const;

  // place_saved.cpp
  void find_regions();
  void choose_saved();
  [[nodiscard]] double bytes_on_the_way(const Operator& op) const;
  [[nodiscard]] std::vector<BackwardUse> backward_uses(int op) const;
  [[nodiscard]] int best_candidate(int tensor, const Placement& use) const;
  [[nodiscard]] int stored(int tensor) const;
  [[nodiscard]] bool made_in_region(int tensor) const;
  [[nodiscard]] const SaveStatement* said_to_save(int tensor) const;
  void run_region(int region);

  // place_backward.cpp
  void backward(bool root);
  void emit_gradient(int op);
  [[nodiscard]] Placement contribution(int op, int input) const;
  [[nodiscard]] bool casts_weight(int op) const;
  int gradient_of(int tensor, const Placement& need, int op);
  int combined(int tensor, std::vector<int> contributions, const Placement& home, Cargo cargo, int op, Pass pass);
  [[nodiscard]] Placement gradient_home(int tensor) const;

  // place_weights.cpp
  void contributions_alone(bool root);
  void weight_chains();
  void step_moves(WeightChain& chain, const Placement& accumulator_from);

  void set_error(Error error) {
    if (!error_) error_ = std::move(error);
  }

  const Network& net_;
  const Block& block_;
  const Mesh& mesh_;
  const std::vector<OperatorSplit>& splits_;
  const std::vector<Statement>& statements_;
  PlacingOptions options_;
  std::optional<Placement> carried_home_;
  bool carried_input_ = false, carried_output_ = false;
  std::vector<Placement> read_homes_;
  std::vector<int> lent_;
  std::optional<Error> error_;

  PlacedBlock out_;
  std::vector<PlacedItem>* list_ = nullptr;  ///< where items go now
  std::vector<int> moving_, homing_;         ///< statements of moves and of homes, in order
  std::vector<const SaveStatement*> saving_;
  std::vector<Uses> uses_;  ///< by tensor, of the next two
  std::vector<int> producers_;
  std::vector<Consumer> consumers_;
  std::vector<int> tensors_;     ///< used in this block
  std::vector<Placement> home_;  ///< by tensor
  std::vector<char> home_known_;
  std::vector<AtomMask> partial_pass_;           ///< by op: atoms on which a Partial operand goes through
  std::vector<std::vector<int>> targets_;        ///< by op: positions of the inputs that have a gradient
  std::vector<BackwardReads> reads_;             ///< by op: what its backward reads
  std::vector<std::vector<int>> available_;      ///< by tensor: value copies that exist now
  std::vector<std::vector<int>> contributions_;  ///< by tensor: gradient copies
  std::vector<std::vector<int>> parts_;   ///< by tensor with several writers: what those made that have written so far
  std::vector<std::vector<int>> totals_;  ///< by tensor: whole gradients that exist now
  std::vector<int> region_;               ///< by op: recompute run, or -1
  std::vector<char> region_whole_, region_done_;
  std::vector<std::vector<BackwardUse>> uses_in_backward_;  ///< by tensor
  std::vector<char> in_backward_;                           ///< by op: has a gradient item
};

}  // namespace stepcast::dataflow
