// From the words of a space to its values: defaults of the axes need the network, the machine and the largest GPU
// count.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/whole_number.h"
#include "studies/run/scenario.h"
#include "studies/run/settled_gpus.h"
#include "studies/run/usual_software.h"
#include "studies/sweep/space/figures.h"
#include "studies/sweep/space/space.h"
#include "studies/sweep/space/space_words.h"

namespace stepcast::sweep {
namespace {

constexpr std::uint64_t most_top = 1'000'000;
constexpr double most_price = 1e6;  // dollars per GPU-hour
constexpr AxisId tier_axes[] = {AxisId::tp_tier, AxisId::pp_tier, AxisId::dp_tier};

class SpaceReader {
 public:
  explicit SpaceReader(SpaceWords words) : words_(std::move(words)) { space_.request = words_.request; }

  Expected<Space> run() {
    for (const auto step :
        {&SpaceReader::gpus, &SpaceReader::batch, &SpaceReader::nouns, &SpaceReader::axes, &SpaceReader::precisions,
            &SpaceReader::tiers, &SpaceReader::goals, &SpaceReader::cost, &SpaceReader::size})
      TRY((this->*step)());
    return std::move(space_);
  }

 private:
  /// --nodes is another way to say one number of GPUs; dp is what is left of them.
  Expected<void> settle() {
    Request& request = words_.request;
    if (request.says(FieldId::dp))
      return fail(request.where(FieldId::dp), "a sweep tries every dp that the other axes leave", "--where 'dp == 8'");
    if (!request.says(FieldId::nodes)) return {};
    const std::string where = request.where(FieldId::nodes);
    if (words_.axis(AxisId::gpus))
      return fail(where, fmt::format("{} says the GPUs already", words_.axis(AxisId::gpus)->where), "one of them");
    TRY(settle_gpus(request));
    words_.axis(AxisId::gpus) = AxisWords{{request.find(FieldId::gpus)->text}, where};
    space_.request = request;
    return {};
  }

  Expected<void> gpus() {
    TRY(settle());
    if (!words_.axis(AxisId::gpus))
      return fail("--gpus", "the number of GPUs is missing",
          "--gpus 64, or several: --gpus 64,128 or 64..1024*2; \"gpus\" in a space file");
    TRY(read_axis_of(row_of(AxisId::gpus)));
    const auto& counts = numbers(AxisId::gpus);
    context_.most_gpus = *std::ranges::max_element(counts);
    return {};
  }

  Expected<void> batch() {
    if (!words_.request.says(FieldId::global_batch))
      return fail("--global-batch", "the global batch is missing",
          "sequences per step of all GPUs together: --global-batch 512");
    space_.global_batch = context_.global_batch = words_.request.wishes().global_batch;
    return {};
  }

  /// The network on plain data parallelism: what predict takes where nobody says, and its errors.
  [[nodiscard]] Request plain_run() const {
    Request request = words_.request;
    request.unsay(FieldId::global_batch);  // plain data parallelism over all GPUs may not divide it
    say(request, AxisId::gpus, std::to_string(context_.most_gpus));
    return request;
  }

  /// A value of the axis, which its reader has checked.
  void say(Request& request, AxisId axis, const std::string& value) const {
    (void)request.say(row_of(axis), value, words_.axis(axis)->where);
  }

  /// One for the whole space, as if its only value of --zero had been said; where it has several, the usual one.
  Expected<void> software() {
    Request request = words_.request;
    const auto& zero = words_.axis(AxisId::zero);
    if (zero && zero->texts.size() == 1) (void)request.say(row_of(AxisId::zero), zero->texts.front(), zero->where);
    TRY(request, with_settled_software(std::move(request)));
    words_.request.stack = space_.request.stack = request.stack;
    return {};
  }

  Expected<void> nouns() {
    TRY(software());
    TRY(plain_, resolve(plain_run()));
    space_.sequence = context_.sequence = plain_.plan.sequence;
    context_.network = &plain_.network.row;
    context_.machine = &plain_.machine.row;
    context_.stack = &plain_.stack.row;
    return {};
  }

  Expected<void> axes() {
    for (const AxisRow& row : axis_rows())
      if (row.id != AxisId::gpus) TRY(read_axis_of(row));
    return {};
  }

  Expected<void> read_axis_of(const AxisRow& row) {
    const std::size_t axis = static_cast<std::size_t>(row.id);
    const auto& said = words_.axis(row.id);
    TRY(auto values, said ? read_axis_values(row, said->texts, said->where, context_) : row.axis.usual(context_));
    space_.values[axis] = std::move(values);
    if (row.type.number)
      for (const std::string& value : space_.values[axis]) space_.numbers[axis].push_back(std::stoll(value));
    const std::vector<std::string>& all = space_.values[axis];
    if (said && all.size() == 1 && !row.flag.empty() && all.front() != row.axis.own_word)
      say(space_.request, row.id, all.front());
    return {};
  }

  /// Each of them must be one that the GPU has.
  Expected<void> precisions() {
    if (!words_.axis(AxisId::precision)) return {};
    for (const std::string& precision : space_.values[static_cast<std::size_t>(AxisId::precision)]) {
      Request request = plain_run();
      say(request, AxisId::precision, precision);
      TRY(resolve(request));
    }
    return {};
  }

  Expected<void> tiers() {
    for (const AxisId tier : tier_axes) {
      const auto& said = words_.axis(tier);
      if (!said) continue;
      space_.tiers = true;
      if (space_.values[static_cast<std::size_t>(AxisId::order)].size() > 1)
        return fail(said->where,
            fmt::format("{} decides the order of the mesh, and so do the values of order", row_of(tier).key),
            "either tiers or several orders");
    }
    return {};
  }

  Expected<void> goals() {
    if (words_.where) {
      space_.where = words_.where->text;
      space_.where_origin = words_.where->where;
    }
    if (words_.objective) {
      TRY(const auto figure, find_figure(words_.objective->text, words_.objective->where));
      space_.objective = row_of(figure).name;
    }
    if (words_.top) {
      TRY(const auto top, parse_count(words_.top->text, words_.top->where, 1, most_top));
      space_.top = static_cast<std::uint64_t>(top);
      space_.top_said = true;
    }
    return pareto();
  }

  Expected<void> pareto() {
    if (!words_.pareto) return {};
    for (std::string text : words_.pareto->texts) {
      for (std::size_t comma = 0; comma != std::string::npos; text.erase(0, comma + 1)) {
        comma = text.find(',');
        TRY(take_front_figure(text.substr(0, comma)));
        if (comma == std::string::npos) break;
      }
    }
    if (space_.pareto.size() >= 2) return {};
    return fail(words_.pareto->where, "a front needs two figures or more",
        "step_time,memory.peak; of one figure the best is --objective");
  }

  Expected<void> take_front_figure(const std::string& name) {
    TRY(const auto figure, find_figure(name, words_.pareto->where));
    const std::string full(row_of(figure).name);
    if (contains(space_.pareto, full))
      return fail(words_.pareto->where, fmt::format("{} is listed twice", full), "each figure once");
    if (space_.pareto.size() == most_front_figures)
      return fail(words_.pareto->where, fmt::format("more than {} figures", most_front_figures),
          "a front of more holds nearly everything");
    space_.pareto.push_back(full);
    return {};
  }

  Expected<void> cost() {
    if (words_.price) {
      const std::string& text = words_.price->text;
      const char* const end = text.data() + text.size();
      const auto [stop, problem] = std::from_chars(text.data(), end, space_.price_per_gpu_hour);
      if (problem != std::errc{} || stop != end || !std::isfinite(space_.price_per_gpu_hour))
        return fail(
            words_.price->where, fmt::format("'{:.60}' is not a number", text), "US dollars per GPU and hour: 2.5");
      if (space_.price_per_gpu_hour <= 0 || space_.price_per_gpu_hour > most_price)
        return fail(words_.price->where, fmt::format("{:.60} is out of range", text),
            fmt::format("above 0, up to {:.0f} US dollars per GPU and hour", most_price));
      return {};
    }
    const std::string name(row_of(Figure::cost).name);
    if (space_.objective == name) return no_price(words_.objective->where);
    if (contains(space_.pareto, name)) return no_price(words_.pareto->where);
    return {};
  }

  static Expected<void> no_price(const std::string& where) {
    return fail(
        where, "the cost needs the price of a GPU-hour", "--price 2.5, in US dollars; \"price\" in a space file");
  }

  Expected<void> size() {
    std::uint64_t size = 1;
    for (const AxisRow& row : axis_rows()) {
      const std::uint64_t count = space_.values[static_cast<std::size_t>(row.id)].size();
      if (size > largest_space / count)
        return fail("axes", fmt::format("the space has more than 2^62 configurations: {}", longest_axes()),
            "shorter lists, or fixed values");
      size *= count;
    }
    return {};
  }

  /// "tp 12 values, pp 10".
  [[nodiscard]] std::string longest_axes() const {
    std::vector<const AxisRow*> rows;
    for (const AxisRow& row : axis_rows()) rows.push_back(&row);
    const auto length = [&](const AxisRow* row) { return space_.values[static_cast<std::size_t>(row->id)].size(); };
    std::ranges::stable_sort(rows, [&](const AxisRow* a, const AxisRow* b) { return length(a) > length(b); });
    return fmt::format("{} values of {}, {} of {}, {} of {}, ...", length(rows[0]), rows[0]->key, length(rows[1]),
        rows[1]->key, length(rows[2]), rows[2]->key);
  }

  [[nodiscard]] const std::vector<std::int64_t>& numbers(AxisId id) const {
    return space_.numbers[static_cast<std::size_t>(id)];
  }

  SpaceWords words_;
  Space space_;
  Scenario plain_;
  AxisContext context_;
};

/// Of a launch its own ways are tried beside the usual ones.
Expected<Space> read_with_own(SpaceWords words) {
  if (!words.own) return read_space(std::move(words));
  TRY(const auto usual, read_space(words));
  const Request own = std::move(*words.own);
  return read_space(with_own_values(std::move(words), usual, own));
}

}  // namespace

Expected<Space> read_space(SpaceWords words) { return SpaceReader(std::move(words)).run(); }

Expected<Space> read_space(const Arguments& arguments) {
  TRY(auto words, read_space_words(arguments));
  return read_with_own(std::move(words));
}

Expected<Space> read_space_on(const Chosen<Machine>& machine, const Arguments& arguments) {
  TRY(auto words, read_space_words(arguments));
  words.request.machine = machine;
  return read_with_own(std::move(words));
}

}  // namespace stepcast::sweep
