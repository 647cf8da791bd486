#include "studies/print/table.h"

#include <algorithm>
#include <cassert>

namespace stepcast::print {
namespace {

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, shown_width(text)), ' ');
  return align == Align::left ? text + space : space + text;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
    if (!continues) ++width;
  }
  return width;
}

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> headings;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    headings.push_back(columns_[c].heading);
    widths.push_back(shown_width(columns_[c].heading));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], shown_width(row[c]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent);
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += (c > 0 ? "  " : "") + padded(cells[c], widths[c], columns_[c].align);
    return without_trailing_spaces(std::move(text)) + "\n";
  };
  std::string text;
  if (std::any_of(headings.begin(), headings.end(), [](const std::string& h) { return !h.empty(); }))
    text = line(headings);
  for (const auto& row : rows_) text += line(row);
  return text;
}

std::string wrapped(
    const std::vector<std::string>& parts, std::string_view separator, std::string_view indent, std::size_t columns) {
  std::string text, line;
  for (const std::string& part : parts) {
    const std::size_t width = indent.size() + shown_width(line) + shown_width(separator) + shown_width(part);
    if (!line.empty() && width > columns) {
      text += without_trailing_spaces(std::string(indent) + line + std::string(separator)) + "\n";
      line.clear();
    }
    line += line.empty() ? part : std::string(separator) + part;
  }
  if (!line.empty()) text += std::string(indent) + line + "\n";
  return text;
}

std::string paragraph(std::string_view text, std::string_view first, std::string_view indent, std::size_t columns) {
  std::string whole = wrapped(words_of(text), " ", indent, columns);
  if (whole.size() >= indent.size()) whole.replace(0, indent.size(), first);
  return whole;
}

}  // namespace stepcast::print
