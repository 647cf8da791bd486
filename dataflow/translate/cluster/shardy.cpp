// Shardy (SDY): dims of a tensor take mesh axes, major first, parts of axes as "x":(before)size; sums left open are
// unreduced={...}; an operator is a sharding rule over factors. Spelling: openxla/shardy, docs/sdy_dialect.md.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/cluster/placements.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

std::string shardy_axis(const MeshPart& part) {
  return part.whole ? fmt::format("\"{}\"", part.axis)
                    : fmt::format("\"{}\":({}){}", part.axis, part.outside, part.size);
}

struct UnreducedWord {
  Monoid monoid;
  const char* word;
};
constexpr std::array<UnreducedWord, 3> unreduced_words{{{Monoid::sum, ""}, {Monoid::max, "max"}, {Monoid::min, "min"}}};

std::string unreduced_word(Monoid monoid) {
  for (const UnreducedWord& row : unreduced_words)
    if (row.monoid == monoid) return row.word;
  return "";
}

std::string shardy_sharding(
    const PlacementView& view, const OperandPlacement& row, const std::vector<Slot>& slots, Monoid monoid) {
  std::vector<std::string> dims;
  for (std::size_t d = 0; d < row.loops.size(); ++d)
    dims.push_back(fmt::format("{{{}}}", parts_text(view, slots, static_cast<Slot>(d), shardy_axis)));
  std::string text = fmt::format("#sdy.sharding<@mesh, [{}]", fmt::join(dims, ", "));
  if (const std::string open = parts_text(view, slots, partial_sum, shardy_axis); !open.empty())
    text += fmt::format(", unreduced={}{{{}}}", unreduced_word(monoid), open);
  return text + ">";
}

/// Factors are i, j, k, ... z, z_1, ...: output dims first, then what is reduced.
std::string factor_name(std::size_t index) {
  constexpr std::size_t letters = 'z' - 'i' + 1;
  return index < letters ? std::string(1, static_cast<char>('i' + index)) : fmt::format("z_{}", index - letters + 1);
}

std::string shardy_rule_text(const PlacementView& view, const OperatorPlacement& op) {
  std::map<std::string, std::string> factors;
  std::vector<std::string> sizes, reduced, inputs;
  const auto add = [&](const std::string& loop) {
    const auto [entry, added] = factors.try_emplace(loop, factor_name(factors.size()));
    if (added)
      sizes.push_back(fmt::format("{}={}", entry->second, view.network.dims[view.network.find_dim(loop)].extent));
    return added;
  };
  const auto dims = [&](const OperandPlacement& row) {
    std::vector<std::string> names;
    for (const std::string& loop : row.loops) names.push_back(factors[loop]);
    return fmt::format("[{}]", fmt::join(names, ", "));
  };
  for (const std::string& loop : op.operands.back().loops) add(loop);
  for (const OperandPlacement& row : op.operands)
    for (const std::string& loop : row.loops)
      if (add(loop)) reduced.push_back(factors[loop]);
  for (std::size_t i = 0; i + 1 < op.operands.size(); ++i) inputs.push_back(dims(op.operands[i]));
  std::string text = fmt::format("#sdy.op_sharding_rule<({})->({}) {{{}}}", fmt::join(inputs, ", "),
      dims(op.operands.back()), fmt::join(sizes, ", "));
  if (!reduced.empty()) text += fmt::format(" reduction={{{}}}", fmt::join(reduced, ", "));
  return text + ">";
}

/// 'sdy.mesh @mesh = <["y"=2, "x"=4]>': slowest axis first there, fastest first here.
std::string shardy_mesh(const std::string& line) {
  const std::size_t open = line.find('['), close = line.rfind(']');
  if (!line.starts_with("sdy.mesh") || open == std::string::npos || close == std::string::npos || close < open)
    return {};
  const std::vector<std::string> axes = split_list(std::string_view(line).substr(open + 1, close - open - 1));
  std::string text = "mesh";
  for (std::size_t i = axes.size(); i-- > 0;) {
    std::string axis = axes[i];
    std::erase(axis, '"');
    const std::size_t equal = axis.find('=');
    text += equal == std::string::npos
                ? " " + axis
                : fmt::format(" {}:{}", stripped(axis.substr(0, equal)), stripped(axis.substr(equal + 1)));
  }
  return text;
}

std::string between_brackets(const std::string& text, char open, char close, std::size_t from) {
  const std::size_t first = text.find(open, from);
  const std::size_t last = first == std::string::npos ? first : text.find(close, first);
  return last == std::string::npos ? std::string{} : text.substr(first + 1, last - first - 1);
}

/// "O = I, W #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, ...}>": our dim line and operator on one line.
/// The name before '=' is the result, the names behind it the operands; a file may have one rule per size table.
std::string shardy_rule(const std::string& line) {
  const std::size_t at = line.find("#sdy.op_sharding_rule<"), equal = line.find('=');
  if (at == std::string::npos || equal == std::string::npos || equal > at) return {};
  const std::size_t arrow = line.find("->", at);
  if (arrow == std::string::npos) return {};
  const std::string result(stripped(line.substr(0, equal)));
  const std::vector<std::string> names = split_list(std::string_view(line).substr(equal + 1, at - equal - 1));
  const auto bare = [](std::string list) {
    list = std::string(stripped(list));
    return list.size() < 2 ? std::string{} : list.substr(1, list.size() - 2);
  };
  const std::string operands = line.substr(at + 22, arrow - at - 22);
  const std::vector<std::string> reads = split_list(bare(operands));
  if (reads.size() != names.size()) return {};
  std::vector<std::string> accesses;
  for (std::size_t i = 0; i < reads.size(); ++i) accesses.push_back(fmt::format("{}[{}]", names[i], bare(reads[i])));
  const std::string written =
      fmt::format("{}[{}]", result, between_brackets(between_brackets(line + ")", '(', ')', arrow), '[', ']', 0));
  return fmt::format("{}: {} += {}", result, written, fmt::join(accesses, " * "));
}

Expected<void> take_axes(const std::string& list, Slot slot, const MeshLine& mesh, std::vector<Slot>& slots) {
  std::vector<std::string> names = split_list(list);
  for (std::string& name : names) {
    if (name.find("\":(") != std::string::npos)
      return fail(
          "", fmt::format("'{}' is a part of an axis", name), "write the parts as axes of their own in the mesh line");
    std::erase(name, '"');
  }
  return cut_by_axes(names, slot, mesh, slots);
}

Expected<std::vector<Slot>> shardy_place(
    const std::string& text, const MeshLine& mesh, std::size_t dims, Monoid monoid) {
  const std::size_t open = text.find('['), close = text.find(']');
  if (!text.starts_with("#sdy.sharding<@") || open == std::string::npos || close == std::string::npos ||
      text.back() != '>')
    return fail("", "a sharding is wanted", "such as #sdy.sharding<@mesh, [{}, {\"x\"}], unreduced={\"y\"}>");
  std::vector<Slot> slots(mesh.axes.size(), replicated);
  const std::vector<std::string> entries = split_list(std::string_view(text).substr(open + 1, close - open - 1));
  if (entries.size() != dims)
    return fail(
        "", fmt::format("{} dims where the tensor has {}", entries.size(), dims), "one pair of braces for each dim");
  for (std::size_t d = 0; d < entries.size(); ++d) {
    const std::string& entry = entries[d];
    if (entry.size() < 2 || entry.front() != '{' || entry.back() != '}')
      return fail("", fmt::format("'{}' is no list of axes", entry), "{} or {\"x\"}");
    if (entry.find('?') != std::string::npos)
      return fail(
          "", fmt::format("'{}' is open to propagation", entry), "write the sharding after propagation, without '?'");
    TRY(take_axes(entry.substr(1, entry.size() - 2), static_cast<Slot>(d), mesh, slots));
  }
  const std::size_t pending = text.find("unreduced=", close);
  if (pending == std::string::npos) return slots;
  const std::string word = text.substr(pending + 10, text.find('{', pending) - pending - 10);
  if (word != unreduced_word(monoid) && !(word == "sum" && unreduced_word(monoid).empty()))
    return fail("", fmt::format("'unreduced={}' is not the reduction of the operator", word),
        "unreduced={...} sums; max and min stand before the brace");
  TRY(take_axes(between_brackets(text, '{', '}', pending), partial_sum, mesh, slots));
  return slots;
}

}  // namespace

std::string shardy_text(const PlacementView& view) {
  std::vector<std::string> axes;
  for (std::size_t p = view.parts.size(); p-- > 0;) {
    const MeshPart& part = view.parts[p];
    const std::int64_t size = part.whole ? part.size : view.mesh.find(part.axis)->size;
    if (p + 1 == view.parts.size() || view.parts[p + 1].axis != part.axis)
      axes.push_back(fmt::format("\"{}\"={}", part.axis, size));
  }
  const std::string text = fmt::format("sdy.mesh @mesh = <[{}]>\n", fmt::join(axes, ", "));
  return text +
         placement_lines(
             view, {.comment = "//",
                       .flat = "a sharding cuts dims",
                       .words = "shardings",
                       .head = [&](const OperatorPlacement& op) { return "  // " + shardy_rule_text(view, op) + "\n"; },
                       .spell = [&](const OperandPlacement& row, const std::vector<Slot>& slots,
                                    Monoid monoid) { return shardy_sharding(view, row, slots, monoid); },
                       .note = [](const OperatorPlacement& op, const OperandPlacement& row) -> std::string {
                         const bool merges = row.output && op.monoid == Monoid::softmax;
                         const bool parts = std::ranges::count(row.used, partial_sum) > 0;
                         return merges && parts ? "no name: merges parts of a softmax" : "";
                       }});
}

Expected<MappingProgram> read_shardy(const std::string& text, const std::string& file) {
  return read_placements(text, file, {"Shardy", "//", shardy_mesh, shardy_rule, shardy_place});
}

}  // namespace stepcast::dataflow
