#include "studies/infer/phases.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "studies/infer/start_rules.h"

namespace stepcast::infer {
namespace {

Spread widest(Spread a, Spread b) { return {std::min(a.p10, b.p10), std::max(a.p90, b.p90)}; }

/// `pieces`: of those of a prompt the longest is shown; else the last.
void add(Phase& phase, const ServingCost& cost, std::span<const sim::Rows> rows, double times, bool pieces = false) {
  sim::IterationTime iteration = cost.time(rows);
  phase.time += iteration.time * times;
  phase.iterations.push_back({times, iteration.sums});
  phase.spread = widest(phase.spread, iteration.spread);
  if (pieces && !phase.shown_rows.empty() && iteration.time < phase.shown.time) return;
  phase.shown_rows.assign(rows.begin(), rows.end());
  phase.shown = std::move(iteration);
  phase.guesses = 0;
}

Phase empty_phase() {
  Phase phase;
  phase.spread = {1, 1};
  return phase;
}

void add_prompts(Phase& phase, const ServingCost& cost, std::int64_t most, std::int64_t batch, std::int64_t prompt,
    std::int64_t cached) {
  const auto run = [&](std::int64_t sequences, std::int64_t positions, std::int64_t behind, std::int64_t times) {
    const sim::Rows rows{static_cast<double>(sequences), static_cast<double>(positions), static_cast<double>(behind)};
    if (times > 0) add(phase, cost, std::span(&rows, 1), static_cast<double>(times), true);
  };
  if (prompt > most) {  // pieces of one prompt behind each other
    for (std::int64_t done = 0; done < prompt; done += most)
      run(1, std::min(most, prompt - done), cached + done, batch);
    return;
  }
  const std::int64_t together = std::max<std::int64_t>(1, most / prompt);
  run(together, prompt, cached, batch / together);
  run(batch % together, prompt, cached, batch % together > 0 ? 1 : 0);
}

/// Of the fullest group.
std::int64_t of_group(const Serving& serving, std::int64_t batch) {
  const std::int64_t groups = serving.attention_groups();
  return (batch + groups - 1) / groups;
}

/// Kernels and collectives of what is guessed stand before those of the iteration that tries it.
void show_guesses(sim::IterationTime& shown, sim::IterationTime guess, double times) {
  for (sim::IterationPart& part : guess.parts) {
    part.label = "draft " + part.label;
    part.calls *= times, part.time = part.time * times, part.bytes = part.bytes * times,
                         part.flops = part.flops * times, part.useful = part.useful * times;
  }
  shown.parts.insert(shown.parts.begin(), guess.parts.begin(), guess.parts.end());
  shown.time += guess.time * times, shown.kernels += guess.kernels * times, shown.moves += guess.moves * times;
  shown.host += guess.host * times, shown.launches += guess.launches * times;
}

/// Words of running sequences, with those that are guessed.
void add_words(Phase& phase, const Serving& serving, const ServingCost& cost, const ServingCost* drafts, double batch,
    double context, double times) {
  const sim::Rows guess{batch, 1, context}, words{batch, 1 + static_cast<double>(serving.draft), context};
  const auto guesses = static_cast<double>(serving.draft);
  if (drafts != nullptr) add(phase, *drafts, std::span(&guess, 1), times * guesses);
  sim::IterationTime guessed = std::move(phase.shown);
  add(phase, cost, std::span(&words, 1), times);
  if (drafts == nullptr) return;
  show_guesses(phase.shown, std::move(guessed), guesses);
  phase.guesses = serving.draft;
}

std::unique_ptr<ServingCost> drafts_of(const Serving& serving) {
  return serving.drafter ? std::make_unique<ServingCost>(*serving.drafter) : nullptr;
}

}  // namespace

double words_of_iteration(std::int64_t draft, double accepted) {
  double words = 1, right = 1;
  for (std::int64_t i = 0; i < draft; ++i) right *= accepted, words += right;
  return words;
}

Phase prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached) {
  const ServingCost cost(serving);
  Phase phase = empty_phase();
  add_prompts(phase, cost, serving.engine.most_positions, of_group(serving, batch), prompt, cached);
  phase.prefill = phase.time;
  return phase;
}

Phase decode(const Serving& serving, std::int64_t batch, std::int64_t context, Guesses guesses) {
  const ServingCost cost(serving);
  const auto drafts = drafts_of(serving);
  Phase phase = empty_phase();
  add_words(phase, serving, cost, drafts.get(), static_cast<double>(of_group(serving, batch)),
      static_cast<double>(context), 1);
  phase.decode = phase.time;
  phase.words = words_of_iteration(serving.draft, guesses.accepted);
  return phase;
}

Phase mixed(const Serving& serving, std::int64_t batch, std::int64_t context, const sim::Rows& prompt) {
  const ServingCost cost(serving);
  Phase phase = empty_phase();
  const sim::Rows rows[] = {{static_cast<double>(of_group(serving, batch)), 1, static_cast<double>(context)}, prompt};
  add(phase, cost, rows, 1);
  return phase;
}

Phase static_batch(
    const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output, Guesses guesses) {
  const ServingCost cost(serving);
  const auto drafts = drafts_of(serving);
  const Capacity room = capacity(serving, std::max<std::int64_t>(2, prompt + output / 2));
  Phase phase = empty_phase();
  const std::int64_t of_one = of_group(serving, batch);
  add_prompts(phase, cost, serving.engine.most_positions, of_one, prompt, 0);
  phase.prefill = phase.time;
  phase.words = words_of_iteration(serving.draft, guesses.accepted);
  if (output <= 1) return phase;
  // What the cache does not hold at once goes in waves.
  const std::int64_t together = std::clamp<std::int64_t>(room.sequences / serving.attention_groups(), 1, of_one);
  phase.waves = static_cast<double>(of_one) / static_cast<double>(together);
  const auto first = static_cast<double>(prompt + 1), last = static_cast<double>(prompt + output - 1),
             iterations = static_cast<double>(output - 1) / phase.words;
  constexpr double ends = 1.0 / 6, middles = 4.0 / 6;
  for (const auto& [context, share] :
      {std::pair{first, ends}, std::pair{(first + last) / 2, middles}, std::pair{last, ends}})
    add_words(
        phase, serving, cost, drafts.get(), static_cast<double>(together), context, share * iterations * phase.waves);
  phase.decode = phase.time - phase.prefill;
  return phase;
}

namespace {

/// Of a GPU of one stage.
Capacity capacity_of_stage(
    const Serving& serving, const Serving::Held& stage, std::int64_t length, std::int64_t activation_positions) {
  Capacity out;
  out.memory = serving.machine().gpu.memory.value();
  out.weights = serving.weight_bytes(stage) + (serving.drafter ? serving.drafter->weight_bytes() : 0);
  out.reserved = serving.engine.reserved.value();
  // Where the cache gets a share of what is free, that reserve holds NCCL's buffers, which one GPU alone does not have
  // (ai-dynamo/aiconfigurator 095f58a, trtllm_backend: 392 MB on 4 and 8 GPUs beside 3.5 GB of others).
  constexpr double buffers = 392e6;
  if (serving.engine.cache_rule == CacheRule::of_free && serving.scenario.plan.gpus == 1)
    out.reserved = std::max(0.0, out.reserved - buffers);
  const NetworkSpec& n = serving.network();
  out.activation_positions = activation_positions;
  out.activations =
      activations_of(serving.engine, {static_cast<double>(out.activation_positions), static_cast<double>(n.hidden),
                                         serving.tensor_ways, n.experts.count > 0})
          .value();
  const double share = serving.engine.cache_share;
  const double left = serving.engine.cache_rule == CacheRule::of_total
                          ? share * out.memory - out.weights - out.activations - out.reserved
                          : share * (out.memory - out.weights - out.activations - out.reserved);
  out.cache = std::max(0.0, left);
  const auto block = serving.engine.cache_block;
  const std::int64_t needed = (length + block - 1) / block;
  const double states = serving.cache_bytes(stage, 0), all = serving.cache_bytes(stage, static_cast<double>(length));
  const double of_block = (all - states) / static_cast<double>(length) * static_cast<double>(block);
  // With states, whose bytes no block has: as many blocks as sequences of this length fill.
  out.bytes_per_position = all / static_cast<double>(length);
  const std::int64_t at_once = states > 0 ? needed : 1;
  // A stage of layers that keep nothing (an MLP alone) holds any number where its weights have room.
  constexpr std::int64_t any_number = 1'000'000'000'000;
  if (all > 0)
    out.blocks = static_cast<std::int64_t>(out.cache / (states + static_cast<double>(at_once) * of_block)) * at_once;
  else out.blocks = out.cache > 0 ? any_number : 0;
  out.positions = out.blocks * block;
  out.sequences = needed > 0 ? out.blocks / needed * serving.attention_groups() : 0;
  return out;
}

}  // namespace

Capacity capacity(const Serving& serving, std::int64_t length, std::optional<std::int64_t> most_positions) {
  constexpr std::int64_t longest = 8192;  // what engines that take whole prompts were asked at
  const std::int64_t activation_positions = most_positions.value_or(std::min(serving.engine.most_positions, longest));
  std::optional<Capacity> least;
  for (const Serving::Held& stage : serving.form->held()) {
    const Capacity out = capacity_of_stage(serving, stage, length, activation_positions);
    if (!least || std::pair(out.blocks, out.cache) < std::pair(least->blocks, least->cache)) least = out;
  }
  return *least;
}

Expected<void> check_longest_request(
    const Serving& serving, std::int64_t longest, std::optional<std::int64_t> most_positions) {
  if (longest <= 1) return {};
  const Capacity room = capacity(serving, longest, most_positions);
  return room.sequences > 0 ? Expected<void>{} : check_longest(longest, room.positions, serving.engine);
}

}  // namespace stepcast::infer
