// True or refused: a launch with an argument that nobody knows, one misspelled, or one fewer that shapes the run is
// another reading, an error or a word; never the same forecast in silence.
#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "model/base/text.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/step_words.h"
#include "tests/studies/launch/given_launch.h"
#include "tests/studies/launch/restated_launch.h"
#include "tests/studies/launch/typed_launch.h"
#include "tests/trials.h"

namespace stepcast::launch {
namespace {

using given_launches::given_launch;
using given_launches::with_gpt;

/// A launch that is read, and how.
struct MutatedLaunch {
  std::string name;
  Launch launch;
  LaunchHints hints;
  std::string outcome;
};

/// All that a forecast is made of, and every word about it but the count of arguments that leave the step alone; ""
/// where it is refused.
std::string outcome_of(const Launch& launch, const LaunchHints& hints) {
  const auto reading = read_meaning(launch, hints);
  if (!reading) return {};
  const Request& request = reading->request;
  std::string text = write_network(request.network->row) + (request.stack ? request.stack->id : "");
  for (const auto& [key, value] : request.said()) text += fmt::format("{}={}\n", key, value.text);
  for (const Request::Statement& statement : request.statements) text += statement.text + "\n";
  for (const std::string& note : reading->notes)
    if (note.find("taken to leave the step's time as it is") == note.npos) text += note + "\n";
  return text + fmt::format("{}", fmt::join(request.warnings, "\n"));
}

std::vector<MutatedLaunch> all_read_launches() {
  std::vector<MutatedLaunch> launches;
  auto rows = testing_launch::restated_launches(), others = testing_launch::restated_launches("public_sources.json");
  rows.insert(rows.end(), others.begin(), others.end());
  for (const auto& row : rows) {
    auto launch = testing_launch::read_restated(row);
    if (!launch) continue;
    LaunchHints hints;
    hints.gpus = row.gpus;
    for (const auto& [key, value] : row.beside)
      if (const RunField* field = find_field(key)) hints.told.insert(field->id);
    if (!row.network.empty()) hints.network = *choose_network(row.network, ""), hints.must_agree = false;
    launches.push_back({testing_launch::case_name(row), std::move(*launch), std::move(hints), {}});
  }
  launches.push_back({"gpt", given_launch("megatron-lm", with_gpt({}), 64), {}, {}});
  launches.push_back({"quiet", testing_launch::quiet_megatron(), {}, {}});
  launches.push_back({"titan", testing_launch::quiet_torchtitan(), {}, {}});
  for (MutatedLaunch& row : launches) row.outcome = outcome_of(row.launch, row.hints);
  std::erase_if(launches, [](const MutatedLaunch& row) { return row.outcome.empty(); });
  return launches;
}

const std::vector<MutatedLaunch>& read_launches() {
  static const std::vector<MutatedLaunch> launches = all_read_launches();
  return launches;
}

class Mutants {
 public:
  explicit Mutants(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  std::string made_up_name() {
    std::string name;
    for (std::size_t i = 0, letters = 5 + below(12); i < letters; ++i) name += static_cast<char>('a' + below(26));
    return below(2) == 0 ? name : name.substr(0, 3) + "_parallel_" + name.substr(3);
  }

  /// One letter is missing, twice there, another one, or changed its place.
  std::string misspelled(std::string name) {
    const std::size_t at = below(name.size());
    switch (below(4)) {
      case 0: name.erase(at, 1); break;
      case 1: name.insert(at, 1, name[at]); break;
      case 2: name[at] = static_cast<char>('a' + below(26)); break;
      default: std::swap(name[at], name[(at + 1) % name.size()]);
    }
    return name;
  }

 private:
  std::mt19937 random_;
};

/// Says the value nothing, as it is the default, overruled, given again, or none?
bool says_nothing(const Launch& launch, const GivenArgument& given) {
  if (says_none(given.value) || !launch.counts(given)) return true;
  const ArgumentFact* fact = launch.framework->table().find(given.name);
  const std::string usual = launch.framework->table().default_of(*fact, launch.release);
  return lower_case(usual) == lower_case(given.value);
}

/// Of every framework there is a launch to change.
TEST(LaunchMutants, AreOfAllDialects) {
  std::set<std::string_view> there, missing;
  for (const MutatedLaunch& row : read_launches()) there.insert(row.launch.framework->id);
  for (const Framework& row : frameworks())
    if (!there.contains(row.id)) missing.insert(row.id);
  EXPECT_TRUE(missing.empty()) << fmt::format("{}", fmt::join(missing, " "));
}

TEST(LaunchMutants, AMadeUpArgumentIsNeverPassedOver) {
  const auto& launches = read_launches();
  ASSERT_GT(launches.size(), 90U);
  Mutants mutants(23);
  std::set<std::string> tried;  // launches with what is added
  for (std::size_t i = 0; tried.size() < static_cast<std::size_t>(trials(500)); ++i) {
    MutatedLaunch row = launches[i % launches.size()];
    const GivenArgument beside = row.launch.arguments[mutants.below(row.launch.arguments.size())];
    const std::string name = beside.name.substr(0, beside.name.rfind('.') + 1) + mutants.made_up_name();
    if (row.launch.framework->table().find(name) != nullptr) continue;  // a name that users make up
    if (!tried.insert(row.name + name).second) continue;
    row.launch.arguments.push_back({name, "--" + name, mutants.below(2) == 0 ? "true" : "8", 1, {}});
    const auto reading = read_meaning(row.launch, row.hints);
    if (reading) {  // in a section that is passed over
      EXPECT_EQ(outcome_of(without(row.launch, beside.name), row.hints), outcome_of(row.launch, row.hints))
          << row.name << " " << name;
      continue;
    }
    EXPECT_NE(reading.error().what.find("--" + name), std::string::npos) << reading.error().what;
    EXPECT_NE(reading.error().hint.find("--lenient"), std::string::npos) << reading.error().hint;
    row.hints.lenient = true;
    const auto lenient = read_meaning(row.launch, row.hints);
    ASSERT_TRUE(lenient) << to_text(lenient.error());
    ASSERT_FALSE(lenient->request.warnings.empty());
    EXPECT_NE(lenient->request.warnings.front().find("--" + name), std::string::npos);
  }
}

TEST(LaunchMutants, AMisspelledArgumentIsNeverPassedOver) {
  const auto& launches = read_launches();
  Mutants mutants(7);
  std::size_t tried = 0;
  for (int i = 0; i < trials(400); ++i) {
    MutatedLaunch row = launches[static_cast<std::size_t>(i) % launches.size()];
    GivenArgument& given = row.launch.arguments[mutants.below(row.launch.arguments.size())];
    const ArgumentTable& table = row.launch.framework->table();
    if (!row.launch.counts(given)) continue;
    const std::string right = given.name;
    const std::string section = right.substr(0, right.rfind('.') + 1);
    given.name = section + mutants.misspelled(right.substr(section.size()));
    given.spelled = "--" + given.name;
    const bool another = table.find(given.name) != nullptr;  // or a name that users make up
    if (another || given.name == right) continue;
    ++tried;
    EXPECT_NE(outcome_of(row.launch, row.hints), row.outcome) << row.name << ": " << right << " as " << given.name;
  }
  EXPECT_GT(tried, trials(250U));
}

/// What a decoder's sizes are made of, and a plan's: nothing else tells them, and no program has them unless told.
constexpr Asked told_by_one[] = {Asked::layers, Asked::hidden, Asked::ffn_hidden, Asked::heads, Asked::kv_heads,
    Asked::sequence, Asked::vocabulary, Asked::experts, Asked::top_k, Asked::gated_mlp, Asked::micro_batch,
    Asked::global_batch, Asked::tp, Asked::pp, Asked::cp, Asked::ep, Asked::layers_per_chunk, Asked::chunks,
    Asked::padded_vocabulary, Asked::decoder_layers, Asked::accumulation};

/// Does no other argument tell it, nor a network that the launch names?
bool tells_alone(const MutatedLaunch& row, const LaunchReading& reading, Asked asked) {
  const ArgumentTable& table = row.launch.framework->table();
  const auto tells = [&](const GivenArgument& given) {
    const ArgumentFact* fact = table.find(given.name);
    return fact != nullptr && fact->asks == asked;
  };
  return std::count_if(row.launch.arguments.begin(), row.launch.arguments.end(), tells) == 1 &&
         std::none_of(reading.notes.begin(), reading.notes.end(),
             [](const std::string& note) { return note.starts_with("geometry of"); });
}

/// One argument of a launch each, of those; one way of a split and one accumulated micro-batch are none.
struct Removed {
  const MutatedLaunch* row;
  const GivenArgument* given;
};

std::vector<Removed> removals() {
  std::vector<Removed> found;
  for (const MutatedLaunch& row : read_launches()) {
    const LaunchReading reading = *read_meaning(row.launch, row.hints);
    for (const GivenArgument& given : row.launch.arguments) {
      const ArgumentFact* fact = row.launch.framework->table().find(given.name);
      const bool asked =
          fact != nullptr && fact->asks && (given.value != "1" || *fact->asks < Asked::accumulation) &&
          std::find(std::begin(told_by_one), std::end(told_by_one), *fact->asks) != std::end(told_by_one);
      if (asked && !says_nothing(row.launch, given) && tells_alone(row, reading, *fact->asks))
        found.push_back({&row, &given});
    }
  }
  return found;
}

TEST(LaunchMutants, WithoutWhatShapesItItIsAnotherLaunch) {
  const std::vector<Removed> all = removals();
  EXPECT_GE(all.size(), 500U);
  const std::size_t step = static_cast<std::size_t>(500 / trials(500));
  for (std::size_t i = 0; i < all.size(); i += step) {
    const auto& [row, given] = all[i];
    EXPECT_NE(outcome_of(without(row->launch, given->name), row->hints), row->outcome)
        << row->name << ": " << given->name << " " << given->value;
  }
}

}  // namespace
}  // namespace stepcast::launch
