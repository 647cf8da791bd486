#include "sim/fast/unit_family.h"

#include <algorithm>
#include <set>
#include <utility>

namespace stepcast::sim {

namespace {

double value_of(double number) { return number; }
template <typename Size> double value_of(Size size) { return size.value(); }

template <typename Size> void set_lines(const std::vector<Size>& lines, double more) {
  for (const auto& line : lines)
    *line.size = std::remove_reference_t<decltype(*line.size)>(line.at_one + line.per_more * more);
}

bool same_parts(const ProgramBlock& one, const ProgramBlock& two) {
  return one.works.size() == two.works.size() && one.moves.size() == two.moves.size() &&
         one.buffers.size() == two.buffers.size() && one.forward.size() == two.forward.size() &&
         one.backward.size() == two.backward.size();
}

}  // namespace

UnitFamily::UnitFamily(Program one, const Program& two)
    : program_(std::make_shared<Program>(std::move(one))), groups_(program_->groups) {
  std::set<int> moving;
  for (const ProgramBlock& block : program_->blocks)
    for (const Move& move : block.moves)
      if (move.group >= 0) moving.insert(move.group);
  moving_.assign(moving.begin(), moving.end());
  even_ = program_->blocks.size() == two.blocks.size();
  for (std::size_t b = 0; even_ && b < two.blocks.size(); ++b) {
    even_ = same_parts(program_->blocks[b], two.blocks[b]);
    if (even_) pair_blocks(program_->blocks[b], two.blocks[b]);
  }
}

template <typename Size> void UnitFamily::pair(std::vector<Line<Size>>& lines, Size& one, Size two) {
  const double first = value_of(one), more = value_of(two) - first;
  if (more != 0) lines.push_back({&one, first, more});
}

void UnitFamily::pair_blocks(ProgramBlock& one, const ProgramBlock& two) {
  for (std::size_t i = 0; i < one.works.size(); ++i) {
    KernelWork& work = one.works[i];
    const KernelWork& other = two.works[i];
    for (double KernelWork::*size : {&KernelWork::m, &KernelWork::n, &KernelWork::k, &KernelWork::batch,
             &KernelWork::sequence, &KernelWork::imbalance, &KernelWork::host_calls, &KernelWork::gap_share})
      pair(numbers_, work.*size, other.*size);
    pair(flops_, work.flops, other.flops);
    pair(flops_, work.useful, other.useful);
    pair(bytes_, work.bytes, other.bytes);
    even_ = even_ && work.kernel == other.kernel && work.launches == other.launches;
  }
  for (std::size_t i = 0; i < one.moves.size(); ++i) {
    Move& move = one.moves[i];
    const Move& other = two.moves[i];
    pair(bytes_, move.received, other.received);
    pair(bytes_, move.local_before, other.local_before);
    pair(bytes_, move.local_after, other.local_after);
    pair(numbers_, move.max_rank_factor, other.max_rank_factor);
    even_ = even_ && move.kind == other.kind && move.launches == other.launches && move.steps == other.steps &&
            move.group == other.group;
  }
  for (std::size_t i = 0; i < one.buffers.size(); ++i) {
    pair(bytes_, one.buffers[i].bytes, two.buffers[i].bytes);
    even_ = even_ && one.buffers[i].kind == two.buffers[i].kind && one.buffers[i].count == two.buffers[i].count;
  }
}

bool UnitFamily::lay(std::span<const Axis> axes) {
  std::vector<Group> laid = groups_;
  for (const int group : moving_) {
    for (Group::Digit& digit : laid[static_cast<std::size_t>(group)].digits) {
      const auto axis = std::find_if(axes.begin(), axes.end(),
          [&](const Axis& a) { return digit.stride >= a.from && digit.stride * digit.size <= a.from * a.size; });
      if (axis == axes.end()) return false;
      digit.stride = digit.stride / axis->from * axis->to;
    }
  }
  program_->groups = std::move(laid);
  return true;
}

const Program& UnitFamily::at(double micro_batch) {
  set_lines(numbers_, micro_batch - 1);
  set_lines(bytes_, micro_batch - 1);
  set_lines(flops_, micro_batch - 1);
  return *program_;
}

}  // namespace stepcast::sim
