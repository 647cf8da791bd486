#include "studies/print/page/html_text.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::print {
namespace {

const char* entity_of(char letter) {
  switch (letter) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return nullptr;
  }
}

const char* cell_class(const HtmlColumn& column) {
  if (column.kind == CellKind::text) return " class=\"t\"";
  return column.kind == CellKind::number ? " class=\"n\"" : "";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (const char* entity = entity_of(letter)) safe += entity;
    else safe += letter;
  }
  return safe;
}

std::string html_percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }
std::string html_signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }

std::string html_seconds(double seconds) {
  if (seconds <= 0 || !std::isfinite(seconds)) return fmt::format("{:g}", seconds);
  constexpr int digits = 4;
  const int before = static_cast<int>(std::floor(std::log10(seconds))) + 1;
  return fmt::format("{:.{}f}", seconds, std::max(0, std::min(digits, digits - before)));
}

std::string html_count(double count) {
  std::string text = fmt::format("{:.0f}", count);
  const std::size_t sign = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string html_plural(std::size_t n, std::string_view one, std::string_view many) {
  return html_count(static_cast<double>(n)) + ' ' + std::string(n == 1 ? one : many);
}

std::string html_section(std::string_view id, std::string_view title, const std::string& body) {
  return fmt::format("<section id=\"{0}\">\n<h2>{1}</h2>\n{2}</section>\n", id, title, body);
}

std::string html_list(const std::vector<std::string>& items) {
  std::string text = "<ul>\n";
  for (const std::string& item : items) text += "<li>" + item + "</li>\n";
  return text + "</ul>\n";
}

std::string html_details(const std::string& summary, const std::string& body) {
  return "<details>\n<summary>" + summary + "</summary>\n" + body + "</details>\n";
}

void HtmlTable::row(const std::vector<std::string>& cells) {
  assert(cells.size() == columns_.size());
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    rows_ += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", cell_class(columns_[i]), cells[i])
                    : fmt::format("<td{}>{}</td>", cell_class(columns_[i]), cells[i]);
  rows_ += "</tr>\n";
}

std::string HtmlTable::text() const {
  std::string text =
      fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead><tr>",
          html_escaped(label_));
  for (const HtmlColumn& column : columns_) {
    const std::string about = *column.about != 0 ? fmt::format(" title=\"{}\"", html_escaped(column.about)) : "";
    text += fmt::format("<th scope=\"col\"{}{}>{}</th>", cell_class(column), about, column.title);
  }
  return text + "</tr></thead>\n<tbody>\n" + rows_ + "</tbody>\n</table>\n</div>\n";
}

}  // namespace stepcast::print
