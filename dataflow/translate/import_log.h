// What a reader of another tool's files needs all along: the first error, the notes, and pieces of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "model/base/error.h"

namespace stepcast::dataflow {

/// Readers go on with defaults after an error, which only the first one survives; the steps check failed() in between.
class ImportLog {
 public:
  void refuse(const Position& where, std::string what, std::string hint);
  void note(const Position& where, std::string what);
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const Error& error() const { return *error_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::optional<Error> error_;
  std::vector<std::string> notes_;
};

/// Names of the notation are letters, digits and '_' and start with no digit. Other characters become '_', with a note.
std::string notation_name(const std::string& foreign, const Position& where, ImportLog& log);

/// A property of an arch level from its value in base units.
ArchLevel::Property arch_property(const std::string& name, double value, bool per_cycle = false);

using LevelItem = std::variant<ChipPar, ForStatement, Keep>;

/// LEVEL: items, holding for operators with tag `scope` only ("" = all).
Statement level_line(
    const std::string& level, std::vector<LevelItem> items, const Position& where, const std::string& scope = {});

/// O[indices] += A[...] * B[...]
WrittenAccess plain_access(const std::string& tensor, const std::vector<std::string>& loops);

/// Whole number of decimal digits only, at most 2^40 (the notation's largest size); nullopt: anything else.
std::optional<std::int64_t> whole_number(std::string_view text);

/// a * b, at most 2^41: just above every size of the notation, so that a product too large stays recognisable.
std::int64_t capped_product(std::int64_t a, std::int64_t b);

/// A finite decimal number, "10.0" or "1e3".
std::optional<double> real_number(std::string_view text);

/// Words without spaces around them: " a b " -> "a b".

}  // namespace stepcast::dataflow
