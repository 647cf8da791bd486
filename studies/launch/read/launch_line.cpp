#include "studies/launch/read/launch_line.h"

#include <fmt/format.h>

#include "studies/cli/shell_word.h"
#include "studies/launch/facts/framework.h"

namespace stepcast::launch {

std::string launch_words(const Arguments& arguments) {
  std::string text;
  for (const LaunchFlag& row : launch_flags())
    if (arguments.has(row.flag) && arguments.value(row.flag) != "--")
      text = fmt::format("{} {}", row.flag, shell_word(arguments.value(row.flag)));
  for (const std::string& defined : arguments.values("--define")) text += " --define " + shell_word(defined);
  if (arguments.has("--release")) text += " --release " + shell_word(arguments.value("--release"));
  for (const std::string& folder : arguments.values("--files-from")) text += " --files-from " + shell_word(folder);
  if (arguments.has("--lenient")) text += " --lenient";
  return text;
}

std::string launch_words_behind(const Arguments& arguments) {
  std::string text;
  for (const LaunchFlag& row : launch_flags())
    if (arguments.value(row.flag) == "--") text = fmt::format(" {}", row.flag);
  if (!arguments.rest.empty()) text += " --";
  for (const std::string& word : arguments.rest) text += " " + shell_word(word);
  return text;
}

}  // namespace stepcast::launch
