// nccl-tests' text output. Its layout changed several times; what stayed is: size count type, words or integers, then
// time algbw busbw error, twice. So rows are told by tokens, which also survives log lines of other programs in between.
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import_csv.h"

namespace stepcast {
namespace {

std::vector<std::string_view> tokens_of(std::string_view line) {
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    tokens.push_back(line.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::optional<double> number_in(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

bool is_integer(std::string_view token) { return !token.empty() && token.find_first_not_of("-0123456789") == token.npos; }
bool is_decimal(std::string_view token) { return token.find('.') != token.npos && number_in(token).has_value(); }

struct Row { double bytes = 0, microseconds = 0; };

/// size count type [redop] [root] time algbw busbw ...: the bandwidths have a decimal point, the time may lack one.
std::optional<Row> row_of(const std::vector<std::string_view>& tokens) {
  if (tokens.size() < 6 || !is_integer(tokens[0]) || !is_integer(tokens[1]) || number_in(tokens[2])) return std::nullopt;
  for (std::size_t time = 3; time + 2 < tokens.size() && time <= 5; ++time) {
    const auto value = number_in(tokens[time]);  // a root column holds -1 or 0
    if (!value || *value <= 0 || !is_decimal(tokens[time + 1]) || !is_decimal(tokens[time + 2])) continue;
    return Row{*number_in(tokens[0]), *number_in(tokens[time])};
  }
  return std::nullopt;
}

}  // namespace

Expected<std::vector<CollectiveMeasurement>> import_nccl_tests(std::string_view text, const std::string& where,
                                                               CollectiveKind kind, int ranks, int nodes) {
  std::vector<CollectiveMeasurement> calls;
  const double share = received_share(kind, ranks);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto row = row_of(tokens_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row && row->bytes > 0 && row->microseconds > 0)
      calls.push_back({kind, ranks, nodes, Bytes(row->bytes * share), Seconds(row->microseconds * 1e-6)});
  }
  if (calls.empty()) return fail(where, "no rows of nccl-tests", "lines of: size count type [redop] [root] time algbw busbw");
  return calls;
}

}  // namespace stepcast
