// nccl-tests' text, of any version and however it came here: with the prefixes of mpirun, srun and kubectl, with NCCL's
// own lines in between, several runs in one log, or reflowed by a web page. Rows are told by their words. A line that
// looks like a row and is none is an error: a table never loses a row or a digit without a word.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/importer.h"
#include "calibrate/import/nccl/nccl_text.h"

namespace stepcast::calibrate {
namespace {

using namespace nccl;

/// A line falls into pieces where a '#' stands by itself: pages run the lines of a table together.
std::vector<std::string_view> pieces_of(std::string_view line) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1)) {
    const bool alone = at + 1 == line.size() || line[at + 1] == ' ' || line[at + 1] == '\t' || line[at + 1] == '\r';
    if (!alone) continue;
    pieces.push_back(line.substr(begin, at - begin));
    begin = at;
  }
  pieces.push_back(line.substr(begin));
  return pieces;
}

/// Where rows begin: two counts and a type.
std::vector<std::size_t> row_starts(const Words& words) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 2; i < words.size(); ++i)
    if (element_bytes(words[i]) > 0 && is_count(words[i - 1]) && is_count(words[i - 2])) starts.push_back(i - 2);
  return starts;
}

bool is_log_line(const Words& words) {
  return std::any_of(words.begin(), words.end(), [](std::string_view word) {
    return word.find("NCCL") != word.npos || word == "INFO" || word == "WARN" || word == "TRACE";
  });
}

/// Bandwidths beside a type, or hardly anything but numbers: a row that was damaged.
bool looks_like_row(const Words& words) {
  std::size_t decimals = 0, numbers = 0, types = 0;
  for (const std::string_view word : words) {
    decimals += is_decimal(word);
    numbers += is_decimal(word) || is_count(word) || is_operation(word) || word == "-1" || word == "N/A";
    types += element_bytes(word) > 0;
  }
  return decimals >= 2 && ((types > 0 && numbers >= 3) || (numbers >= 5 && 5 * numbers >= 3 * words.size()));
}

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& where) : text_(text), where_(where), runs_(1) {}

  Expected<std::vector<Run>> read() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      TRY(read_line(text_.substr(begin, end - begin), end == text_.size()));
      begin = end + 1;
    }
    if (!interrupted_.empty())
      notes_.push_back(fmt::format("{}: a row that another line interrupts is left out", interrupted_at_));
    std::erase_if(runs_, [](const Run& run) { return run.rows.empty(); });
    return std::move(runs_);
  }
  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }

 private:
  [[nodiscard]] std::string at() const { return fmt::format("{}:{}", where_, line_); }

  Expected<void> read_line(std::string_view line, bool last) {
    const auto control = std::find_if(line.begin(), line.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != '\x1b';
    });
    if (control != line.end())
      return fail(
          at(), fmt::format("byte 0x{:02x}", static_cast<unsigned char>(*control)), "the text that nccl-tests prints");
    for (const std::string_view piece : pieces_of(line)) {
      const Words words = words_of(piece);
      if (words.empty()) continue;
      TRY(words[0] == "#" ? read_comment(words) : read_plain(words, last));
    }
    return {};
  }

  Expected<void> read_comment(const Words& words) {
    const auto starts = row_starts(words);
    const std::size_t rows_from = starts.empty() ? words.size() : starts[0];
    const Words about(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(rows_from));
    const auto size = std::find(about.begin(), about.end(), "size");
    const bool names = std::distance(size, about.end()) > 2 && size[1] == "count";
    bool begins = false;
    Run next;
    read_about(about, next, begins);
    if ((begins || names) && !runs_.back().rows.empty()) start_run();
    read_about(about, runs_.back(), begins);
    if (names) TRY(read_names(std::vector(size, about.end())));
    const auto out = std::find(about.begin(), about.end(), "out-of-place"),
               in = std::find(about.begin(), about.end(), "in-place");
    if (out != about.end() && in != about.end()) in_place_ = in < out ? InPlace::first : InPlace::second;
    else if (in != about.end()) in_place_ = InPlace::alone;
    if (starts.empty() ? looks_like_row(about) : about.size() == 1)
      return fail(at(), "a row behind a '#'", "a row without it, or no row");
    if (starts.empty()) return {};
    return read_rows(words, starts);
  }

  /// The names, up to the units of the next line where both were run together.
  Expected<void> read_names(Words names) {
    names.erase(std::find_if(names.begin(), names.end(), [](std::string_view word) { return word.starts_with('('); }),
        names.end());
    if (names.size() < 3 || names[2] != "type")
      return fail(at(), "columns size count without type", "size count type ...");
    TRY(auto layout, layout_of_header(names, at()));
    layout.in_place_first = in_place_ == InPlace::first || (in_place_ == InPlace::alone && layout.halves == 1);
    layout_ = layout;
    return {};
  }

  Expected<void> read_plain(const Words& words, bool last) {
    const auto starts = row_starts(words);
    bool begins = false;
    if (starts.empty()) read_about(words, runs_.back(), begins);
    if (!starts.empty()) return read_rows(words, starts);
    if (!interrupted_.empty() && looks_like_rest(words)) return read_rest(words);
    if (is_log_line(words)) return {};
    if (looks_like_row(words))
      return fail(at(), "a row that cannot be read", "size count type [redop] [root] time algbw busbw ...");
    // The text ends within a row, before its type.
    const bool cut = last && !runs_.back().rows.empty() && is_count(words[0]) && words.size() <= 3;
    if (cut) return fail(at(), "the table breaks off within a row", "the whole output");
    // Bytes and elements of a row, and nothing after them.
    const bool torn = layout_ && words.size() == 2 && is_count(words[0]) && is_count(words[1]);
    if (torn) return fail(at(), "a row that breaks off after its counts", "the whole row");
    return {};
  }

  Expected<void> read_rows(const Words& words, const std::vector<std::size_t>& starts) {
    read_date(words, runs_.back());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : words.size();
      const std::span<const std::string_view> row(words.data() + starts[i], end - starts[i]);
      if (is_log_line({row.begin(), row.end()})) {
        interrupt(row);
        continue;
      }
      TRY(add(row, at()));
    }
    return {};
  }

  /// NCCL's lines may come between a row's sizes and its times, which are printed later.
  void interrupt(std::span<const std::string_view> row) {
    if (!interrupted_.empty())
      notes_.push_back(fmt::format("{}: a row that another line interrupts is left out", interrupted_at_));
    interrupted_.clear();
    interrupted_at_ = at();
    for (const std::string_view word : row) {
      const bool glued = word.size() > 2 && word.starts_with("-1");  // the root, and the log's line right behind it
      if (!glued && !is_count(word) && element_bytes(word) == 0 && word != "-1" && !is_operation(word)) break;
      interrupted_.push_back(glued ? word.substr(0, 2) : word);
      if (glued) break;
    }
  }
  static bool looks_like_rest(const Words& words) {
    return words.size() >= 3 && is_decimal(words[1]) && is_decimal(words[2]) &&
           (is_decimal(words[0]) || is_count(words[0]));
  }
  Expected<void> read_rest(const Words& words) {
    Words row = std::move(interrupted_);
    interrupted_.clear();
    row.insert(row.end(), words.begin(), words.end());
    return add(row, at());
  }

  Expected<void> add(std::span<const std::string_view> words, const std::string& row_at) {
    TRY(auto row, read_row(words, layout_, row_at));
    runs_.back().rows.push_back(std::move(row));
    return {};
  }

  void start_run() {
    runs_.emplace_back();
    layout_.reset();
    in_place_ = InPlace::second;
  }

  std::string_view text_;
  const std::string& where_;
  std::vector<Run> runs_;
  std::vector<std::string> notes_;
  std::optional<Layout> layout_;
  /// Where the line above the column names puts it. A damaged word must not turn the halves around.
  enum class InPlace { first, second, alone } in_place_ = InPlace::second;
  Words interrupted_;
  std::string interrupted_at_;
  std::size_t line_ = 0;
};

}  // namespace

int recognise_nccl_tests(std::string_view text, const std::string&) {
  constexpr std::size_t enough = 1 << 16;
  const std::string_view head = text.substr(0, enough);
  const auto has = [&](std::string_view words) { return head.find(words) != head.npos; };
  if (words_of(head.substr(0, 64)).empty() || words_of(head.substr(0, 64))[0].starts_with('{')) return 0;
  if (has("algbw") && has("busbw")) return 90;
  if (has("# nThread ") && has("minBytes")) return 90;
  for (std::size_t begin = 0; begin < head.size();) {
    const std::size_t end = std::min(head.find('\n', begin), head.size());
    const Words words = words_of(head.substr(begin, end - begin));
    const auto starts = row_starts(words);
    if (!starts.empty() && words.size() >= starts[0] + 6 && looks_like_row(words)) return 60;
    begin = end + 1;
  }
  return 0;
}

Expected<Measurements> read_nccl_tests(std::string_view text, const std::string& where, const ImportOptions& options) {
  TextReader reader(text, where);
  TRY(const auto runs, reader.read());
  if (runs.empty())
    return fail(where, "no rows of nccl-tests", "lines of: size count type [redop] [root] time algbw busbw #wrong");
  Measurements all;
  all.notes = std::move(reader.notes());
  for (const Run& run : runs) TRY(add_run(all, run, where, options));
  return all;
}

}  // namespace stepcast::calibrate
