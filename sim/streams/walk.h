// Lays the item lists of a chunk on its streams. Internal to sim/streams: the interface is sim/streams.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dataflow/program.h"
#include "sim/streams/chunk_times.h"
#include "sim/streams/laid_items.h"
#include "sim/streams/walk_lists.h"

namespace stepcast::sim {

/// What ChunkWalk::layout() has written down, and what it needs to go on.
struct WalkNotes {
  const Program& program;  ///< of the lists
  const std::vector<BlockPrices>& prices;
  ListLayout* list = nullptr;
  int last_kernel = -1;
  std::size_t instance_from = 0;  ///< where the notes of the instance being laid begin
  int run = -1;                   ///< its run
  std::int64_t left_out = 0;      ///< copies of the run left out before it
};

/// One walk serves many chunks: its vectors are reused. Times are plain doubles in seconds.
class ChunkWalk {
 public:
  /// `lists` must outlive this.
  ChunkWalk(const WalkLists& lists, const OverlapLaw& overlap, int tiers);
  [[nodiscard]] ChunkTimes times(const Chunk& chunk);
  /// Seconds to the end of one list of a chunk: of its first run by itself (backward lists begin with the last one), of
  /// that with one copy more, and of all runs. The first run must be longer than what is laid of it.
  struct RunSpans {
    double few = 0, more = 0, whole = 0;
  };
  [[nodiscard]] RunSpans run_spans(const Chunk& chunk, bool forward);
  /// Of all runs.
  [[nodiscard]] double span(const Chunk& chunk, bool forward);
  /// May moves start before their own block? Then how a run ends depends on what follows.
  [[nodiscard]] bool starts_early() const { return ahead_ > 0; }
  /// The same as times(), every copy laid and every item written down: for eyes, not for sweeps. What the lists were
  /// made of says what the items are.
  [[nodiscard]] ChunkLayout layout(const Chunk& chunk, const Program& program, const std::vector<BlockPrices>& prices);

 private:
  /// A copy of a block, laid out. The copies in the middle of a long run are alike: one stands for all.
  struct Instance {
    int block = 0, run = 0, first_item = 0;  ///< first_item in item_end_
    double skipped = 0;                      ///< copies left out before this one
    double weight = 1;                       ///< copies that this one stands for, in sums
  };
  /// Where an item went. `before`: where compute stood; `waited_for`: the move that it then stood still for, if it did.
  struct Placed {
    double start = 0, end = 0, before = 0;
    int waited_for = -1;
  };
  /// Moves of one fabric tier, one after the other. `busy_from` begins the last run of them without a pause.
  struct Stream {
    double busy_from = 0, free = 0, mark = 0, steady = 0;
  };
  /// An end, and the move (flat index) that ends there; -1 for a kernel.
  struct End {
    double time = 0;
    int move = -1;
  };

  // `noted`: writes down what is laid. times(), which sweeps call by the million, does not even ask.
  template <bool noted> void lay(const Chunk& chunk, bool forward, ChunkTimes& times);
  void reset();
  void list_instances(const Chunk& chunk);
  template <bool noted> void lay_instance(std::size_t index);
  void skip_copies(std::size_t index);
  template <bool noted> void start_early(std::size_t index);
  template <bool noted> void place(const Instance& instance, const WalkList& list, int position, double earliest);
  [[nodiscard]] bool runs_freely(const WalkItem& item) const {
    return item.kind == WalkItem::Kind::kernel && item.after == item.after_end && compute_free_ >= streams_free_ &&
           (!item.waits || input_.time <= compute_free_);
  }
  void run_freely(const WalkItem& item, int slot);
  void place_beside(const WalkItem& item, double ready, double& end);
  void place_blocking(const WalkItem& item, double ready, double& end);
  void place_work(const WalkItem& item, End ready, double& end, int slot);
  void mark_copy();
  template <bool noted> void finish(ChunkTimes& times);
  void keep();
  void go_back();
  [[nodiscard]] double end() const;
  [[nodiscard]] End last_end() const;
  // notes.cpp
  void note_instance(std::size_t index);
  void repeat_notes(double copies);
  void note(const Instance& instance, int position, const Placed& placed);
  [[nodiscard]] std::int64_t copy_of(const Instance& instance) const;
  void note_wait(LaidItem wait, int move, double start, double end);
  void note_end(int move, double waited);
  void wait(int move, double seconds);
  void advance(Pass pass, double until) {
    pass_time_[static_cast<int>(pass)] += (until - compute_free_) * weight_;
    compute_free_ = until;
  }
  [[nodiscard]] const WalkList& list_of(const Instance& instance) const {
    const WalkBlock& block = lists_.blocks[instance.block];
    return forward_ ? block.forward : block.backward;
  }
  [[nodiscard]] End ready_for(const Instance& instance, const WalkList& list, const WalkItem& item) const;
  [[nodiscard]] double end_beside_moves(double start, double duration) const;

  const WalkLists& lists_;
  double slowdown_, move_stretch_;
  int ahead_ = 0;  ///< the furthest that any move may start early, in blocks

  std::vector<Instance> instances_;
  std::vector<double> item_end_;  ///< < 0: not placed yet
  std::vector<double> exposed_;   ///< by flat move
  std::vector<Stream> streams_;   ///< by tier
  double streams_free_ = 0;       ///< when the last of them is
  WalkNotes* noted_ = nullptr;    ///< layout() alone: what is laid is written down here
  bool forward_ = true;           ///< the list being laid
  double weight_ = 1;             ///< of the instance being laid
  double compute_free_ = 0, block_start_ = 0, mark_ = 0, steady_ = 0;
  double last_start_ = 0;  ///< of the last kernel, its pass and its slot in item_end_
  Pass last_pass_ = Pass::forward;
  int last_slot_ = -1;
  End input_, output_;  ///< what the block waits for, what it hands on
  /// What keep() has noted of a walk that goes on in two ways.
  struct Kept {
    std::vector<double> item_end;
    std::vector<Stream> streams;
    double streams_free = 0, compute_free = 0, mark = 0, steady = 0, last_start = 0;
    Pass last_pass = Pass::forward;
    int last_slot = -1;
    End output;
    std::array<double, 5> pass_time{};
  } kept_;
  std::array<double, 5> pass_time_{};  ///< wall time by pass of the item that the compute stream worked or waited for
  double waited_ = 0;
};

/// `lists` must outlive it.
ChunkWalk walk_for(const WalkLists& lists, const CostModel& cost);

}  // namespace stepcast::sim
