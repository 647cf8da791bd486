#include "calibrate/import/shell/text.h"

#include <algorithm>
#include <cctype>

#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

// A launch has a few kilobytes; past this a value has been put into itself again and again.
constexpr std::size_t most_value_bytes = 256 * 1024;

}  // namespace

bool is_shell_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void ShellText::put(const ShellText& other) {
  text_ += other.text_;
  lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end());
}

void ShellText::put_unset(std::string_view name, std::string_view written, std::size_t line) {
  const auto plain = [&](std::string_view text) {
    for (const char c : text)
      if (!is_unset_mark(c)) put(c, line);
  };
  put(unset_begin, line);
  plain(name);
  put(unset_name_end, line);
  plain(written);
  put(unset_end, line);
}

void ShellText::cut(std::size_t first, std::size_t count) {
  first = std::min(first, text_.size());
  count = std::min(count, text_.size() - first);
  text_ = text_.substr(first, count);
  const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(first);
  lines_ = std::vector<std::uint32_t>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

std::string ShellText::shown() const {
  std::string out;
  bool name = false;
  for (const char c : text_) {
    if (c == unset_begin || c == unset_name_end) name = c == unset_begin;
    else if (c != unset_end && !name) out += c;
  }
  return out;
}

std::vector<std::string> ShellText::unset() const {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (std::size_t at = text_.find(unset_begin); at != text_.npos; at = text_.find(unset_begin, at + 1)) {
    const std::size_t end = std::min(text_.find(unset_name_end, at), text_.size());
    std::string name = text_.substr(at + 1, end - at - 1);
    if (known.insert(name).second) names.push_back(std::move(name));
  }
  return names;
}

bool ShellText::whole_unset() const {
  return !text_.empty() && text_.front() == unset_begin && text_.find(unset_end) == text_.size() - 1;
}

ShellSource ShellSource::part(std::size_t at, std::size_t count, std::size_t at_line) const {
  ShellSource out(text.substr(std::min(at, text.size()), count), at_line);
  if (lines != nullptr) out.lines = lines + std::min(at, text.size());
  return out;
}

std::size_t LineCounter::line(const ShellSource& source, std::size_t at) {
  at = std::min(at, source.text.size());
  if (source.lines != nullptr)
    return source.text.empty() ? source.line : source.lines[std::min(at, source.text.size() - 1)];
  const auto between = [&](std::size_t first, std::size_t last) {
    return static_cast<std::size_t>(std::count(source.text.begin() + static_cast<std::ptrdiff_t>(first),
        source.text.begin() + static_cast<std::ptrdiff_t>(last), '\n'));
  };
  if (at >= at_) lines_ += between(at_, at);
  else lines_ -= between(at, at_);
  at_ = at;
  return source.line + lines_;
}

ShellText ShellValue::joined() const {
  ShellText out;
  for (const ShellText& word : words) {
    if (!out.empty()) out.put(' ', word.line());
    out.put(word);
  }
  return out;
}

std::size_t ShellValue::size() const {
  std::size_t bytes = 0;
  for (const ShellText& word : words) bytes += word.size() + 1;
  return bytes;
}

ShellOwnArguments::ShellOwnArguments(std::span<const ShellText> words, std::size_t line) {
  for (const ShellText& word : words) each.push_back(ShellValue{{word}, false, line, 0, {}});
}

void ShellVariables::set_own(std::optional<ShellOwnArguments> own) {
  own_ = std::move(own);
  all_own_.reset();
}

void ShellVariables::shift_own(std::size_t count) {
  own_->first += std::min(count, own_->size());
  all_own_.reset();
}

const ShellValue* ShellVariables::find(std::string_view name) const {
  if (own_ && name == "#") {
    ShellText count;
    count.put(std::to_string(own_->size()), 0);
    count_own_ = ShellValue{{std::move(count)}, false, 0, 0, {}};
    return &*count_own_;
  }
  if (own_ && name == "@") {
    if (!all_own_) {
      all_own_ = ShellValue{{}, true, 0, 0, {}};
      for (std::size_t i = own_->first; i < own_->each.size(); ++i)
        all_own_->words.push_back(own_->each[i].words.front());
    }
    return &*all_own_;
  }
  if (const auto index = own_ ? parsed_number<std::size_t>(name) : std::nullopt; index && *index > 0)
    return *index <= own_->size() ? &own_->each[own_->first + *index - 1] : nullptr;
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void ShellVariables::set(const std::string& name, ShellValue value) {
  if (value.size() > most_value_bytes) return forget(name);
  values_[name] = std::move(value);
}

void ShellVariables::forget(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

bool ShellVariables::spend(std::size_t bytes) {
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

}  // namespace stepcast::calibrate
