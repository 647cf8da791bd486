// Small pieces that the writers of launches share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/emit/emit.h"

namespace stepcast::launch {

/// One argument or setting to write. An empty value is a switch that is only named.
struct EmittedArgument {
  std::string name, value, comment;
};
/// Arguments under a heading of their own.
struct EmittedGroup {
  std::string heading;
  std::vector<EmittedArgument> arguments;

  void add(std::string name, std::string value, std::string comment = {});
  void add(std::string name, std::int64_t value, std::string comment = {});
  /// A switch.
  void add_flag(std::string name, std::string comment = {});
};

std::string true_false(bool on);
/// The fewest digits that read back to the same number: "1.25".
std::string number_text(double number);

/// Letters, digits, _ . and - only, and no more of them than names have: what else stands in a launch where a name
/// should would be something else in the file that is written (a quote, a command, a section).
bool is_plain_name(std::string_view name);

/// Words on lines of at most `width` letters, each behind `mark` ("# "); ends in a line's end. Words that are longer
/// stand alone.
std::string comment_lines(std::string_view text, std::string_view mark = "# ", std::size_t width = 110);

/// What stands on top of every file: what it trains, where, how it is split, and which command reads it back.
std::vector<std::string> header_of(const EmitPlan& plan, std::string_view target);

/// Do the axes of more than one rank lie as that order has them?
bool lies_as(const Split& split, const MeshOrder& order);
/// The one other order that Megatron's launchers have.
constexpr MeshOrder stages_inside{MeshAxis::tp, MeshAxis::cp, MeshAxis::pp, MeshAxis::dp};

/// The launch, if there is one and it is of that framework; else null.
const Launch* launch_of(const Launch* like, std::string_view framework);

std::int64_t gpus_per_node(const EmitPlan& plan);
std::int64_t nodes_of(const EmitPlan& plan);
/// GPUs of a machine that a launcher with the same number on each can start.
std::int64_t gpus_on_each(const EmitPlan& plan);
/// What such a launcher starts where the last node is not full; "" where it is.
std::string node_gap(const EmitPlan& plan, std::string_view launcher);

/// The length of a sequence, the network's own where none was asked for.
std::int64_t sequence_of(const EmitPlan& plan);

/// "--stack megatron-2022" where the plan's software is not the row that a reading takes: no script says what is
/// beneath it.
std::string stack_beside(const EmitPlan& plan, std::string_view usual);

/// Adds the sentences of what is lost; "" says that nothing is.
/// Of a network what no argument of Megatron's family says: norms behind, gates, sparse attention and their like.
void add_network_gaps(std::vector<std::string>& unsaid, const NetworkSpec& network);
/// Layers that predict further tokens, where the program trains none; "" where the network has none.
std::string predictors_gap(const EmitPlan& plan);
void add_gaps(std::vector<std::string>& unsaid, std::initializer_list<std::string> gaps);

/// What no framework here can be told: statements of the mapping that no flag says, slices, caps of memory. `name`:
/// "Megatron-LM".
std::vector<std::string> unsaid_by_all(const EmitPlan& plan, std::string_view name);

}  // namespace stepcast::launch
