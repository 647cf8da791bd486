// What a run is told: one row per field. The command line and its help, scenario files, launches, the axes of sweeps,
// the levers of whatif, and the places that errors point to are all views of this table. A new flag is a row here, a
// member of SplitWishes or RunWishes, its line of the notation (run/mapping_text), its rule (run/split_rules), and what
// each framework calls it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/base/error.h"
#include "model/network/network.h"
#include "studies/run/field_id.h"
#include "studies/run/split/tried_values.h"
#include "studies/run/split/wishes.h"

namespace stepcast::run {

/// How a field's text is read, and which member of the wishes holds its value. Nothing of it: a noun, which is read by
/// its name.
struct FieldType {
  bool number = false;     ///< whole, from `least` to `most`
  bool in_tokens = false;  ///< of tokens: 8k is 8,192 of them, 1M 1,048,576
  std::int64_t least = 1, most = 1;
  Expected<void> (*check)(const std::string& text, const std::string& where) = nullptr;
  Expected<void> (*read)(const std::string& text, const std::string& where, RunWishes& into) = nullptr;
  void (*copy)(RunWishes& into, const RunWishes& from) = nullptr;
};

/// As an axis of a sweep; nothing where it has one value in all of a sweep.
struct FieldAxis {
  /// A value that the flag has not: "auto", what predict takes where nobody says. For the schedule that is 1f1b, with
  /// chunks interleaved-1f1b; for sp on where the sequence divides by tp; else the stack's own way. "": none.
  std::string_view own_word = {};
  bool commas = false;  ///< values have commas inside (layouts) and are parted by ";"
  /// What a sweep tries where nobody says; one value = what predict takes. gpus alone has none: it must be said.
  AxisValues (*usual)(const AxisContext&) = nullptr;
  /// Every value that could ever be legal, for "all"; none: there is no such list.
  AxisValues (*all)(const AxisContext&) = nullptr;
  std::string_view doc = {};  ///< "tensor parallelism; default: powers of two inside a node"
};

/// As a lever of whatif: which neighbours of a value are tried.
struct FieldLever {
  enum class Walk : std::uint8_t { none, doubling, steps_of_one, words } walk = Walk::none;
  int place = 0;               ///< among the levers, whose effects may be equal
  std::string_view name = {};  ///< "tensor parallelism"
  std::array<std::string_view, 3> words = {};
};

enum class FieldGroup : std::uint8_t { hardware, split, batch };  ///< the heading in the help

struct RunField {
  FieldId id = FieldId::count_;
  std::string_view key = {};    ///< in scenario and space files: "micro_batch"
  std::string_view flag = {};   ///< "--micro-batch"; "": space files only
  std::string_view value = {};  ///< what the help writes for it: "N"
  FieldGroup group = FieldGroup::split;
  std::string_view doc = {};  ///< one line; says the default
  bool splits = false;        ///< says how the work is split; a mapping file says the same in full
  FieldType type = {};
  std::string_view plain = {};  ///< what holds where nobody says it, whatever the rest is; "": that depends
  FieldAxis axis = {};
  FieldLever lever = {};
  /// Where it can do something (split/acts.h); null: everywhere. `why_not` says what is wrong elsewhere: its lever is
  /// not tried there, and who asks for it is told.
  bool (*applies)(const Split& split, const RunWishes& told, const NetworkSpec& network) = nullptr;
  std::string_view why_not = {};

  [[nodiscard]] bool is_noun() const { return type.read == nullptr; }
};

/// In the order of the help.
std::span<const RunField> run_fields();
/// Of a field that has a flag.
const RunField& field(FieldId id);
/// By scenario key ("tp") or by flag ("--tp"); null when there is none.
const RunField* find_field(std::string_view key);
const RunField* find_flag_field(std::string_view flag);

/// "--tp": where an error points that nobody's words made.
std::string flag_of(FieldId id);

/// "8192" for the 8k of a field of tokens; other texts as they are.
std::string with_plain_size(const RunField& field, const std::string& text);

/// Kind, range and the field's own check.
Expected<void> check_field(const RunField& field, const std::string& text, const std::string& where);

}  // namespace stepcast::run
