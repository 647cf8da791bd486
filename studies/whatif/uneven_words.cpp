#include "studies/whatif/uneven_words.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::whatif {
namespace {

constexpr const char* uneven_hint =
    "words of ranks=2% micro-batches=0.25 actions=1% slow=1x2.5 rank=12x1.5 node=3x1.5 rail=2 link=3x2 "
    "law=P5,P50,P95,MOST,MEAN costs=FILE lengths=FILE fill=packed dealt=sorted experts=1.3x";
constexpr double most_spread = 2, most_slow_factor = 100;
constexpr std::int64_t most_slow = 1'000'000;
Expected<double> read_spread(const std::string& text, const std::string& where) {
  return parse_fraction(text, where, most_spread);
}

struct Times {
  std::int64_t count = 0;
  double factor = 1;
};
Expected<Times> read_times(
    const std::string& key, const std::string& text, const std::string& where, std::int64_t least) {
  const std::size_t x = text.find('x');
  const auto count = parsed_number<std::int64_t>(text.substr(0, x));
  const auto factor = x == std::string::npos ? std::nullopt : parsed_number<double>(text.substr(x + 1));
  if (!count || !factor || *count < least || *count > most_slow || !(*factor > 0 && *factor <= most_slow_factor))
    return fail(where,
        fmt::format(
            "{}={:.40} is no number of {} and factor", key, text, key == "node" || key == "link" ? "a node" : "ranks"),
        key + "=1x2.5");
  const std::string what = key == "rank" || key == "slow" ? "GPU" : key;
  if (*factor < 1)
    return fail(where, fmt::format("{}={:.40}: no {} is faster than it is", key, text, what),
        key == "link" ? "link=3x2: half the rate of node 3" : key + "=1x2.5: 2.5 times as long, from 1 on");
  return Times{*count, *factor};
}

Expected<void> read_named(
    const std::string& key, const std::string& text, const std::string& where, UnevenWords& words) {
  for (const std::string& part : split_at_commas(text)) {
    TRY(const auto times, read_times(key, part, where, 0));
    words.named.push_back({key == "node", times.count, times.factor});
  }
  return {};
}

Expected<sim::DurationLaw> read_law(const std::string& key, const std::string& text, const std::string& where) {
  std::vector<double> figures;
  for (const std::string& part : split_at_commas(text)) {
    const auto number = parsed_number<double>(part);
    if (!number || !(*number > 0))
      return fail(where, fmt::format("{}={:.60} has what is no number above 0", key, text), uneven_hint);
    figures.push_back(*number);
  }
  constexpr std::size_t wanted = 5;
  if (figures.size() != wanted || !std::is_sorted(figures.begin(), figures.begin() + 4) || figures[4] < figures[0] ||
      figures[4] > figures[3])
    return fail(where, fmt::format("{}={:.60} is no law", key, text),
        "5th, 50th and 95th percentile and the largest, which rise, and the mean between them");
  return sim::DurationLaw{figures[0], figures[1], figures[2], figures[3], figures[4]};
}

/// A number on each line, `what` it is.
Expected<std::vector<double>> read_numbers(const std::string& file, const char* what, bool zero = false) {
  TRY(const auto text, read_text_file(file));
  std::istringstream lines(text);
  std::size_t number = 0;
  std::vector<double> numbers;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view word = stripped(line);
    if (word.empty()) continue;
    const auto value = parsed_number<double>(word);
    if (!value || !std::isfinite(*value) || !(*value > 0 || (zero && *value == 0)))
      return fail(fmt::format("{}:{}", file, number), fmt::format("'{:.40}' is no {}", word, what), "a number above 0");
    numbers.push_back(*value);
  }
  if (numbers.empty()) return fail(file, fmt::format("no {}", what), "a number on each line");
  return numbers;
}

Expected<void> read_lengths(const std::string& text, const std::string& where, UnevenWords& words) {
  sim::Documents documents;
  if (text.find(',') == std::string::npos) {
    TRY(documents.lengths, read_numbers(text, "length"));
  } else {
    TRY(const auto law, read_law("lengths", text, where));
    constexpr int shares = 10'000;
    for (int share = 0; share < shares; ++share) documents.lengths.push_back(law.at((share + 0.5) / shares));
  }
  if (std::ranges::min(documents.lengths) < 1)
    return fail(where, "lengths: a document has less than a token", "lengths in tokens, from 1 on");
  words.documents = std::move(documents);
  return {};
}

Expected<void> read_experts(const std::string& text, const std::string& where, UnevenWords& words) {
  ExpertRows rows;
  if (text.ends_with('x') && parsed_number<double>(text.substr(0, text.size() - 1))) {
    rows.busiest = *parsed_number<double>(text.substr(0, text.size() - 1));
    if (!(rows.busiest >= 1 && rows.busiest <= most_slow_factor))
      return fail(
          where, fmt::format("experts={:.40}: the busiest rank has no less than the mean", text), "experts=1.3x");
  } else if (text.ends_with('%')) {
    TRY(rows.spread, read_spread(text, where));
  } else {
    TRY(rows.loads, read_numbers(text, "load", true));
    rows.file = text;
  }
  words.experts = std::move(rows);
  return {};
}

template <typename Choice> struct NamedChoice {
  const char* name;
  Choice choice;
};
constexpr NamedChoice<sim::Fill> fills[] = {
    {"packed", sim::Fill::packed}, {"balanced", sim::Fill::balanced}, {"padded", sim::Fill::padded}};
constexpr NamedChoice<sim::Dealing> dealings[] = {{"as-they-come", sim::Dealing::as_they_come},
    {"sorted", sim::Dealing::sorted}, {"balanced", sim::Dealing::balanced}};

template <typename Choice, std::size_t n>
Expected<Choice> read_choice(const NamedChoice<Choice> (&choices)[n], const std::string& key, const std::string& text,
    const std::string& where) {
  std::string names;
  for (const auto& row : choices) {
    if (text == row.name) return row.choice;
    names += fmt::format("{}{}={}", names.empty() ? "" : ", ", key, row.name);
  }
  return fail(where, fmt::format("'{}={:.40}' is not known", key, text), names);
}

Expected<void> read_word(const std::string& key, const std::string& value, const std::string& where, UnevenWords& words,
    std::optional<sim::Fill>& fill) {
  sim::Unevenness& uneven = words.uneven;
  if (key == "rank" || key == "node") return read_named(key, value, where, words);
  if (key == "lengths") return read_lengths(value, where, words);
  if (key == "experts") return read_experts(value, where, words);
  if (key == "slow") {
    TRY(const auto times, read_times(key, value, where, 1));
    uneven.slow = times.count, uneven.slow_factor = times.factor;
    return {};
  }
  if (key == "link") {
    TRY(const auto times, read_times(key, value, where, 0));
    words.link = NamedSlow{true, times.count, times.factor};
    return {};
  }
  if (key == "law") {
    TRY(uneven.law, read_law(key, value, where));
    return {};
  }
  if (key == "costs") {
    TRY(uneven.costs, read_numbers(value, "cost"));
    return {};
  }
  if (key == "fill") {
    TRY(fill, read_choice(fills, key, value, where));
    return {};
  }
  if (key == "dealt") {
    TRY(uneven.dealing, read_choice(dealings, key, value, where));
    return {};
  }
  if (key == "rail") {
    const auto factor = parsed_number<double>(value);
    if (!factor || !(*factor >= 1 && *factor <= most_slow_factor))
      return fail(where, fmt::format("rail={:.40} is no factor from 1 on", value), "rail=2: half the rate");
    words.rail = *factor;
    return {};
  }
  constexpr std::pair<const char*, double sim::Unevenness::*> spreads[] = {{"ranks", &sim::Unevenness::ranks},
      {"micro-batches", &sim::Unevenness::micro_batches}, {"actions", &sim::Unevenness::actions}};
  for (const auto& [name, member] : spreads)
    if (key == name) {
      TRY(uneven.*member, read_spread(value, where));
      return {};
    }
  return fail(where, fmt::format("'{:.40}' is no kind of unevenness", key), uneven_hint);
}

}  // namespace

Expected<UnevenWords> read_unevenness(const std::string& text, const std::string& where) {
  UnevenWords read;
  std::optional<sim::Fill> fill;
  std::set<std::string> seen;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) return fail(where, fmt::format("'{:.40}' has no =", word), uneven_hint);
    const std::string key = word.substr(0, sign);
    if (!seen.insert(key).second) return fail(where, fmt::format("{:.40} twice", key), "each once");
    TRY(read_word(key, word.substr(sign + 1), where, read, fill));
  }
  if (seen.empty()) return fail(where, "nothing is uneven", uneven_hint);
  if (fill && !read.documents) return fail(where, "fill= says nothing without lengths", "lengths=FILE");
  if (read.documents) read.documents->fill = fill.value_or(sim::Fill::packed);
  const bool by_cost = read.documents || read.uneven.law || !read.uneven.costs.empty() || read.uneven.micro_batches > 0;
  if (read.uneven.dealing != sim::Dealing::as_they_come && !by_cost)
    return fail(where, "dealt= says nothing where micro-batches cost the same",
        "lengths=FILE, costs=FILE or micro-batches=0.25");
  return read;
}

}  // namespace stepcast::whatif
