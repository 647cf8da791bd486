// A script's own arguments ($1, "$@", $#) as shift and set change them.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
ShellReader::WordsHere ShellReader::words_here(Place& place) {
  ShellWords words(place.source.part(place.at, window(place), place.line()), &variables_);
  WordsHere here;
  while (words.next()) here.words.push_back(words.word());
  here.length = words.position(), here.cut = words.cut();
  return here;
}

/// "shift" and "shift 2". In a loop each turn takes further arguments, and only the first turn is read: end_loop() says
/// so where it leaves any.
Expected<void> ShellReader::take_shift(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  TRY(step_over(place, here.length));
  auto own = own_arguments();
  if (!own || own->empty()) return {};
  const auto count =
      here.words.size() < 2 ? std::optional<std::size_t>(1) : parsed_number<std::size_t>(here.words[1].shown());
  if (loops_ > 0) loop_shift_ = line;
  if (!count || (loops_ == 0 && blocks_.undecided()))
    out_.unfollowed.push_back(fmt::format("line {} shifts the script's arguments as a run decides", line));
  const std::size_t shifted = std::min(count.value_or(1), own->size());
  own->erase(own->begin(), own->begin() + static_cast<std::ptrdiff_t>(shifted));
  return set_own_arguments(std::move(own), line), Expected<void>{};
}

void ShellReader::end_loop() {
  loops_ = std::max(0, loops_ - 1);
  if (loops_ > 0 || loop_shift_ == 0) return;
  if (const auto own = own_arguments(); own && !own->empty())
    out_.unfollowed.push_back(
        fmt::format("line {} shifts the script's arguments in a loop, of which one turn is read", loop_shift_));
  loop_shift_ = 0;
}

/// "set -- 8 2".
Expected<void> ShellReader::take_set(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  if (here.cut || here.words.size() < 2) return pass_over(place);
  TRY(step_over(place, here.length));
  if (blocks_.undecided())
    out_.unfollowed.push_back(fmt::format("line {} sets the script's arguments as a run decides", line));
  set_own_arguments(std::vector(here.words.begin() + 2, here.words.end()), line);
  return {};
}

std::optional<std::vector<ShellText>> ShellReader::own_arguments() const {
  std::vector<ShellText> own;
  for (std::size_t i = 1; const ShellValue* value = variables_.find(fmt::format("{}", i)); ++i)
    own.push_back(value->joined());
  const ShellValue* all = variables_.find("@");
  if (own.empty() && all == nullptr) return std::nullopt;
  return own.empty() ? all->words : own;
}

void ShellReader::set_own_arguments(std::optional<std::vector<ShellText>> own, std::size_t line) {
  for (std::size_t i = 1; variables_.find(fmt::format("{}", i)) != nullptr; ++i)
    variables_.forget(fmt::format("{}", i));
  variables_.forget("@"), variables_.forget("#");
  if (!own) return;
  set_plain("#", fmt::format("{}", own->size()), line);
  for (std::size_t i = 0; i < own->size(); ++i)
    variables_.set(fmt::format("{}", i + 1), ShellValue{{(*own)[i]}, false, line, 0, {}});
  variables_.set("@", ShellValue{std::move(*own), true, line, 0, {}});
}

}  // namespace stepcast::calibrate
