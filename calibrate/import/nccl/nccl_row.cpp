#include "calibrate/import/nccl/nccl_row.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/base/whole_number.h"

namespace stepcast::calibrate::nccl {
namespace {

constexpr std::string_view row_hint = "size count type [redop] [root] time algbw busbw #wrong, once or twice";
constexpr std::string_view operations[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// clang-format off
/// "12.25", "62648", "1.2e+07": digits with a point between them, and the unit of the last digit.
struct Figure { double value = 0, unit = 1; int decimals = 0; bool exponent = false; };
// clang-format on

std::optional<Figure> figure_in(std::string_view word) {
  Figure figure;
  const std::size_t e = std::min(word.find('e'), word.size());
  const std::string_view digits = word.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::string_view whole = digits.substr(0, point), part = digits.substr(std::min(point + 1, digits.size()));
  if (!is_count(whole) || (point < digits.size() && !is_count(part))) return std::nullopt;
  const auto value = parsed_number<double>(word);
  if (!value) return std::nullopt;
  figure.value = *value;
  int power = 0;
  figure.exponent = e < word.size();
  if (figure.exponent) {
    const std::string_view tail = word.substr(std::min(e + (word.substr(e).starts_with("e+") ? 2u : 1u), word.size()));
    std::from_chars(tail.data(), tail.data() + tail.size(), power);
  }
  figure.decimals = static_cast<int>(part.size());
  figure.unit = std::pow(10.0, power - figure.decimals);
  return figure;
}

/// Numbers lose decimals as they grow: times from 100 or 10,000 us (src/common.cu before 2.17, getFloatStr after),
/// bandwidths from 1000. Fewer decimals below that mean a number that was cut.
struct Decimals {
  double one_from, none_from;
};
constexpr Decimals time_decimals{99.9, 9999}, bandwidth_decimals{999.9, 9999.9};

std::optional<Printed> printed_in(std::string_view word, Decimals usual) {
  const auto figure = figure_in(word);
  if (!figure) return std::nullopt;
  const bool cut = (figure->decimals == 1 && figure->value < usual.one_from) ||
                   (figure->decimals == 0 && figure->value < usual.none_from) ||
                   (figure->exponent && figure->value < 1e5);
  if (cut || figure->decimals > 2) return std::nullopt;
  return Printed{figure->value, figure->unit / 2};
}

/// "0", "12", "1e+06", "5e-07" or "N/A".
bool read_wrong(std::string_view word, std::optional<double>& out) {
  if (word == "N/A") return true;
  const std::size_t e = std::min(word.find('e'), word.size());
  // printf writes exponents with a sign and two digits.
  const bool whole_exponent = e == word.size() || (word.size() >= e + 4 && (word[e + 1] == '+' || word[e + 1] == '-') &&
                                                      is_count(word.substr(e + 2)));
  if (word.empty() || !is_digit(word[0]) || !whole_exponent) return false;
  out = parsed_number<double>(word);
  return out.has_value();
}

class WordsReader {
 public:
  WordsReader(std::span<const std::string_view> words, const Layout& layout, std::string where)
      : words_(words), layout_(layout), where_(std::move(where)) {}

  Expected<Row> read() {
    Row row;
    row.where = where_;
    const std::size_t before = 3 + (layout_.redop ? 1 : 0) + (layout_.root ? 1 : 0);
    const std::size_t half = 3 + (layout_.wrong ? 1 : 0) + (layout_.iterations ? 4 : 0);
    const std::size_t wanted = before + half * static_cast<std::size_t>(layout_.halves) + layout_.extras;
    if (words_.size() != wanted)
      return fail(where_, fmt::format("a row of {} words", words_.size()),
          fmt::format("{} as in the {}", wanted, layout_.from_header ? "column names" : "rows before"));
    if (!read_number(next(), row.size) || !read_number(next(), row.count))
      return bad("a count of bytes and of elements");
    // Swept sizes below one element for each rank come out as 0 of 0.
    if (row.size == 0 && row.count > 0) return bad("bytes for the elements");
    row.type = next();
    if (layout_.redop && !is_operation(row.redop = next())) return bad("an operation such as sum or none");
    if (layout_.root && !read_root(row.root)) return bad("a root: -1 or a rank");
    for (int i = 0; i < layout_.halves; ++i) {
      Half figures;
      TRY(read_half(figures));
      const bool in_place = (i == 1) != layout_.in_place_first;
      (in_place ? row.in_place : row.out_of_place) = figures;
    }
    return row;
  }

 private:
  std::string_view next() { return words_[at_++]; }
  static bool read_number(std::string_view word, double& out) {
    constexpr std::size_t most_digits = 15;  // whole numbers that a double holds
    return is_count(word) && word.size() <= most_digits &&
           std::from_chars(word.data(), word.data() + word.size(), out).ec == std::errc();
  }
  bool read_root(std::optional<int>& out) {
    out = parsed_number<int>(next());
    return out && *out >= -1;
  }
  bool read_figure(Printed& out, Decimals usual) {
    const auto printed = printed_in(next(), usual);
    out = printed.value_or(Printed{});
    return printed.has_value();
  }
  Expected<void> read_half(Half& out) {
    if (!read_figure(out.time_us, time_decimals)) return bad("a time in microseconds as nccl-tests prints it");
    if (!read_figure(out.algbw, bandwidth_decimals) || !read_figure(out.busbw, bandwidth_decimals))
      return bad("a bandwidth with two decimals");
    if (layout_.wrong && !read_wrong(next(), out.wrong)) return bad("a count of wrong results or N/A");
    if (!layout_.iterations) return {};
    Printed figures[4];  // least, most, 99th percentile, coefficient of variation
    for (Printed& figure : figures)
      if (!read_figure(figure, time_decimals)) return bad("times of single iterations");
    if (figures[0].value > figures[1].value) return bad("a greatest time above the least");
    out.least_us = figures[0].value;
    out.most_us = figures[1].value;
    return {};
  }
  [[nodiscard]] tl::unexpected<Error> bad(const std::string& wanted) const {
    const std::string_view word = words_[at_ - 1];
    const bool comma = word.find(',') != word.npos;
    return fail(where_, fmt::format("'{:.40}' in column {} of a row", word, at_),
        comma ? wanted + "; decimal points, no commas" : wanted);
  }

  std::span<const std::string_view> words_;
  const Layout& layout_;
  std::string where_;
  std::size_t at_ = 0;
};

/// All that nccl-tests and its relatives print, for tables without their header.
std::vector<Layout> known_layouts() {
  std::vector<Layout> all;
  for (const int halves : {2, 1})
    for (const bool wrong : {true, false})
      for (const bool iterations : {false, true})
        for (const bool redop : {true, false})
          for (const bool root : {true, false})
            if (wrong || (halves == 1 && !iterations))
              all.push_back({redop, root, wrong, iterations, false, halves, 0, false});
  return all;
}

}  // namespace

Words words_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\f\v";
  Words words;
  for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool is_operation(std::string_view word) {
  return std::find(std::begin(operations), std::end(operations), word) != std::end(operations);
}

bool is_count(std::string_view word) { return !word.empty() && std::all_of(word.begin(), word.end(), is_digit); }

bool is_decimal(std::string_view word) {
  const auto split = word.find_first_of(".,");
  return split != word.npos && is_count(word.substr(0, split)) && split + 1 < word.size() && is_digit(word[split + 1]);
}

Expected<Layout> layout_of_header(std::span<const std::string_view> names, const std::string& where) {
  Layout layout{false, false, false, false, false, 0, 0, true};
  std::size_t at = 3;
  const auto takes = [&](std::string_view name) {
    return at < names.size() && names[at] == name ? (++at, true) : false;
  };
  layout.redop = takes("redop");
  layout.root = takes("root");
  for (; takes("time"); ++layout.halves) {
    const bool bandwidths = takes("algbw") && takes("busbw");
    const bool wrong = takes("#wrong") || takes("error");
    const bool iterations = takes("i_min");
    const bool rest = !iterations || (takes("i_max") && takes("i_p99") && takes("i_cv%"));
    const bool alike = layout.halves == 0 || (wrong == layout.wrong && iterations == layout.iterations);
    if (!bandwidths || !rest || !alike) break;
    layout.wrong = wrong;
    layout.iterations = iterations;
  }
  if (at < names.size() && names[at] == "cputime")
    return fail(where, "the table has cputime: how long calls took to return", "a run without -C 1");
  constexpr std::string_view own[] = {"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
      "error", "i_min", "i_max", "i_p99", "i_cv%", "cputime"};
  for (std::size_t i = at; i < names.size(); ++i) {
    if (std::find(std::begin(own), std::end(own), names[i]) != std::end(own) || layout.halves == 0)
      return fail(where, fmt::format("column '{:.40}' where nccl-tests has none", names[i]), std::string(row_hint));
    layout.extras += names[i] == "timestamp" ? 2 : 1;
  }
  if (layout.halves < 1 || layout.halves > 2)
    return fail(where, "column names without time algbw busbw", std::string(row_hint));
  return layout;
}

Expected<Row> read_row(
    std::span<const std::string_view> words, std::optional<Layout>& layout, const std::string& where) {
  if (layout) {
    Layout own = *layout;
    // Before 2.13 alltoall names a redop column and leaves it blank.
    if (layout->from_header && layout->redop && !layout->root && words.size() > 3 && !is_operation(words[3]))
      own.redop = false;
    return WordsReader(words, own, where).read();
  }
  for (const Layout& candidate : known_layouts()) {
    auto row = WordsReader(words, candidate, where).read();
    if (!row) continue;
    layout = candidate;
    return row;
  }
  return fail(where, fmt::format("a row of {} words that cannot be read", words.size()), std::string(row_hint));
}

}  // namespace stepcast::calibrate::nccl
