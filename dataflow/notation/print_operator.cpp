// Written operators and architectures back to text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/notation/arch_properties.h"
#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {
namespace {

std::string printed_index(const WrittenIndex& index) {
  std::string out;
  for (const WrittenIndex::Term& term : index.terms) {
    if (!out.empty()) out += "+";
    out += term.step == 1 ? term.loop : fmt::format("{}*{}", term.step, term.loop);
  }
  return out;
}

std::string printed_access(const WrittenAccess& access) {
  std::string out = access.tensor + "[";
  for (const WrittenIndex& index : access.indices) {
    if (&index != &access.indices.front()) out += ",";
    out += printed_index(index);
  }
  return out + "]";
}

std::string_view printed_assignment(Monoid monoid) {
  switch (monoid) {
    case Monoid::none: return "=";
    case Monoid::sum: return "+=";
    case Monoid::max: return "max=";
    case Monoid::min: return "min=";
    case Monoid::softmax: return "softmax=";
  }
  return "=";
}

std::string printed_function(const WrittenOperator& op) {
  if (op.function.empty()) return {};
  const bool loops = !op.whole_loops.empty() || op.function == "opaque";
  return " " + op.function + (loops ? fmt::format("({})", fmt::join(op.whole_loops, " ")) : "");
}

std::string printed_domain(const WrittenDomain& domain) {
  if (domain.key.empty()) return {};
  if (domain.window == 0) return fmt::format(" where {} <= {}", domain.key, domain.query);
  return fmt::format(" where {}-{} < {} <= {}", domain.query, domain.window, domain.key, domain.query);
}

std::string printed_pads(const std::vector<WrittenPad>& pads) {
  std::string out;
  for (const WrittenPad& pad : pads) {
    out += (out.empty() ? " pad " : ", ") + pad.dim;
    if (pad.factor > 0) out += fmt::format(":{}", pad.factor);
  }
  return out;
}

std::string printed_fabric(const Fabric& fabric) {
  if (fabric.name.empty()) return {};
  std::vector<std::string_view> options;
  if (fabric.multicast) options.emplace_back("multicast");
  if (fabric.reduce) options.emplace_back("reduce");
  const std::string written = options.empty() ? "" : fmt::format("({})", fmt::join(options, ","));
  return "@" + fabric.name + written;
}

/// [132], [16x16] where the axes have the names that such text gives them; else [row:16 col:8].
std::string printed_units(const ArchLevel& level) {
  if (level.axes.empty()) return {};
  constexpr std::string_view given = "xyz";
  bool plain = level.axes.size() <= given.size();
  std::vector<std::string> numbers, named;
  for (std::size_t i = 0; i < level.axes.size(); ++i) {
    const ArchLevel::Axis& axis = level.axes[i];
    plain = plain && axis.name == (level.axes.size() == 1 ? level.name : std::string(1, given[i]));
    numbers.push_back(std::to_string(axis.units));
    named.push_back(fmt::format("{}:{}", axis.name, axis.units));
  }
  return fmt::format("[{}]", plain ? fmt::join(numbers, "x") : fmt::join(named, " "));
}

std::string printed_level(const ArchLevel& level) {
  std::string out = level.name + printed_units(level) + printed_fabric(level.fabric);
  for (const ArchLevel::Property& property : level.properties)
    out += fmt::format(" {}:{}", property.name, property_text(property));
  return out;
}

}  // namespace

std::string print(const WrittenOperator& op) {
  std::string out = fmt::format("{}: {} {}", op.name, printed_access(op.output), printed_assignment(op.monoid));
  out += printed_function(op);
  const std::string joint = op.joint == ',' ? "," : fmt::format(" {}", op.joint);
  for (const WrittenAccess& input : op.inputs) {
    if (&input != &op.inputs.front()) out += joint;
    out += " " + printed_access(input);
  }
  return out + printed_domain(op.domain) + printed_pads(op.pads);
}

std::string print(const WrittenArch& arch) {
  std::string out = "arch ";
  for (const ArchLevel& level : arch.levels) {
    if (&level != &arch.levels.front()) out += " { ";
    out += printed_level(level);
  }
  for (std::size_t i = 1; i < arch.levels.size(); ++i) out += " }";
  return out;
}

}  // namespace stepcast::dataflow
