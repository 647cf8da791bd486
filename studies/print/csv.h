// The tables of --csv: rows of a command's JSON document, so that both have the same keys, units and digits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast::print {

/// The lists at these paths ("levers", "strong/runs"; absent ones are passed over) as one table after RFC 4180. A
/// member of an inner object is a column "object.member", a list of plain values "key.0", "key.1", ..., and a list of
/// objects gives a row for each of them. Several paths: the column "list" says which.
std::string csv_of(const std::string& json_document, const std::vector<std::string_view>& paths);

}  // namespace stepcast::print
