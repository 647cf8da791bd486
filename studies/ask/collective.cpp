// stepcast collective: the time of one collective, or of a table of them.
#include <fmt/format.h>

#include "model/profile/collective_law.h"
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

Expected<RateAnswer> answer(const RateSource& source, const RateQuestion& asked) {
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
    const std::vector<const QueryKind*> kinds{&collective_kind()};
    return rate_flags(kinds);
  }();
  return flags;
}

Expected<void> collective_command(const Arguments& arguments, Console& console) {
  const bool named = !arguments.words.empty();
  if (!named && !arguments.has("--csv"))
    return fail("collective", "which one?",
        "all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, broadcast or reduce; or --csv FILE "
        "with a column kind");
  const std::string id = named ? arguments.words.front() : std::string();
  if (named) {
    TRY(parse_collective_kind(id, "collective"));
  }
  return answer_rates(collective_kind(), id, arguments, console, answer);
}

}  // namespace stepcast::ask
