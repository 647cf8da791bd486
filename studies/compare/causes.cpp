#include "studies/compare/causes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/compare/gap_places.h"

namespace stepcast::comparison {
namespace {

/// A part of the step that nobody looks for.
constexpr double least_share = 0.001;
/// Calls of a collective that differ by less run at the same pace.
constexpr double same_pace = 0.03;

// clang-format off
struct CauseText { CauseKind kind; std::string_view name, less, lever; };
constexpr CauseText cause_texts[] = {
    {CauseKind::slow_rank, "slow rank", "fast rank",
     "look at this GPU's clocks, power and temperature, or leave its node out"},
    {CauseKind::low_clock, "lower clocks", "higher clocks",
     "nvidia-smi -q -d CLOCK,PERFORMANCE: power cap, heat, clocks that somebody locked"},
    {CauseKind::more_work, "more work", "less work", "say the run's recomputation and network, or switch the extra work off"},
    {CauseKind::slow_link, "slow collectives", "faster collectives",
     "time the group alone (nccl-tests); ports, cables, NCCL settings"},
    {CauseKind::lost_overlap, "overlap lost", "overlap gained", "what overlaps: streams, bucket sizes, CUDA_DEVICE_MAX_CONNECTIONS"},
    {CauseKind::slow_kernels, "slower kernels", "faster kernels",
     "time them alone at this shape; clocks and library versions"},
    {CauseKind::host_gaps, "host gaps", "fewer host gaps",
     "graphs or fewer launches; synchronisations, garbage collection"},
    {CauseKind::waiting, "waiting", "less waiting", "other ranks are late, or stages differ: compare their traces, too"},
    {CauseKind::copies, "copies", "fewer copies", "pinned memory and a stream of their own"},
    {CauseKind::unplaced, "unplaced kernels", "fewer unplaced kernels",
     "nobody knows their names: they stand by themselves"}};
// clang-format on

std::string_view lever_of(CauseKind kind) {
  for (const CauseText& text : cause_texts)
    if (text.kind == kind) return text.lever;
  return "";
}

std::string time_text(double seconds) { return format_seconds(Seconds(seconds)); }

bool is_phase(const GapRow& row) {
  return row.name.starts_with("gradient sync") || row.name.starts_with("parameter gather");
}

class CauseFinder {
 public:
  /// Kernels ran so many times as long for a cause of their own: those that cores bound, and the others.
  CauseFinder(const Gap& gap, double cores, double others) : gap_(gap), cores_(1 / cores), others_(1 / others) {}

  void add_compute() {
    for (const GapRow& row : gap_.rows) {
      if (row.family != SplitFamily::compute) continue;
      // Of a slow rank or clock, what is left when its kernels ran as those of the others do.
      const double stretch = row.bound == BoundBy::cores ? cores_ : others_, measured = row.measured * stretch;
      double more = 0;
      std::size_t names = 0;
      if (gap_.same_names)
        for (const GapRow& part : row.parts)
          if (part.measured_calls != part.expected_calls) {
            const double call = part.measured_calls > 0
                                    ? part.measured / static_cast<double>(part.measured_calls) * stretch
                                    : part.expected / static_cast<double>(part.expected_calls);
            more += call * (static_cast<double>(part.measured_calls) - static_cast<double>(part.expected_calls));
            ++names;
          }
      more_work_ += more, more_names_ += names;
      if (row.bound == BoundBy::unplaced) {
        put(CauseKind::unplaced, row.name, measured - row.expected,
            fmt::format("{} calls of kernels that no row of names knows", row.measured_calls), true);
        continue;
      }
      const double rest = measured - row.expected - more;
      put(CauseKind::slow_kernels, row.name, rest,
          row.expected > 0 ? fmt::format("{} measured, {} expected: {:.2f} times as long", time_text(measured - more),
                                 time_text(row.expected), (measured - more) / row.expected)
                           : fmt::format("{} measured, none expected", time_text(measured)),
          !row.has_interval() || !row.inside());
    }
  }

  /// By link where both sides say it, else by kind.
  void add_communication() {
    // Phases show what nothing hides of their collectives: whether those are slower, moves on the same link say.
    std::set<std::string> slow_links;
    for (const GapRow& row : gap_.rows)
      if (row.family == SplitFamily::exposed && !is_phase(row) && std::abs(row.pace() - 1) > same_pace)
        slow_links.insert(row.fabric);
    struct Link {
      double slow = 0, lost = 0, expected_flight = 0, measured_flight = 0;
      std::size_t expected_calls = 0, measured_calls = 0;
      bool inside = true;
    };
    std::map<std::string, Link> links;
    for (const GapRow& row : gap_.rows) {
      if (row.family != SplitFamily::exposed) continue;
      double rest = row.difference();
      if (gap_.same_names && more_names_ > 0 && row.measured_calls > row.expected_calls && row.expected_calls > 0) {
        const auto extra = static_cast<double>(row.measured_calls - row.expected_calls);
        const double more = row.measured * extra / static_cast<double>(row.measured_calls);
        more_moves_ += more, rest -= more;
      }
      Link& link = links[row.fabric.empty() ? row.name : row.fabric];
      const double flight = row.measured_flight - row.expected_flight;
      const bool changed = is_phase(row) ? slow_links.contains(row.fabric) : std::abs(row.pace() - 1) > same_pace;
      // What a collective takes longer explains as much of what it shows longer; the rest was hidden before.
      const double slow = !changed ? 0 : flight * rest > 0 && std::abs(flight) < std::abs(rest) ? flight : rest;
      link.slow += slow, link.lost += rest - slow;
      link.expected_flight += row.expected_flight, link.measured_flight += row.measured_flight;
      link.expected_calls += row.expected_calls, link.measured_calls += row.measured_calls;
      link.inside = link.inside && row.has_interval() && row.inside();
    }
    for (const auto& [name, link] : links) {
      const double pace = link.expected_flight > 0 ? link.measured_flight / link.expected_flight : 0;
      put(CauseKind::slow_link, name, link.slow,
          pace > 0 ? fmt::format("collectives of {} take {}, expected {}: {:.0f} % of the rate", name,
                         time_text(link.measured_flight), time_text(link.expected_flight), 100 / pace)
                   : fmt::format(
                         "{} calls take {}, none are expected", link.measured_calls, time_text(link.measured_flight)),
          !link.inside);
      put(CauseKind::lost_overlap, name, link.lost,
          fmt::format("{} in flight, {} expected, and {} more of it stand alone", time_text(link.measured_flight),
              time_text(link.expected_flight), time_text(link.lost)),
          !link.inside);
    }
  }

  void add_rest() {
    put(CauseKind::more_work, "kernels", more_work_,
        fmt::format("{} kernels run more or less often than expected", more_names_), true);
    put(CauseKind::more_work, "collectives", more_moves_, "collectives run more often than expected", true);
    for (const GapRow& row : gap_.rows)
      if (row.family == SplitFamily::copies)
        put(CauseKind::copies, row.name, row.difference(),
            fmt::format("{} copies and fills stand alone for {}", row.measured_calls, time_text(row.measured)), true);
  }

  /// Idle time where none is expected is the host's, or late launches; elsewhere it is waiting.
  void add_idle(const GapPlaces& expected, const GapPlaces& measured) {
    double host = 0, longest = 0;
    std::map<HostCallKind, std::pair<double, std::size_t>> calls;
    std::size_t count = 0, late = 0;
    std::string where;
    double all = 0;
    for (const GapRow& row : gap_.rows)
      if (row.family == SplitFamily::idle) all += row.difference();
    for (const auto& [place, gaps] : measured) {
      const bool known = expected.contains(place);
      const bool launched_late = 2 * gaps.late >= gaps.count;
      if (known || (!launched_late && !gap_.same_names)) continue;
      host += gaps.seconds, count += gaps.count, late += gaps.late;
      for (const auto& [call, sum] : gaps.calls) calls[call].first += sum.first, calls[call].second += sum.second;
      if (gaps.seconds > longest) longest = gaps.seconds, where = place.first.substr(0, 60);
    }
    double told = 0;
    for (const auto& [call, sum] : calls)
      if (put(CauseKind::host_gaps, to_text(call), sum.first,
              fmt::format("{} gaps in which the host was kept by {}", sum.second, to_text(call)), true))
        told += sum.first, count -= sum.second;
    put(CauseKind::host_gaps, "the host", host - told,
        fmt::format("{} gaps where none are expected{}, most of it after {}", count,
            late > 0 ? fmt::format(" ({} kernels launched when the GPU had run dry)", late) : "", where),
        true);
    put(CauseKind::waiting, "this rank", all - host, "idle time where some is expected", true);
  }

  /// False of what nobody looks for.
  bool put(CauseKind kind, const std::string& subject, double seconds, const std::string& evidence, bool outside) {
    if (std::abs(seconds) < least_share * std::max(gap_.expected, gap_.measured)) return false;
    causes.push_back({kind, subject, seconds, evidence, std::string(lever_of(kind)), outside});
    return true;
  }

  std::vector<GapCause> causes;

 private:
  const Gap& gap_;
  double cores_, others_;
  double more_work_ = 0, more_moves_ = 0;
  std::size_t more_names_ = 0;
};

}  // namespace

std::string_view to_text(CauseKind kind, double seconds) {
  for (const CauseText& text : cause_texts)
    if (text.kind == kind) return seconds < 0 ? text.less : text.name;
  return "?";
}

std::vector<GapCause> causes_of(const Gap& gap, const TimeSplit& expected, const TimeSplit& measured,
    const std::vector<std::string>& measured_names, const std::vector<std::string>& expected_names,
    const std::vector<RankPace>& ranks, std::size_t shown, double expected_mhz) {
  const auto faulty = faulty_rank_of(ranks);
  const RankPace& own = ranks[shown];
  GapCause known{CauseKind::slow_rank, own.rank, 0, "", ""};
  double factor = 1;
  if (faulty && faulty->at == shown) {
    factor = faulty->own / faulty->others;
    known.evidence = fmt::format("its kernels take {:.3f} times as long as expected, those of the median of the others "
                                 "{:.3f}",
        faulty->own, faulty->others);
    if (faulty->fault == RankFault::low_clock) {
      known.kind = CauseKind::low_clock;
      known.evidence = fmt::format("its products and attention take {:.3f} times as long as expected, those of the "
                                   "median of the others {:.3f}; its memory-bound kernels {:.3f}",
          faulty->own, faulty->others, own.memory);
    }
  } else if (const auto loss = clock_loss_in(gap, expected_mhz, own.clock_mhz)) {
    known.kind = CauseKind::low_clock, known.subject = "the GPU";
    factor = loss->factor, known.evidence = loss->evidence;
  }
  const bool all = known.kind == CauseKind::slow_rank;
  CauseFinder finder(gap, factor, all ? factor : 1);
  if (factor != 1) {
    double computing = 0;
    for (const GapRow& row : gap.rows)
      if (row.family == SplitFamily::compute && (all || row.bound == BoundBy::cores)) computing += row.measured;
    if (own.clock_mhz > 0) known.evidence += fmt::format("; its clock was {:.0f} MHz in the median", own.clock_mhz);
    finder.put(known.kind, known.subject, computing * (1 - 1 / factor), known.evidence, true);
  }
  finder.add_compute();
  finder.add_communication();
  finder.add_rest();
  finder.add_idle(places_of(expected, expected_names), places_of(measured, measured_names));
  // What waits, waits for another cause: it comes behind them.
  std::ranges::stable_sort(finder.causes, [](const GapCause& a, const GapCause& b) {
    const bool a_waits = a.kind == CauseKind::waiting, b_waits = b.kind == CauseKind::waiting;
    return a_waits != b_waits ? b_waits : std::abs(a.seconds) > std::abs(b.seconds);
  });
  return std::move(finder.causes);
}

}  // namespace stepcast::comparison
