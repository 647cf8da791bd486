// What is known of each argument of a framework: one row each, from the data files in arguments/.
//
//   { "program": "megatron-lm", "topic": "Parallelism",
//     "source": "NVIDIA/Megatron-LM@core_v0.13.0: megatron/training/arguments.py",
//     "arguments": [
//       {"name": "tensor_model_parallel_size", "takes": "count", "default": "1", "since": "2.0", "asks": "tp",
//        "what": "Ways that every weight matrix is split inside a layer.", "trap": "..."},
//       {"name": "model_parallel_size", "takes": "count", "since": "1.0", "until": "2.0", "asks": "tp",
//        "instead": "tensor_model_parallel_size", "what": "..."} ] }
// The source says where the names stand: repository, tag or commit, and files. A row of another one has its own. Of
// --no-... and --disable-... argparse makes the name. None may lack it: what nobody can look up is not known.
// The first file of a program (NN_PROGRAM.json) holds its releases instead: "releases": [{"id": "2.0", "date":
// "2021-01-12"}, ...] in order of time, and may say "extends": "megatron-lm@2.5": another program's arguments of a
// release hold too. A default that changed is "defaults": {"": "1", "2.4": "2"}, from which release on; values are
// texts. An argument that makes another network or plan than any that is forecast says so: "refused": "networks with
// Mamba layers are not forecast", and "plain": ["local"] holds the values with which it does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/base/embedded.h"
#include "model/base/error.h"
#include "studies/launch/facts/asked.h"

namespace stepcast::launch {

/// How far an argument reaches. What answers a question (asks) is always `step`.
enum class Reach : std::uint8_t {
  nothing,    ///< leaves the step's time and memory as they are: paths, logging, learning rates, seeds
  step,       ///< the forecast takes it into account
  uncovered,  ///< changes time or memory of the step, and no forecast here follows it
  beside,     ///< work beside or between steps: checkpoints, evaluation, profiling
};

struct ArgumentFact {
  std::string name;          ///< without leading dashes, inner ones as underscores; dotted where nested
  std::string topic;         ///< heading: "Parallelism"
  std::string source;        ///< "OWNER/REPOSITORY@TAG: file, file", several of them behind ";"
  std::string takes;         ///< flag, count, number, text, list
  std::string since, until;  ///< first release with it, first one without; "": always, still there
  std::string instead;       ///< the argument that took its place
  std::string what, trap;    ///< what it means; the mistake it makes likely ("" = none known)
  std::vector<std::pair<std::string, std::string>> defaults;  ///< from which release on, what; one row "" for all
  std::vector<std::string> known;                             ///< values it takes, where they are few
  /// Why no forecast is of a run with it: "networks with Mamba layers are not forecast"; "": there is one.
  std::string refused;
  std::vector<std::string> plain;  ///< values that ask for nothing of the kind, beside its default and none
  std::optional<Asked> asks;
  Reach reach = Reach::nothing;
};

struct Release {
  std::string id, date;
};

/// The arguments of one program, its own first, then those of the program that it extends.
class ArgumentTable {
 public:
  ArgumentTable() = default;
  ArgumentTable(std::vector<Release> releases, std::vector<ArgumentFact> facts);

  [[nodiscard]] std::span<const Release> releases() const { return releases_; }
  [[nodiscard]] std::span<const ArgumentFact> facts() const { return facts_; }
  /// Finds an argument by its whole name, or by its last part where nested names end in a row's name; else by a row
  /// "groups.*" for names that users make up below a known one. Null where nobody knows it.
  [[nodiscard]] const ArgumentFact* find(std::string_view name) const;
  /// Rows that answer a question; earlier ones go first.
  [[nodiscard]] std::vector<const ArgumentFact*> answering(Asked asked) const;
  /// Is `release` before `other`? "" is the newest.
  [[nodiscard]] bool before(std::string_view release, std::string_view other) const;
  [[nodiscard]] bool knows(const ArgumentFact& fact, std::string_view release) const;
  /// "" where nothing is said.
  [[nodiscard]] std::string default_of(const ArgumentFact& fact, std::string_view release) const;
  /// The nearest names, for hints.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Is there a release of that id?
  [[nodiscard]] bool has_release(std::string_view id) const;

 private:
  [[nodiscard]] const ArgumentFact* row_of(std::string_view name) const;
  [[nodiscard]] const ArgumentFact* row_above(std::string_view name) const;
  [[nodiscard]] std::size_t place_of(std::string_view release) const;

  std::vector<Release> releases_;
  std::vector<ArgumentFact> facts_;
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::unordered_map<std::string, std::size_t, NameHash, std::equal_to<>> rows_;  ///< by name
  bool made_up_ = false;  ///< has it rows of names that users make up?
};

/// Tables by the id of their program.
using ArgumentTables = std::map<std::string, ArgumentTable, std::less<>>;
/// The files in the order of their names. Errors name the file and the row: unknown questions, releases and arguments,
/// a name given twice, a program that extends itself.
Expected<ArgumentTables> read_argument_tables(std::span<const EmbeddedFile> files);

/// The table of a program, empty where it has none; all tables are read once. Files that are wrong break the build:
/// a test reads all.
const ArgumentTable& argument_table(std::string_view program);

}  // namespace stepcast::launch
