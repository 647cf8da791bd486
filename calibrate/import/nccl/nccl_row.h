// Recognises the rows of nccl-tests' text by their words: size count type [redop] [root], then time algbw busbw
// [#wrong] and perhaps four figures of single iterations, once or twice. The printed widths changed over releases; the
// form of the numbers did not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/nccl/nccl_run.h"

namespace stepcast::calibrate::nccl {

using Words = std::vector<std::string_view>;
Words words_of(std::string_view text);
bool is_count(std::string_view word);      ///< digits only
bool is_operation(std::string_view word);  ///< "sum", ..., "none"
bool is_decimal(std::string_view word);    ///< digits and one point or comma, or an exponent

/// What the columns are. A table has one layout in all its rows.
struct Layout {
  bool redop = false, root = false, wrong = true, iterations = false;
  bool in_place_first = false;  ///< as other programs with nccl-tests' columns print it
  int halves = 2;
  std::size_t extras = 0;  ///< words after the halves: a time stamp, RCCL's algorithm and channels
  bool from_header = false;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// From the line with the columns' names ("size count type ..."), without what stands before "size". Fails on a column
/// that is unknown or stands elsewhere than nccl-tests puts it.
Expected<Layout> layout_of_header(std::span<const std::string_view> names, const std::string& where);

/// A row that begins at words[0], by the layout; or by the one that it fits, which `layout` then becomes, where there
/// is none yet.
Expected<Row> read_row(
    std::span<const std::string_view> words, std::optional<Layout>& layout, const std::string& where);

}  // namespace stepcast::calibrate::nccl
