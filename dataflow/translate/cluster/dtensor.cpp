// PyTorch DTensor: one placement per mesh axis and tensor, Shard(dim), Replicate() or Partial().
// Spelling: torch.distributed.tensor documentation (placement_types).
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/cluster/placements.h"
#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

struct ReduceWord {
  Monoid monoid;
  const char* word;
  bool known;
};
/// Partial(reduce_op) takes the names of torch.distributed's reduce ops; the merge of a split softmax is none of them.
constexpr std::array<ReduceWord, 5> reduce_words{{{Monoid::sum, "", true}, {Monoid::none, "", true},
    {Monoid::max, "max", true}, {Monoid::min, "min", true}, {Monoid::softmax, "softmax", false}}};

const ReduceWord& reduce_word(Monoid monoid) {
  for (const ReduceWord& row : reduce_words)
    if (row.monoid == monoid) return row;
  return reduce_words.front();
}

std::string dtensor_slot(Slot slot, Monoid monoid) {
  if (slot >= 0) return fmt::format("Shard({})", slot);
  if (slot != partial_sum) return "Replicate()";
  const std::string word = reduce_word(monoid).word;
  return word.empty() ? "Partial()" : fmt::format("Partial(\"{}\")", word);
}

std::string dtensor_list(const std::vector<Slot>& slots, Monoid monoid) {
  std::vector<std::string> words;
  for (const Slot slot : slots) words.push_back(dtensor_slot(slot, monoid));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

/// "Shard(dim=1)" -> name "Shard", argument "1".
bool take_call(const std::string& text, std::string& name, std::string& argument) {
  const std::size_t open = text.find('(');
  name = std::string(stripped(text.substr(0, open)));
  argument.clear();
  if (open == std::string::npos) return true;
  if (text.back() != ')') return false;
  argument = std::string(stripped(text.substr(open + 1, text.size() - open - 2)));
  for (const char* keyword : {"dim=", "reduce_op="})
    if (argument.starts_with(keyword)) argument = argument.substr(std::string(keyword).size());
  std::erase_if(argument, [](char c) { return c == '"' || c == '\''; });
  return true;
}

Expected<Slot> dtensor_word(const std::string& text, std::size_t dims, Monoid monoid) {
  std::string name, argument;
  const bool call = take_call(text, name, argument);
  if (call && (name == "Replicate" || name == "R") && argument.empty()) return replicated;
  if (call && (name == "Partial" || name == "P")) {
    const std::string word = argument == "sum" ? "" : argument;
    if (word == reduce_word(monoid).word) return partial_sum;
    return fail("", fmt::format("'{}' is not the reduction of the operator", text),
        fmt::format("it makes {}", dtensor_slot(partial_sum, monoid)));
  }
  if (call && (name == "Shard" || name == "S") && argument.size() == 1 &&
      std::isdigit(static_cast<unsigned char>(argument[0])) != 0) {
    const int dim = argument[0] - '0';
    if (dim < static_cast<int>(dims)) return static_cast<Slot>(dim);
    return fail("", fmt::format("'{}' names a dim that the tensor lacks", text),
        fmt::format("it has {} dims, counted from 0", dims));
  }
  return fail("", fmt::format("'{}' is no placement", text), "Shard(DIM), Replicate() or Partial()");
}

Expected<std::vector<Slot>> dtensor_place(
    const std::string& text, const MeshLine& mesh, std::size_t dims, Monoid monoid) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return fail("", "a list in brackets is wanted", "such as [Shard(0), Replicate()]");
  const std::vector<std::string> words = split_list(std::string_view(text).substr(1, text.size() - 2));
  if (words.size() != mesh.axes.size())
    return fail("", fmt::format("it has {} placements and the mesh {} axes", words.size(), mesh.axes.size()),
        "one for each axis, in the order of the mesh line");
  std::vector<Slot> slots;
  for (const std::string& word : words) {
    TRY(auto slot, dtensor_word(word, dims, monoid));
    slots.push_back(slot);
  }
  return slots;
}

std::string no_mesh_form(const std::string&) { return {}; }

}  // namespace

std::string dtensor_text(const PlacementView& view) {
  std::string text =
      "# PyTorch DTensor placements, one per axis of the mesh line, fastest axis first (DeviceMesh: slowest "
      "first).\nmesh";
  for (const MeshPart& part : view.parts) text += fmt::format(" {}:{}", part.name, part.size);
  return text + "\n" +
         placement_lines(view,
             {.comment = "#",
                 .flat = "DTensor shards along dims (FSDP2 keeps Shard(0), FSDP1 a flat parameter outside "
                         "DTensor)",
                 .spell = [](const OperandPlacement&, const std::vector<Slot>& slots,
                              Monoid monoid) { return dtensor_list(slots, monoid); },
                 .foot = [](const OperatorPlacement& op) -> std::string {
                   const auto named = [&](const OperandPlacement& row) {
                     return reduce_word(row.output ? op.monoid : Monoid::sum).known || !contains(row.used, partial_sum);
                   };
                   if (std::ranges::all_of(op.operands, named)) return {};
                   return "  # no name: DTensor has no reduction that merges parts of a softmax\n";
                 }});
}

Expected<MappingProgram> read_dtensor(const std::string& text, const std::string& file) {
  return read_placements(text, file, {"DTensor", "#", no_mesh_form, einsum_rule, dtensor_place});
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (c == '\'' || c == '"') quote = quote == 0 ? c : quote == c ? '\0' : quote;
    if (quote == 0) depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0 && quote == 0) parts.push_back(std::string(stripped(std::exchange(part, {}))));
    else part += c;
  }
  if (!stripped(part).empty()) parts.push_back(std::string(stripped(part)));
  return parts;
}

std::string einsum_rule(const std::string& line) {
  const std::size_t call = line.find("einsum(");
  const std::size_t equal = line.find('=');
  if (call == std::string::npos || equal == std::string::npos || equal > call || line.back() != ')') return {};
  std::vector<std::string> arguments = split_list(std::string_view(line).substr(call + 7, line.size() - call - 8));
  if (arguments.size() < 2 || arguments[0].size() < 4) return {};
  const std::string spec = arguments[0].substr(1, arguments[0].size() - 2);
  const std::size_t arrow = spec.find("->");
  if (arrow == std::string::npos) return {};
  const auto access = [](const std::string& tensor, const std::string& letters) {
    std::vector<std::string> loops;
    for (const char c : letters)
      if (c != ' ') loops.emplace_back(1, c);
    return fmt::format("{}[{}]", tensor, fmt::join(loops, ","));
  };
  const std::vector<std::string> inputs = split_list(spec.substr(0, arrow));
  if (inputs.size() + 1 != arguments.size()) return {};
  const std::string output(stripped(line.substr(0, equal)));
  std::vector<std::string> reads;
  for (std::size_t i = 0; i < inputs.size(); ++i) reads.push_back(access(arguments[i + 1], inputs[i]));
  return fmt::format(
      "{}: {} += {}", output, access(output, std::string(stripped(spec.substr(arrow + 2)))), fmt::join(reads, " * "));
}

}  // namespace stepcast::dataflow
