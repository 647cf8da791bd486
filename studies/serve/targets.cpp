#include "studies/serve/targets.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/base/text.h"

namespace stepcast::serve {
namespace {

Seconds first_word(const sim::Served& request) { return request.first - request.sent; }
Seconds whole(const sim::Served& request) { return request.last - request.sent; }
/// Requests of one word have none behind it.
Seconds per_word(const sim::Served& request) {
  return request.output > 1 ? (request.last - request.first) / static_cast<double>(request.output - 1) : Seconds(0);
}

constexpr Target known[] = {{"ttft", {}, first_word}, {"tpot", {}, per_word}, {"e2e", {}, whole}};
constexpr const char* hint = "ttft, tpot or e2e, each below a time: \"ttft<500ms tpot<30ms\"";

}  // namespace

Expected<std::vector<Target>> read_targets(const std::string& text, const std::string& where) {
  std::vector<Target> targets;
  constexpr const char* separators = " ,\t";
  for (std::size_t begin = text.find_first_not_of(separators); begin != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = text.find_first_not_of(separators, end);
    const std::size_t sign = word.find('<');
    const std::string name = lower_case(word.substr(0, sign));
    const auto* row = std::ranges::find(known, name, &Target::name);
    if (sign == std::string::npos || row == std::end(known))
      return fail(where, fmt::format("'{:.40}' is no target", word), hint);
    if (std::ranges::find(targets, row->name, &Target::name) != targets.end())
      return fail(where, fmt::format("{} twice", name), "each once");
    Target target = *row;
    TRY(target.most, parse_quantity<Seconds>(word.substr(sign + 1), where));
    targets.push_back(target);
  }
  if (targets.empty()) return fail(where, "no target", hint);
  return targets;
}

Expected<void> check_targets(const std::string& text, const std::string& where) {
  TRY(read_targets(text, where));
  return {};
}

bool meets(const sim::Served& request, const std::vector<Target>& targets) {
  return std::ranges::all_of(targets, [&](const Target& target) { return target.of(request) < target.most; });
}

}  // namespace stepcast::serve
