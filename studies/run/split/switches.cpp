#include "studies/run/split/switches.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/whole_number.h"

namespace stepcast::run {
namespace {

constexpr std::int64_t most_layers = 32768;
constexpr std::array context_kinds = {"ring", "gather", "ulysses"};
constexpr std::array mesh_axes = {"tp", "cp", "dp", "pp"};

Manners beside(bool overlap) { return overlap ? Manners::overlapped : Manners::blocking; }

/// "tp-cp" -> tp, cp.
std::vector<std::string> axis_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == '-') words.emplace_back();
    else words.back() += c;
  return words;
}

}  // namespace

Expected<ContextKind> parse_context_kind(const std::string& text, const std::string& where) {
  const auto found = std::ranges::find(context_kinds, text);
  if (found == context_kinds.end())
    return fail(where, fmt::format("unknown value '{}'", text.substr(0, 60)),
        fmt::format("one of: {}", fmt::join(context_kinds, " ")));
  return static_cast<ContextKind>(found - context_kinds.begin());
}

Expected<Recompute> parse_recompute(const std::string& text, const std::string& where) {
  if (text == "none") return Recompute{};
  if (text == "selective") return Recompute{Recompute::Kind::selective, 0};
  if (text == "full") return Recompute{Recompute::Kind::full, 0};
  constexpr std::string_view prefix = "full:";
  if (text.starts_with(prefix)) {
    TRY(const auto layers, parse_count(text.substr(prefix.size()), where, 1, most_layers));
    return Recompute{Recompute::Kind::full, layers};
  }
  return fail(
      where, fmt::format("unknown value '{}'", text.substr(0, 60)), "one of: none, selective, full, full:N (N layers)");
}

const char* to_text(ContextKind kind) { return context_kinds[static_cast<std::size_t>(kind)]; }

Expected<MeshOrder> parse_order(const std::string& text, const std::string& where) {
  const auto wrong = [&](const std::string& why) {
    return fail(where, fmt::format("'{}' is no order of the mesh: {}", text.substr(0, 60), why),
        "tp, cp, dp and pp, each once, fastest first: tp-cp-dp-pp or tp-cp-pp-dp");
  };
  const std::vector<std::string> words = axis_words(text);
  MeshOrder order{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = std::ranges::find(mesh_axes, words[i]);
    if (found == mesh_axes.end()) return wrong(fmt::format("it has no axis '{}'", words[i].substr(0, 20)));
    const auto here = words.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(words.begin(), here, words[i]) != here) return wrong(fmt::format("{} stands there twice", words[i]));
    order[i] = static_cast<MeshAxis>(found - mesh_axes.begin());
  }
  for (const char* axis : mesh_axes)
    if (!contains(words, axis)) return wrong(fmt::format("{} is missing", axis));
  return order;
}

std::string to_text(const MeshOrder& order) {
  return fmt::format("{}-{}-{}-{}", to_text(order[0]), to_text(order[1]), to_text(order[2]), to_text(order[3]));
}

const char* to_text(MeshAxis axis) { return mesh_axes[static_cast<std::size_t>(axis)]; }

Stack with_ways(Stack stack, const StackWays& ways) {
  if (ways.dp_overlap) stack.gradient_reduces = stack.weight_gathers = beside(*ways.dp_overlap);
  if (ways.param_overlap) stack.weight_gathers = beside(*ways.param_overlap);
  if (ways.pp_overlap) stack.boundary_sends = beside(*ways.pp_overlap);
  if (ways.tp_overlap) stack.activation_moves = beside(*ways.tp_overlap);
  if (!ways.scatter_boundary.value_or(true)) std::erase_if(stack.statements, is_boundary_statement);
  return stack;
}

std::string in_words(const StackWays& ways) {
  const auto words = [](const char* axis, const std::optional<bool>& on) {
    return on ? fmt::format(", {} overlap {}", axis, *on ? "on" : "off") : std::string();
  };
  return words("dp", ways.dp_overlap) + words("param", ways.param_overlap) + words("tp", ways.tp_overlap) +
         words("pp", ways.pp_overlap) + (ways.scatter_boundary.value_or(true) ? "" : ", boundary whole");
}

bool is_boundary_statement(const std::string& statement) { return statement.starts_with("home boundary:"); }

bool implies_scatter(const Stack& stack) { return std::ranges::any_of(stack.statements, is_boundary_statement); }

}  // namespace stepcast::run
