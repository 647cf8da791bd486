// What somebody typed or wrote into a scenario file, merged but not yet completed: the first of two steps to a
// Scenario.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/large_value.h"
#include "studies/run/fields.h"
#include "studies/run/nouns.h"

namespace stepcast::run {

/// Micro-batches per pipeline stage where no batch is said: enough that the pipeline's ramp does not rule the step.
constexpr std::int64_t default_batches_per_stage = 4;

/// Something nobody said. `flag` is how to say it.
struct Assumption {
  std::string flag, value, why;
};

/// What a user should know of the run.
struct Remark {
  std::string text;
  /// It stands above the figures: how a network's file or a launch was read, and what a flag asks for in vain.
  bool above = false;
};
std::vector<std::string> texts_of(const std::vector<Remark>& remarks);

struct Request {
  LARGE_VALUE(Request);
  struct Value {
    std::string text, where;
  };
  using Said = std::map<std::string_view, Value>;  ///< by scenario key: "tp" -> {"8", "--tp"}
  // clang-format off
  /// A line of the notation behind those of the split; a value of the field takes its place.
  struct Statement { std::string text; FieldId instead_of; std::string where; };
  // clang-format on

  std::optional<Chosen<NetworkSpec>> network;
  std::optional<Chosen<Machine>> machine;
  std::optional<Chosen<Stack>> stack;
  std::optional<Chosen<Profile>> profile;
  std::optional<Value> mapping;  ///< text of the notation
  std::vector<Statement> statements;
  bool copies_groups = false;         ///< SplitWishes::copies_groups, which software decides and nobody says
  std::vector<std::string> notes;     ///< how a launch was read
  std::vector<std::string> warnings;  ///< what of a launch was not understood

  /// Reads a value, in place of what was said before. Errors: the field's own (check_field), and a noun, which is a
  /// member here.
  Expected<void> say(const RunField& field, std::string text, std::string where);
  /// The same by scenario key. Error: no field has it.
  Expected<void> say(std::string_view key, std::string text, std::string where);
  void unsay(FieldId id);

  [[nodiscard]] const Said& said() const { return said_; }
  /// Null where nobody said it.
  [[nodiscard]] const Value* find(FieldId id) const;
  [[nodiscard]] bool says(FieldId id) const { return find(id) != nullptr; }
  /// Where the value came from; the flag's name when nobody said it.
  [[nodiscard]] std::string where(FieldId id) const;
  /// All that was said, typed; defaults elsewhere.
  [[nodiscard]] const RunWishes& wishes() const { return wishes_; }

 private:
  Said said_;
  RunWishes wishes_;
};

}  // namespace stepcast::run
