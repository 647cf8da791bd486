#include "sim/fast/unit_family.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stepcast::sim {

namespace {

/// All numbers of a work and of its scan.
constexpr double KernelWork::*sizes_of_work[] = {&KernelWork::m, &KernelWork::n, &KernelWork::k, &KernelWork::batch,
    &KernelWork::sequence, &KernelWork::sequences, &KernelWork::queries, &KernelWork::heads, &KernelWork::kv_heads,
    &KernelWork::walked, &KernelWork::kept, &KernelWork::choices, &KernelWork::key_element_bytes,
    &KernelWork::element_bytes, &KernelWork::head_dim, &KernelWork::value_dim, &KernelWork::imbalance,
    &KernelWork::host_calls, &KernelWork::gap_share, &KernelWork::experts, &KernelWork::streams};
constexpr double ScanShape::*sizes_of_scan[] = {&ScanShape::sequences, &ScanShape::positions, &ScanShape::heads,
    &ScanShape::groups, &ScanShape::value_size, &ScanShape::key_size, &ScanShape::chunk};

double value_of(double number) { return number; }
template <typename Size> double value_of(Size size) { return size.value(); }

template <typename Size> void set_lines(const std::vector<Size>& lines, double more, double more_share) {
  for (const auto& line : lines)
    *line.size =
        std::remove_reference_t<decltype(*line.size)>(line.at_one + line.per_more * more + line.per_share * more_share);
}

bool same_parts(const ProgramBlock& one, const ProgramBlock& two) {
  return one.works.size() == two.works.size() && one.moves.size() == two.moves.size() &&
         one.buffers.size() == two.buffers.size() && one.forward.size() == two.forward.size() &&
         one.backward.size() == two.backward.size();
}

bool same_reach(const dataflow::KeyReach& a, const dataflow::KeyReach& b) {
  return a.domain == b.domain && a.reach == b.reach && a.beside.ratio == b.beside.ratio &&
         a.beside.reach == b.beside.reach;
}

/// In what decides the law that prices it; its sizes follow, and a family has one network and sequence.
bool same_kind(const KernelWork& a, const KernelWork& b) {
  return a.kernel == b.kernel && a.pass == b.pass && a.launches == b.launches && a.backward == b.backward &&
         a.values_are_keys == b.values_are_keys && a.keeps_width == b.keeps_width && a.routed == b.routed &&
         same_reach(a.key_reach, b.key_reach);
}

bool same_kind(const Move& a, const Move& b) {
  return a.kind == b.kind && a.launches == b.launches && a.steps == b.steps && a.group == b.group;
}

bool same_kind(const Buffer& a, const Buffer& b) { return a.kind == b.kind && a.count == b.count; }

bool inside(const Group::Digit& inner, const Group::Digit& outer) {
  return inner.stride >= outer.stride && inner.stride * inner.size <= outer.stride * outer.size;
}

/// The ranks of a digit, axis by axis, where these lie now; nothing where they are not all of them.
std::vector<Group::Digit> laid_digits(const Group::Digit& digit, std::span<const UnitFamily::Axis> axes) {
  std::vector<Group::Digit> laid;
  std::int64_t ranks = 1;
  for (const UnitFamily::Axis& axis : axes) {
    const Group::Digit whole{axis.from, axis.size};
    if (axis.size == 1) continue;
    if (inside(whole, digit)) {
      laid.push_back({axis.to, axis.to_size});
      ranks *= axis.size;
    } else if (inside(digit, whole) && axis.size == axis.to_size) {
      laid.push_back({digit.stride / axis.from * axis.to, digit.size});
      ranks *= digit.size;
    }
  }
  return ranks == digit.size ? laid : std::vector<Group::Digit>{};
}

/// Digits of a group, fastest first, neighbours joined as a mesh joins them.
std::vector<Group::Digit> joined(std::vector<Group::Digit> digits) {
  std::ranges::sort(digits, {}, &Group::Digit::stride);
  std::vector<Group::Digit> joined;
  for (const Group::Digit& digit : digits) {
    if (!joined.empty() && joined.back().stride * joined.back().size == digit.stride) joined.back().size *= digit.size;
    else joined.push_back(digit);
  }
  return joined;
}

}  // namespace

UnitFamily::UnitFamily(Program one, const Program& two, const Program* spread, double share, double spread_share)
    : share_(share), more_share_(spread_share - share), program_(std::move(one)), groups_(program_.groups) {
  std::set<int> moving;
  for (const ProgramBlock& block : program_.blocks)
    for (const Move& move : block.moves)
      if (move.group >= 0) moving.insert(move.group);
  moving_.assign(moving.begin(), moving.end());
  even_ = program_.blocks.size() == two.blocks.size() &&
          (spread == nullptr || program_.blocks.size() == spread->blocks.size());
  for (std::size_t b = 0; even_ && b < two.blocks.size(); ++b) {
    ProgramBlock& block = program_.blocks[b];
    even_ = same_parts(block, two.blocks[b]) && (spread == nullptr || same_parts(block, spread->blocks[b]));
    if (even_) pair_blocks(block, two.blocks[b], spread == nullptr ? block : spread->blocks[b]);
  }
}

template <typename Size> void UnitFamily::pair(std::vector<Line<Size>>& lines, Size& one, Size two, Size spread) {
  const double first = value_of(one), more = value_of(two) - first, apart = value_of(spread) - first;
  if (more != 0 || apart != 0) lines.push_back({&one, first, more, apart == 0 ? 0 : apart / more_share_});
}

void UnitFamily::pair_blocks(ProgramBlock& one, const ProgramBlock& two, const ProgramBlock& spread) {
  const auto check = [&](const auto& a, const auto& b, const auto& c) {
    even_ = even_ && same_kind(a, b) && same_kind(a, c);
  };
  for (std::size_t i = 0; i < one.works.size(); ++i) {
    KernelWork& work = one.works[i];
    const KernelWork &other = two.works[i], &wide = spread.works[i];
    for (double KernelWork::*size : sizes_of_work) pair(numbers_, work.*size, other.*size, wide.*size);
    for (double ScanShape::*size : sizes_of_scan) pair(numbers_, work.scan.*size, other.scan.*size, wide.scan.*size);
    pair(flops_, work.flops, other.flops, wide.flops);
    pair(flops_, work.useful, other.useful, wide.useful);
    pair(bytes_, work.bytes, other.bytes, wide.bytes);
    check(work, other, wide);
  }
  for (std::size_t i = 0; i < one.moves.size(); ++i) {
    Move& move = one.moves[i];
    const Move &other = two.moves[i], &wide = spread.moves[i];
    pair(bytes_, move.received, other.received, wide.received);
    pair(bytes_, move.local_before, other.local_before, wide.local_before);
    pair(bytes_, move.local_after, other.local_after, wide.local_after);
    pair(numbers_, move.max_rank_factor, other.max_rank_factor, wide.max_rank_factor);
    check(move, other, wide);
  }
  for (std::size_t i = 0; i < one.buffers.size(); ++i) {
    pair(bytes_, one.buffers[i].bytes, two.buffers[i].bytes, spread.buffers[i].bytes);
    check(one.buffers[i], two.buffers[i], spread.buffers[i]);
  }
}

bool UnitFamily::lay(std::span<const Axis> axes) {
  std::vector<Group> laid = groups_;
  for (const int number : moving_) {
    Group& group = laid[static_cast<std::size_t>(number)];
    std::vector<Group::Digit> digits;
    for (const Group::Digit& digit : group.digits) {
      const std::vector<Group::Digit> here = laid_digits(digit, axes);
      if (here.empty()) return false;
      digits.insert(digits.end(), here.begin(), here.end());
    }
    group.digits = joined(std::move(digits));
    group.size = 1;
    for (const Group::Digit& digit : group.digits) group.size *= digit.size;
  }
  program_.groups = std::move(laid);
  return true;
}

const Program& UnitFamily::at(double micro_batch, double share) {
  const double more = micro_batch - 1, more_share = share - share_;
  set_lines(numbers_, more, more_share);
  set_lines(bytes_, more, more_share);
  set_lines(flops_, more, more_share);
  return program_;
}

}  // namespace stepcast::sim
