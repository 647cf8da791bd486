// Columns that line up, and paragraphs that wrap. Width is counted in characters as a terminal shows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::print {

/// Characters on the screen: UTF-8 sequences count once, colour codes not at all.
std::size_t shown_width(std::string_view text);

enum class Align : bool { left, right };

class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell per column.
  void add(std::vector<std::string> cells);
  /// Heading and rows, each behind `indent`; columns two apart; no spaces at line ends. No heading line when all are
  /// empty.
  [[nodiscard]] std::string text(std::string_view indent) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `parts` joined by `separator` and broken between parts at `columns`; each line behind `indent`.
std::string wrapped(
    const std::vector<std::string>& parts, std::string_view separator, std::string_view indent, std::size_t columns);

/// Text broken at spaces; the first line behind `first`, the others behind `indent`.
std::string paragraph(std::string_view text, std::string_view first, std::string_view indent, std::size_t columns);

}  // namespace stepcast::print
