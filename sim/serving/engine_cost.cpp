#include "sim/serving/engine_cost.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "model/convolution_law.h"
#include "model/profile/exchange_law.h"
#include "model/profile/hyper_connection_law.h"
#include "model/profile/kernel_law.h"
#include "model/profile/scan_law.h"

namespace stepcast::sim {
namespace {

using dataflow::KernelWork, dataflow::Move, dataflow::MoveKind;

/// How unequally tokens choose: the variance of experts' chances over the square of their mean. One number for all
/// networks, which loads of experts tell (docs/serving.md).
constexpr double popularity_variance = 0.8;

/// Of experts that have a chance of `chance` in the mean, the share that no token chooses. The first token's choices
/// are distinct; over chances of a gamma law the others leave an expert alone by a negative binomial one (Greenwood and
/// Yule 1920, Journal of the Royal Statistical Society 83).
double share_left_alone(double chance, double tokens) {
  if (chance >= 1) return 0;
  const double mean = -std::log1p(-chance) * std::max(0.0, tokens - 1);
  return std::pow(1 - chance, std::min(1.0, tokens)) *
         std::pow(1 + popularity_variance * mean, -1 / popularity_variance);
}

/// Experts that rows reach, and the rows of each of them.
///
/// Where experts are spread over ranks all wait for the busiest: its distinct experts and its rows are the largest of
/// as many draws as there are ranks, near normal. A rank's rows vary as those of tokens that choose at random, and as
/// the chances of its experts do.
GemmQuery of_experts(GemmQuery query, double experts, double tokens, double choices) {
  const double hit = 1 - share_left_alone(choices / experts, tokens), ranks = experts / query.batch;
  const double rows = tokens * choices / ranks, others = 1 - 1 / ranks, far = largest_draw(ranks);
  const double distinct = query.batch * hit + far * std::sqrt(query.batch * hit * (1 - hit) * others),
               busiest = rows + far * std::sqrt((rows + popularity_variance * rows * rows / query.batch) * others);
  query.batch = std::min({query.batch, std::max(1.0, distinct), tokens * choices});
  query.m = std::max(1.0, busiest / query.batch);
  return query;
}

EnginePrice price_of(const KernelTime& time, const char* law, Binding binding) {
  EnginePrice price;
  static_cast<Price&>(price) = {time.time, time.source, time.spread, law, time.extrapolated, 0};
  price.binding = binding;
  return price;
}

EnginePrice price_of(const Price& price, Binding binding) {
  EnginePrice out;
  static_cast<Price&>(out) = price;
  out.binding = binding;
  return out;
}

Binding binding_of(Bound bound) {
  return bound == Bound::compute ? Binding::compute : bound == Bound::memory ? Binding::weights : Binding::launch;
}

/// A sequence's words of one iteration, one and those that were drafted behind it, are so many at most; their kernels
/// take them as further heads (vllm-project/vllm v1/attention/backends/flash_attn.py packs queries of one key head).
constexpr double most_words = 8;

bool decodes(double queries) { return queries <= most_words; }

AttentionQuery query_of(const KernelWork& work, double sequences, double queries, double keys, Precision precision) {
  AttentionQuery query;
  query.batch = sequences, query.keys = keys, query.precision = precision;
  query.heads = work.heads, query.kv_heads = work.kv_heads, query.head_dim = work.head_dim;
  query.pass = decodes(queries) ? AttentionPass::decode : AttentionPass::forward;
  if (query.pass == AttentionPass::forward) {
    query.queries = queries;
    return query;
  }
  query.heads *= std::max(1.0, queries);
  // Words look at a latent cache itself: its values are a part of its keys.
  if (work.value_dim > 0 && (work.value_dim < work.head_dim || work.values_are_keys))
    query.latent_values = work.value_dim;
  return query;
}

/// Kernels that dequantise an fp8 cache, by the width of a head: the rate at which they read it over that of heads of
/// 128. An H200 reads 0.51, 0.60, 0.36 and 0.33 of its memory's rate where a call has 1 GB and more (ai-dynamo/
/// aiconfigurator 095f58a, vllm 0.22.0 generation_attention, FlashAttention 3).
struct WidthRate {
  double width, rate;
};
constexpr WidthRate dequantised_rates[] = {{64, 0.85}, {128, 1}, {192, 0.6}, {256, 0.55}};

double dequantised_rate(double width) {
  for (const WidthRate& row : dequantised_rates)
    if (width <= row.width) return row.rate;
  return std::end(dequantised_rates)[-1].rate;
}

/// The engine's own kernels, of whatever release, else those that stand in; "": anybody's.
std::string_view software_of(const Profile& profile, const Engine& engine, bool decode, bool latent) {
  for (const std::string_view whose : {engine.kernels, engine.measured_kernels})
    for (const AttentionLaw& law : profile.attention_kernels)
      if (law.decode == decode && law.latent == latent && law.refinement.software.starts_with(whose))
        return law.refinement.software;
  return {};
}

/// Of a word, what kernels were timed on: bf16 of as many bytes where they multiply keys in fp8 as they are.
AttentionQuery as_timed(AttentionQuery query, const Engine& engine) {
  if (!engine.multiplies_fp8_keys || is_latent(query) || query.precision != Precision::fp8) return query;
  query.precision = Precision::bf16, query.keys /= 2;
  return query;
}

}  // namespace

double largest_draw(double count) {
  constexpr double means[] = {
      0, 0.5642, 1.0294, 1.4236, 1.7660, 2.0697, 2.3437, 2.5946, 2.8269, 3.0439, 3.2482, 3.4418, 3.6261};
  constexpr double last = std::size(means) - 1;
  const double doublings = std::max(std::log2(count), 0.0);
  const auto below = static_cast<std::size_t>(std::min(doublings, last - 1));
  return std::lerp(means[below], means[below + 1], doublings - static_cast<double>(below));
}

std::string_view tuned_as(const IterationTypes& types, const Engine& engine, std::string_view architecture) {
  const bool own_row = std::ranges::any_of(engine.tunings, [&](const Engine::Tuning& row) {
    return row.products_in == types.narrow_experts && (row.architecture.empty() || row.architecture == architecture);
  });
  return types.experts_alone && own_row ? types.narrow_experts : stepcast::to_text(types.products);
}

const char* to_text(Binding binding) {
  constexpr const char* names[] = {"weights", "cache", "compute", "activations", "launch", "links", "host"};
  return names[static_cast<int>(binding)];
}

EngineCost::EngineCost(
    const CostModel& moves, const Profile& profile, const Engine& engine, const IterationTypes& types)
    : moves_(&moves), profile_(&profile), engine_(&engine),
      tuning_(find_tuning(engine, moves.machine().gpu.architecture,
          std::string(tuned_as(types, engine, moves.machine().gpu.architecture)))),
      types_(types), forward_software_(software_of(profile, engine, false, false)),
      decode_software_(software_of(profile, engine, true, false)),
      latent_software_(software_of(profile, engine, true, true)) {}

EnginePrice EngineCost::product(const KernelWork& work, double m, const Routing& routing) const {
  const Precision precision = work.keeps_width ? Precision::bf16 : types_.products;
  GemmQuery query{m, work.n, work.k, work.batch, precision, types_.block_scaled && !work.keeps_width};
  if (work.experts > 0)
    query = of_experts(query, work.experts, engine_->same_experts ? 1 : routing.tokens, routing.choices);
  if (work.experts > 0 && engine_->same_experts) query.m = std::max(1.0, routing.tokens);
  // Of weights that are narrower than what is multiplied the bytes are saved.
  const bool beside = types_.experts_alone && work.experts == 0;
  const double kept = beside ? types_.beside_experts : types_.weight_bytes;
  const auto saved = [&] {
    const double less = work.keeps_width ? 0 : operand_bytes(query.precision) - kept;
    return Bytes(less * query.batch * query.n * query.k);
  };
  const auto asked = [&]() -> std::optional<KernelTime> {
    const RooflineLaw* law = find_gemm(*profile_, query.precision, query.block_scaled);
    if (law == nullptr) return std::nullopt;
    const Bytes moved = bytes_of(query) - std::max(saved(), Bytes(0));  // laws know of scales
    if (tuning_->products == 1) return gemm_time(*law, profile_->units, query, moved);
    RooflineLaw slower = *law;
    slower.compute = law->compute / tuning_->products;
    return gemm_time(slower, profile_->units, query, moved);
  };
  auto time = asked();
  if (!time) {
    query.precision = Precision::bf16, query.block_scaled = false;
    time = asked();
  }
  if (!time) {
    KernelWork asked_for = work;
    asked_for.m = m;
    EnginePrice price = price_of(moves_->work(asked_for), Binding::weights);
    price.roof = price.time;
    return price;
  }
  // Tables multiply the same weights again and again, which a large L2 holds; an engine's layers have weights of their
  // own.
  const Bytes moved = bytes_of(query) - saved();
  const Gpu& gpu = moves_->machine().gpu;
  const Seconds least = moved / gpu.memory_bandwidth;
  if (time->time < least) time->time = least, time->bound = Bound::memory;
  auto price = price_of(*time, "gemm", binding_of(time->bound));
  price.bytes = moved;
  const FlopsPerSecond peak = gpu.peak[static_cast<std::size_t>(query.precision)];
  const Seconds multiplied = peak.value() > 0 ? flops_of(query) / peak : Seconds(0);
  price.roof = std::min(price.time, std::max(least, multiplied));
  // mxfp4 beside fp8 in blocks (DeepSeek V4): no table and no record of an engine has such kernels.
  if (work.experts > 0 && types_.experts_alone && types_.block_scaled)
    price.source = Source::assumed, price.extrapolated = true;
  return price;
}

Seconds EngineCost::decode_start(const KernelWork& work, double sequences) const {
  constexpr double few = 16;
  const AttentionQuery query = as_timed(query_of(work, sequences, 1, few, types_.attention), *engine_);
  const auto time = attention_time(*profile_, query, is_latent(query) ? latent_software_ : decode_software_, false);
  return time ? time->time : Seconds(0);
}

EnginePrice EngineCost::attention(
    const KernelWork& work, double sequences, double queries, double keys, std::optional<Seconds> start) const {
  const AttentionQuery query = query_of(work, sequences, queries, keys, types_.attention);
  const bool word = query.pass == AttentionPass::decode, latent = is_latent(query);
  const double sharing = query.heads / query.kv_heads;
  const double rereads = word && !latent && query.batch * query.heads > engine_->splits_keys_below ? sharing - 1 : 0;
  const Binding binding = word ? Binding::cache : Binding::compute;
  auto time = attention_time(*profile_, word ? as_timed(query, *engine_) : query,
      latent ? latent_software_
      : word ? decode_software_
             : forward_software_,
      false);
  const auto priced = [&](EnginePrice price) {
    price.rereads = rereads, price.bytes = bytes_of(query);
    return price;
  };
  if (!time) {  // nobody timed decoding here: its bytes, as any kernel's
    const Seconds streamed = memory_time(profile_->memory, bytes_of(query)).time;
    return priced(price_of({streamed, Source::assumed, profile_->memory.spread, "memory stream", false, 0}, binding));
  }
  if (!word) time->time = time->time / engine_->attention_rate;
  // Tables ask for the same keys again and again, which a large L2 holds; an engine's layers have keys of their own.
  if (word) {
    const Seconds begun = start ? *start : decode_start(work, sequences);
    const bool narrow = query.precision == Precision::fp8 && !latent && tuning_->fp8_cache_rate > 0;
    const double most = narrow ? tuning_->fp8_cache_rate * dequantised_rate(query.head_dim) : engine_->cache_rate;
    time->time = std::max(time->time, begun + bytes_of(query) / (most * moves_->machine().gpu.memory_bandwidth));
  }
  return priced(price_of(*time, word ? "attention decode" : "attention", binding));
}

/// Kernels that gather keys of a latent cache take each query by itself, in prompts too (deepseek-ai/FlashMLA: sparse
/// prefill and sparse decoding both have the products of decoding, at 640 and 410 TFLOP/s of an H800); blocks of other
/// keys are shared by many queries and multiplied as all keys are.
EnginePrice EngineCost::picked_attention(
    const KernelWork& work, double sequences, double queries, double seen, double all) const {
  EnginePrice price;
  if (decodes(queries)) {
    price = attention(work, sequences * queries, 1, seen);
  } else if (const AttentionQuery query = query_of(work, sequences * queries, 1, seen, types_.attention);
             is_latent(query)) {
    price = gathered(query, sequences * all);
  } else {
    price = attention(work, sequences, queries, all);
    const double share = seen / (all - (queries - 1) / 2);
    price.time = price.time * share, price.bytes = price.bytes * share;
  }
  price.extrapolated = true;  // no engine's choices were timed
  return price;
}

/// Prompts: neighbours choose many of the same keys, which a large L2 holds; so each key comes from memory once. Heads
/// are padded to 64, on Blackwell to 128 (vllm-project/vllm v1/attention/backends/mla/flashmla_sparse.py).
EnginePrice EngineCost::gathered(const AttentionQuery& query, double keys) const {
  const AttentionLaw* law = nullptr;
  for (const AttentionLaw& one : profile_->attention_kernels)
    if (one.decode && one.latent && (latent_software_.empty() || one.refinement.software == latent_software_) &&
        (law == nullptr || one.source < law->source))
      law = &one;
  const double element = operand_bytes(query.precision),
               group = moves_->machine().gpu.architecture == "blackwell" ? 128 : 64;
  const Bytes bytes(
      element * (keys * query.head_dim + query.batch * query.heads * (query.head_dim + query.latent_values)));
  AttentionQuery padded = query;
  padded.heads = std::ceil(query.heads / group) * group;
  const bool timed = law != nullptr && law->memory.value() > 0;
  const Seconds computing = forward_flops_of(padded) / (timed ? law->compute : profile_->attention.compute),
                moving = bytes / (timed ? law->memory : profile_->memory.memory);
  EnginePrice price;
  price.time = (timed ? law->t0 : profile_->memory.t0) + std::max(computing, moving);
  price.source = timed ? law->source : Source::assumed;
  price.spread = timed ? law->spread : profile_->memory.spread;
  price.binding = computing > moving ? Binding::compute : Binding::cache;
  price.bytes = bytes;
  return price;
}

/// A product of queries and keys at the rate of products, whose results are summed over heads where they share a choice
/// (DeepSeek-V3.2, arXiv 2512.02556, section 2.1); then one pass over the scores.
EnginePrice EngineCost::picking(
    const KernelWork& work, double sequences, double queries, double seen, double all) const {
  constexpr double score_bytes = 4, index_bytes = 4;  // fp32, int32
  const double rows = sequences * queries, scores = rows * work.choices * seen * score_bytes;
  EnginePrice best = streamed(Bytes(scores + rows * work.choices * work.kept * index_bytes), 1);
  best.binding = Binding::cache, best.extrapolated = true;
  const Precision precision = work.key_element_bytes < 2 ? Precision::fp8 : Precision::bf16;
  const RooflineLaw* law = find_gemm(*profile_, precision, false);
  if (law == nullptr) law = find_gemm(*profile_, Precision::bf16, false);
  const Flops flops(2 * rows * work.heads * work.head_dim * seen);
  const Bytes bytes(sequences * all * work.kv_heads * work.head_dim * work.key_element_bytes +
                    rows * work.heads * work.head_dim * operand_bytes(precision) + scores);
  best.bytes += bytes;
  if (law == nullptr) {
    best.time += memory_time(profile_->memory, bytes).time;
    best.source = Source::assumed;
    return best;
  }
  best.time += roofline_time(*law, flops, bytes);
  best.source = std::max({best.source, law->source, Source::transferred});
  if (flops / law->compute > bytes / law->memory) best.binding = Binding::compute;
  return best;
}

EnginePrice EngineCost::scan(const KernelWork& work, double sequences, double positions) const {
  ScanShape shape = work.scan;
  shape.sequences = sequences, shape.positions = positions;
  const Bytes states(2 * sequences * scan_state_bytes(shape));  // read and written
  const auto unmeasured = [&](EnginePrice price) {              // no engine's scans were timed in iterations
    price.bytes = states, price.extrapolated = true;
    return price;
  };
  // Kernels that walk position by position keep the state on the chip: words, and guesses that are tried with them.
  constexpr double few = 8;
  if (positions <= few) {
    EnginePrice price = streamed(states, 1);
    price.binding = Binding::cache;
    return unmeasured(price);
  }
  return unmeasured(price_of(scan_time(*profile_, shape, false, engine_->kernels), "scan of states", Binding::compute));
}

EnginePrice EngineCost::mixing(const KernelWork& work, double m) const {
  HyperConnectionShape shape = mixing_shape(work);
  shape.positions = m;
  const KernelTime time = hyper_connection_time(*profile_, shape, engine_->kernels);
  EnginePrice price =
      price_of(time, "mixing of streams", time.bound == Bound::launch ? Binding::launch : Binding::activations);
  price.bytes = bytes_of(shape), price.extrapolated = true;  // no engine's mixing was timed in iterations
  return price;
}

EnginePrice EngineCost::convolution(const KernelWork& work, double sequences, double positions, Bytes bytes) const {
  const ChannelConvolution shape{sequences, positions / sequences, work.n, work.k};
  const KernelTime time = convolution_time(*profile_, shape, engine_->kernels);
  EnginePrice price =
      price_of(time, "convolution", time.bound == Bound::launch ? Binding::launch : Binding::activations);
  price.bytes = bytes;
  return price;
}

EnginePrice EngineCost::streamed(Bytes bytes, int kernels) const {
  auto price = price_of(memory_time(profile_->memory, bytes), "memory stream", Binding::activations);
  price.time += profile_->memory.t0 * (kernels - 1);
  price.bytes = bytes;
  return price;
}

/// Rows on their way to experts, or what those made of them on the way back: by the engine's kernels for it, those for
/// few tokens where graphs replay them. nullopt: nobody timed them here.
std::optional<Price> EngineCost::exchange(
    const Move& move, const Span& span, std::int64_t ranks, const Routing& routing, bool graph) const {
  ExchangeQuery query;
  query.direction = move.for_product ? ExchangeDirection::dispatch : ExchangeDirection::combine;
  const bool narrow = query.direction == ExchangeDirection::dispatch && operand_bytes(types_.products) < 2;
  query.element_bytes = narrow ? 1 : 2;
  query.hidden = routing.width, query.choices = routing.choices, query.experts = move.experts, query.ranks = ranks;
  query.tokens = move.local_before.value() / (routing.width * routing.choices * move.element_bytes);
  query.node_ranks = span.nodes > 1 ? span.inside : 0;
  const ExchangeKernel usual = graph ? ExchangeKernel::low_latency : ExchangeKernel::normal;
  const bool own = engine_->kernels == "trtllm";
  for (const ExchangeKernel kernel : {own ? ExchangeKernel::nvlink_two_sided : usual, usual}) {
    const EngineExchange* law = find_exchange(*profile_, engine_->kernels, kernel, query);
    if (law == nullptr) continue;
    const RatedTime time = exchange_time(*law, query);
    return Price{time.time, time.source, time.spread, "exchange of experts", time.extrapolated, 0};
  }
  return std::nullopt;
}

/// Of the bytes of a gather: tokens on their way to experts may be cast before.
double EngineCost::gathered_share(const Move& move, const dataflow::Group& group, const Routing& routing) const {
  constexpr double wide = 2;
  if (types_.gathered_bytes == wide || move.kind != MoveKind::all_gather) return 1;
  const double tokens = routing.tokens / static_cast<double>(group.size) * routing.width * wide;
  const bool of_tokens = tokens > 0 && std::abs(move.local_before.value() / tokens - 1) < 1e-6;
  return of_tokens ? types_.gathered_bytes / wide : 1;
}

EnginePrice EngineCost::move(
    const Move& whole, const dataflow::Group& group, const Routing& routing, bool graph) const {
  Move move = whole;
  const double share = gathered_share(whole, group, routing);
  move.received = move.received * share, move.local_before = move.local_before * share;
  const EnginePrice price = price_of(moves_->move(move, group), Binding::links);
  const Span span = span_of(group, moves_->machine(), moves_->ranks());
  if (move.kind == MoveKind::all_to_all && move.experts > 0) {
    const auto exchanged = exchange(move, span, group.size, routing, graph);
    return exchanged ? price_of(*exchanged, Binding::links) : price;
  }
  if (move.kind != MoveKind::all_reduce) return price;
  if (span.nodes > 1 || engine_->nccl_alone) return price;
  // What reduces here, else the engine's own, else another's on this GPU: all have kernels for few bytes.
  const std::string_view own = engine_->kernels, here = tuning_->all_reduce.empty() ? own : tuning_->all_reduce;
  for (const std::string_view whose : {here, own, std::string_view(engine_->measured_kernels), std::string_view()}) {
    const EngineAllReduce* law = find_all_reduce(*profile_, whose, graph, static_cast<int>(group.size));
    if (law == nullptr) continue;
    // Of prompts, whose bytes are many, NCCL is as good as what stands in.
    if (whose != here && whose != own && !graph) break;
    const Source source = whose == own ? law->source : std::max(law->source, Source::transferred);
    return price_of(
        {all_reduce_time(*law, move.local_before), source, law->spread, "engine all-reduce", false, price.tier},
        Binding::links);
  }
  return price;
}

EnginePrice EngineCost::send(Bytes bytes, std::int64_t rank_distance) const {
  return price_of(moves_->send(bytes, rank_distance), Binding::links);
}

}  // namespace stepcast::sim
