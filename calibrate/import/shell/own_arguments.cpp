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
  here.length = words.position(), here.cut = words.cut(), here.doubts = words.doubts();
  if (here.cut) ++unclosed_;
  return here;
}

/// "shift" and "shift 2". In a loop each turn takes further arguments, and only the first turn is read: end_loop() says
/// so where it leaves any.
Expected<void> ShellReader::take_shift(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  TRY(step_over(place, here.length));
  if (!variables_.own() || variables_.own()->size() == 0) return {};
  const auto count =
      here.words.size() < 2 ? std::optional<std::size_t>(1) : parsed_number<std::size_t>(here.words[1].shown());
  if (!loops_.empty()) loop_shift_ = line;
  if (!count || (loops_.empty() && blocks_.undecided()))
    out_.unfollowed.push_back(fmt::format("line {} shifts the script's arguments as a run decides", line));
  return variables_.shift_own(count.value_or(1)), Expected<void>{};
}

/// "set -- 8 2".
Expected<void> ShellReader::take_set(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  if (here.cut || here.words.size() < 2) return pass_over(place);
  TRY(step_over(place, here.length));
  if (blocks_.undecided())
    out_.unfollowed.push_back(fmt::format("line {} sets the script's arguments as a run decides", line));
  variables_.set_own(ShellOwnArguments(std::span(here.words).subspan(2), line));
  return {};
}

}  // namespace stepcast::calibrate
