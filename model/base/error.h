// What every edge of the program (files, command line, GPU calls) answers when it cannot go on: where, what, hint.
// Inside, on validated values, functions are total and broken invariants are assertions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "model/base/namespaces.h"
#include "model/base/try.h"  // an Expected is unpacked by TRY

namespace stepcast {

struct Error {
  std::string where;  ///< file and JSON pointer, file:line:column, or the flag
  std::string what;   ///< what was found, with the numbers
  std::string hint;   ///< what is allowed, the nearest legal values; may be empty
};

template <typename T> using Expected = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string where, std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{std::move(where), std::move(what), std::move(hint)});
}

/// "where: what (hint)" on one line.
std::string to_text(const Error& error);

/// One text of each row, for hints: names_of(rows, &Row::name).
template <class Rows, class Member> std::vector<std::string> names_of(const Rows& rows, Member member) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.*member);
  return names;
}

/// The candidate with the smallest edit distance to `name`, or "" when none is within a third of its length (at least
/// 2).
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// "did you mean 'x'?" when a near name exists, else "one of: a, b, c"; used as a hint.
std::string name_hint(std::string_view name, std::span<const std::string> candidates);

}  // namespace stepcast
