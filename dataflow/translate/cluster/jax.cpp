// JAX: one PartitionSpec per tensor, mesh axes by tensor dim (major axis first), pending sums as unreduced={...}.
// Spelling: jax.sharding documentation; unreduced axes of explicit sharding, as PartitionSpec prints them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/cluster/placements.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

std::string jax_axis(const MeshPart& part) { return fmt::format("'{}'", part.name); }

std::string jax_spec(const PlacementView& view, const OperandPlacement& row, const std::vector<Slot>& slots) {
  std::vector<std::string> entries;
  for (std::size_t d = 0; d < row.loops.size(); ++d) {
    const std::string axes = parts_text(view, slots, static_cast<Slot>(d), jax_axis);
    entries.push_back(axes.empty() ? "None" : axes.find(',') == std::string::npos ? axes : fmt::format("({})", axes));
  }
  if (const std::string pending = parts_text(view, slots, partial_sum, jax_axis); !pending.empty())
    entries.push_back(fmt::format("unreduced={{{}}}", pending));
  return fmt::format("P({})", fmt::join(entries, ", "));
}

std::string unquoted(const std::string& text) {
  if (text.size() < 3 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front()) return {};
  return text.substr(1, text.size() - 2);
}

/// "('y', 'x')", "'x'" or "{'x'}" -> names; false where a name is not quoted.
bool take_names(const std::string& text, std::vector<std::string>& names) {
  const bool group = !text.empty() && (text.front() == '(' || text.front() == '{');
  for (const std::string& item :
      group ? split_list(std::string_view(text).substr(1, text.size() - 2)) : std::vector{text}) {
    names.push_back(unquoted(item));
    if (names.back().empty()) return false;
  }
  return true;
}

/// "mesh = jax.make_mesh((4, 2), ('y', 'x'))": slowest axis first there, fastest first here.
std::string jax_mesh(const std::string& line) {
  const std::size_t call = line.find("make_mesh(");
  if (call == std::string::npos || line.back() != ')') return {};
  const std::vector<std::string> arguments =
      split_list(std::string_view(line).substr(call + 10, line.size() - call - 11));
  std::vector<std::string> names;
  if (arguments.size() < 2 || arguments[0].size() < 3 || !take_names(arguments[1], names)) return {};
  const std::vector<std::string> sizes = split_list(std::string_view(arguments[0]).substr(1, arguments[0].size() - 2));
  if (sizes.size() != names.size()) return {};
  std::string text = "mesh";
  for (std::size_t i = names.size(); i-- > 0;) text += fmt::format(" {}:{}", names[i], sizes[i]);
  return text;
}

Expected<void> set_axes(const std::string& text, Slot slot, const MeshLine& mesh, std::vector<Slot>& slots) {
  if (text == "None") return {};
  std::vector<std::string> names;
  if (!take_names(text, names))
    return fail("", fmt::format("'{}' is no axis", text), "None, an axis in quotes, or several in parentheses");
  return cut_by_axes(names, slot, mesh, slots);
}

Expected<std::vector<Slot>> jax_place(const std::string& text, const MeshLine& mesh, std::size_t dims, Monoid) {
  const std::size_t open = text.find('(');
  const std::string word(stripped(text.substr(0, open)));
  if (open == std::string::npos || text.back() != ')' || (word != "P" && word != "jax.P" && word != "PartitionSpec"))
    return fail("", "a PartitionSpec is wanted", "such as P(None, 'x', unreduced={'y'})");
  std::vector<Slot> slots(mesh.axes.size(), replicated);
  Slot dim = 0;
  for (const std::string& entry : split_list(std::string_view(text).substr(open + 1, text.size() - open - 2))) {
    constexpr std::string_view pending = "unreduced=";
    const bool sum = entry.starts_with(pending);
    if (!sum && dim >= static_cast<Slot>(dims))
      return fail("", fmt::format("more entries than the {} dims", dims), "one entry for each dim");
    TRY(set_axes(sum ? entry.substr(pending.size()) : entry, sum ? partial_sum : dim++, mesh, slots));
  }
  return slots;
}

}  // namespace

std::string jax_text(const PlacementView& view) {
  std::vector<std::string> sizes, names;
  for (std::size_t p = view.parts.size(); p-- > 0;) {
    sizes.push_back(std::to_string(view.parts[p].size));
    names.push_back(jax_axis(view.parts[p]));
  }
  const char* comma = names.size() == 1 ? "," : "";
  std::string text = fmt::format(
      "# JAX PartitionSpecs; of several axes on one dim the first cuts first.\nmesh = jax.make_mesh(({}{}), "
      "({}{}))\n",
      fmt::join(sizes, ", "), comma, fmt::join(names, ", "), comma);
  return text + placement_lines(
                    view, {.comment = "#",
                              .flat = "a PartitionSpec shards along dims",
                              .spell = [&](const OperandPlacement& row, const std::vector<Slot>& slots,
                                           Monoid) { return jax_spec(view, row, slots); },
                              .note = [&](const OperatorPlacement& op, const OperandPlacement& row) -> std::string {
                                const std::string pending =
                                    row.output ? parts_text(view, row.used, partial_sum, jax_axis) : "";
                                if (pending.empty()) return {};
                                if (op.monoid == Monoid::sum) return "pending psum over " + pending;
                                return "no name: an unreduced axis is a sum in JAX, this is none";
                              }});
}

Expected<MappingProgram> read_jax(const std::string& text, const std::string& file) {
  return read_placements(text, file, {"JAX", "#", jax_mesh, einsum_rule, jax_place});
}

}  // namespace stepcast::dataflow
