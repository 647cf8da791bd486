// An error on its way to the user: what found it knows what is wrong, its callers know where that was said and what
// else helps. Nothing else writes into an error that somebody else made.
#pragma once

#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast {

/// The same error at the place where the caller's value was said.
Error error_at(std::string where, Error error);

/// The same error inside something: "outer: where", or "outer" alone where it has no place.
Error error_in(std::string_view outer, Error error);

/// The same error with words in front of what was found: "about: what".
Error error_about(std::string_view about, Error error);

/// The same error where the caller has another name for a value: its place, and the hint where it begins with the name.
Error renamed_place(Error error, std::string_view name, std::string_view said);

/// The same error where the front of its place has another name.
Error renamed_front(Error error, std::string_view front, std::string_view said);

/// "run.json:/network:/layers", from a text that stood inside a file, is one pointer: "run.json:/network/layers".
Error at_one_pointer(Error error, const std::string& where);

/// The same error with a hint beside its own: "hint; more".
Error with_more_hint(Error error, std::string_view more);

/// The same error with this hint, which knows more; an empty one leaves its own.
Error with_hint(Error error, std::string hint);

}  // namespace stepcast
