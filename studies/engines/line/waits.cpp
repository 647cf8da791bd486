#include "studies/engines/line/waits.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "model/base/text.h"

namespace stepcast::engines {
namespace {

struct Statement {
  std::string words;
  std::size_t line = 0;  ///< it begins there
  bool beside = false;   ///< the script goes on while it runs
};

/// Ends at lines, ";", "&" and "|"; a line that a backslash ends goes on in the next.
class Statements {
 public:
  explicit Statements(const std::string& text) : text_(text) {}

  std::vector<Statement> all() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_], next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\n';
      if (quote_ != '\0') take_quoted(c);
      else if (c == '\\') take_escaped(next);
      else if (c == '\'' || c == '"') add(c), quote_ = c;
      else if (c == '#' && (now_.words.empty() || now_.words.back() == ' ')) skip_comment();
      else if (c == '\n') end(false), ++line_, skip_texts();
      else if (c == '<' && next == '<') take_mark();
      else if (c == ';' || c == '|') end(false);
      else if (c == '&' && next != '>' && !now_.words.ends_with('>')) end_at_sign(next);
      else add(c);
    }
    end(false);
    return std::move(out_);
  }

 private:
  void add(char c) {
    if (now_.words.empty() && (c == ' ' || c == '\t')) return;
    if (now_.words.empty()) now_.line = line_;
    now_.words += c == '\t' ? ' ' : c;
  }
  void take_quoted(char c) {
    if (c == '\n') ++line_;
    if (c == '\\' && quote_ == '"' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') now_.words += text_[at_++];
    else if (c == quote_) quote_ = '\0';
    now_.words += text_[at_];
  }
  void take_escaped(char next) {
    ++at_;
    if (next != '\n') return add(next);
    ++line_;
    add(' ');
  }
  /// Of "<<EOF", "<<-EOF" and "<<'EOF'": the lines behind this one up to EOF are a text. "<<<" has it in the line.
  void take_mark() {
    std::size_t end = text_.find_first_not_of('<', at_);
    const bool here = end == text_.npos || end - at_ != 2;
    if (!here) {
      Mark mark;
      if (text_[end] == '-') mark.indented = true, ++end;
      end = std::min(text_.find_first_not_of(' ', end), text_.size());
      const std::size_t past = std::min(text_.find_first_of(" \t\n;&|<>)", end), text_.size());
      for (; end < past; ++end)
        if (std::string_view("\"'\\").find(text_[end]) == std::string_view::npos) mark.word += text_[end];
      if (!mark.word.empty()) marks_.push_back(mark);
    }
    add(' ');
    at_ = std::min(end, text_.size()) - 1;
  }
  void skip_texts() {
    for (const Mark& mark : marks_) {
      std::size_t at = at_, lines = 0;
      bool found = false;
      while (!found && at + 1 < text_.size()) {
        const std::size_t begin = at + 1, end = std::min(text_.find('\n', begin), text_.size());
        std::string_view line = std::string_view(text_).substr(begin, end - begin);
        if (mark.indented) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        found = line == mark.word;
        at = end, ++lines;
      }
      if (found) at_ = at, line_ += lines;  // else it was a shift of a number
    }
    marks_.clear();
  }
  void skip_comment() {
    while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
  }
  void end_at_sign(char next) {
    end(next != '&');
    if (next == '&') ++at_;
  }
  void end(bool beside) {
    for (const char* word : {"do ", "then ", "else ", "{ ", "( ", "("})
      if (now_.words.starts_with(word)) now_.words.erase(0, std::string_view(word).size());
    now_.words = std::string(stripped(now_.words));
    now_.beside = beside;
    if (!now_.words.empty()) out_.push_back(std::move(now_));
    now_ = {};
  }

  struct Mark {
    std::string word;
    bool indented = false;
  };

  const std::string& text_;
  std::size_t at_ = 0, line_ = 1;
  std::vector<Mark> marks_;  ///< of texts that begin behind this line
  char quote_ = '\0';
  Statement now_;
  std::vector<Statement> out_;
};

/// Of "NAME=$!", "NAME+=($!)" and "local NAME=$!"; "": it keeps no number.
std::string keeps_number(const std::string& words) {
  const std::size_t equals = words.find('=');
  if (equals == words.npos || words.find("$!", equals) == words.npos) return "";
  std::string name = words.substr(0, equals);
  if (name.ends_with('+')) name.pop_back();
  const std::size_t last = name.rfind(' ');
  if (last == name.npos) return name;
  const std::string first = name.substr(0, name.find(' '));
  for (const char* word : {"export", "local", "declare", "typeset", "readonly"})
    if (first == word) return name.substr(last + 1);
  return "";
}

/// Of $NAME, "${NAME}" and "${NAME[@]}".
std::string named_in(std::string word) {
  std::erase_if(word, [](char c) { return std::string_view("\"'${}").find(c) != std::string_view::npos; });
  return word.substr(0, word.find('['));
}

/// `names`: that keep the command's number; `last`: no other has begun to run beside the script since.
bool waits_for(const std::string& words, const std::set<std::string>& names, bool last) {
  if (words == "wait") return true;
  for (std::size_t at = words.find(' '); at != words.npos;) {
    const std::size_t begin = words.find_first_not_of(' ', at);
    if (begin == words.npos) break;
    at = words.find(' ', begin);
    const std::string word = words.substr(begin, at - begin);
    if (word.find("$!") != word.npos ? last : names.contains(named_in(word))) return true;
  }
  return false;
}

}  // namespace

std::size_t waited_at(const std::string& text, std::size_t line) {
  const std::vector<Statement> all = Statements(text).all();
  auto own = std::ranges::find_if(all, [&](const Statement& one) { return one.beside && one.line >= line; });
  if (own == all.end()) return 0;
  std::set<std::string> names;
  bool last = true;
  for (++own; own != all.end(); ++own) {
    if (own->words == "wait" || own->words.starts_with("wait ")) {
      if (waits_for(own->words, names, last)) return own->line;
    } else if (const std::string name = keeps_number(own->words); last && !name.empty()) {
      names.insert(name);
    }
    if (own->beside) last = false;
  }
  return 0;
}

bool waits_at_once(const std::string& text, std::size_t line) {
  const std::vector<Statement> all = Statements(text).all();
  auto own = std::ranges::find_if(all, [&](const Statement& one) { return one.beside && one.line >= line; });
  if (own == all.end()) return false;
  const auto together =
      std::ranges::count_if(all, [&](const Statement& one) { return one.beside && one.line == own->line; });
  std::set<std::string> names;
  for (++own; own != all.end() && together == 1; ++own) {
    if (own->words == "wait" || own->words.starts_with("wait ")) return waits_for(own->words, names, true);
    const std::string name = keeps_number(own->words);
    if (name.empty() || own->beside) return false;
    names.insert(name);
  }
  return false;
}

}  // namespace stepcast::engines
