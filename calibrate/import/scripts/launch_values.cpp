// What a program is told: its options with their values, overrides, and words of its own.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/scripts/launch_reader.h"
#include "calibrate/import/scripts/launch_words.h"

namespace stepcast::calibrate {

/// Only what a program is told.
LaunchLine LaunchReader::read_arguments() {
  arguments();
  return std::move(out_);
}

/// "--run_name lr=1e-5": the word behind an option is its value, unless the launch has overrides that stand alone:
/// the reader does not know yet which program takes overrides.
bool LaunchReader::has_overrides() const {
  for (std::size_t at = at_; at < words_.size(); ++at) {
    const std::string& before = at > 0 ? words_[at - 1].text : "";
    if (is_override(words_[at].text) && (!is_option(before) || before.find('=') != before.npos)) return true;
  }
  return false;
}

void LaunchReader::arguments() {
  overrides_ = has_overrides();
  while (at_ < words_.size()) {
    const ShellWord& word = words_[at_++];
    const std::size_t equals = word.text.find('=');
    if (word.text == "--" && hands_to_launcher()) return launcher_words();
    if (const std::size_t blank = word.text.find(' '); is_option(word.text) && blank < equals) keep_two(word, blank);
    else if (is_option(word.text) || is_override(word.text)) keep(word, equals);
    else if (word.bare) note_bare(word);
    else out_.positional.push_back({{}, word.text, word.text, word.line, word.unset});
  }
}

/// "axolotl train FILE --launcher torchrun -- --nnodes 2": the program starts a launcher, and hands on what stands
/// behind the dashes.
bool LaunchReader::hands_to_launcher() const {
  return !out_.given.empty() && out_.given.back().name == "launcher" && is_launcher(out_.given.back().value);
}

void LaunchReader::launcher_words() {
  enter(out_.given.back().value);
  out_.launcher = launcher_, by_environment_ = each_device_ = false;
  out_.given.pop_back(), out_.arguments.erase("launcher");
  while (at_ < words_.size()) launcher_option();
}

/// "--name value" as one word.
void LaunchReader::keep_two(const ShellWord& word, std::size_t blank) {
  const std::string name = word.text.substr(0, blank);
  out_.notes.push_back(
      fmt::format("'{:.60}' is one word in line {}: read as a name and its value", word.text, word.line));
  keep({argument_name(name), name, word.text.substr(blank + 1), word.line, word.unset});
}

void LaunchReader::keep(const ShellWord& word, std::size_t equals) {
  GivenArgument given{
      argument_name(word.text.substr(0, equals)), word.text.substr(0, equals), {}, word.line, word.unset};
  if (equals != word.text.npos) given.value = word.text.substr(equals + 1);
  else take_values(given);
  keep(std::move(given));
}

/// The words up to the next option, as argparse's lists take them. A variable behind them that nothing sets is taken
/// for further arguments.
void LaunchReader::take_values(GivenArgument& given) {
  std::size_t end = at_;
  const auto ends = [](const std::string& word) { return word == "--" || is_option(word) || is_override(word); };
  if (!overrides_ && end < words_.size() && is_override(words_[end].text)) ++end;
  while (end < words_.size() && !ends(words_[end].text)) ++end;
  std::size_t last = end;
  while (last > at_ && words_[last - 1].bare && (last > at_ + 1 || hands_on(words_[last - 1]))) --last;
  if (std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.begin() + static_cast<std::ptrdiff_t>(last),
          [](const ShellWord& word) { return !word.unset.empty(); }))
    last = end;
  for (; at_ < last; ++at_) {
    given.value += (given.value.empty() ? "" : " ") + text();
    given.unset.insert(given.unset.end(), words_[at_].unset.begin(), words_[at_].unset.end());
  }
  for (; at_ < end; ++at_) note_bare(words_[at_]);
  if (given.value.empty()) given.value = "true";
}

void LaunchReader::note_bare(const ShellWord& word) {
  if (hands_on(word))
    return out_.unfollowed.push_back(fmt::format(
        "line {} hands on {} of the script's own arguments, which --define 1=VALUE, 2=VALUE, ... would tell", word.line,
        word.text));
  out_.unknown.push_back(word.text);
  out_.notes.push_back(fmt::format("{} in line {} is not set: arguments in it are not known", word.text, word.line));
}

void LaunchReader::keep(GivenArgument given) {
  if (given.name.empty()) return;
  if (given.unset.empty() && given.value.find('$') == std::string::npos) out_.arguments[given.name] = given.value;
  else out_.unknown.push_back(given.name + "=" + given.value);
  out_.given.push_back(std::move(given));
}

}  // namespace stepcast::calibrate
