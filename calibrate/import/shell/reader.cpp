#include "calibrate/import/shell/reader.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Where a quote has not closed after this much, the line was no command.
constexpr std::size_t most_command_bytes = 64 * 1024;
// Real scripts nest two or three.
constexpr int deepest_text = 8;

constexpr std::string_view shell_keywords[] = {"then", "else", "do", "exec", "eval", "nohup", "time", "sudo", "command",
    "export", "local", "env", "{", "set", "declare", "readonly", "typeset", "stdbuf", ":"};
constexpr std::string_view setting_keywords[] = {"export", "local", "declare", "readonly", "typeset", "env", "set"};

template <std::size_t N> bool is_one_of(const std::string_view (&names)[N], std::string_view word) {
  return std::find(std::begin(names), std::end(names), word) != std::end(names);
}

}  // namespace

ShellWord plain_word(const ShellText& text, bool bare) {
  // "${@:2}" is any number of words in quotes, too
  const bool own = text.shown().starts_with("${@:") || text.shown().starts_with("${*:");
  return {text.shown(), text.line(), text.unset(), (bare || own) && text.whole_unset()};
}

bool is_setting_keyword(std::string_view word) { return is_one_of(setting_keywords, word); }

/// "NAME=", "NAME+=", and how long that is; 0 where the word is no assignment.
std::size_t assignment_length(std::string_view word) {
  std::size_t at = 0;
  while (at < word.size() && is_shell_name(word[at])) ++at;
  if (at == 0 || std::isdigit(static_cast<unsigned char>(word[0])) || at >= word.size()) return 0;
  if (word[at] == '+') ++at;
  return at < word.size() && word[at] == '=' ? at + 1 : 0;
}

std::string_view first_token(std::string_view rest) {
  constexpr std::size_t longest = 4096;
  rest = rest.substr(0, longest);
  return rest.substr(0, rest.find_first_of(" \t\r\n;"));
}

ShellReader::ShellReader(const std::string& where, bool (*wanted)(std::string_view),
    const std::map<std::string, std::string>& defined, const SourcedText& sourced, const std::set<std::string>* empty)
    : where_(where), wanted_(wanted), sourced_(sourced), defined_(defined), empty_(empty) {
  for (const auto& [name, text] : defined) {
    ShellText value;
    value.put(text, 0);
    variables_.set(name, ShellValue{{value}, false, 0, 0, {}});
  }
  std::vector<ShellText> own;
  for (std::size_t i = 1; const ShellValue* value = variables_.find(fmt::format("{}", i)); ++i)
    own.push_back(value->joined());
  if (!own.empty() && variables_.find("@") == nullptr) variables_.set_own(ShellOwnArguments(own, 0));
}

Expected<ShellScript> ShellReader::read(std::string_view text) {
  constexpr std::size_t least = 8 * 1024 * 1024, per_byte = 4;
  variables_.allow(least + per_byte * text.size());
  TRY(take_text(ShellSource(text, 1), 0));
  const auto functions = functions_;  // a script that a body runs has others
  for (const auto& [name, body] : functions) {
    if (called_.count(name) != 0) continue;
    TRY(take_text(body, 1));
  }
  TRY(read_unrun());
  return std::move(out_);
}

Expected<void> ShellReader::take_text(const ShellSource& source, int depth) {
  if (depth > deepest_text) return {};
  Place place{source, depth};
  const std::size_t blocks = blocks_.depth();
  while (place.at < source.text.size() && leaves_ == Leaves::none) {
    const std::size_t before = place.at;
    TRY(take_next(place));
    if (place.at <= before) place.at = before + 1;
  }
  if (depth > 0) blocks_.close_to(blocks);
  return {};
}

Expected<void> ShellReader::take_next(Place& place) {
  const std::string_view text = place.source.text;
  const bool fresh = place.at == 0 || text[place.at - 1] == '\n';
  if (!place.line_known || place.at > place.line_end) {
    place.line_end = std::min(text.find('\n', place.at), text.size());
    place.line_known = true;
  }
  const std::string_view plain = stripped(place.rest());
  if (fresh && heads_job_ != Header::none && plain.starts_with('#')) take_header(plain, place.line());
  if (plain.empty() || plain[0] == '#') return to_next_line(place);
  if (heads_job_ == Header::open) heads_job_ = Header::passed;
  if (fresh && take_heredoc(place)) return inner_;
  place.at += static_cast<std::size_t>(plain.data() - place.rest().data());
  if (fresh) place.at += shown_prefix(plain);
  if (place.rest().starts_with('#')) return to_next_line(place);
  return take_command(place);
}

Expected<void> ShellReader::to_next_line(Place& place) { return place.at = place.line_end + 1, Expected<void>{}; }

/// "+ " of set -x (once per level), "$ " of a prompt, "... cmd = " of DeepSpeed's runner.
std::size_t ShellReader::shown_prefix(std::string_view plain) {
  if (const std::size_t shown = plain.find(" cmd = "); shown != plain.npos) return shown + 7;
  std::size_t plus = 0;
  while (plus < plain.size() && plain[plus] == '+') ++plus;
  if (plus > 0 && plus < plain.size() && plain[plus] == ' ') return plus + 1;
  return plain.starts_with("$ ") ? 2 : 0;
}

/// One command, assignment or word of a branch; the place goes on behind it.
Expected<void> ShellReader::take_command(Place& place) {
  const std::string_view token = first_token(place.rest());
  inner_ = {};
  if (take_block_word(place, token)) return inner_;
  if (take_function(place)) return {};
  if (!blocks_.active()) return pass_over_command(place, token);
  if (const auto body = functions_.find(token); body != functions_.end()) return call(place, body->first, body->second);
  if (token == "source" || token == ".") return take_source(place);
  if (token == "shift") return take_shift(place);
  if (take_leave(place, token)) return {};
  if (token == "set" && place.rest().starts_with("set -- ")) return take_set(place);
  if (token == "sed") return take_change(place);
  if (token == "let") return take_let(place);
  if (token == "read" || token == "mapfile" || token == "readarray" || reads_behind(place, token))
    return take_read(place);
  if (take_guard(place, token)) return inner_;
  if (token == "unset" || (token == "export" && place.rest().starts_with("export -n "))) return take_unset(place);
  for (const std::string_view all : {"set -a", "set -o allexport", "set +a", "set +o allexport"})
    if (token == "set" && place.rest().starts_with(all)) exports_all_ = all[4] == '-';
  if (!may_begin(token) || (is_script_name(token) && is_behind_arrow(place))) return pass_over(place);
  return take_words(place);
}

bool ShellReader::may_begin(std::string_view first) const {
  if (first.starts_with('"') && first.size() > 1) first.remove_prefix(1);
  if (first.ends_with('"')) first.remove_suffix(1);
  return assignment_length(first) > 0 || is_one_of(shell_keywords, first) || wants(first) || first.starts_with('$') ||
         first.starts_with('`') || first == "echo" || first == "printf";
}

/// "python make.py > train.sh": a file that is written.
bool ShellReader::is_behind_arrow(const Place& place) {
  const std::string_view front = stripped(place.source.text.substr(0, place.at));
  return !front.empty() && (front.back() == '>' || front.back() == '<');
}

std::size_t ShellReader::window(const Place& place) const {
  return unclosed_ > most_unclosed ? place.line_end - place.at : most_command_bytes;
}

Expected<void> ShellReader::take_words(Place& place) {
  const std::size_t line = place.line();
  ShellWords words(place.source.part(place.at, window(place), line), &variables_);
  words.go_on_behind_redirections(true);
  ShellCommand command{line, {}, {}, {}, {}};
  std::vector<ShellText> texts;
  Settings set;
  bool setting = false, exporting = false, evaluating = false, refers = false, nothing = false;
  while (words.next()) {
    if (nothing) continue;  // behind ":", which does nothing with its words
    const ShellText& word = words.word();
    if (texts.empty()) {
      if (const std::size_t name = evaluating ? 0 : assignment_length(words.raw()); name > 0) {
        set.push_back(assigned(words, name, line, set));
        if (refers) set.back().second = referred(set.back().second);
        if (exporting) exported_.insert(set.back().first);
        continue;
      }
      const std::string plain = word.shown();
      if (!evaluating && is_one_of(shell_keywords, plain)) {
        setting = setting || is_setting_keyword(plain);
        exporting = exporting || plain == "export", evaluating = evaluating || plain == "eval";
        nothing = plain == ":";
        continue;
      }
      if (setting && plain.starts_with('-')) {
        refers = refers || plain == "-n";
        exporting = exporting || (plain.find('x') != plain.npos && !plain.starts_with("--"));
        continue;
      }
      if (const std::size_t name = setting ? assignment_length(word.marked()) : 0; name > 0) {
        set.push_back(assigned_by_words(word, name, line));
        if (exporting) exported_.insert(set.back().first);
        continue;
      }
      if (exporting && assignment_length(plain + "=") > 0) {
        exported_.insert(plain);
        continue;
      }
      if (plain == "echo" || plain == "printf") return take_echo(place, words);
      // "$LAUNCHER python train.py": a launcher that nothing names
      if (word.whole_unset() && !words.quoted() && word.unset().front().find_first_of("(`") == std::string::npos) {
        command.notes.push_back(fmt::format("{} in line {} is not set: what it starts with is not known", plain, line));
        continue;
      }
      if (!evaluating && !wants(plain)) return apply(std::move(set), setting), pass_over(place);
    }
    texts.push_back(word);
    command.words.push_back(plain_word(word, !words.quoted()));
  }
  if (words.cut()) return take_unclosed(place, command, line);
  command.beside = words.beside();
  if (!words.output().empty()) {
    ShellWords target(ShellSource(words.output(), line), &variables_);
    if (target.next()) command.output = plain_word(target.word(), false);
  }
  const std::size_t length = words.position();
  if (texts.empty()) apply(std::move(set), true);
  else TRY(keep(std::move(command), std::move(texts), std::move(set), words, evaluating, place.depth));
  return step_over(place, length);
}

Expected<void> ShellReader::take_unclosed(Place& place, const ShellCommand& command, std::size_t line) {
  ++unclosed_;
  if (!command.words.empty())
    return fail(
        fmt::format("{}:{}", where_, line), "the command ends inside a quote or a bracket", "give the whole command");
  std::string_view rest = place.rest();
  if (const std::string_view keyword = first_token(rest); is_one_of(shell_keywords, keyword))
    rest = stripped(rest.substr(keyword.size()));
  if (const std::size_t name = assignment_length(rest); name > 0) {
    const std::string plain(rest.substr(0, name - (rest[name - 2] == '+' ? 2 : 1)));
    out_.unclosed.emplace(plain, line);
    variables_.forget(plain);
  }
  return to_next_line(place);
}

std::pair<std::string, ShellValue> ShellReader::assigned(
    const ShellWords& words, std::size_t name_length, std::size_t line, const Settings& earlier) {
  const bool appends = words.raw()[name_length - 2] == '+';
  const std::string name(words.raw().substr(0, name_length - (appends ? 2 : 1)));
  ShellValue value;
  value.line = line, value.array = words.is_array(), value.doubts = words.doubts();
  if (value.array) {
    value.words = words.elements();
  } else {
    value.words = {words.word()};
    value.words.front().cut(name_length, std::string::npos);
  }
  if (!appends) return {name, std::move(value)};
  const ShellValue* before = variables_.find(name);
  const auto last = std::find_if(earlier.rbegin(), earlier.rend(), [&](const auto& set) { return set.first == name; });
  if (last != earlier.rend()) before = &last->second;
  if (before == nullptr || !variables_.spend(before->size())) return {name, std::move(value)};
  ShellValue longer = *before;
  longer.line = line;
  longer.doubts.insert(value.doubts.begin(), value.doubts.end());
  if (!longer.array && !value.array && !longer.words.empty()) longer.words.front().put(value.words.front());
  else longer.array = true, longer.words.insert(longer.words.end(), value.words.begin(), value.words.end());
  return {name, std::move(longer)};
}

/// export "$KEY"="$VALUE": the name stands in a variable too.
std::pair<std::string, ShellValue> ShellReader::assigned_by_words(
    const ShellText& word, std::size_t name_length, std::size_t line) {
  const std::string& all = word.marked();
  ShellValue value{{word}, false, line, 0, {}};
  value.words.front().cut(name_length, std::string::npos);
  const std::size_t sign = all[name_length - 2] == '+' ? 2 : 1;
  return {all.substr(0, name_length - sign), std::move(value)};
}

/// declare -n NAME=OTHER: what the other variable holds.
ShellValue ShellReader::referred(const ShellValue& value) const {
  const std::string name = value.joined().shown();
  if (const ShellValue* other = variables_.find(name)) return *other;
  ShellText unknown;
  unknown.put_unset(name, "$" + name, value.line);
  return {{unknown}, false, value.line, 0, {}};
}

/// Variables set on their own. In a branch that may not run, what it sets counts; a value that nothing knows does not
/// take the place of one that is known.
void ShellReader::apply(Settings set, bool alone) {
  if (!alone) return;
  for (auto& [name, value] : set) {
    const ShellValue* before = variables_.find(name);
    value.branch = blocks_.branch();
    if (value.branch != 0 && before != nullptr && before->branch != value.branch &&
        variables_.spend(before->size() + value.size())) {
      const std::string was = before->joined().marked(), is = value.joined().marked();
      const bool loses = is.find(unset_begin) != is.npos && was.find(unset_begin) == was.npos;
      if (was != is)
        value.doubts.insert(
            fmt::format("{} is set in line {} and, under a condition that is not known here, in line {}: {} counts",
                name, before->line, value.line, loses ? "the first" : "the last"));
      if (loses) {
        ShellValue kept = *before;
        kept.doubts.merge(value.doubts);
        value = std::move(kept);
      }
    }
    if (exports_all_) exported_.insert(name);
    variables_.set(name, std::move(value));
  }
}

Expected<void> ShellReader::keep(ShellCommand command, std::vector<ShellText> texts, Settings set,
    const ShellWords& words, bool evaluating, int depth) {
  if (evaluating) {
    ShellText all;
    for (const ShellText& text : texts) {
      if (!all.empty()) all.put(' ', text.line());
      all.put(text);
    }
    if (all.whole_unset() && !prepares_shell(all.shown()))
      out_.unfollowed.push_back(
          fmt::format("line {} evaluates {:.60}, and what that says is not known", command.line, all.shown()));
    return take_doubted(std::move(all), words.doubts(), depth);
  }
  for (const auto& [name, value] : set) command.environment[name] = value.joined().shown();
  command.environment.insert(prefix_environment_.begin(), prefix_environment_.end());
  if (const std::size_t text = inner_shell(command.words); text < command.words.size()) {
    const auto outer = prefix_;
    const auto outer_environment = prefix_environment_;
    // bcprun starts the ranks itself: what it is told of them counts
    const std::size_t shell = shell_word(command.words);
    const std::size_t kept = last_of_path(command.words[shell].text) == "bcprun" ? text - 1 : shell;
    prefix_.insert(prefix_.end(), command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(kept));
    prefix_environment_ = command.environment;
    auto good = take_doubted(std::move(texts[text]), words.doubts(), depth);
    prefix_ = outer, prefix_environment_ = outer_environment;
    return good;
  }
  if (const std::size_t script = script_word(command.words); script < command.words.size()) {
    const std::string& name = command.words[script].text;
    const auto own = std::ranges::find(written_, last_of_path(name), &WrittenFile::name);
    if (own != written_.end() && ++read_scripts_ <= most_read_scripts) {
      own->run = true;
      note_change(name);
      return run_script(own->text, command, texts, script, set, depth);
    }
    if (const auto text = text_at_hand(name)) {
      ShellText inner;
      inner.put(*text, command.line);
      return run_script(std::move(inner), command, texts, script, set, depth);
    }
  }
  command.words.insert(command.words.begin(), prefix_.begin(), prefix_.end());
  for (const std::set<std::string>* notes : {&words.doubts(), &std::as_const(outer_doubts_), &std::as_const(assumed_)})
    for (const std::string& note : *notes) {
      if (!variables_.spend(note.size())) break;
      command.notes.push_back(note);
    }
  if (words.comment_line() > 0)
    command.notes.push_back(fmt::format(
        "the comment in line {} ends the command: what stands behind it is not handed over", words.comment_line()));
  for (const std::string& name : exported_) {
    const ShellValue* value = variables_.find(name);
    if (value == nullptr) continue;
    if (!variables_.spend(name.size() + value->size())) break;
    command.exported[name] = value->joined().shown();
  }
  command.in_for = loops_.find('f') != std::string::npos;
  out_.commands.push_back(std::move(command));
  return {};
}

Expected<ShellScript> read_shell(std::string_view text, const std::string& where,
    bool (*wanted)(std::string_view first_word), const std::map<std::string, std::string>& defined,
    const SourcedText& sourced, const std::set<std::string>* empty) {
  std::string without_marks;
  if (std::any_of(text.begin(), text.end(), is_unset_mark)) {
    without_marks = text;
    std::replace_if(without_marks.begin(), without_marks.end(), is_unset_mark, ' ');
    text = without_marks;
  }
  return ShellReader(where, wanted, defined, sourced, empty).read(text);
}

}  // namespace stepcast::calibrate
