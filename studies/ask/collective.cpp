// stepcast collective: the time of one collective, or of a table of them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/profile/collective_law.h"
#include "model/profile/exchange_law.h"
#include "studies/ask/rates.h"
#include "studies/ask/rates_report.h"

namespace stepcast::ask {
namespace {

/// What stands behind the figure, in words: "curve nvswitch all_reduce, 8 ranks".
std::string law_of(const CollectiveTime& time) {
  if (time.curve == nullptr) return time.law;
  const CollectiveCurve& curve = *time.curve;
  std::string text = fmt::format("{}, {} ranks", time.law, curve.ranks);
  if (curve.kind == CollectiveKind::send_recv) text = time.law;
  if (curve.nodes > 1) text += fmt::format(" on {} nodes", curve.nodes);
  if (!curve.network.empty()) text += fmt::format(" of {}", curve.network);
  return text;
}

/// Software behind the laws that fit, each once.
template <typename Laws, typename Fits> std::string software_of(const Laws& laws, Fits fits) {
  std::vector<std::string> names;
  for (const auto& law : laws)
    if (fits(law) && std::ranges::find(names, law.software) == names.end()) names.push_back(law.software);
  return fmt::format("{}", fmt::join(names, ", "));
}

Expected<RateAnswer> answer_engine(const RateSource& source, const RateQuestion& asked) {
  const auto& query = std::get<CollectiveQuery>(asked.query);
  const FieldValue &engine = asked.said.find("engine")->second, &graph = asked.said.find("graph")->second;
  if (query.kind != CollectiveKind::all_reduce)
    return fail(
        engine.where, fmt::format("engines leave {} to NCCL", to_text(query.kind)), "all_reduce, or no --engine");
  if (query.nodes > 1)
    return fail(engine.where, "engines' all-reduces across nodes are NCCL's", "--nodes 1, or no --engine");
  if (graph.text != "on" && graph.text != "off" && graph.text != "any")
    return fail(graph.where, fmt::format("graph '{:.60}'", graph.text), "on, off or any");
  const auto timed = [&](bool captured) {
    const bool asked_for = graph.text == "any" || (graph.text == "on") == captured;
    return asked_for ? find_all_reduce(source.profile, engine.text, captured, static_cast<int>(query.ranks)) : nullptr;
  };
  const EngineAllReduce* law = timed(true) != nullptr ? timed(true) : timed(false);
  if (law == nullptr) {
    const std::string others = software_of(
        source.profile.engine_all_reduces, [&](const EngineAllReduce& other) { return other.ranks == query.ranks; });
    return fail(engine.where,
        fmt::format("nobody timed an all-reduce of '{:.60}' over {} GPUs for {}, graph {}", engine.text, query.ranks,
            source.profile.id, graph.text),
        others.empty() ? "other --gpus, or no --engine" : "one of: " + others);
  }
  RateAnswer out;
  out.time = all_reduce_time(*law, query.bytes);
  out.spread = law->spread;
  const Seconds twice = all_reduce_time(*law, query.bytes * 2);
  out.bound = to_text(twice < out.time * 1.4 ? CollectiveBound::latency : CollectiveBound::bandwidth);
  out.source = law->source;
  out.law = fmt::format("all_reduce of {}, {} ranks, {}", law->software, law->ranks,
      law->captured ? "in a graph" : "launched by the host");
  out.extrapolated = query.bytes < law->points.front().buffer || query.bytes > law->points.back().buffer;
  out.figures.emplace_back("algbw_bytes_per_s", (query.bytes / out.time).value());
  out.figures.emplace_back("busbw_bytes_per_s", (received_of(query) / out.time).value());
  return out;
}

/// Ranks fill the machine's innermost level: a node, or the rack of trays that NVLink joins.
Expected<ExchangeQuery> placed(const RateSource& source, const RateQuestion& asked) {
  auto query = std::get<ExchangeQuery>(asked.query);
  if (source.machine.levels.empty()) return query;
  const Level& inside = source.machine.levels.front();
  if (query.ranks <= inside.gpus) return query;
  query.node_ranks = inside.gpus;
  if (query.ranks % query.node_ranks != 0)
    return fail(asked.said.find("gpus")->second.where,
        fmt::format("{} GPUs do not fill {}s of {}", query.ranks, inside.name, inside.gpus),
        fmt::format("a multiple of {}", inside.gpus));
  return query;
}

/// The law of the kernel that was asked for, or of the one that is fastest among those that saw so many tokens.
Expected<const EngineExchange*> exchange_law(
    const RateSource& source, const RateQuestion& asked, const ExchangeQuery& query) {
  TRY(const auto wanted, exchange_kernel_of(asked.said));
  const FieldValue& engine = asked.said.find("engine")->second;
  const std::string software = engine.text == "any" ? "" : engine.text;
  const EngineExchange* best = nullptr;
  for (const auto kernel : {ExchangeKernel::low_latency, ExchangeKernel::normal, ExchangeKernel::nvlink_two_sided,
           ExchangeKernel::nvlink_one_sided}) {
    if (wanted && *wanted != kernel) continue;
    const EngineExchange* law = find_exchange(source.profile, software, kernel, query);
    if (law == nullptr) continue;
    const auto rank = [&](const EngineExchange& of) {
      const RatedTime time = exchange_time(of, query);
      return std::pair{query.tokens > of.most_tokens, time.time};
    };
    if (best == nullptr || rank(*law) < rank(*best)) best = law;
  }
  if (best != nullptr) return best;
  const std::string others = software_of(source.profile.engine_exchanges, [](const EngineExchange&) { return true; });
  return fail(wanted ? asked.said.find("kernel")->second.where : asked.kind,
      fmt::format("nobody timed {}{} {} for {}", asked.kind, wanted ? fmt::format(" by {}", to_text(*wanted)) : "",
          query.node_ranks > 0 ? "across nodes" : "within a node", source.profile.id),
      others.empty() ? "--machine dgx-h100, dgx-b200 or gb200-nvl72; or all_to_all, which is NCCL's"
                     : fmt::format("the profile has kernels of {}; or all_to_all, which is NCCL's", others));
}

Expected<RateAnswer> answer_exchange(const RateSource& source, const RateQuestion& asked) {
  TRY(const auto query, placed(source, asked));
  TRY(const auto* law, exchange_law(source, asked, query));
  const RatedTime time = exchange_time(*law, query);
  RateAnswer out;
  out.time = time.time;
  out.spread = time.spread;
  const Bytes sent = sent_bytes(*law, query);
  const bool wire = law->rate.value() > 0 && sent / law->rate > out.time * 0.5;
  out.bound = to_text(wire ? CollectiveBound::bandwidth : CollectiveBound::latency);
  out.source = time.source;
  out.law = fmt::format("{} {} of {}, {} ranks", to_text(law->kernel), asked.kind, law->software,
      law->ranks == law->most_ranks ? fmt::format("{}", law->ranks)
                                    : fmt::format("{} to {}", law->ranks, law->most_ranks));
  out.extrapolated = time.extrapolated;
  if (time.source == Source::fitted) out.error = {law->held_out.mape, law->held_out.samples};
  out.figures.emplace_back("sent_bytes", sent.value());
  out.figures.emplace_back("sent_bytes_per_s", (sent / out.time).value());
  return out;
}

Expected<RateAnswer> answer(const RateSource& source, const RateQuestion& asked) {
  if (std::holds_alternative<ExchangeQuery>(asked.query)) return answer_exchange(source, asked);
  if (asked.said.find("engine")->second.text != "none") return answer_engine(source, asked);
  const auto& query = std::get<CollectiveQuery>(asked.query);
  TRY(const auto time, collective_time(source.machine, source.profile, query));
  RateAnswer out;
  out.time = time.time;
  out.spread = time.spread;
  out.bound = to_text(time.bound);
  out.source = time.source;
  out.law = law_of(time);
  out.extrapolated = time.extrapolated;
  if (time.curve != nullptr && time.source == Source::measured)
    out.error = {time.curve->held_out.mape, time.curve->held_out.samples};
  out.figures.emplace_back("algbw_bytes_per_s", (query.bytes / time.time).value());
  out.figures.emplace_back("busbw_bytes_per_s", (received_of(query) / time.time).value());
  return out;
}

}  // namespace

std::span<const Flag> collective_flags() {
  static const std::vector<Flag> flags = [] {
    const std::vector<const QueryKind*> kinds{&collective_kind(), &exchange_kind()};
    return rate_flags(kinds);
  }();
  return flags;
}

Expected<void> collective_command(const Arguments& arguments, Console& console) {
  const bool named = !arguments.words.empty();
  if (!named && !arguments.has("--csv"))
    return fail("collective", "which one?",
        "all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, broadcast or reduce; dispatch, combine or "
        "prepare of experts' rows; or --csv FILE with a column kind");
  const std::string id = named ? arguments.words.front() : std::string();
  if (const auto direction = exchange_direction_of(id))
    return answer_rates(exchange_kind(), to_text(*direction), arguments, console, answer);
  if (named) {
    TRY(parse_collective_kind(id, "collective"));
  }
  return answer_rates(collective_kind(), id, arguments, console, answer);
}

}  // namespace stepcast::ask
