// Rows and cells of PyTorch's action lists.
#include "sim/schedule/files/pytorch_cells.h"

#include <fmt/format.h>

namespace stepcast::sim::pytorch {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // spreadsheets put it in front
constexpr std::string_view spaces = " \t\r";

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

/// Spaces around a cell, and the quotes of a spreadsheet, do not count.
std::string_view cell_text(std::string_view cell) {
  cell = without_spaces(cell);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    return without_spaces(cell.substr(1, cell.size() - 2));
  return cell;
}

/// Cuts `text` at the next separator; the rest stays in `text`, and `more` says whether there was one.
std::string_view take_until(std::string_view& text, char separator, bool& more) {
  const std::size_t at = text.find(separator);
  more = at != std::string_view::npos;
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(more ? at + 1 : text.size());
  return part;
}

Expected<void> read_row(std::string_view row, Cells& cells) {
  const std::size_t before = cells.steps.size();
  CellStep at{.rank = cells.ranks};
  bool more = true;
  bool paused = false;
  for (; more; ++at.column) {
    const std::string_view cell = cell_text(take_until(row, ',', more));
    if (cell.empty()) {
      paused = true;
      continue;
    }
    cells.pauses = cells.pauses || paused;
    TRY(read_action(cell, place(cells, at), at, cells.steps));
  }
  if (cells.steps.size() > before) return {};
  return fail(fmt::format("{}:{}", cells.where, cells.ranks + 1), fmt::format("rank {} has no action", cells.ranks),
      "one row per rank, from rank 0, without header or blank rows");
}

}  // namespace

std::string place(const Cells& cells, const CellStep& step) {
  return fmt::format("{}:{}:{}", cells.where, step.rank + 1, step.column);
}

tl::unexpected<Error> refuse(const Cells& cells, const CellStep& step, const std::string& what, std::string hint) {
  return fail(place(cells, step), fmt::format("cell '{}' {}", text_of(step), what), std::move(hint));
}

Expected<Cells> read_cells(std::string_view text, const std::string& where) {
  Cells cells;
  cells.where = where;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  if (text.empty()) return fail(where, "the file has no actions", "one row per rank, one action per cell, as in 0F0");
  bool more = true;
  while (more) {
    TRY(read_row(take_until(text, '\n', more), cells));
    ++cells.ranks;
  }
  return cells;
}

}  // namespace stepcast::sim::pytorch
