#include "dataflow/chip/account/stationary.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

bool keeps_any(const ChipLevel& level) { return contains(level.keeps, true); }

int size_of(const ChipProgram& chip) { return static_cast<int>(chip.levels.size()); }

/// The innermost loop in time of more than one round outside `level`; null where there is none.
const ChipLoop* last_loop_outside(const ChipProgram& chip, int level) {
  for (int l = level - 1; l >= 0; --l)
    for (auto loop = chip.levels[l].time.rbegin(); loop != chip.levels[l].time.rend(); ++loop)
      if (loop->trips > 1) return &*loop;
  return nullptr;
}

std::string joined_with_and(const std::vector<std::string>& words, const char* between, const char* last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? last : between) + words[i];
  return text;
}

const char* way_of(const ChipLevel& level, bool output) {
  if (output) return "summed";
  if (level.fabric == FabricClass::chain) return "forwarded";
  return level.multicast ? "multicast" : "copied";
}

/// Axes of `level` on which some unit needs the whole of the tensor, or makes a part of its sum.
std::vector<std::string> shared_axes(const ChipProgram& chip, int level, const ChipTensor& tensor) {
  std::vector<std::string> names;
  for (const ChipLoop& loop : chip.levels[level].space) {
    if (loop.trips <= 1 || indexes(tensor, loop.dim)) continue;
    const std::string& name = chip.levels[level].axes[loop.axis].name;
    if (!contains(names, name)) names.push_back(name);
  }
  return names;
}

}  // namespace

int next_store(const ChipProgram& chip, int level) {
  for (int l = level + 1; l < size_of(chip); ++l)
    if (keeps_any(chip.levels[l])) return l;
  return -1;
}

int keeper_outside(const ChipProgram& chip, int level, int tensor) {
  for (int l = level - 1; l >= 0; --l)
    if (!chip.levels[l].keeps.empty() && chip.levels[l].keeps[tensor]) return l;
  return -1;
}

bool indexes(const ChipTensor& tensor, int dim) {
  for (const ChipIndex& index : tensor.indices)
    for (const ChipIndex::Term& term : index.terms)
      if (term.dim == dim) return true;
  return false;
}

std::vector<int> stationary_tensors(const ChipProgram& chip, int inner) {
  std::vector<int> stay;
  if (inner < 0) return stay;
  const ChipLoop* last = last_loop_outside(chip, inner);
  for (int t = 0; t < static_cast<int>(chip.tensors.size()); ++t)
    if (chip.levels[inner].keeps[t] && (last == nullptr || !indexes(chip.tensors[t], last->dim))) stay.push_back(t);
  return stay;
}

std::string role_of(const ChipProgram& chip, int tensor) {
  const TensorUse use = chip.tensors[tensor].use;
  const auto alike = std::ranges::count_if(chip.tensors, [&](const ChipTensor& t) { return t.use == use; });
  if (alike > 1) return chip.tensors[tensor].name;
  return use == TensorUse::input ? "input" : use == TensorUse::weight ? "weight" : "output";
}

std::string stay_text(const ChipProgram& chip, int inner, const std::vector<int>& stationary) {
  if (inner < 0) return "nothing stays at the multiply-adds";
  const std::string& at = chip.levels[inner].name;
  if (stationary.empty()) return fmt::format("nothing stays at {}", at);
  std::vector<std::string> roles;
  for (int tensor : stationary) roles.push_back(role_of(chip, tensor));
  return fmt::format("{}-stationary at {}", joined_with_and(roles, "-, ", "- and "), at);
}

std::string space_text(const ChipProgram& chip, int outer, int inner) {
  std::vector<std::string> parts;
  const int last = inner < 0 ? size_of(chip) - 1 : inner;
  for (int l = outer + 1; l <= last; ++l)
    for (int t = 0; t < static_cast<int>(chip.tensors.size()); ++t) {
      const auto axes = shared_axes(chip, l, chip.tensors[t]);
      const bool output = chip.tensors[t].use == TensorUse::output;
      if (!axes.empty())
        parts.push_back(fmt::format(
            "{} {} over {}", role_of(chip, t), way_of(chip.levels[l], output), joined_with_and(axes, ", ", " and ")));
    }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<AxisPlacement> axis_placements(const ChipProgram& chip) {
  std::vector<AxisPlacement> out;
  for (int l = 0; l < size_of(chip); ++l)
    for (const ChipLoop& loop : chip.levels[l].space) {
      if (loop.trips <= 1) continue;
      for (int t = 0; t < static_cast<int>(chip.tensors.size()); ++t) {
        const ChipTensor& tensor = chip.tensors[t];
        const auto kind = indexes(tensor, loop.dim)         ? AxisPlacement::Kind::shard
                          : tensor.use == TensorUse::output ? AxisPlacement::Kind::partial
                                                            : AxisPlacement::Kind::replicate;
        out.push_back({l, loop.axis, t, kind, loop.dim, loop.trips});
      }
    }
  return out;
}

std::string to_text(const AxisPlacement& placement, const ChipProgram& chip) {
  if (placement.kind == AxisPlacement::Kind::shard) return fmt::format("Shard({})", chip.dims[placement.dim].name);
  return placement.kind == AxisPlacement::Kind::partial ? "Partial" : "Replicate";
}

}  // namespace stepcast::dataflow
