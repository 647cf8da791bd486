#include "dataflow/lower/fuse/fuse.h"

#include <algorithm>
#include <array>

#include "model/base/contains.h"

namespace stepcast::dataflow {

int intern_group(std::vector<Group>& groups, const Mesh& mesh, AtomMask atoms) {
  Group group = mesh.group_without_label(atoms);
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].digits.size() == group.digits.size() && groups[i] == group) return static_cast<int>(i);
  group.label = mesh.label(atoms);
  groups.push_back(std::move(group));
  return static_cast<int>(groups.size()) - 1;
}

bool operator==(const Group& a, const Group& b) {
  const auto same = [](const Group::Digit& x, const Group::Digit& y) {
    return x.stride == y.stride && x.size == y.size;
  };
  return a.size == b.size && std::equal(a.digits.begin(), a.digits.end(), b.digits.begin(), b.digits.end(), same);
}

namespace {

/// By operator: the first that has the name of its kernel, and whether the stack runs such a group as one.
struct Kernels {
  static constexpr int none = -1;
  std::vector<int> first;
  std::vector<char> grouped, grouped_backward;
};

/// Names are compared once, and those of neighbours, which are mostly the same, before all others.
Kernels kernels_of(const FuseContext& c) {
  const std::vector<Operator>& operators = c.block.operators;
  Kernels out;
  std::vector<char> fused;
  fused.reserve(operators.size());
  out.first.reserve(operators.size()), out.grouped.reserve(operators.size());
  for (std::size_t o = 0; o < operators.size(); ++o) {
    const Operator& op = operators[o];
    int first = Kernels::none;
    if (!op.kernel.empty()) {
      const auto end = operators.begin() + static_cast<std::ptrdiff_t>(o);
      first = o > 0 && operators[o - 1].kernel == op.kernel
                  ? out.first[o - 1]
                  : static_cast<int>(
                        std::ranges::find(operators.begin(), end, op.kernel, &Operator::kernel) - operators.begin());
    }
    out.first.push_back(first);
    fused.push_back(first == Kernels::none        ? 0
                    : first < static_cast<int>(o) ? fused[first]
                                                  : static_cast<char>(contains(c.stack.fused, op.kernel)));
    const bool joined = first != Kernels::none && (op.always_joined || fused.back() != 0);
    out.grouped.push_back(joined || (first != Kernels::none && op.joined_forward) ? 1 : 0);
    out.grouped_backward.push_back(joined ? 1 : 0);
  }
  return out;
}

/// Walks one list and emits works and moves with their edges.
class ListBuilder {
 public:
  ListBuilder(const FuseContext& context, const Kernels& kernels, ProgramBlock& out, std::vector<Item>& items,
      const std::vector<PlacedItem>& list)
      : c_(context), kernels_(kernels), out_(out), items_(items), list_(list) {
    const std::size_t copies = c_.placed.copies.size();
    made_by_.assign(copies, {-1, -1});
    root_.resize(copies);
    for (std::size_t i = 0; i < copies; ++i) root_[i] = static_cast<int>(i);
    places_.born.assign(copies, -1);
    places_.dies.assign(copies, -1);
    launch_of_.assign(copies, -1);
    items_.reserve(list.size());
    open_.reserve(list.size());
    find_outside_readers();
  }

  ListPlaces build() {
    for (const PlacedItem& item : list_) {
      for (int copy : item.reads)
        if (copy >= 0 && launch_of_[copy] >= 0 && !joins(item, launch_of_[copy])) flush(launch_of_[copy]);
      switch (item.kind) {
        case PlacedKind::move: move(item); break;
        case PlacedKind::sum: sum(item); break;
        default: compute(item);
      }
    }
    while (!running_.empty()) flush(running_.front());
    return std::move(places_);
  }

 private:
  // clang-format off
  struct Open { int kernel; Pass pass; PlacedKind kind; KernelStart launch; bool closed = false; };
  // clang-format on

  /// A copy is read outside its launch if an item of another kernel or pass reads it, or forward keeps it, or it
  /// leaves.
  void find_outside_readers() {
    outside_.assign(c_.placed.copies.size(), 0);
    std::vector<const PlacedItem*> maker(c_.placed.copies.size(), nullptr);
    for (const PlacedItem& item : list_)
      for (int copy : item.writes)
        if (copy >= 0) maker[copy] = &item;
    for (const PlacedItem& item : list_)
      for (int copy : item.reads) {
        if (copy < 0 || !maker[copy]) continue;
        const PlacedItem& made = *maker[copy];
        if (made.kind == PlacedKind::move || item.kind == PlacedKind::move || item.kind == PlacedKind::sum ||
            made.op < 0 || item.op < 0 || made.pass != item.pass || !grouped(item) ||
            kernel_of(made) != kernel_of(item))
          outside_[copy] = 1;
      }
    for (const SavedCopy& saved : c_.placed.saved)
      if (saved.copy >= 0) outside_[saved.copy] = 1;
    for (int copy : {c_.placed.output, c_.placed.input_gradient})
      if (copy >= 0) outside_[copy] = 1;
    for (const PlacedLoan& loan : c_.placed.loans)
      if (loan.value >= 0) outside_[loan.value] = 1;
    for (const PlacedRead& read : c_.placed.reads)
      if (read.gradient >= 0) outside_[read.gradient] = 1;
    // Gradients nobody reads in the list are weight gradients on their way to the accumulator.
    for (const PlacedItem& item : list_)
      if (item.kind == PlacedKind::gradient)
        for (int copy : item.writes)
          if (copy >= 0 && c_.network.tensors[c_.placed.copies[copy].tensor].role == TensorRole::weight)
            outside_[copy] = 1;
  }

  int kernel_of(const PlacedItem& item) const { return kernels_.first[item.op]; }
  bool grouped(const PlacedItem& item) const {
    return (item.kind == PlacedKind::gradient ? kernels_.grouped_backward : kernels_.grouped)[item.op] != 0;
  }

  bool joins(const PlacedItem& item, int launch) const {
    const Open& open = open_[launch];
    return (item.kind == PlacedKind::compute || item.kind == PlacedKind::gradient) && !open.closed &&
           open.kind == item.kind && open.pass == item.pass && grouped(item) && open.kernel == kernel_of(item);
  }

  void compute(const PlacedItem& item) {
    // A launch is a run of neighbours: another kernel ends those before it.
    for (std::size_t i = 0; i < running_.size();) {
      const int l = running_[i];
      if (open_[l].kernel != kernel_of(item) || open_[l].kernel == Kernels::none) flush(l);
      else ++i;
    }
    int launch = -1;
    for (std::size_t i = running_.size(); i-- > 0 && launch < 0;)
      if (joins(item, running_[i])) launch = running_[i];
    if (launch < 0) {
      open_.push_back({kernel_of(item), item.pass, item.kind, {}, false});
      launch = static_cast<int>(open_.size()) - 1;
      running_.push_back(launch);
    }
    open_[launch].launch.members.push_back(&item);
    for (int copy : item.writes)
      if (copy >= 0) launch_of_[copy] = launch;
    if (hands_on(item)) hand_on(item);
    if (!grouped(item)) flush(launch);
  }

  static bool adds(const std::string& function) { return function == "add" || function == "bias"; }

  bool hands_on(const PlacedItem& item) const {
    const bool of_input = item.kind == PlacedKind::gradient && item.pass != Pass::weight_grad;
    return of_input && item.reads.front() >= 0 && adds(c_.block.operators[item.op].function);
  }

  /// Addition and bias hand their gradient on: the contribution is the same memory as the output's gradient, there as
  /// soon as that is. So a weight gradient that reads it waits for no launch, and the input gradients of Q, K and V
  /// stay one product.
  void hand_on(const PlacedItem& item) {
    const int source = item.reads.front(), made_in = launch_of_[source];
    const bool there = made_in < 0 || open_[made_in].closed;
    for (int copy : item.writes) {
      if (copy < 0) continue;
      root_[copy] = root_[source];
      if (!there) continue;
      launch_of_[copy] = made_in;
      made_by_[copy] = made_by_[source];
    }
  }

  void depend(int copy, Item& item) {
    if (copy < 0) return;
    if (!c_.kernels_alone)
      for (int from : made_by_[copy])
        if (from >= 0 && !contains(item.after, from)) item.after.push_back(from);
    const int r = root_[copy];
    places_.dies[r] = std::max(places_.dies[r], static_cast<int>(items_.size()));
  }

  void flush(int l) {
    Open& open = open_[l];
    if (open.closed) return;
    open.closed = true;
    std::erase(running_, l);
    const std::size_t first = out_.works.size();
    const bool costs = add_works(c_, open.launch, root_, outside_, out_.works);
    std::array<int, 2> made{-1, -1};
    Item edges;
    std::vector<int> rings;
    for (const PlacedItem* member : open.launch.members)
      for (int copy : member->reads)
        if (copy >= 0 && launch_of_[copy] != l) {
          // Compute goes on beside a ring exchange; what follows waits for both.
          const int from = made_by_[copy][0];
          if (from >= 0 && items_[from].is_move && out_.moves[items_[from].index].kind == MoveKind::ring) {
            rings.push_back(from);
            for (int before : items_[from].after) edges.after.push_back(before);
            continue;
          }
          depend(copy, edges);
        }
    if (!costs) {  // nothing to run: readers wait for what it read
      for (const PlacedItem* member : open.launch.members)
        for (int copy : member->writes)
          if (copy >= 0) {
            const int source = member->reads.front();
            made_by_[copy] = source >= 0 ? made_by_[source] : std::array{-1, -1};
          }
      return;
    }
    for (std::size_t work = first; work < out_.works.size(); ++work) {
      Item item = work + 1 < out_.works.size() ? edges : std::move(edges);
      item.index = static_cast<int>(work);
      if (made[0] >= 0) item.after.push_back(made[0]);  // launches of one group run in order
      items_.push_back(std::move(item));
      made[0] = static_cast<int>(items_.size()) - 1;
    }
    if (!rings.empty()) made[1] = rings.back();
    for (const PlacedItem* member : open.launch.members)
      for (int copy : member->writes)
        if (copy >= 0) {
          const bool handed = root_[copy] != copy && member->kind == PlacedKind::gradient;
          made_by_[copy] = handed ? made_by_[member->reads.front()] : made;
          if (!handed && outside_[copy]) places_.born[copy] = made[0];
        }
  }

  void sum(const PlacedItem& item) {
    std::vector<int> sources;
    for (int copy : item.reads) {
      const int from = made_by_[copy][0];
      if (!contains(sources, from)) sources.push_back(from);
    }
    const int written = item.writes.front();
    if (sources.size() < 2) {  // made by one launch, which summed them
      root_[written] = root_[item.reads.front()];
      made_by_[written] = made_by_[item.reads.front()];
      for (std::size_t i = 1; i < item.reads.size(); ++i) places_.born[item.reads[i]] = -1;
      return;
    }
    KernelWork work;
    work.label = c_.label([&] { return c_.network.tensors[c_.placed.copies[written].tensor].name + " sum"; });
    work.pass = item.pass;
    work.bytes = Bytes(c_.placed.copies[written].bytes * static_cast<double>(sources.size() + 1));
    for (const int source : sources)  // what an adapter adds is added outside of the stack's modules
      if (source >= 0 && !items_[source].is_move)
        work.gap_share = std::min(work.gap_share, out_.works[items_[source].index].gap_share);
    Item edges;
    for (int copy : item.reads) depend(copy, edges);
    edges.index = static_cast<int>(out_.works.size());
    out_.works.push_back(std::move(work));
    items_.push_back(std::move(edges));
    made_by_[written] = {static_cast<int>(items_.size()) - 1, -1};
    places_.born[written] = static_cast<int>(items_.size()) - 1;
  }

  void move(const PlacedItem& item) {
    const int from = item.reads.front(), to = item.writes.front();
    if (item.move == MoveKind::slice || item.move == MoveKind::mask) {
      made_by_[to] = made_by_[from];
      root_[to] = root_[from];
      return;
    }
    // One bucket per block for weights and their gradients (rule 19).
    if (item.cargo != Cargo::activation && item.joint_bucket && join_bucket(item, from, to)) return;
    Item edges;
    edges.is_move = true;
    depend(from, edges);
    if (item.maxima_received > 0) put_join_before(item, edges);
    edges.index = static_cast<int>(out_.moves.size());
    out_.moves.push_back(make_move(c_, item));
    std::array<int, 2> made{static_cast<int>(items_.size()), -1};
    if (item.move == MoveKind::ring && made_by_[from][0] >= 0 && !items_[made_by_[from][0]].is_move) {
      // A travelling accumulator moves beside the work that fills it.
      made[1] = made_by_[from][0];
      edges.after = items_[made[1]].after;
    }
    items_.push_back(std::move(edges));
    made_by_[to] = made;
    places_.born[to] = made[0];
  }

  /// The maxima, then the kernels that scale by them; what reduces the scaled waits for those.
  void put_join_before(const PlacedItem& item, Item& sum) {
    Item maxima = sum;
    maxima.index = static_cast<int>(out_.moves.size());
    out_.moves.push_back(make_maxima_move(c_, item));
    items_.push_back(std::move(maxima));
    Item scaled;
    scaled.after = {static_cast<int>(items_.size()) - 1};
    scaled.index = static_cast<int>(out_.works.size());
    out_.works.push_back(make_joining_work(c_, item));
    items_.push_back(std::move(scaled));
    sum.after = {static_cast<int>(items_.size()) - 1};
  }

  bool join_bucket(const PlacedItem& item, int from, int to) {
    const int group = intern_group(c_.groups, c_.mesh, item.atoms);
    for (std::size_t i = items_.size(); i-- > 0;) {
      if (!items_[i].is_move) continue;
      Move& move = out_.moves[items_[i].index];
      if (move.group != group || move.kind != item.move || move.cargo != item.cargo || move.when != item.when) continue;
      for (int source : made_by_[from])
        if (source > static_cast<int>(i)) return false;  // its member is made later: a bucket of its own
      Item& bucket = items_[i];
      depend(from, bucket);
      move.received += Bytes(item.received);
      move.local_before += Bytes(c_.placed.copies[from].bytes);
      move.local_after += Bytes(c_.placed.copies[to].bytes);
      made_by_[to] = {static_cast<int>(i), -1};
      places_.born[to] = static_cast<int>(i);
      return true;
    }
    return false;
  }

  const FuseContext& c_;
  const Kernels& kernels_;
  ProgramBlock& out_;
  std::vector<Item>& items_;
  const std::vector<PlacedItem>& list_;
  std::vector<std::array<int, 2>> made_by_;  ///< by copy: items that readers wait for
  std::vector<int> root_;                    ///< by copy: the copy whose memory it shares
  std::vector<int> launch_of_;               ///< by copy
  std::vector<char> outside_;
  std::vector<Open> open_;
  std::vector<int> running_;  ///< of open_, those not closed, in their order
  ListPlaces places_;
};

}  // namespace

ProgramBlock fuse(const FuseContext& c) {
  ProgramBlock out;
  out.name = c.block.name;
  out.is_layer = c.block.place == Block::Place::layers;
  out.works.reserve((c.placed.forward.size() + c.placed.backward.size()) / 2);
  ListPlaces forward, backward;
  if (!c.step_alone) {
    const Kernels kernels = kernels_of(c);
    const std::vector<int> never(c.placed.copies.size(), -1);
    forward = ListBuilder(c, kernels, out, out.forward, c.placed.forward).build();
    if (c.placed.backward.empty()) backward = {never, never};
    else backward = ListBuilder(c, kernels, out, out.backward, c.placed.backward).build();
  }
  for (const PlacedItem& item : c.placed.step) {
    if (item.move == MoveKind::slice || item.move == MoveKind::mask) continue;
    const int tensor = c.placed.copies[item.reads.front()].tensor;
    if (c.counted_weights[tensor]) continue;
    Move move = make_move(c, item);
    const auto same = std::ranges::find_if(out.step_moves, [&](const Move& m) {
      return m.kind == move.kind && m.group == move.group && m.when == move.when && m.cargo == move.cargo;
    });
    if (same == out.step_moves.end()) {
      out.step_moves.push_back(std::move(move));
      continue;
    }
    same->received += move.received;
    same->local_before += move.local_before;
    same->local_after += move.local_after;
  }
  if (c.kernels_alone) return out;
  add_buffers(c, forward, backward, out);
  if (!c.labelled) return out;  // parts of a step, of which nobody asks it
  for (const Operator& op : c.block.operators) out.model_flops += forward_flops(op, c.network.dims, true);
  return out;
}

}  // namespace stepcast::dataflow
