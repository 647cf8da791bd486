#include "studies/whatif/uneven.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/step/attending.h"
#include "studies/whatif/machine_levers.h"

namespace stepcast::whatif {
namespace {

constexpr const char* flag = "--imbalance";
/// Actions that all samples together run, or documents that they draw: some seconds.
constexpr std::int64_t most_draws = 20'000'000;
constexpr std::int64_t most_samples = 400, least_samples = 20;

/// Which rank of which copy of the pipeline a GPU is.
struct Cell {
  std::int64_t copy = 0, stage = 0;
};
Cell cell_of(const Split& split, std::int64_t gpu) {
  MeshOrder order = split.order;  // a single stage takes no place between the others, as in the mesh
  if (split.pp == 1) std::ranges::stable_partition(order, [](MeshAxis axis) { return axis != MeshAxis::pp; });
  std::array<std::int64_t, 4> at{};
  for (const MeshAxis axis : order) {
    const std::array sizes = {split.tp, split.cp, split.dp, split.pp};
    const auto index = static_cast<std::size_t>(axis);
    at[index] = gpu % sizes[index];
    gpu /= sizes[index];
  }
  return {at[static_cast<std::size_t>(MeshAxis::dp)], at[static_cast<std::size_t>(MeshAxis::pp)]};
}

std::int64_t node_count(const Scenario& scenario) {
  const std::int64_t of_node = scenario.machine.row.levels.front().gpus;
  return (scenario.plan.gpus + of_node - 1) / of_node;
}
Expected<void> check_index(const char* what, std::int64_t index, std::int64_t count) {
  if (index < count) return {};
  return fail(
      flag, fmt::format("{} {} of {}, counted from 0", what, index, count), fmt::format("at most {}", count - 1));
}
/// Which stages have a GPU on the node.
std::vector<int> stages_on(const Scenario& scenario, std::int64_t node) {
  std::vector<int> on(static_cast<std::size_t>(scenario.split->pp), 0);
  const std::int64_t of_node = scenario.machine.row.levels.front().gpus;
  for (std::int64_t gpu = node * of_node; gpu < std::min(scenario.plan.gpus, (node + 1) * of_node); ++gpu)
    on[static_cast<std::size_t>(cell_of(*scenario.split, gpu).stage)] = 1;
  return on;
}
double slow_links(const UnevenWords& words) { return std::max(words.rail, words.link ? words.link->factor : 1); }

/// Is one node's link slow, and do stages lie on nodes of their own? What is slow of all nodes is slow of all stages.
bool slow_stages(const Scenario& scenario, const UnevenWords& words) {
  return words.link && words.rail <= 1 && scenario.split->pp > 1;
}

/// The step whose stages on the node have slow links. The slowest of the copies' pipelines passes it, and collectives
/// of a stage wait for its slowest rank: prices of a stage are those of its slow node.
Expected<Prediction> predict_with_slow_node(const Scenario& scenario, const NamedSlow& link) {
  Scenario slow = scenario;
  scale_bandwidth(slow, 1, 1 / link.factor);
  std::vector<sim::RankKind> kinds;
  for (const Scenario& one : {std::cref(scenario), std::cref<Scenario>(slow)})
    kinds.push_back({run::cost_model(one), run::cost_model(one), 0});
  return run::predict_as_laid(scenario, {std::move(kinds), stages_on(scenario, link.index), scenario.plan.gpus});
}

Expected<void> name_ranks(const Scenario& scenario, const UnevenWords& words, sim::Unevenness& uneven) {
  const std::int64_t gpus = scenario.plan.gpus, of_node = scenario.machine.row.levels.front().gpus;
  if (uneven.slow > gpus)
    return fail(flag, fmt::format("slow={}: there are {} GPUs", uneven.slow, gpus), fmt::format("at most {}", gpus));
  for (const NamedSlow& one : words.named) {
    TRY(check_index(one.node ? "node" : "rank", one.index, one.node ? node_count(scenario) : gpus));
    const std::int64_t first = one.node ? one.index * of_node : one.index;
    for (std::int64_t gpu = first; gpu < std::min(gpus, first + (one.node ? of_node : 1)); ++gpu) {
      const Cell cell = cell_of(*scenario.split, gpu);
      uneven.named.push_back({cell.copy, cell.stage, one.factor});
    }
  }
  return {};
}

Expected<void> lay_documents(
    const Scenario& scenario, const Prediction& prediction, const UnevenWords& words, sim::Unevenness& uneven) {
  if (!words.documents) return {};
  const auto refuse = [](const char* what, const char* hint) -> Expected<void> { return fail(flag, what, hint); };
  if (scenario.split->cp > 1)
    return refuse("lengths: sequences are split over ranks, and who has which document is not modelled", "cp 1");
  if (scenario.stack.row.attention != AttentionForm::fused)
    return refuse("lengths: attention in single products works on whole squares", "a stack with fused attention");
  const bool padded = words.documents->fill == sim::Fill::padded;
  for (const ProgramBlock& block : prediction.program.blocks)
    for (const Move& move : block.moves)
      if (padded && move.cargo == Cargo::weight)
        return refuse("fill=padded: weights are gathered for each micro-batch, however short it is",
            "fill=packed, or weights that stay (--zero 0, 1 or 2)");
  TRY(const auto shares, sim::attending_shares(prediction.program, run::cost_model(scenario), prediction.step.times));
  uneven.documents = words.documents;
  uneven.documents->sequence = static_cast<double>(scenario.plan.sequence);
  uneven.documents->sequences = scenario.plan.micro_batch;
  uneven.attending_forward = shares.forward, uneven.attending_backward = shares.backward;
  return {};
}

/// Mean length over a whole sequence.
double mean_share(const sim::Documents& documents) {
  double tokens = 0;
  for (const double length : documents.lengths) tokens += std::min(length, documents.sequence);
  return tokens / documents.sequence / static_cast<double>(documents.lengths.size());
}
/// That so many micro-batches are made of, in the mean.
std::int64_t documents_of(const sim::Unevenness& uneven, std::int64_t units) {
  if (!uneven.documents) return 0;
  const double sequences = static_cast<double>(units * uneven.documents->sequences);
  return static_cast<std::int64_t>(sequences / mean_share(*uneven.documents));
}

/// Rails and experts change prices: the even step is forecast with them.
Expected<void> change_prices(const UnevenWords& words, Scenario& scenario, UnevenForecast& forecast) {
  const double slower = slow_links(words);
  if (slower > 1) {
    const std::vector<Level>& levels = scenario.machine.row.levels;
    if (levels.size() < 2 || scenario.plan.gpus <= levels.front().gpus)
      return fail(flag, "rail, link: the run stays within one node", "more GPUs, or without it");
    if (words.link) TRY(check_index("node", words.link->index, node_count(scenario)));
    if (!slow_stages(scenario, words)) scale_bandwidth(scenario, 1, 1 / slower);
    forecast.notes.push_back(
        slow_stages(scenario, words)
            ? fmt::format(
                  "stages on node {} send at 1/{:g} of the rate, and all pipelines wait for the one that passes it",
                  words.link->index, slower)
            : fmt::format("the slow links set the pace of all between nodes, 1/{:g} of the rate: "
                          "collectives deal their bytes evenly to NICs and nodes",
                  slower));
  }
  if (!words.experts) return {};
  Experts& experts = scenario.network.row.experts;
  if (experts.count == 0 || scenario.split->ep == 1)
    return fail(flag,
        experts.count == 0 ? "experts: the network has none" : "experts: all lie on one rank, which has all rows",
        experts.count == 0 ? "a network with experts" : "--ep above 1");
  if (experts.capacity_factor > 0)
    return fail(flag, "experts: their rows are filled up or cut to a capacity", "a network without capacity_factor");
  const auto given = static_cast<std::int64_t>(words.experts->loads.size());
  if (given != 0 && given != experts.count)
    return fail(words.experts->file, fmt::format("{} loads, and the network has {} experts", given, experts.count),
        "a line for each expert, 0 where it has no rows");
  const double busiest = busiest_rank(*words.experts, experts.count, scenario.split->ep);
  // A token goes to top_k experts: a rank has at most all tokens once for each of its experts.
  const double most = std::min(
      static_cast<double>(scenario.split->ep), static_cast<double>(experts.count) / static_cast<double>(experts.top_k));
  constexpr double rounding = 1e-9;
  if (busiest > most * (1 + rounding))
    return fail(words.experts->file.empty() ? flag : words.experts->file,
        fmt::format("experts: {:.3g} times the mean of rows on one of {} ranks, and {} of {} experts for each token "
                    "bring at most {:g} times",
            busiest, scenario.split->ep, experts.top_k, experts.count, most),
        fmt::format("experts={:g}x or less", most));
  experts.imbalance = forecast.busiest = busiest;
  return {};
}

int slowest_stage(const StepReport& step, const sim::Unevenness& uneven) {
  std::vector<double> times(static_cast<std::size_t>(step.order.ranks), 0.0), factors(times.size(), 1.0);
  for (const sim::SlowRank& one : uneven.named)
    factors[static_cast<std::size_t>(one.rank)] = std::max(factors[static_cast<std::size_t>(one.rank)], one.factor);
  for (int stage = 0; stage < step.order.stages(); ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    const auto rank = static_cast<std::size_t>(step.order.rank_of[s]);
    times[rank] +=
        factors[rank] * (step.times.forward[s] + step.times.input_grad[s] + step.times.weight_grad[s]).value();
  }
  return static_cast<int>(std::ranges::max_element(times) - times.begin());
}

}  // namespace

double busiest_rank(const ExpertRows& rows, std::int64_t experts, std::int64_t ranks, bool placed) {
  if (rows.busiest > 0) return placed ? 1 : rows.busiest;
  const std::int64_t each = experts / ranks;
  if (rows.loads.empty())
    return placed ? 1 : 1 + rows.spread / std::sqrt(static_cast<double>(each)) * sim::normal_maximum(ranks);
  std::vector<double> loads = rows.loads, of_rank(static_cast<std::size_t>(ranks), 0.0);
  std::vector<std::int64_t> room(of_rank.size(), each);
  if (placed) std::ranges::sort(loads, std::greater<>());
  for (std::size_t expert = 0; expert < loads.size(); ++expert) {
    std::size_t best = placed ? of_rank.size() : expert / static_cast<std::size_t>(each);
    for (std::size_t rank = 0; placed && rank < of_rank.size(); ++rank)
      if (room[rank] > 0 && (best == of_rank.size() || of_rank[rank] < of_rank[best])) best = rank;
    of_rank[best] += loads[expert], --room[best];
  }
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  return sum > 0 ? *std::ranges::max_element(of_rank) * static_cast<double>(ranks) / sum : 1;
}

Expected<UnevenForecast> uneven_forecast(
    const Scenario& scenario, const Prediction& prediction, const UnevenWords& words) {
  if (!scenario.split)
    return fail(flag, "of a mapping of one's own it is not known which ranks are copies of a pipeline",
        "the split by flags: --tp, --pp, ...");
  UnevenForecast forecast;
  Scenario changed = scenario;
  TRY(change_prices(words, changed, forecast));
  std::optional<Prediction> again;
  if (slow_links(words) > 1 || words.experts) {
    TRY(again,
        slow_stages(changed, words) ? predict_with_slow_node(changed, *words.link) : run::predict_as_laid(changed));
    if (prediction.step.memory.fits && !again->step.memory.fits)
      return fail(flag, "a step with these rows does not fit into memory", "experts=F with fewer, or another plan");
  }
  const Prediction& base = again ? *again : prediction;
  const StepReport& step = base.step;
  sim::Unevenness uneven = words.uneven;
  TRY(name_ranks(scenario, words, uneven));
  TRY(lay_documents(changed, base, words, uneven));
  forecast.copies = scenario.split->dp;
  uneven.gpus_per_rank = std::max<std::int64_t>(1, scenario.plan.gpus / (forecast.copies * scenario.split->pp));
  const std::int64_t draws = std::max(static_cast<std::int64_t>(step.timeline.end.size()) * forecast.copies,
      documents_of(uneven, step.order.units() * forecast.copies));
  if (draws * least_samples > most_draws)
    return fail(flag, fmt::format("a step has {} actions of pipelines or documents", draws),
        fmt::format("at most {}: fewer GPUs or micro-batches, longer documents", most_draws / least_samples));
  forecast.samples = std::clamp(most_draws / std::max<std::int64_t>(1, draws), least_samples, most_samples);
  TRY(const auto drawn, sim::uneven_steps(step.order, step.times, forecast.copies, uneven, forecast.samples, 0));
  const double around = step.step_time.value() - drawn.even;
  forecast.mean_s = drawn.mean + around, forecast.p10_s = drawn.p10 + around, forecast.p90_s = drawn.p90 + around;
  forecast.even_s = prediction.step.step_time.value(), forecast.error_s = drawn.error;
  forecast.slowest_stage = slowest_stage(step, uneven);
  if (step.order.stages() == 1)
    if (const auto one =
            sim::one_stage_step(drawn.even / step.order.units(), step.order.units(), forecast.copies, uneven))
      forecast.one_stage_s = around + *one;
  if (uneven.documents)
    forecast.notes.push_back(fmt::format("tokens see their own document; attention is {} of a forward of whole "
                                         "sequences, and short documents run at their rate",
        format_percent(uneven.attending_forward[static_cast<std::size_t>(forecast.slowest_stage)])));
  if (uneven.documents && uneven.documents->fill == sim::Fill::padded) {
    forecast.tokens = mean_share(*uneven.documents);
    forecast.notes.push_back(fmt::format(
        "a step has {} of the tokens of whole sequences, the rest is filled up", format_percent(forecast.tokens)));
  }
  if (scenario.plan.gpus > forecast.copies * scenario.split->pp)
    forecast.notes.emplace_back("ranks inside a pipeline's stage are taken as one: the slowest sets their pace");
  return forecast;
}

std::string uneven_text(const UnevenForecast& forecast) {
  std::string text =
      fmt::format("\nWith uneven work  {} on average, {} to {} (10th to 90th percentile), {:+.1f} %: the "
                  "slowest of {} pipelines counts\n",
          format_seconds(Seconds(forecast.mean_s)), format_seconds(Seconds(forecast.p10_s)),
          format_seconds(Seconds(forecast.p90_s)), 100 * (forecast.mean_s / forecast.even_s - 1), forecast.copies);
  text += fmt::format(
      "  from {} drawn steps, the mean good to {}", forecast.samples, format_seconds(Seconds(forecast.error_s)));
  if (forecast.one_stage_s) text += fmt::format("; by closed form {}", format_seconds(Seconds(*forecast.one_stage_s)));
  text += "\n";
  if (forecast.busiest != 1)
    text += fmt::format("  the busiest rank of experts has {:.2f} times the mean of rows\n", forecast.busiest);
  for (const std::string& note : forecast.notes) text += "  " + note + "\n";
  return text;
}

void write_uneven(JsonWriter& json, const UnevenForecast& forecast) {
  json.fields("step_time_s", forecast.mean_s, "step_time_interval_s",
      std::vector<double>{forecast.p10_s, forecast.p90_s}, "mean_error_s", forecast.error_s, "pipelines",
      forecast.copies, "drawn_steps", forecast.samples);
  if (forecast.one_stage_s) json.field("closed_form_s", *forecast.one_stage_s);
  json.fields("busiest_rank_of_experts", forecast.busiest, "token_share", forecast.tokens);
  json.field("assumptions", forecast.notes);
}

}  // namespace stepcast::whatif
