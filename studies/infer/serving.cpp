#include "studies/infer/serving.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/batch_lowering.h"
#include "dataflow/lower/lower.h"
#include "dataflow/lower/read_plan.h"
#include "model/base/contains.h"
#include "model/base/quantity_text.h"
#include "studies/engines/habits.h"
#include "studies/infer/start_rules.h"
#include "studies/infer/types/number_types.h"

namespace stepcast::infer {
namespace {

Expected<Profile> profile_of(const Profile* own, const Gpu& gpu) {
  if (own == nullptr) return default_kernel_profile(gpu, built_in().profiles);
  if (own->gpu != gpu.id)
    return fail("--profile", fmt::format("{} is of {}, and the machine has {}", own->id, own->gpu, gpu.id),
        "a profile of the machine's GPU, or none: its default one");
  return with_all_precisions(*own, gpu);
}

/// Far enough back that every window and every choice of keys is shorter.
constexpr std::int64_t far_back = 1 << 24;

/// Of one sequence in an iteration, with those that were guessed (sim/serving/engine_cost.cpp).
constexpr std::int64_t most_words = 8;

/// The fewest new positions that make whole compressed keys, or means of keys, in every layer.
std::int64_t whole_positions(const NetworkSpec& network) {
  std::int64_t whole = 1;
  for (const LayerShape& shape : network.shapes)
    if (shape.ratio > 0) whole = std::lcm(whole, shape.ratio);
  constexpr std::int64_t coarser = 4;  // of the means that are scored first
  return network.sparse.pooled > 0 ? std::lcm(whole, coarser * network.sparse.pooled) : whole;
}

/// As many sequences as experts, so that each has a whole number of rows.
std::int64_t some_sequences(const Serving& serving) {
  return std::max<std::int64_t>(1, serving.network().experts.count);
}

/// New positions of each sequence that Programs are made of: of words, and, where longer rows have kernels of their
/// own, the most that words may have (0: they have none) and those of prompts.
struct FormPositions {
  std::int64_t words = 1, most_words = 0, prompts = 0;
};
FormPositions form_positions(const Serving& serving) {
  const std::int64_t whole = whole_positions(serving.network());
  FormPositions out;
  out.words = serving.alone_positions > 0 ? serving.alone_positions : whole;
  if (serving.words_alone) return out;
  out.most_words = absorbed_positions(serving.network());
  for (std::uint8_t shape = 1; shape <= serving.network().shapes.size(); ++shape)
    out.most_words = std::max(out.most_words, absorbed_positions(shaped(serving.network(), shape)));
  if (!serving.prompts_mapping.empty()) out.most_words = std::max(out.most_words, most_words);
  if (out.most_words > 0) out.prompts = std::lcm(std::lcm(2 * out.most_words, whole), 2 * serving.cp);
  return out;
}

Plan rows_plan(const Serving& serving, std::int64_t positions, const std::string& mapping) {
  Plan plan = serving.scenario.plan;
  plan.precision = Precision::bf16;  // what is narrower is priced by the engine's types
  if (!mapping.empty()) plan.mapping = mapping;
  plan.micro_batch = some_sequences(serving), plan.global_batch = plan.micro_batch * serving.groups;
  plan.sequence = positions;
  plan.cache = CacheUse{far_back, serving.cache_element_bytes};
  return plan;
}

Expected<sim::RowPrograms> row_programs(
    const Serving& serving, std::int64_t positions, bool reads_cache, const std::string& mapping = {}) {
  const Stack stack = lowered_for(serving.engine);
  const Plan plan = rows_plan(serving, positions, mapping);
  TRY(const auto read, dataflow::read_plan(plan, stack));
  dataflow::BatchLowering lowering(serving.network(), stack, read);
  const auto lowered = [&](std::int64_t sequences, std::int64_t length, std::int64_t cached) {
    return lowering.another({sequences, sequences * serving.groups, length, cached});
  };
  const std::int64_t some = some_sequences(serving);
  sim::RowPrograms out;
  out.rows = {static_cast<double>(some), static_cast<double>(positions), static_cast<double>(far_back)};
  TRY(out.one, lowering.first(plan));
  TRY(out.twice_as_many, lowered(2 * some, positions, far_back));
  TRY(out.twice_as_long, lowered(some, 2 * positions, far_back));
  if (reads_cache) {
    TRY(out.further, lowered(some, positions, 2 * far_back));
  }
  return out;
}

}  // namespace

Expected<std::shared_ptr<const sim::IterationForm>> iteration_form(const Serving& serving) {
  const auto share = [](sim::IterationForm form) {
    return std::make_shared<const sim::IterationForm>(std::move(form));
  };
  const FormPositions positions = form_positions(serving);
  // A mapping of one's own may gather what stands in the cache.
  TRY(const auto words, row_programs(serving, positions.words, !serving.scenario.split));
  if (positions.prompts == 0) {
    TRY(auto form, sim::IterationForm::of(words));
    form.keep_widths(serving.widths, words.one, nullptr);
    return share(std::move(form));
  }
  TRY(const auto prompts, row_programs(serving, positions.prompts, true, serving.prompts_mapping));
  TRY(auto form, sim::IterationForm::of(words, static_cast<double>(positions.most_words), prompts));
  form.keep_widths(serving.widths, words.one, &prompts.one);
  return share(std::move(form));
}

Plan iteration_plan(const Serving& serving, bool prompts) {
  const FormPositions positions = form_positions(serving);
  return prompts && positions.prompts > 0 ? rows_plan(serving, positions.prompts, serving.prompts_mapping)
                                          : rows_plan(serving, positions.words, "");
}

namespace {

/// Its last layer by itself, between the table of words and the LM head. Where that is an MLP alone (Nemotron-H) it has
/// attention, too, as modules of multi-token prediction have (Nemotron 3 Super: "* E").
run::Chosen<NetworkSpec> drafter_of(run::Chosen<NetworkSpec> network) {
  NetworkSpec& n = network.row;
  n.id += "-drafter";
  const std::vector<LayerKind> pattern = n.pattern;
  const bool experts = is_expert_layer(n, n.layers - 1);
  n.layers = 1, n.mtp_layers = 0, n.mtp_pattern.clear();
  if (!pattern.empty()) {
    LayerKind last = pattern.back();
    if (!last.mixer) last.attention = true;
    n.pattern = {last};
    const bool own = last.shape > 0 && n.shapes[last.shape - 1U].mixer;
    if (!last.mixer || own) n.mixer = {};
    for (std::size_t i = 0; i < n.shapes.size(); ++i)
      if (!last.mixer || i + 1 != last.shape) n.shapes[i].mixer = {};
  }
  n.experts.dense_layers = 0;
  if (!experts) n.experts = {};
  return network;
}

/// What a server of images or sound holds beside the text's weights. 0: there is none.
double image_weight_bytes(const run::Chosen<NetworkSpec>& network) {
  if (network.row.encoders.empty() && network.parts.empty()) return 0;
  constexpr double wide = 2;  // encoders stay in bf16
  double bytes = 0;
  for (const NetworkPart& part : run::parts_of_network(network))
    if (part.name == "vision" || part.name == "projector" || part.name == "audio" || part.name == "audio_projector")
      bytes += wide * static_cast<double>(part.parameters);
  return bytes;
}

/// A mapping of one's own may split positions, of which a word is but one, or keys of the cache as words alone see
/// them.
Expected<std::shared_ptr<const sim::IterationForm>> form_of_one_kind(Serving& serving, const Error& why) {
  serving.words_alone = why;
  if (auto words = iteration_form(serving)) return words;
  serving.words_alone.reset();
  serving.prompts_alone = why;
  serving.alone_positions = 2 * serving.scenario.plan.gpus * whole_positions(serving.network());
  return iteration_form(serving);
}

/// Copies that ranks have beside the experts, over as many as there are. Engines lay them out evenly
/// (vllm/model_executor/layers/fused_moe/layer.py; sglang/srt/eplb/expert_location.py: as many on each rank).
Expected<double> expert_copies(const ServingWishes& wishes, const NetworkSpec& network) {
  const std::int64_t copies = wishes.spare_experts, experts = network.experts.count;
  if (copies == 0) return 0.0;
  if (experts == 0) return fail("--spare-experts", fmt::format("{} has no experts", network.id), "without it");
  if (wishes.ep == 1)
    return fail("--spare-experts", "each rank has a part of every expert, of which none is copied", "--ep 2 or more");
  if (const std::int64_t over = (experts + copies) % wishes.ep; over != 0)
    return fail("--spare-experts",
        fmt::format("{} experts and {} copies on {} ranks, which have as many each", experts, copies, wishes.ep),
        fmt::format("--spare-experts {}", copies + wishes.ep - over));
  return static_cast<double>(copies) / static_cast<double>(experts);
}

/// By layer of `network`. `behind`: it is a layer alone, behind so many of the file's.
sim::OwnWidths own_widths(const ServedTypes& types, const NetworkSpec& network, std::int64_t behind) {
  sim::OwnWidths widths;
  for (const WeightsOfLayers& weights : types.wide_weights) {
    sim::OwnWidths::Weights& own = widths.wide.emplace_back();
    own.op = weights.name;
    if (weights.all) continue;
    own.of.assign(static_cast<std::size_t>(network.layers), 0);
    for (const std::int64_t layer : weights.layers)
      if (layer >= behind && layer - behind < network.layers) own.of[static_cast<std::size_t>(layer - behind)] = 1;
  }
  for (const WeightsOfExperts& some : types.wide_experts) {
    const std::int64_t layer = some.layer - behind;
    if (layer < 0 || layer >= network.layers || network.experts.count == 0) continue;
    if (widths.partly.empty() || widths.partly.back().op != some.name) widths.partly.push_back({some.name, {}});
    std::vector<double>& shares = widths.partly.back().of;
    shares.resize(static_cast<std::size_t>(network.layers));
    shares[static_cast<std::size_t>(layer)] =
        static_cast<double>(some.experts) / static_cast<double>(network.experts.count);
  }
  if (types.narrow_head) widths.narrow.emplace_back("head");
  return widths;
}

Expected<void> check_images_served(const NetworkSpec& network) {
  if (!looks_at_encoder(network) || projector_parameter_count(network) == 0) return {};
  return fail(network.id, "an engine's iteration of a network with layers that look at images",
      fmt::format("stepcast predict {} --images 1 forecasts its training", network.id));
}

/// How an engine keeps the keys of layers with windows, where that hangs on the class of the network.
void say_pool_of_windows(const Engine& engine, const NetworkSpec& network, std::vector<std::string>& assumptions) {
  if (engine.window_pools.empty() || network.window.positions == 0) return;
  if (!engine.keeps_windows) return;
  const Engine::WindowPool* pool = engine.window_pool(network.family);
  assumptions.push_back(pool == nullptr
                            ? fmt::format("{} keeps all keys of layers with windows", engine.name)
                            : fmt::format("layers with windows have room for {:g} of the others' positions in {}",
                                  pool->share, engine.name));
}

/// A rank with part of the heads of a key head does not sum all their scores, by which blocks are picked. Up to so many
/// positions all keys are seen.
Expected<void> leave_picks_of_parts(NetworkSpec& network, std::int64_t tp, std::vector<std::string>& assumptions) {
  if (network.sparse.pooled == 0 || tp <= network.kv_heads) return {};
  if (network.dense_positions == 0)
    return fail("--tp", fmt::format("{} ranks, and blocks of keys are picked by all heads of a key head", tp),
        fmt::format("at most {} (key heads)", network.kv_heads));
  assumptions.push_back(fmt::format("every query sees all keys, as up to {} positions", network.dense_positions));
  network.sparse.top_k = 0, network.sparse.pooled = 0;  // its block stays, to tell that they would be picked
  return {};
}

/// Engines without kernels that pick blocks by means of keys run such layers over all keys: vLLM's proposals of
/// MiniCPM-SALA leave the picks out (vllm-project/vllm pull requests 44095 and 48999).
void see_all_keys(NetworkSpec& network, const Engine& engine, std::vector<std::string>& assumptions) {
  if (network.sparse.pooled == 0 || engine.picks_by_means) return;
  assumptions.push_back(fmt::format(
      "every query sees all keys: {} does not pick blocks of keys by their means, as {}{} has it", engine.name,
      network.id, network.dense_positions > 0 ? fmt::format(" beyond {} positions", network.dense_positions) : ""));
  network.sparse = {}, network.dense_positions = 0;
}

Expected<void> check_latents(const NetworkSpec& network, const Engine& engine) {
  if (network.latent.kv_rank == 0 || !contains(engine.expands_latents, network.family)) return {};
  return fail(network.id,
      fmt::format("{} keeps keys and values of each head of {}, not its latents, which is not forecast", engine.name,
          network.family),
      "--engine sglang, where it has latents");
}

}  // namespace

Expected<Serving> serving_of(const ServingWishes& wishes, run::Chosen<NetworkSpec> network,
    run::Chosen<Machine> machine, const Engine& engine, const Profile* profile) {
  Serving serving;
  serving.engine = engine;
  for (Engine::Tuning& tuning : serving.engine.tunings) tuning.spread = tuning.spread_of(network.row.id);
  if (!wishes.exchange.empty()) {
    if (wishes.exchange != "gather" && wishes.exchange != "rows")
      return fail("--exchange", fmt::format("unknown exchange '{:.40}'", wishes.exchange), "gather or rows");
    serving.engine.exchange = wishes.exchange == "rows" ? ExpertExchange::rows : ExpertExchange::gather;
  }
  serving.engine.host_pace = host_pace_of(engine, machine.row.gpu);
  if (serving.engine.host_pace != engine.host_pace)
    serving.assumptions.push_back(
        fmt::format("host_pace {:g}: {}'s loop on the host beside a {}, over that on x86 servers",
            serving.engine.host_pace, engine.name, machine.row.gpu.name));
  TRY(check_images_served(network.row));
  if (engine.windows_when_said && network.row.window.positions > 0) {
    serving.assumptions.push_back(fmt::format(
        "every layer sees all positions: {} has windows of {} where max_attention_window_size says so, and not else",
        engine.name, network.row.window.positions));
    network.row.window.positions = 0;
  }
  TRY(check_latents(network.row, engine));
  see_all_keys(network.row, engine, serving.assumptions);
  TRY(leave_picks_of_parts(network.row, wishes.tp, serving.assumptions));
  if (wishes.mapping.where.empty()) TRY(fill_vocabulary(network.row, wishes.tp, engine, serving.assumptions));
  const run::Chosen<NetworkSpec> whole = network;
  const run::Chosen<Machine> where = machine;
  network.row.mtp_layers = 0;  // they guess, and the iteration itself does without them
  TRY(static_cast<ServingSplit&>(serving),
      serving_split(wishes, std::move(network), std::move(machine), serving.engine));
  TRY(auto laws, profile_of(profile, serving.machine().gpu));
  serving.profile = std::make_shared<const Profile>(std::move(laws));
  TRY(auto settled, served_types({wishes.weights, wishes.cache, wishes.products},
                        run::names_a_file(wishes.network) ? stored_weights_of_file(wishes.network) : StoredWeights{},
                        serving.network(), serving.machine().gpu, serving.engine));
  serving.widths = own_widths(settled, serving.network(), wishes.predicts_behind);
  serving.types = settled.types, serving.cache_element_bytes = settled.cache_element_bytes;
  serving.assumptions.insert(serving.assumptions.end(), settled.assumptions.begin(), settled.assumptions.end());
  if (settled.stored_in_blocks)
    TRY(check_blocks(serving.scenario, settled.types.experts_alone, serving.groups, engine));
  if (serving.scenario.split)
    for (std::string& doubled : doubled_key_heads(serving.network(), serving.tensor_ways, engine))
      serving.assumptions.push_back(std::move(doubled));
  TRY(serving.expert_copies, expert_copies(wishes, serving.network()));
  if (serving.expert_copies > 0)
    serving.assumptions.emplace_back("copies of experts are in memory, and tokens go as without them");
  auto form = iteration_form(serving);
  if (!form && !wishes.mapping.text.empty()) form = form_of_one_kind(serving, form.error());
  TRY(serving.form, std::move(form));
  say_pool_of_windows(engine, serving.network(), serving.assumptions);
  if (!mixers(serving.network()).empty()) serving.assumptions.emplace_back("states in fp32");
  if (serving.dealt_by_rule && !serving.layers.empty())
    serving.assumptions.push_back(
        fmt::format("--layout {}: layers on stages as {} deals them out", fmt::join(serving.layers, ","), engine.name));
  if (const double images = image_weight_bytes(whole); images > 0)
    serving.assumptions.push_back(fmt::format("the {} encoder's {} of weights are not in memory: text alone",
        !whole.row.encoders.empty() && whole.row.encoders.front().sound ? "sound" : "image",
        format_bytes(Bytes(images))));
  const NetworkSpec& n = serving.network();
  if ((n.sparse.top_k > 0 && n.latent.kv_rank > 0) || n.compressed.top_k > 0)
    serving.assumptions.emplace_back("keys of the indexer in fp8, each with a scale of four bytes");
  if (wishes.draft > 0) {
    if (wishes.pp > 1)
      return fail("--draft", "guessing before an iteration on several stages", "--pp 1, or no --draft");
    ServingWishes small = wishes;
    small.draft = 0, small.layout.clear();  // it is a layer alone
    small.spare_experts = 0;
    small.predicts_behind = whole.row.layers;
    // What is guessed belongs to the iteration that tries it, which the host prepares once.
    Engine within = engine;
    for (Engine::Tuning& tuning : within.tunings) tuning.host_per_iteration = tuning.host_per_sequence = Seconds(0);
    TRY(auto drafter, serving_of(small, drafter_of(whole), where, within, profile));
    serving.draft = wishes.draft;
    serving.drafter = std::make_shared<const Serving>(std::move(drafter));
  }
  return serving;
}

namespace {

std::string of_each_node(std::int64_t gpus, const Machine& machine) {
  const Level& first = machine.levels.front();
  if (first.gpus == gpus)
    return fmt::format(
        "--node-gpus {}: it has so many GPUs of each {}, others are behind the network", gpus, first.name);
  return fmt::format("--node-gpus {}: the links of a {} join trays, so that nothing changes", gpus, first.name);
}

}  // namespace

Expected<Serving> serving_of(const ServingWishes& wishes) {
  TRY(auto network, run::choose_network(wishes.network, "network"));
  TRY(auto machine, run::choose_machine(wishes.machine.empty() ? "dgx-h100" : wishes.machine, "--machine"));
  if (wishes.node_gpus > 0) {
    TRY(machine.row, with_node_gpus(std::move(machine.row), wishes.node_gpus, "--node-gpus"));
  }
  run::Chosen<Engine> engine;
  if (wishes.row != nullptr) {
    engine.row = *wishes.row;
  } else {
    TRY(engine, run::choose_engine(wishes.engine.empty() ? "vllm" : wishes.engine, "--engine"));
  }
  ServingWishes settled = wishes;
  if (const std::int64_t others = settled.pp * settled.attention_dp * settled.cp;
      settled.mapping.text.empty() && settled.gpus > 0 && settled.tp == 1 && settled.gpus % others == 0)
    settled.tp = settled.gpus / others;
  std::optional<run::Chosen<Profile>> profile;
  if (!wishes.profile.empty()) {
    TRY(profile, run::choose_kernel_profile(wishes.profile, "--profile"));
  }
  const Profile* laws = profile ? &profile->row : nullptr;
  if (wishes.row == nullptr)
    engine.row = as_usual(std::move(engine.row), machine.row.gpu, {settled.tp, settled.attention_dp});
  TRY(auto serving, serving_of(settled, std::move(network), std::move(machine), engine.row, laws));
  if (wishes.machine.empty()) serving.assumptions.emplace_back("--machine dgx-h100");
  if (wishes.node_gpus > 0) serving.assumptions.push_back(of_each_node(wishes.node_gpus, serving.machine()));
  if (wishes.engine.empty() && wishes.row == nullptr) serving.assumptions.emplace_back("--engine vllm");
  return serving;
}

double Serving::weight_bytes(const Held& held) const {
  const double layers = held.all - held.experts - held.wide;
  constexpr double wide = 2;
  const double narrow_experts = held.experts - held.wide_experts;
  return (narrow_experts * types.weight_bytes + held.wide_experts * wide) * (1 + expert_copies) +
         layers * (types.experts_alone ? types.beside_experts : types.weight_bytes) + held.wide * wide;
}

double Serving::weight_bytes() const {
  double most = 0;
  for (const Held& stage : form->held()) most = std::max(most, weight_bytes(stage));
  return most;
}

double Serving::cache_bytes(const Held& stage, double positions) const {
  if (const Engine::WindowPool* pool = engine.keeps_windows ? engine.window_pool(network().family) : nullptr)
    return dataflow::pooled_cache_bytes(stage.caches, positions, pool->share);
  return dataflow::cache_bytes(stage.caches, positions, engine.keeps_windows);
}

double Serving::cache_bytes(double positions) const {
  double most = 0;
  for (const Held& stage : form->held()) most = std::max(most, cache_bytes(stage, positions));
  return most;
}

ServingCost::ServingCost(const Serving& serving)
    : serving_(&serving), stack_(lowered_for(serving.engine)),
      moves_(serving.machine(), *serving.profile, stack_, Precision::bf16, serving.scenario.plan.gpus),
      cost_(moves_, *serving.profile, serving.engine, serving.types) {}

std::vector<std::string> launch_warnings(const Serving& serving) {
  const Engine& engine = serving.engine;
  std::vector<std::string> out = run::unpriced_words(serving.machine(), *serving.profile);
  if (engine.captured || ServingCost(serving).tuning().host_per_launch.value() > 0) return out;
  // Iterations of those that replay nothing were measured so: their launches are in the figures that were fitted.
  const auto row = std::ranges::find(built_in().engines, engine.id, &Engine::id);
  if (row != built_in().engines.end() && !row->captured) return out;
  out.emplace_back(
      "launches of iterations that no CUDA graph replays were not measured for this engine; they are taken to cost "
      "nothing");
  return out;
}

bool ServingCost::captured(std::span<const sim::Rows> rows) const {
  double sequences = 0;
  for (const sim::Rows& row : rows) {
    if (row.positions > 1 + static_cast<double>(serving_->draft)) return false;
    sequences += row.sequences;
  }
  return serving_->engine.captured && sequences <= static_cast<double>(serving_->engine.most_captured);
}

std::vector<sim::IterationSlice> ServingCost::in_order(
    std::span<const sim::Rows> rows, const sim::IterationTime& whole) const {
  return serving_->form->in_order(rows, cost_, captured(rows), whole);
}

sim::IterationTime ServingCost::time(std::span<const sim::Rows> rows) const {
  return serving_->form->time(rows, cost_, captured(rows));
}

}  // namespace stepcast::infer
