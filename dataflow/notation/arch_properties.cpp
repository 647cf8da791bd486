#include "dataflow/notation/arch_properties.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"

namespace stepcast::dataflow {

struct PropertyRow {
  std::string_view name, example;
  Expected<double> (*read)(const std::string& text);  ///< per second, or without time
  std::string (*write)(double value);
  /// With cycles for time: "64 B" of "64 B/cycle", "20" of "20 cycles". nullptr: never in cycles.
  Expected<double> (*read_in_cycles)(const std::string& text);
  std::string (*write_in_cycles)(double value);
  std::string_view cycle_unit = "/cycle";
};

namespace {

template <typename Q> Expected<double> read_quantity(const std::string& text) {
  const Zero zero = std::is_same_v<Q, Seconds> ? Zero::allowed : Zero::refused;
  return parse_quantity<Q>(text, {}, zero).map([](Q quantity) { return quantity.value(); });
}

template <typename Q> std::string write_quantity(double value) { return exact_text(Q(value)); }

/// Units of the properties that no quantity of model/ covers. Base value = number * multiply / divide.
struct ArchUnit {
  std::string_view name;
  double multiply = 1, divide = 1;
};
constexpr std::array word_units{ArchUnit{"bit"}, ArchUnit{"bits"}, ArchUnit{"B", 8}};
constexpr std::array energy_units{ArchUnit{"pJ", 1, 1e12}, ArchUnit{"fJ", 1, 1e15}, ArchUnit{"nJ", 1, 1e9},
    ArchUnit{"uJ", 1, 1e6}, ArchUnit{"mJ", 1, 1e3}, ArchUnit{"J"}};

template <typename Units> Expected<double> read_in(const Units& units, const std::string& text, double highest) {
  double number = 0;
  const char* end = text.data() + text.size();
  const char* stop = std::from_chars(text.data(), end, number).ptr;
  while (stop != end && *stop == ' ') ++stop;
  const std::string unit(stop, end);
  const auto row = std::ranges::find(units, unit, &ArchUnit::name);
  if (row == units.end())
    return fail({}, unit.empty() ? fmt::format("'{}' has no unit", text) : fmt::format("unknown unit in '{}'", text),
        fmt::format("units: {}", fmt::join(names_of(units, &ArchUnit::name), ", ")));
  const double value = number * row->multiply / row->divide;
  if (!(value > 0 && value <= highest))
    return fail({}, fmt::format("'{}' is not a real value", text), "above 0 and of this world");
  return value;
}

/// The fewest digits that read back to the value in the first of the units.
template <typename Units> std::string write_in(const Units& units, double value) {
  const ArchUnit& unit = units.front();
  for (int digits = 1; digits <= 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value * unit.divide / unit.multiply, digits);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number * unit.multiply / unit.divide == value) return fmt::format("{} {}", text, unit.name);
  }
  return fmt::format("{} {}", value, units.back().name);
}

Expected<double> read_word(const std::string& text) { return read_in(word_units, text, 1 << 20); }
Expected<double> read_energy(const std::string& text) { return read_in(energy_units, text, 1e3); }
std::string write_word(double value) { return fmt::format("{} bit", value); }
std::string write_energy(double value) { return write_in(energy_units, value); }

Expected<double> read_buffers(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const bool whole = std::from_chars(text.data(), end, number).ptr == end;
  if (!whole || number < 1 || number > 1024)
    return fail({}, fmt::format("'{}' is not a count of buffers", text),
        "an integer from 1 to 1024; 2: the next tile is loaded while one is used");
  return static_cast<double>(number);
}
std::string write_count(double value) { return fmt::format("{}", value); }

Expected<double> read_cycles(const std::string& text) {
  double number = -1;
  const char* end = text.data() + text.size();
  const bool whole = std::from_chars(text.data(), end, number).ptr == end;
  if (!whole || !(number >= 0 && number <= 1e12))
    return fail({}, fmt::format("'{}' is no number of cycles", text), "0 to 1e12");
  return number;
}

constexpr PropertyRow property_rows[] = {
    {"cap", "80 GiB", read_quantity<Bytes>, write_quantity<Bytes>, nullptr, nullptr},
    {"bw", "64 B/cycle or 3.35 TB/s", read_quantity<BytesPerSecond>, write_quantity<BytesPerSecond>,
        read_quantity<Bytes>, write_quantity<Bytes>},
    {"lat", "20 cycles or 500 ns", read_quantity<Seconds>, write_quantity<Seconds>, read_cycles, write_count,
        " cycles"},
    {"flops", "2 FLOP/cycle or 989 TFLOP/s", read_quantity<FlopsPerSecond>, write_quantity<FlopsPerSecond>,
        read_quantity<Flops>, write_quantity<Flops>},
    {"clock", "1.83 GHz", read_quantity<Hertz>, write_quantity<Hertz>, nullptr, nullptr},
    {"word", "16 bit", read_word, write_word, nullptr, nullptr},
    {"energy", "2.5 pJ", read_energy, write_energy, nullptr, nullptr},
    {"buffers", "2", read_buffers, write_count, nullptr, nullptr}};

}  // namespace

const PropertyRow* find_property(std::string_view name) {
  const auto named = [&](const PropertyRow& row) { return row.name == name; };
  const auto* row = std::ranges::find_if(property_rows, named);
  return row == std::end(property_rows) ? nullptr : row;
}

std::vector<std::string> property_names() { return names_of(property_rows, &PropertyRow::name); }

Expected<ArchLevel::Property> read_property(const std::string& name, const std::string& text) {
  const PropertyRow& row = *find_property(name);
  const bool cycles = row.read_in_cycles != nullptr && text.ends_with(row.cycle_unit);
  const Expected<double> value =
      cycles ? row.read_in_cycles(text.substr(0, text.size() - row.cycle_unit.size())) : row.read(text);
  if (!value) {
    const std::string& hint = value.error().hint;
    return fail({}, fmt::format("{}: {}", name, value.error().what),
        fmt::format("{}{}such as {}:{}", hint, hint.empty() ? "" : "; ", name, row.example));
  }
  return ArchLevel::Property{name, *value, cycles, text};
}

std::string property_text(const ArchLevel::Property& property) {
  if (!property.text.empty()) return property.text;
  const PropertyRow* row = find_property(property.name);
  if (row == nullptr) return fmt::format("{}", property.value);
  if (property.per_cycle && row->write_in_cycles != nullptr)
    return row->write_in_cycles(property.value) + std::string(row->cycle_unit);
  return row->write(property.value);
}

}  // namespace stepcast::dataflow
