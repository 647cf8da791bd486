// A script's own arguments ($1, "$@") as shift and set change them, and other scripts that it reads into itself.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

/// Scripts that prepare a shell and set no size of a run: virtual environments, modules, compilers, a user's own
/// settings.
constexpr std::string_view settings_of_shells[] = {"activate", "bashrc", "profile", "conda", "/etc/", "modules", "lmod",
    "setvars", "spack", "venv", "/opt/", "nvm.sh"};

bool prepares_shell(std::string_view name) {
  return std::any_of(std::begin(settings_of_shells), std::end(settings_of_shells),
      [&](std::string_view part) { return name.find(part) != name.npos; });
}

/// Logs hold lines that begin with these words, too.
bool names_script(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".sh") || name.ends_with(".bash") || name.ends_with(".env");
}

}  // namespace

Expected<void> ShellReader::take_source(Place& place) {
  const std::size_t line = place.line();
  ShellWords words(place.source.part(place.at, window(place), line), &variables_);
  std::vector<ShellText> given;
  while (words.next()) given.push_back(words.word());
  if (words.cut() || given.size() < 2) return pass_over(place);
  const std::string name = given[1].shown();
  if (!names_script(name) || prepares_shell(name)) return pass_over(place);
  TRY(step_over(place, words.position()));
  auto text = sourced_ ? sourced_(name) : std::nullopt;
  if (!text) {
    if (sourced_ && std::find(out_.sourced.begin(), out_.sourced.end(), name) == out_.sourced.end())
      out_.sourced.push_back(name);
    return {};
  }
  const auto outer = numbered_arguments();
  if (given.size() > 2) number_arguments({given.begin() + 2, given.end()}, line);
  ShellText inner;
  inner.put(*text, 1);
  auto good = take_inner(std::move(inner), place.depth);
  if (given.size() > 2) number_arguments(outer, line);
  return good;
}

/// "shift" and "shift 2". In a loop each turn takes further arguments, and only the first turn is read: end_loop() says
/// so where it leaves any.
Expected<void> ShellReader::take_shift(Place& place) {
  const std::size_t line = place.line();
  ShellWords words(place.source.part(place.at, window(place), line), &variables_);
  std::int64_t count = 1;
  bool known = true;
  for (int word = 0; words.next(); ++word)
    if (word == 1) {
      const auto number = parsed_number<std::int64_t>(words.word().shown());
      known = number && *number >= 0;
      count = number.value_or(1);
    }
  TRY(step_over(place, words.position()));
  auto given = numbered_arguments();
  if (given.empty() || !blocks_.active()) return {};
  const auto shifted = std::min<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), given.size());
  if (loops_ > 0) loop_shift_ = line;
  if (!known || (loops_ == 0 && blocks_.undecided()))
    out_.unfollowed.push_back(fmt::format("line {} shifts the script's arguments as a run decides", line));
  given.erase(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(shifted));
  number_arguments(std::move(given), line);
  return {};
}

void ShellReader::end_loop() {
  loops_ = std::max(0, loops_ - 1);
  if (loops_ > 0 || loop_shift_ == 0) return;
  if (!numbered_arguments().empty())
    out_.unfollowed.push_back(
        fmt::format("line {} shifts the script's arguments in a loop, of which one turn is read", loop_shift_));
  loop_shift_ = 0;
}

/// "set -- 8 2".
Expected<void> ShellReader::take_set(Place& place) {
  const std::size_t line = place.line();
  ShellWords words(place.source.part(place.at, window(place), line), &variables_);
  std::vector<ShellText> given;
  while (words.next()) given.push_back(words.word());
  if (words.cut() || given.size() < 2) return pass_over(place);
  TRY(step_over(place, words.position()));
  if (blocks_.undecided())
    out_.unfollowed.push_back(fmt::format("line {} sets the script's arguments as a run decides", line));
  number_arguments({given.begin() + 2, given.end()}, line);
  return {};
}

std::vector<ShellText> ShellReader::numbered_arguments() const {
  std::vector<ShellText> given;
  for (std::size_t i = 1; const ShellValue* value = variables_.find(fmt::format("{}", i)); ++i)
    given.push_back(value->joined());
  return given;
}

void ShellReader::number_arguments(std::vector<ShellText> given, std::size_t line) {
  for (std::size_t i = 1; variables_.find(fmt::format("{}", i)) != nullptr; ++i)
    variables_.forget(fmt::format("{}", i));
  for (std::size_t i = 0; i < given.size(); ++i)
    variables_.set(fmt::format("{}", i + 1), ShellValue{{given[i]}, false, line, 0, {}});
  variables_.set("@", ShellValue{std::move(given), true, line, 0, {}});
}

}  // namespace stepcast::calibrate
