// TRY: the value of an Expected, or the way out of the function with its error.
//
//   TRY(auto network, read_network(text));       // declares network as the value, moved out
//   TRY(const auto& tables, cached_tables());    // a reference; a temporary lives as long as the reference
//   TRY(machine.links, read_links(text));        // assigns
//   TRY(check(network));                         // for Expected<void>, or where the value is not needed
//
// The expression is evaluated once. Where it holds an error, the function or lambda returns that error; its return type
// is any tl::expected with this error type, and a lambda has to name it. TRY(check()) is one statement and may stand
// after if, else or for without braces. TRY with a declaration is several statements and needs a block of its own.
//
// Not possible: a comma in the declaration outside parentheses (a binding [a, b], std::map<K, V>); a comma in the only
// argument outside parentheses (write TRY((read<K, V>(text)))); two TRY in one line; a lambda with a TRY of its own
// inside the expression (give the lambda a name first).
#pragma once

#include <tl/expected.hpp>

#define TRY(target, ...) STEPCAST_TRY_CHOOSE(__VA_OPT__(VALUE, ) VOID, )(target __VA_OPT__(, ) __VA_ARGS__)

#define STEPCAST_TRY_CHOOSE(kind, ...) STEPCAST_TRY_##kind
#define STEPCAST_TRY_JOIN_(a, b) a##b
#define STEPCAST_TRY_JOIN(a, b) STEPCAST_TRY_JOIN_(a, b)
#define STEPCAST_TRY_NAME STEPCAST_TRY_JOIN(try_result_, __LINE__)

#define STEPCAST_TRY_VOID(expression)                                                             \
  do {                                                                                            \
    if (auto&& STEPCAST_TRY_NAME = expression; !STEPCAST_TRY_NAME)                                \
      return tl::unexpected(static_cast<decltype(STEPCAST_TRY_NAME)>(STEPCAST_TRY_NAME).error()); \
  } while (false)

#define STEPCAST_TRY_VALUE(target, ...)                                                                               \
  auto&& STEPCAST_TRY_NAME = __VA_ARGS__;                                                                             \
  if (!STEPCAST_TRY_NAME) return tl::unexpected(static_cast<decltype(STEPCAST_TRY_NAME)>(STEPCAST_TRY_NAME).error()); \
  target = *static_cast<decltype(STEPCAST_TRY_NAME)>(STEPCAST_TRY_NAME)
