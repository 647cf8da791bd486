#include "studies/notation/dataflow_cluster.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/place/block.h"
#include "dataflow/place/moves.h"
#include "dataflow/lower/stages.h"
#include "dataflow/notation/written.h"
#include "model/base/contains.h"

namespace stepcast::notation {
namespace {

// Adam in mixed precision: fp32 master weight and two fp32 moments (Rajbhandari et al., ZeRO, SC 2020).
constexpr double kOptimizerBytes = 12;

/// What a collective did to a tensor, as a sentence says it.
struct PastWord {
  MoveKind kind;
  const char* word;
};
constexpr std::array kPastWords = {PastWord{MoveKind::all_gather, "all-gathered"},
    PastWord{MoveKind::all_reduce, "all-reduced"}, PastWord{MoveKind::reduce_scatter, "reduce-scattered"},
    PastWord{MoveKind::all_to_all, "exchanged all-to-all"}, PastWord{MoveKind::send_recv, "sent"},
    PastWord{MoveKind::ring, "rotated"}};

class ClusterReader {
 public:
  ClusterReader(
      const MappingProgram& program, const Network& network, const PlacedNetwork& placed, const std::string& op)
      : network_(network), placed_(placed), block_(placed.blocks.front()) {
    for (const WrittenOperator& written : program.operators) {
      if (written.name != op && !op.empty()) continue;
      shown_.insert(written.output.tensor);
      for (const WrittenAccess& input : written.inputs) shown_.insert(input.tensor);
    }
  }

  ClusterReport run(const std::vector<Statement>& statements) {
    out_.ranks = placed_.mesh.ranks;
    add_moves(block_.forward, "forward");
    add_moves(block_.backward, "backward");
    add_moves(block_.step, "step");
    for (const Copy& copy : block_.copies)
      if (shown(copy.tensor)) add_placements(copy);
    for (const Mesh::Axis& axis : placed_.mesh.axes)
      if (axis.size > 1 && !is_stage(axis)) add_stay(axis);
    add_skew(statements);
    add_memory();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool shown(int tensor) const { return shown_.count(network_.tensors[tensor].name) > 0; }
  [[nodiscard]] std::string name_of(const Copy& copy) const {
    return (copy.gradient ? "d" : "") + network_.tensors[copy.tensor].name;
  }
  static bool is_collective(const PlacedItem& item) {
    return item.kind == PlacedKind::move && item.move != MoveKind::slice && item.move != MoveKind::mask;
  }

  void add_moves(const std::vector<PlacedItem>& items, const char* pass) {
    for (const PlacedItem& item : items) {
      if (!is_collective(item)) continue;
      const Copy &from = block_.copies[item.reads.front()], &to = block_.copies[item.writes.front()];
      if (!shown(from.tensor)) continue;
      out_.moves.push_back({pass, to_text(item.move), name_of(from), placed_.mesh.label(item.atoms),
          placed_.mesh.size_of(item.atoms), item.received, to_text(from.place, network_, from.tensor, placed_.mesh),
          to_text(to.place, network_, to.tensor, placed_.mesh)});
    }
  }

  [[nodiscard]] std::string word_of(Slot slot, int tensor) const {
    if (slot == replicated) return "Replicate";
    if (slot == partial_sum) return "Partial";
    return slot == flat_shard ? "Shard(*)"
                              : fmt::format("Shard({})", network_.dims[network_.tensors[tensor].dims[slot]].name);
  }

  /// One row per axis; an axis whose parts differ gives one per part.
  void add_placements(const Copy& copy) {
    for (const Mesh::Axis& axis : placed_.mesh.axes) {
      if (axis.size == 1 || is_stage(axis)) continue;
      const std::vector<int> atoms = atoms_of(axis.atoms);
      const bool alike =
          std::ranges::all_of(atoms, [&](int a) { return copy.place.at[a] == copy.place.at[atoms.front()]; });
      if (alike) {
        add_placement(copy, axis.name, copy.place.at[atoms.front()]);
        continue;
      }
      for (int atom : atoms) add_placement(copy, placed_.mesh.label(AtomMask{1} << atom), copy.place.at[atom]);
    }
  }

  void add_placement(const Copy& copy, const std::string& axis, Slot slot) {
    const ClusterPlacement row{name_of(copy), copy.parent < 0 ? "home" : "moved", axis, word_of(slot, copy.tensor)};
    const bool listed = std::ranges::any_of(out_.placements, [&](const ClusterPlacement& p) {
      return p.tensor == row.tensor && p.copy == row.copy && p.axis == row.axis && p.placement == row.placement;
    });
    if (!listed) out_.placements.push_back(row);
  }

  [[nodiscard]] std::vector<int> atoms_of(AtomMask mask) const {
    std::vector<int> atoms;
    for (std::size_t a = 0; a < placed_.mesh.atoms.size(); ++a)
      if (mask >> a & 1U) atoms.push_back(static_cast<int>(a));
    return atoms;
  }

  [[nodiscard]] bool is_stage(const Mesh::Axis& axis) const {
    const std::vector<int> atoms = atoms_of(axis.atoms);
    return std::ranges::any_of(atoms, [&](int a) { return placed_.mesh.atoms[a].stage; });
  }

  void add_stay(const Mesh::Axis& axis) {
    std::vector<std::string> moved, words;
    for (const PlacedItem& item : block_.forward) {
      if (!is_collective(item) || (item.atoms & axis.atoms) == 0) continue;
      const Copy& from = block_.copies[item.reads.front()];
      if (!shown(from.tensor)) continue;
      moved.push_back(name_of(from));
      words.push_back(moved.back() + " " + past_word(item.move));
    }
    ClusterStay stay{axis.name, {}, ""};
    for (const Copy& copy : block_.copies) {
      if (copy.gradient || !shown(copy.tensor)) continue;
      const std::string name = name_of(copy);
      const auto in = [&](const std::vector<std::string>& names) { return contains(names, name); };
      if (!in(moved) && !in(stay.tensors)) stay.tensors.push_back(name);
    }
    const char* verb = stay.tensors.size() == 1 ? "stays" : "stay";
    stay.text = stay.tensors.empty() ? fmt::format("nothing stays on {}", axis.name)
                                     : fmt::format("{} {} on {}", fmt::join(stay.tensors, ", "), verb, axis.name);
    if (!words.empty()) stay.text += fmt::format("; {}", fmt::join(words, ", "));
    out_.stays.push_back(std::move(stay));
  }

  static std::string past_word(MoveKind kind) {
    for (const PastWord& row : kPastWords)
      if (row.kind == kind) return row.word;
    return to_text(kind);
  }

  void add_skew(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      const auto* stage = std::get_if<StageStatement>(&statement.body);
      if (stage == nullptr) continue;
      const Mesh::Axis* axis = placed_.mesh.find(stage->axis);
      if (axis == nullptr) continue;
      const std::int64_t chunks = chunks_of(stage->layout, axis->size);
      out_.skew = StageSkew{stage->axis, stage->schedule, axis->size, chunks, stage->micro_batches};
      return;
    }
  }

  void add_memory() {
    LifetimeBytes& memory = out_.memory;
    for (const WeightChain& chain : block_.chains) {
      memory.weights += chain.home_bytes;
      if (network_.tensors[chain.tensor].frozen) continue;
      memory.gradients += chain.accumulator_bytes;
      memory.optimizer += chain.optimizer_elements * kOptimizerBytes;
    }
    for (const SavedCopy& saved : block_.saved) memory.saved += saved.bytes;
    for (const PlacedItem& item : block_.forward) {
      if (!is_collective(item)) continue;
      const int copy = item.writes.front();
      const bool kept = contains(block_.kept_gathers, copy);
      double& life = item.cargo != Cargo::weight ? memory.moved
                     : kept                      ? memory.gathered_micro_batch
                                                 : memory.gathered_pass;
      // A ring holds two shards at a time (docs/design.md, rule 18), a collective the whole copy.
      life += item.move == MoveKind::ring ? 2 * block_.copies[item.reads.front()].bytes : block_.copies[copy].bytes;
    }
    for (const PlacedItem& item : block_.step)
      if (is_collective(item) && item.when == When::once_first_use && item.cargo == Cargo::weight)
        memory.gathered_step += block_.copies[item.writes.front()].bytes;
  }

  const Network& network_;
  const PlacedNetwork& placed_;
  const PlacedBlock& block_;
  std::set<std::string> shown_;
  ClusterReport out_;
};

}  // namespace

Expected<ClusterReport> cluster_report(const MappingProgram& program, const std::string& op) {
  TRY(auto network, network_of(program));
  TRY(auto statements, expand(program));
  std::int64_t ranks = 1;
  for (const MeshLine::Axis& axis : program.meshes.front().axes) ranks *= axis.size;
  TRY(auto placed, place(network, program.meshes, statements, ranks, {}));
  return ClusterReader(program, network, placed, op).run(statements);
}

}  // namespace stepcast::notation
