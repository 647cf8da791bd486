// Ways to run a split of given sizes: how context parallelism brings keys and values together, in which order the mesh
// lays its axes on the ranks, and what the software runs beside its work.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/base/error.h"
#include "model/stack.h"

namespace stepcast::run {

/// How the attention core sees the whole sequence when cp splits it; the alias of the notation in parentheses.
enum class ContextKind : std::uint8_t {
  ring,     ///< keys and values go round in steps beside the core (cp)
  gather,   ///< they are gathered before it (cp_gather)
  ulysses,  ///< the core is split by heads, with all-to-alls around it (ulysses)
};
Expected<ContextKind> parse_context_kind(const std::string& text, const std::string& where);
const char* to_text(ContextKind kind);

/// --recompute none | selective | full | full:N.
struct Recompute {
  enum class Kind : std::uint8_t { none, selective, full } kind = Kind::none;
  std::int64_t layers = 0;  ///< full on that many layers; 0 = all
};
Expected<Recompute> parse_recompute(const std::string& text, const std::string& where);

/// Axes of the mesh from fastest to slowest: neighbours on the first are neighbours in the machine.
enum class MeshAxis : std::uint8_t { tp, cp, dp, pp };
using MeshOrder = std::array<MeshAxis, 4>;
constexpr MeshOrder usual_order{MeshAxis::tp, MeshAxis::cp, MeshAxis::dp, MeshAxis::pp};
/// "tp-cp-pp-dp", as Megatron-LM spells its --use-tp-pp-dp-mapping: each of the four once.
Expected<MeshOrder> parse_order(const std::string& text, const std::string& where);
std::string to_text(const MeshOrder& order);
const char* to_text(MeshAxis axis);

/// Switches of the software that a run sets; unset ones stay as the stack's row has them.
struct StackWays {
  std::optional<bool> dp_overlap = {};        ///< gradient reductions and weight gathers run beside compute
  std::optional<bool> param_overlap = {};     ///< weight gathers alone, where they differ from the gradients
  std::optional<bool> pp_overlap = {};        ///< sends between stages do
  std::optional<bool> tp_overlap = {};        ///< gathers and reductions of activations inside a layer do
  std::optional<bool> scatter_boundary = {};  ///< false: the stack implies no split of what crosses between stages
  friend bool operator==(const StackWays&, const StackWays&) = default;
};
/// The row with these switches; its id, and with it the fit of its steps, stays.
Stack with_ways(Stack stack, const StackWays& ways);

/// ", dp overlap off"; nothing of switches that are unset.
std::string in_words(const StackWays& ways);

/// Sends the stream between stages in tp pieces and gathers it behind (Megatron-LM's scatter-gather, arXiv 2104.04473).
constexpr const char* scatter_statement = "home boundary: s on tp";
/// Is it a line about what crosses between stages? All other lines of a stack say where weights live.
bool is_boundary_statement(const std::string& statement);
/// Does the stack say that by itself?
bool implies_scatter(const Stack& stack);

}  // namespace stepcast::run
