// Repeats become their median; what lies beside its neighbours and what was copied is named. Published tables hold
// both: single rows 2 to 30 times off, and whole tables that repeat another machine's times (a file copied within a
// repository).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

/// A query in numbers: its kind and choices, its sizes, and which size a sweep runs along (-1 = none).
struct QueryNumbers {
  std::array<double, 12> values{};
  int along = -1;
};

template <typename... Values> QueryNumbers query_numbers(int along, Values... values) {
  return {{static_cast<double>(values)...}, along};
}

QueryNumbers numbers_of(const Query& query) {
  struct Visit {
    QueryNumbers operator()(const GemmQuery& g) const {
      return query_numbers(1, 0, g.m, g.n, g.k, g.batch, g.precision, g.block_scaled, g.layout, g.casts_x);
    }
    QueryNumbers operator()(const AttentionQuery& a) const {
      // Whole sequences: queries and keys grow together, and the ratio stays. Decoding: the cache grows.
      const bool decode = a.pass == AttentionPass::decode;
      return query_numbers(1, 1, a.keys, decode ? a.queries : a.queries / a.keys, a.batch, a.heads, a.kv_heads,
          a.head_dim, a.pass, a.causal, a.precision, a.latent_values);
    }
    QueryNumbers operator()(const MoeQuery& m) const {
      return query_numbers(
          1, 2, m.tokens, m.hidden, m.inter, m.topk, m.experts, m.tensor_ways, m.expert_ways, m.skew, m.precision);
    }
    QueryNumbers operator()(const MemoryQuery& m) const {
      return query_numbers(1, 3, m.rows, m.columns, m.element_bytes, m.op - memory_ops().data());
    }
    QueryNumbers operator()(const CollectiveQuery& c) const {
      return query_numbers(1, 4, c.bytes.value(), c.kind, c.ranks, c.nodes);
    }
    QueryNumbers operator()(const TransferQuery& t) const { return query_numbers(1, 5, t.bytes.value(), t.kind); }
    QueryNumbers operator()(const LaunchQuery& l) const { return query_numbers(-1, 6, l.kind); }
  };
  return std::visit(Visit{}, query);
}

/// What a table is called in a note: "all_reduce over 8 ranks", "gemm bf16".
std::string table_of(const Query& query) {
  struct Visit {
    std::string operator()(const GemmQuery& g) const { return fmt::format("gemm {}", to_text(g.precision)); }
    std::string operator()(const AttentionQuery& a) const {
      return fmt::format("{}attention{} {}", is_latent(a) ? "latent " : "",
          a.pass == AttentionPass::decode ? " decode" : "", to_text(a.precision));
    }
    std::string operator()(const MoeQuery& m) const { return fmt::format("moe {}", to_text(m.precision)); }
    std::string operator()(const MemoryQuery& m) const { return std::string(m.op->id); }
    std::string operator()(const CollectiveQuery& c) const {
      return fmt::format("{} over {} ranks", to_text(c.kind), c.ranks);
    }
    std::string operator()(const TransferQuery& t) const { return to_text(t.kind); }
    std::string operator()(const LaunchQuery& l) const { return fmt::format("launch of a {}", to_text(l.kind)); }
  };
  return std::visit(Visit{}, query);
}

/// "all_reduce over 8 ranks, size 65536"; of a row that a sweep runs along.
std::string row_name(const Measurement& row) {
  const QueryNumbers numbers = numbers_of(row.what);
  return fmt::format("{}, size {}", table_of(row.what), numbers.values[static_cast<std::size_t>(numbers.along)]);
}

std::string context_name(const Measurements& all, int index) {
  const MeasurementContext& context = all.contexts[static_cast<std::size_t>(index)];
  std::vector<std::string> parts;
  for (const std::string* part : {&context.gpu, &context.software, &context.machine, &context.source})
    if (!part->empty()) parts.push_back(*part);
  return parts.empty() ? fmt::format("context {}", index) : fmt::format("{}", fmt::join(parts, ", "));
}

// --- repeats ---

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// One row for all: median time, the whole spread. Throttled runs count only where there are no others.
Measurement joined(const std::vector<const Measurement*>& rows) {
  std::vector<const Measurement*> used;
  for (const Measurement* row : rows)
    if (!row->throttled) used.push_back(row);
  if (used.empty()) used = rows;
  Measurement all = *used.front();
  if (used.size() == 1) return all;
  std::vector<double> times, powers;
  all.low = all.high = all.time;
  all.repeats = 0;
  for (const Measurement* row : used) {
    times.push_back(row->time.value());
    if (row->power_w > 0) powers.push_back(row->power_w);
    all.low = std::min({all.low, row->time, row->low.value() > 0 ? row->low : row->time});
    all.high = std::max({all.high, row->time, row->high});
    all.repeats += row->repeats;
  }
  all.time = Seconds(median_of(std::move(times)));
  all.power_w = powers.empty() ? 0 : median_of(std::move(powers));
  return all;
}

using RowKey = std::pair<int, std::array<double, 12>>;

std::vector<Measurement> join_repeats(const std::vector<Measurement>& rows, std::vector<std::string>& notes) {
  std::map<RowKey, std::size_t> places;
  std::vector<std::vector<const Measurement*>> groups;
  for (const Measurement& row : rows) {
    const auto [place, added] = places.emplace(RowKey{row.context, numbers_of(row.what).values}, groups.size());
    if (added) groups.emplace_back();
    groups[place->second].push_back(&row);
  }
  std::vector<Measurement> all;
  for (const auto& group : groups) all.push_back(joined(group));
  if (groups.size() < rows.size()) {
    const auto repeated =
        std::count_if(groups.begin(), groups.end(), [](const auto& group) { return group.size() > 1; });
    notes.push_back(fmt::format("{} rows became {}: {} were timed more than once, and their median is kept",
        rows.size(), groups.size(), repeated));
  }
  return all;
}

// --- outliers ---

struct SweepPoint {
  double size = 0, time = 0;
  std::size_t row = 0;
};  // both in log space

/// What the two neighbours say of the time at `size`, on the straight line through them.
double on_line(const SweepPoint& a, const SweepPoint& b, double size) {
  return a.time + (b.time - a.time) * (size - a.size) / (b.size - a.size);
}

/// Among four neighbours that lie on a smooth curve themselves: at the ends of a sweep they all stand on one side.
bool lies_beside(const std::vector<SweepPoint>& sweep, std::size_t at) {
  const double far = std::log(2.0), smooth = std::log(1.4), reach = std::log(40.0);
  if (sweep.size() < 5) return false;
  const std::size_t first = at < 2 ? 0 : std::min(at - 2, sweep.size() - 5);
  std::vector<SweepPoint> near;
  for (std::size_t i = first; i < first + 5; ++i)
    if (i != at) near.push_back(sweep[i]);
  if (near.back().size - near.front().size > 4 * reach) return false;
  const bool calm = std::abs(on_line(near[0], near[2], near[1].size) - near[1].time) < smooth &&
                    std::abs(on_line(near[1], near[3], near[2].size) - near[2].time) < smooth;
  // Past the ends a bend may follow, so the point must lie outside what flat and steep continuations allow.
  const std::size_t before = at - first;
  if (before > 0 && before < 4)
    return calm && std::abs(on_line(near[before - 1], near[before], sweep[at].size) - sweep[at].time) > far;
  const SweepPoint& next = before == 0 ? near[0] : near[3];
  const double straight =
      before == 0 ? on_line(near[0], near[1], sweep[at].size) : on_line(near[2], near[3], sweep[at].size);
  const auto [low, high] = std::minmax(straight, next.time);
  return calm && (sweep[at].time < low - far || sweep[at].time > high + far);
}

void note_outliers(const Measurements& all, std::vector<std::string>& notes) {
  std::map<RowKey, std::vector<SweepPoint>> sweeps;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    QueryNumbers numbers = numbers_of(all.rows[i].what);
    if (numbers.along < 0) continue;
    double& size = numbers.values[static_cast<std::size_t>(numbers.along)];
    const SweepPoint point{std::log(size), std::log(all.rows[i].time.value()), i};
    size = 0;
    sweeps[{all.rows[i].context, numbers.values}].push_back(point);
  }
  std::map<int, std::vector<std::size_t>> outliers;
  for (auto& [key, sweep] : sweeps) {
    std::sort(sweep.begin(), sweep.end(), [](const SweepPoint& a, const SweepPoint& b) { return a.size < b.size; });
    for (std::size_t i = 0; i < sweep.size(); ++i)
      if (lies_beside(sweep, i)) outliers[key.first].push_back(sweep[i].row);
  }
  constexpr std::size_t named = 5;
  for (const auto& [context, rows] : outliers) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(named, rows.size()); ++i)
      names.push_back(
          fmt::format("{} in {:.4g} us", row_name(all.rows[rows[i]]), all.rows[rows[i]].time.value() * 1e6));
    notes.push_back(fmt::format("{}: {} outliers, a factor of 2 or more beside their neighbours in size: {}{}",
        context_name(all, context), rows.size(), fmt::join(names, "; "), rows.size() > named ? "; ..." : ""));
  }
}

// --- copies ---

/// Two tables that share this many rows and times are no coincidence: times have three digits or more.
constexpr int least_copied = 4;
constexpr double copied_share = 0.5;

void note_copies(const Measurements& all, std::vector<std::string>& notes) {
  std::map<std::array<double, 12>, std::vector<const Measurement*>> by_query;
  for (const Measurement& row : all.rows) by_query[numbers_of(row.what).values].push_back(&row);
  struct Shared {
    int rows = 0, equal = 0;
  };
  std::map<std::tuple<int, int, std::string>, Shared> pairs;
  for (const auto& [query, rows] : by_query) {
    if (rows.size() < 2) continue;
    const std::string table = table_of(rows.front()->what);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = i + 1; j < rows.size(); ++j) {
        const auto [first, second] = std::minmax(rows[i]->context, rows[j]->context);
        Shared& shared = pairs[{first, second, table}];
        ++shared.rows;
        shared.equal += rows[i]->time == rows[j]->time;
      }
  }
  for (const auto& [key, shared] : pairs) {
    if (shared.equal < least_copied || shared.equal < copied_share * shared.rows) continue;
    const auto& [first, second, table] = key;
    notes.push_back(fmt::format("{}: {} of {} times are the same to the last digit in [{}] and [{}]: one may be a copy",
        table, shared.equal, shared.rows, context_name(all, first), context_name(all, second)));
  }
}

}  // namespace

Measurements condensed(Measurements measurements) {
  std::vector<std::string> notes;
  measurements.rows = join_repeats(measurements.rows, notes);
  note_outliers(measurements, notes);
  note_copies(measurements, notes);
  measurements.notes.insert(measurements.notes.end(), notes.begin(), notes.end());
  return measurements;
}

}  // namespace stepcast::calibrate
