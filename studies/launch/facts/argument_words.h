// Describes one argument of a launch in words: what it means with its value, and what is doubtful about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// "tp 8: ways that every weight matrix is split inside a layer."
std::string argument_meaning(const ArgumentFact& fact, const std::string& value);

/// "--micro-batch-size"; the name where nothing was written.
std::string spelled_argument(const GivenArgument& given);
/// Spells the name as the framework's command line or file does.
std::string spelled_name(const Framework& framework, std::string_view name);

/// A look for the nearest name goes through the whole table: so many unknown arguments of a launch are worth it.
constexpr std::size_t most_nearest = 10;
/// Of one that the launch's framework does not know: whose it is, else the nearest name where `look` says so.
std::string unknown_argument(const Launch& launch, const GivenArgument& given, bool look = true);
/// Unknown (with the nearest names, or the framework that knows it), of other releases (with what took its place), the
/// default anyway, no value of those that it takes, a variable that nothing sets.
std::vector<std::string> argument_doubts(const Launch& launch, const GivenArgument& given, bool look = true);

}  // namespace stepcast::launch
