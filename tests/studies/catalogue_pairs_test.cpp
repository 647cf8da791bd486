// Every network of the catalogue on every machine of it, through the library's door: one node, two of them with a
// pipeline across, and one with its experts spread. Nothing is left out: a pair that no split suits is a failure and
// says why.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"
#include "studies/run/split/split.h"
#include "tests/studies/asked_of.h"
#include "tests/trials.h"

namespace stepcast::studies {
namespace {

struct Pair {
  const NetworkSpec& network;
  const Machine& machine;
  std::int64_t gpus = 1, tp = 1, pp = 1, ep = 1;
  [[nodiscard]] std::string name() const {
    return fmt::format("{} on {}, {} GPUs, tp {}, pp {}, ep {}", network.id, machine.id, gpus, tp, pp, ep);
  }
};

constexpr std::int64_t most_node_gpus = 8;

/// As many ways as the heads, the MLP and the GPUs of a node allow.
std::int64_t widest_tensor_split(const NetworkSpec& network, std::int64_t gpus) {
  std::int64_t widest = 1;
  for (const std::int64_t tp : legal_tensor_sizes(network))
    if (gpus % tp == 0) widest = std::max(widest, tp);
  return widest;
}

Pair on_one_node(const NetworkSpec& network, const Machine& machine) {
  const std::int64_t gpus = std::min(most_node_gpus, machine.levels.front().gpus);
  return {network, machine, gpus, widest_tensor_split(network, gpus)};
}

/// Whole heads on every GPU, the experts over all of them as far as they divide.
Pair on_spread_experts(const NetworkSpec& network, const Machine& machine) {
  const std::int64_t gpus = std::min(most_node_gpus, machine.levels.front().gpus);
  return {network, machine, gpus, 1, 1, std::gcd(network.experts.count, gpus)};
}

/// Two whole nodes, the layers in two stages where they divide, else batches split across.
Pair on_two_nodes(const NetworkSpec& network, const Machine& machine) {
  const std::int64_t node = machine.levels.front().gpus;
  return {network, machine, 2 * node, widest_tensor_split(network, node), network.layers % 2 == 0 ? 2 : 1};
}

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const NetworkSpec& network : built_in().networks)
    for (const Machine& machine : built_in().machines) {
      pairs.push_back(on_one_node(network, machine));
      if (machine.levels.size() > 1) pairs.push_back(on_two_nodes(network, machine));
      if (network.experts.count > 0) pairs.push_back(on_spread_experts(network, machine));
    }
  return pairs;
}

bool can(const Gpu& gpu, Precision precision) { return gpu.peak[static_cast<int>(precision)].value() > 0; }

/// What layers read beside the stream does not go from stage to stage.
std::int64_t stages_of(const Pair& pair) {
  return pair.network.encoders.empty() && !reads_beside_stream(pair.network) ? pair.pp : 1;
}

Request request_of(const Pair& pair) {
  Request request;
  request.network = Chosen<NetworkSpec>{pair.network, pair.network.id};
  request.machine = Chosen<Machine>{pair.machine, pair.machine.id};
  const char* precision = can(pair.machine.gpu, Precision::bf16) ? "bf16" : "fp16";
  for (const auto& [key, text] : std::initializer_list<std::pair<const char*, std::string>>{
           {"gpus", std::to_string(pair.gpus)}, {"tp", std::to_string(pair.tp)},
           {"pp", std::to_string(stages_of(pair))}, {"ep", std::to_string(pair.ep)}, {"precision", precision}})
    EXPECT_TRUE(request.say(key, text, std::string("--") + key));
  for (const auto& [key, text] : asked_of(pair.network)) EXPECT_TRUE(request.say(key, text, "--" + key));
  return request;
}

bool in(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A law that a warning may name, by how its name begins.
bool is_law(const std::string& warning) {
  constexpr std::array laws = {"gemm roofline ", "attention ramp", "memory stream", "scan of states",
      "mixing of streams", "curve ", "ports ", "NCCL tuning model"};
  return std::any_of(laws.begin(), laws.end(), [&](const char* law) { return warning.starts_with(law); });
}

/// The kinds of warning, and for each whether it may be given here: a doubtful law must be one that the profile has as
/// such, or that falls back to the machine's links; not fitting must be true.
bool is_explained(const std::string& warning, const Scenario& scenario, const Prediction& prediction) {
  if (warning.starts_with("does not fit: rank")) return !prediction.step.memory.fits;
  if (in(warning, " x the needed matrix work is done: ")) return !prediction.program.notes.empty();
  if (!is_law(warning)) return false;
  if (in(warning, ": beyond the largest size measured; ")) return warning.starts_with("curve ");
  if (!in(warning, "; its calls take ")) return false;
  const bool transferred = in(warning, ": transferred from another GPU, rank count or kind");
  const bool datasheet = in(warning, ": from the datasheet, nothing measured");
  const bool assumed = in(warning, ": assumed, nothing measured");
  if (transferred + datasheet + assumed != 1) return false;
  const Profile& profile = scenario.profile.row;
  const auto is = [&](Source source) {
    return (transferred && source == Source::transferred) || (datasheet && source == Source::datasheet) ||
           (assumed && source == Source::assumed);
  };
  if (warning.starts_with("attention")) return is(profile.attention.source);
  if (warning.starts_with("memory")) return is(profile.memory.source);
  if (warning.starts_with("scan")) return static_cast<bool>(scenario.network.row.mixer);
  if (warning.starts_with("mixing")) return transferred && scenario.network.row.streams > 1;
  if (warning.starts_with("gemm")) {
    for (const Precision precision :
        {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8}) {
      if (!warning.starts_with(fmt::format("gemm roofline {}:", to_text(precision)))) continue;
      // Products of the router stay in four bytes; on a chip without tf32 their rate is nobody's but assumed.
      const RooflineLaw* law = find_gemm(profile, precision);
      return law != nullptr ? is(law->source) : assumed && !can(scenario.machine.row.gpu, precision);
    }
    return false;
  }
  return true;  // curves, ports and NCCL's model: another rank count or kind, or the links of the machine
}

void expect_positive(double value, const char* what, const std::string& pair) {
  EXPECT_TRUE(std::isfinite(value) && value > 0) << pair << ": " << what << " is " << value;
}

void check_figures(const Prediction& prediction, const std::string& pair) {
  const StepReport& step = prediction.step;
  expect_positive(step.step_time.value(), "step time", pair);
  expect_positive(step.p10.value(), "p10", pair);
  expect_positive(step.tokens_per_s_per_gpu, "tokens per second", pair);
  expect_positive(prediction.model_rate.value(), "model FLOP/s", pair);
  expect_positive(prediction.mfu, "MFU", pair);
  expect_positive(step.memory.peak.value(), "peak memory", pair);
  EXPECT_LE(step.p10, step.step_time) << pair;
  EXPECT_GE(step.p90, step.step_time) << pair;
  EXPECT_LE(prediction.hfu, 1) << pair << ": faster than the chip";
  EXPECT_NEAR(step.phases.sum() / step.step_time, 1, 1e-9) << pair;
  const Phases& p = step.phases;
  for (const Seconds phase : {p.data_wait, p.host_to_device, p.forward, p.backward, p.bubble, p.exposed_communication,
           p.gradient_sync, p.clip, p.optimizer, p.parameter_gather, p.host})
    EXPECT_GE(phase / step.step_time, -1e-12) << pair;  // the bubble is what is left over: zero up to rounding
}

void check_pair(const Pair& pair) {
  const auto scenario = complete(request_of(pair));
  ASSERT_TRUE(scenario) << pair.name() << ": " << to_text(scenario.error());
  const auto prediction = run::predict(*scenario);
  ASSERT_TRUE(prediction) << pair.name() << ": " << to_text(prediction.error());
  check_figures(*prediction, pair.name());
  for (const std::string& warning : prediction->warnings)
    EXPECT_TRUE(is_explained(warning, *scenario, *prediction)) << pair.name() << ": " << warning;
}

TEST(CataloguePairs, EveryNetworkRunsOnEveryMachine) {
  const std::vector<Pair> pairs = all_pairs();
  EXPECT_GE(pairs.size(), built_in().networks.size() * built_in().machines.size());
  for (std::size_t i = 0; i < pairs.size(); i += sanitized ? 7 : 1) check_pair(pairs[i]);
}

/// Layers of Gemma 3n read the words of the first stage and the keys of a layer before: two stages are refused, not
/// forecast without these.
TEST(CataloguePairs, LayersThatReadBesideTheStreamHaveOneStage) {
  const Machine& machine = **find_row(built_in().machines, "dgx-h100", "machine");
  for (const auto& [id, pp] : {std::pair{"gemma3n-e2b", 2}, {"gemma3n-e4b", 5}}) {
    Request request = request_of({**find_row(built_in().networks, id, "network"), machine, 40, 2});
    EXPECT_TRUE(complete(request)) << id;
    ASSERT_TRUE(request.say("pp", std::to_string(pp), "--pp"));
    const auto refused = complete(request);
    ASSERT_FALSE(refused) << id;
    EXPECT_EQ(to_text(refused.error()),
        fmt::format("--pp: the layers of {} look at what others embedded or made of keys: what stands on the first "
                    "stage does not go from stage to stage of pp {} here (--pp 1)",
            id, pp));
  }
}

/// The same work on the same number of GPUs: a chip that does not beat another in any figure is not faster.
TEST(CataloguePairs, MoreOfEverythingIsNotSlower) {
  const NetworkSpec& network = **find_row(built_in().networks, "llama3-8b", "network");
  for (const auto& [slow, fast] :
      {std::pair{"dgx-1-v100", "dgx-a100"}, {"dgx-a100", "dgx-h100"}, {"dgx-h100", "dgx-b200"}, {"hgx-h20", "hgx-h200"},
          {"aws-p4de", "dgx-a100"}, {"h100-pcie-server", "dgx-h100"}, {"mi300x-server", "mi355x-server"},
          {"rtx-4090-box", "rtx-pro-6000-server"}}) {
    const auto step = [&](const char* machine) {
      const auto scenario = complete(request_of({network, **find_row(built_in().machines, machine, "machine"), 8, 8}));
      return run::predict(*scenario)->step.step_time;
    };
    EXPECT_GE(step(slow), step(fast)) << slow << " and " << fast;
  }
}

/// bf16 is the default; chips that lack it say what to ask for.
TEST(CataloguePairs, ChipsWithoutBf16RunTheirNextTypeAndSaySo) {
  for (const Machine& machine : built_in().machines) {
    if (can(machine.gpu, Precision::bf16)) continue;
    Request request;
    request.network = Chosen<NetworkSpec>{built_in().networks.front(), built_in().networks.front().id};
    request.machine = Chosen<Machine>{machine, machine.id};
    const auto scenario = complete(request);
    ASSERT_TRUE(scenario) << machine.id << ": " << to_text(scenario.error());
    EXPECT_EQ(scenario->plan.precision, Precision::fp16) << machine.id;
    ASSERT_TRUE(request.say("precision", "bf16", "--precision"));
    const auto refused = complete(request);
    ASSERT_FALSE(refused) << machine.id;
    EXPECT_EQ(to_text(refused.error()),
        fmt::format("--precision: {} has no bf16 matrix units (--precision fp16, or fp32)", machine.gpu.name));
  }
}

}  // namespace
}  // namespace stepcast::studies
