// Text on its way through a shell script. Every character knows its line, and what nothing sets stays marked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::calibrate {

/// A piece that nothing sets stands in a text between these, its name before a third: \1 NAME \3 as written \2.
constexpr char unset_begin = '\x01', unset_end = '\x02', unset_name_end = '\x03';
inline bool is_unset_mark(char c) { return c == unset_begin || c == unset_end || c == unset_name_end; }

class ShellText {
 public:
  void put(char c, std::size_t line) { text_ += c, lines_.push_back(static_cast<std::uint32_t>(line)); }
  void put(std::string_view text, std::size_t line) {
    for (const char c : text) put(c, line);
  }
  void put(const ShellText& other);
  void put_unset(std::string_view name, std::string_view written, std::size_t line);
  void cut(std::size_t first, std::size_t count);  ///< keeps that part

  [[nodiscard]] const std::string& marked() const { return text_; }
  [[nodiscard]] std::string shown() const;               ///< as written where nothing sets it
  [[nodiscard]] std::vector<std::string> unset() const;  ///< names, in order, each once
  [[nodiscard]] bool whole_unset() const;                ///< one variable that nothing sets, and nothing else
  [[nodiscard]] std::size_t line(std::size_t at = 0) const { return at < lines_.size() ? lines_[at] : 0; }
  [[nodiscard]] const std::uint32_t* lines() const { return lines_.data(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::size_t size() const { return text_.size(); }

 private:
  std::string text_;
  std::vector<std::uint32_t> lines_;
};

/// What a reader goes through: a part of the file, or text that a variable held.
struct ShellSource {
  std::string_view text;
  std::size_t line = 1;                  ///< of its first character
  const std::uint32_t* lines = nullptr;  ///< of every character, where it is not the file itself

  ShellSource() = default;
  ShellSource(std::string_view whole, std::size_t first_line) : text(whole), line(first_line) {}
  explicit ShellSource(const ShellText& held) : text(held.marked()), line(held.line()), lines(held.lines()) {}
  /// `at_line`: the line of `at`, where the caller knows it.
  [[nodiscard]] ShellSource part(std::size_t at, std::size_t count, std::size_t at_line) const;
};

/// Counts on from where it was asked last.
class LineCounter {
 public:
  std::size_t line(const ShellSource& source, std::size_t at);

 private:
  std::size_t at_ = 0, lines_ = 0;
};

struct ShellValue {
  std::vector<ShellText> words;  ///< one for a string
  bool array = false;
  std::size_t line = 0, branch = 0;  ///< where it was set; 0 = outside of what may not be run
  std::set<std::string> doubts;      ///< in words: how it came to its value, where that is not sure

  [[nodiscard]] ShellText joined() const;
  [[nodiscard]] std::size_t size() const;
};

/// What a script or a function was called with: $1, $2, ... A shift only moves the first.
struct ShellOwnArguments {
  std::vector<ShellValue> each;
  std::size_t first = 0;

  ShellOwnArguments() = default;
  ShellOwnArguments(std::span<const ShellText> words, std::size_t line);
  [[nodiscard]] std::size_t size() const { return each.size() - first; }
};

class ShellVariables {
 public:
  /// Null where nothing sets it. $1, $@ and $# are the script's own arguments.
  [[nodiscard]] const ShellValue* find(std::string_view name) const;
  /// Nothing where nobody knows them.
  [[nodiscard]] const std::optional<ShellOwnArguments>& own() const { return own_; }
  void set_own(std::optional<ShellOwnArguments> own);
  void shift_own(std::size_t count);
  void set(const std::string& name, ShellValue value);
  void forget(std::string_view name);
  template <typename Keeps> void keep_if(Keeps keeps) {
    std::erase_if(values_, [&](const auto& row) { return !keeps(row.first); });
  }
  /// Values put into values may grow without end (X=$X$X); false once that much was put in.
  bool spend(std::size_t bytes);
  void allow(std::size_t bytes) { left_ = bytes; }

 private:
  std::map<std::string, ShellValue, std::less<>> values_;
  std::optional<ShellOwnArguments> own_;
  mutable std::optional<ShellValue> all_own_, count_own_;  ///< $@ and $#, made when they are asked for
  std::size_t left_ = 0;
};

/// Letters, digits and _.
bool is_shell_name(char c);
/// "-e", "-ne", "-en": of echo.
bool is_echo_option(std::string_view word);
inline bool is_shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace stepcast::calibrate
