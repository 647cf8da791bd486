// Pieces of an HTML page that stands by itself: escaped text, numbers, tables that scroll in a box of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::print {

/// Escapes text and quoted attributes.
std::string html_escaped(std::string_view text);

std::string html_percent(double fraction);         ///< "6.9 %"
std::string html_signed_percent(double fraction);  ///< "+6.9 %"
std::string html_seconds(double seconds);          ///< four digits: "0.9451", "27.23"
std::string html_count(double count);              ///< "10,752"
std::string html_plural(std::size_t n, std::string_view one, std::string_view many);  ///< "1 run", "1,440 runs"

/// Cells, lists and titles below are HTML: what comes from files must have been escaped.
std::string html_section(std::string_view id, std::string_view title, const std::string& body);
std::string html_list(const std::vector<std::string>& items);
std::string html_details(const std::string& summary, const std::string& body);

/// Numbers and words stay on one line; text is broken into several.
enum class CellKind : std::uint8_t { number, word, text };

struct HtmlColumn {
  const char* title;
  CellKind kind = CellKind::number;
  const char* about = "";  ///< tooltip of the heading
};

class HtmlTable {
 public:
  HtmlTable(std::string label, std::vector<HtmlColumn> columns)
      : label_(std::move(label)), columns_(std::move(columns)) {}
  /// A row has as many cells as there are columns. The first cell heads the row and stays in sight while the rest
  /// scrolls.
  void row(const std::vector<std::string>& cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text() const;

 private:
  std::string label_;
  std::vector<HtmlColumn> columns_;
  std::string rows_;
};

/// Style sheet for light and dark.
const char* html_style();

}  // namespace stepcast::print
