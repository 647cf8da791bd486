// Points of the network's plane: collectives of the step report, sends between stages, what comes from the host.
#include "studies/roofline/figures/links.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/step/paired.h"
#include "studies/roofline/figures/link_groups.h"
#include "studies/roofline/figures/roof_checks.h"
#include "studies/roofline/figures/stage_work.h"

namespace stepcast::roofline {
namespace {

constexpr const char* sends_name = "boundary";  // of CollectiveReport, sends between neighbouring stages
constexpr Bytes hardly_any{1};
constexpr Bytes host_token_id{8};  // as sim/step/around.cpp

/// What makes a move seem faster than its link: its price is less than what the bytes take.
struct FasterReason {
  bool (*applies)(const CostModel& cost, const Program& program, const Move& move);
  const char* words;
};

bool gathers_or_scatters(const Move& move) {
  return move.kind == MoveKind::all_gather || move.kind == MoveKind::reduce_scatter;
}

/// As prices take it (sim/cost/collective.cpp, parameter_of).
StepParameter fitted_share(const Move& move) {
  if (move.cargo == Cargo::gradient || move.cargo == Cargo::weight) return StepParameter::gradient_moves;
  return move.kind == MoveKind::all_to_all ? StepParameter::expert_moves : StepParameter::activation_moves;
}

constexpr FasterReason faster_reasons[] = {
    {[](const CostModel& cost, const Program&, const Move& move) {
       return cost.stack().activation_pieces > 1 && cost.stack().activation_moves == Manners::overlapped &&
              move.cargo == Cargo::activation && gathers_or_scatters(move) && !move.again;
     },
        "it goes in pieces beside the product that it feeds or drains, and its time here is what shows"},
    {[](const CostModel& cost, const Program& program, const Move& move) {
       const bool beside = cost.stack().expert_moves == Manners::overlapped || paired_share(program) > 0;
       return beside && move.kind == MoveKind::all_to_all && move.experts > 0;
     },
        "it runs beside the compute of another micro-batch, and its time here is what shows"},
    {[](const CostModel& cost, const Program&, const Move& move) {
       return cost.stack().expert_dispatch == Dispatch::tokens && move.experts > 0;
     },
        "a token that several experts of one destination take crosses once, and its bytes here are those of all "
        "copies"},
    {[](const CostModel& cost, const Program&, const Move& move) {
       const bool routed = move.experts > 0, gather = move.kind == MoveKind::all_gather;
       return ((cost.stack().gathers_cast && gather) || (cost.stack().dispatch_cast && routed)) &&
              cost.precision() == Precision::fp8 && move.for_product;
     },
        "it is cast to fp8 before it crosses, and its bytes here are those of the wide type"},
    {[](const CostModel& cost, const Program&, const Move& move) { return cost.tuning()[fitted_share(move)] < 1; },
        "measured steps of this software show less of such moves than their time alone, and its time here is what "
        "shows"}};

std::string faster_reason(const CostModel& cost, const Program& program, const Move* move) {
  for (const FasterReason& reason : faster_reasons)
    if (move && reason.applies(cost, program, *move)) return reason.words;
  return "check whether the bytes are those of the buffer (algorithm bandwidth) or those that a rank receives (bus "
         "bandwidth), whether "
         "the switch adds up on the way (NVLS: fewer bytes cross than a ring receives), GB against GiB or Gb, and "
         "whether the time "
         "counts both directions";
}

/// Sums over the rows of one point; means are made at the end.
struct LinkSum {
  LinkPoint point;
  double bytes = 0, over_link = 0, latency = 0;
  const Move* move = nullptr;
};

bool same_link_point(const LinkPoint& a, const LinkPoint& b) {
  return a.kind == b.kind && a.axis == b.axis && a.link == b.link && a.pass == b.pass && a.name == b.name &&
         a.stage == b.stage && a.group_size == b.group_size;
}

class LinkPlotter {
 public:
  LinkPlotter(const Scenario& scenario, const Prediction& prediction, FlopsPerSecond peak)
      : prediction_(prediction), machine_(scenario.machine.row), peak_(peak), frame_(link_frame(machine_)),
        cost_(cost_model(scenario).with_ranks(prediction.program.ranks)), work_(scenario, prediction) {}

  std::vector<LinkPoint> run() {
    for (const CollectiveReport& row : prediction_.step.collectives) add_row(row);
    add_host();
    std::vector<LinkPoint> points;
    for (LinkSum& sum : sums_) points.push_back(finished(sum));
    std::stable_sort(
        points.begin(), points.end(), [](const LinkPoint& a, const LinkPoint& b) { return a.time > b.time; });
    return points;
  }

 private:
  void add_row(const CollectiveReport& row) {
    LinkPoint head;
    head.name = row.name, head.kind = row.kind, head.axis = row.axis, head.link = row.span;
    head.pass = row.pass, head.group_size = row.group_size, head.stage = row.stage;
    head.source = row.source, head.law = row.law, head.because = row.because;
    LinkSum& sum = sum_of(std::move(head));
    const RowMove like = move_of_row(prediction_.program, row);
    if (like.move && !sum.move) sum.move = like.move;
    const int level = std::max(0, link_level(machine_, row.span));
    const auto group = link_group(prediction_, row.axis, row.group_size);
    sum.point.calls += row.count;
    sum.point.time += row.time;
    sum.point.exposed += row.exposed;
    sum.bytes += row.bytes.value() * row.count;
    sum.over_link +=
        row.bytes.value() * row.count * share_over_link(machine_, level, row.kind, group, prediction_.program.ranks);
    sum.latency += latency_of(row, like, level).value() * row.count;
  }

  LinkSum& sum_of(LinkPoint head) {
    const auto known =
        std::find_if(sums_.begin(), sums_.end(), [&](const LinkSum& sum) { return same_link_point(sum.point, head); });
    if (known != sums_.end()) return *known;
    sums_.push_back({std::move(head)});
    return sums_.back();
  }

  /// The same move with one byte, priced alike: where the row shows only a part of what its move takes, that part of
  /// the latency.
  [[nodiscard]] Seconds latency_of(const CollectiveReport& row, const RowMove& like, int level) const {
    if (row.name == sends_name) return send_latency(row.stage);
    if (!like.move) return level > 0 ? cost_.send(hardly_any, machine_.levels[level - 1].gpus).time : Seconds(0);
    Move move = *like.move;
    move.received = row.bytes;
    const Seconds whole = cost_.move(move, *like.group).time, shown = row.count > 0 ? row.time / row.count : whole;
    move.received = hardly_any;
    const Seconds latency = cost_.move(move, *like.group).time;
    return whole.value() > 0 ? latency * std::min(1.0, shown / whole) : latency;
  }

  /// Mean over the edges that end on the stage, as the report counts them.
  [[nodiscard]] Seconds send_latency(int stage) const {
    const Program& program = prediction_.program;
    Seconds sum;
    int edges = 0;
    for (const StageEdge& edge : program.edges) {
      const std::int64_t from = program.chunks[edge.from].stage, to = program.chunks[edge.to].stage;
      if ((from != stage && to != stage) || from == to) continue;
      sum += cost_.send(hardly_any, from * program.stage_stride, to * program.stage_stride).time;
      ++edges;
    }
    return edges > 0 ? sum / edges : Seconds(0);
  }

  /// Token ids and labels (sim/step/around.cpp).
  void add_host() {
    const Seconds time = prediction_.step.phases.host_to_device;
    if (time.value() <= 0) return;
    const Program& program = prediction_.program;
    LinkPoint head;
    head.name = "token ids host to device", head.kind = "copy", head.axis = head.link = "host";
    head.pass = Pass::step, head.stage = prediction_.step.slowest_stage;
    head.source = Source::datasheet, head.law = "host link",
    head.because = "tokens and labels of the stage's share of the batch";
    LinkSum& sum = sum_of(std::move(head));
    sum.point.calls = 1;
    sum.point.time = sum.point.exposed = time;
    sum.bytes = sum.over_link = host_token_id.value() * program.tokens_per_step /
                                (static_cast<double>(program.ranks) / static_cast<double>(program.stages));
  }

  LinkPoint finished(LinkSum& sum) {
    LinkPoint& point = sum.point;
    const double each = point.calls > 0 ? point.calls : 1;
    point.bytes = Bytes(sum.bytes / each);
    point.over_link = Bytes(sum.over_link / each);
    point.latency = Seconds(sum.latency / each);
    place(point, sum.over_link);
    judge(point, sum.move);
    return std::move(point);
  }

  void place(LinkPoint& point, double brought) {
    const Flops flops = flops_of_stage(point.stage);
    if (brought > 0) point.flops_per_byte = flops.value() / brought;
    if (point.time.value() > 0) {
      point.rate = flops / point.time;
      point.bus = Bytes(brought) / point.time;
    }
    point.limits = point.rate.value() > 0 && point.rate < peak_;
    const Seconds call = point.calls > 0 ? point.time / point.calls : Seconds(0);
    point.bound = point.latency > call * 0.5 ? "latency" : "bandwidth";
    point.outside =
        point.time.value() > 0 ? outside_frame(frame_, point.flops_per_byte, point.rate) : "it takes no time";
  }

  Flops flops_of_stage(int stage) {
    if (flops_.empty())
      flops_.assign(static_cast<std::size_t>(std::max<std::int64_t>(1, prediction_.program.stages)), Flops(-1));
    Flops& flops = flops_.at(stage);
    if (flops.value() < 0) flops = work_.matrix_flops(stage);
    return flops;
  }

  void judge(LinkPoint& point, const Move* move) const {
    const int level = link_level(machine_, point.link);
    const BytesPerSecond link = level >= 0 ? machine_.levels[level].bandwidth_per_gpu : machine_.host_link;
    if (link.value() <= 0) return;
    point.share_of_roof = point.bus / link;
    if (point.share_of_roof <= 1.01) return;
    point.faster_because = faster_reason(cost_, prediction_.program, move);
    point.warning = fmt::format("{} is {:.0f} % of the link's {}: {}", format_rate(point.bus),
        100 * point.share_of_roof, format_rate(link), point.faster_because);
  }

  const Prediction& prediction_;
  const Machine& machine_;
  const FlopsPerSecond peak_;
  const Frame frame_;
  const CostModel cost_;
  const StageWork work_;
  std::vector<Flops> flops_;  ///< by stage; below 0: not yet asked for
  std::vector<LinkSum> sums_;
};

/// One collective rarely stands in the way alone; all that a rank of the slowest stage does over one link may.
void add_sums(
    const Scenario& scenario, int stage, const std::vector<LinkPoint>& points, std::vector<std::string>& notes) {
  for (const Level& level : scenario.machine.row.levels) {
    Seconds time, exposed;
    Flops flops;
    int count = 0;
    for (const LinkPoint& point : points) {
      if (point.link != level.name || point.stage != stage) continue;
      time += point.time, exposed += point.exposed, flops = point.rate * point.time;
      ++count;
    }
    if (count < 2 || time.value() <= 0) continue;
    notes.push_back(fmt::format(
        "{}: its {} collectives take {} of a rank's step, {} of it exposed; unhidden they would hold compute at {}",
        level.name, count, format_seconds(time), format_percent(exposed / time), format_flops(flops / time)));
  }
}

}  // namespace

FlopsPerSecond bent_roof(double flops_per_byte, BytesPerSecond rate, double calls, Seconds latency, Flops flops) {
  const double straight = flops_per_byte * rate.value();
  if (straight <= 0 || flops.value() <= 0) return FlopsPerSecond(0);
  return FlopsPerSecond(1 / (calls * latency.value() / flops.value() + 1 / straight));
}

NetworkRoofline network_roofline(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs) {
  NetworkRoofline network;
  network.peak = roofs.peak(scenario.plan.precision);
  network.points = LinkPlotter(scenario, prediction, network.peak).run();
  add_sums(scenario, prediction.step.slowest_stage, network.points, network.notes);
  network.roofs = link_roofs(scenario, prediction, network.points, network.notes);
  network.frame = link_frame(scenario.machine.row);
  return network;
}

}  // namespace stepcast::roofline
