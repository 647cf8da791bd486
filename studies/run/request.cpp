#include "studies/run/request.h"

#include <charconv>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "studies/launch/read/asked_run.h"
#include "studies/run/scenario_file.h"

namespace stepcast {
namespace {

Expected<Request> start(const std::string& word, const std::string& as) {
  if (names_a_file(word)) {
    const auto text = read_text_file(word);
    if (!text) return tl::unexpected(text.error());
    if (is_scenario(*text) && !as.empty())
      return fail("--as", fmt::format("{:.60} is a scenario file, which names its network", word),
                  "a Hugging Face config.json");
    if (is_scenario(*text)) return read_scenario(*text, word);
  }
  auto network = choose_network_as(word, "NETWORK", as);
  if (!network) return tl::unexpected(network.error());
  Request request;
  request.network = std::move(*network);
  return request;
}

template <typename Row, typename Choose>
Expected<void> take_noun(std::optional<Chosen<Row>>& slot, const Arguments& arguments, std::string_view flag,
                         Choose choose) {
  const auto given = arguments.flags.find(flag);
  if (given == arguments.flags.end()) return {};
  auto chosen = choose(given->second, given->first);
  if (!chosen) return tl::unexpected(chosen.error());
  slot = std::move(*chosen);
  return {};
}

Expected<void> take_nouns(Request& request, const Arguments& arguments) {
  if (auto done = take_noun(request.machine, arguments, "--machine", choose_machine); !done) return done;
  if (auto done = take_noun(request.stack, arguments, "--stack", choose_stack); !done) return done;
  return take_noun(request.profile, arguments, "--profile", choose_profile);
}

Expected<void> take_mapping(Request& request, const Arguments& arguments) {
  const auto given = arguments.flags.find("--mapping");
  if (given == arguments.flags.end()) return {};
  const auto text = read_text_file(given->second);
  if (!text) return tl::unexpected(text.error());
  request.mapping = Request::Value{*text, given->second};
  return {};
}

bool is_noun(std::string_view key) { return key == "machine" || key == "stack" || key == "profile"; }

}  // namespace

const Request::Value* Request::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::int64_t Request::count(std::string_view key, std::int64_t fallback) const {
  const Value* value = find(key);
  if (value == nullptr) return fallback;
  std::int64_t count = fallback;
  std::from_chars(value->text.data(), value->text.data() + value->text.size(), count);
  return count;
}

std::string Request::text(std::string_view key, std::string_view fallback) const {
  const Value* value = find(key);
  return value == nullptr ? std::string(fallback) : value->text;
}

std::string Request::where(std::string_view key) const {
  if (const Value* value = find(key)) return value->where;
  const Flag* flag = find_key(run_flags(), key);
  return flag == nullptr ? std::string(key) : fmt::format("{} (default)", flag->name);
}

Expected<Request> read_request(const std::string& word, const Arguments& arguments) {
  const auto as = arguments.flags.find("--as");
  auto request = start(word, as == arguments.flags.end() ? "" : as->second);
  if (!request) return request;
  if (auto done = take_flags(*request, arguments); !done) return tl::unexpected(done.error());
  return request;
}

Expected<Request> read_request(const Arguments& arguments) {
  const auto source = launch_source(arguments);
  if (!source) return tl::unexpected(source.error());
  if (!*source) {
    if (arguments.words.empty())
      return fail("command line", "no network is named", "NETWORK, a scenario file, or a launch: --megatron run.sh");
    return read_request(arguments.words[0], arguments);
  }
  auto request = read_launch_request(**source, arguments);
  if (!request) return request;
  if (auto done = take_flags(*request, arguments); !done) return tl::unexpected(done.error());
  return request;
}

Expected<void> take_flags(Request& request, const Arguments& arguments) {
  for (const auto& [name, text] : arguments.flags) {
    const Flag* flag = find_flag(run_flags(), name);
    if (flag == nullptr || flag->key.empty() || is_noun(flag->key)) continue;
    request.values[std::string(flag->key)] = {text, name};
    std::erase_if(request.statements, [&](const Request::Statement& statement) { return statement.key == flag->key; });
  }
  if (auto done = take_nouns(request, arguments); !done) return done;
  return take_mapping(request, arguments);
}

}  // namespace stepcast
