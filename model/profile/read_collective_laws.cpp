// Laws of collectives from JSON: NCCL's curves, their growth with ranks, networks, engines' own kernels.
#include <vector>

#include <fmt/format.h>

#include "model/machine/plausible.h"
#include "model/profile/read_laws.h"

namespace stepcast {

EngineAllReduce read_all_reduce(JsonObject& object) {
  EngineAllReduce law;
  object.read("software", law.software);
  object.optional("captured", law.captured);
  object.read("ranks", law.ranks, IntegerRange{2, 1024});
  std::vector<std::vector<double>> rows;
  object.read_rows("points", rows, 2, NumberRange{1e-12, 1e15});
  for (const std::vector<double>& row : rows) {
    object.require(law.points.empty() || row[0] > law.points.back().buffer.value(), "points",
        fmt::format("[{}, {}] is not above the point before", row[0], row[1]), "sizes that rise");
    law.points.push_back({Bytes(row[0]), Seconds(row[1])});
  }
  object.require(law.points.size() >= 2, "points", "fewer than two", "[[bytes of the buffer, seconds], ...]");
  read_provenance(object, law);
  return law;
}

EngineExchange read_exchange(JsonObject& object) {
  EngineExchange law;
  object.read("software", law.software);
  object.choice("kernel", law.kernel, exchange_kernel_names);
  object.choice("direction", law.direction, exchange_direction_names);
  constexpr IntegerRange group{2, 1'000'000};
  object.read("ranks", law.ranks, group);
  law.most_ranks = law.ranks;
  object.optional("most_ranks", law.most_ranks, group);
  object.require(law.most_ranks >= law.ranks, "most_ranks", fmt::format("{} below ranks {}", law.most_ranks, law.ranks),
      "as many or more");
  object.optional("node_ranks", law.node_ranks, IntegerRange{1, 1'000'000});
  object.require(law.node_ranks < law.ranks, "node_ranks",
      fmt::format("{} of {} ranks on a node", law.node_ranks, law.ranks), "fewer, or leave it out");
  object.choice("copies", law.once_per_rank, exchange_copies_names);
  read_plausible(object, "t0_s", law.start, Zero::allowed);
  optional_plausible(object, "per_expert_s", law.per_expert, Zero::allowed);
  optional_plausible(object, "per_row_byte_s", law.per_row_byte, Zero::allowed);
  optional_plausible(object, "per_token_s", law.per_token, Zero::allowed);
  object.optional("blocks", law.most_blocks, IntegerRange{1, 100'000});
  optional_plausible(object, "bandwidth_bytes_per_s", law.rate, Zero::allowed);
  object.optional("softness", law.softness, NumberRange{1, 100});
  object.read("most_tokens", law.most_tokens, NumberRange{1, 1e9});
  read_provenance(object, law);
  if (auto held_out = object.optional_object("held_out")) law.held_out = read_held_out(*held_out);
  return law;
}

CollectiveCurve read_curve(JsonObject& object) {
  CollectiveCurve curve;
  object.choice("kind", curve.kind, collective_names);
  object.choice("fabric", curve.fabric, fabric_names);
  object.read("ranks", curve.ranks, IntegerRange{2, 1'000'000});
  read_plausible(object, "latency_s", curve.latency, Zero::allowed);
  read_plausible(object, "bandwidth_bytes_per_s", curve.bandwidth);
  optional_plausible(object, "half_bytes", curve.half, Zero::allowed);
  object.optional("p", curve.p, NumberRange{0.01, 10});
  std::vector<std::vector<double>> rows;
  if (object.has("points")) object.read_rows("points", rows, 2, NumberRange{1e-12, 1e15});
  for (const auto& row : rows) {
    const bool rising = curve.points.empty() ||
                        (row[0] > curve.points.back().received.value() && row[1] >= curve.points.back().time.value());
    object.require(rising, "points", fmt::format("[{}, {}] is not above the point before", row[0], row[1]),
        "sizes rise, times do not fall");
    curve.points.push_back({Bytes(row[0]), Seconds(row[1])});
  }
  read_provenance(object, curve);
  object.optional("nodes", curve.nodes, IntegerRange{1, 1'000'000});
  object.require(curve.ranks % curve.nodes == 0, "nodes", fmt::format("{} ranks on {} nodes", curve.ranks, curve.nodes),
      "equal parts");
  object.optional("network", curve.network);
  if (auto held_out = object.optional_object("held_out")) curve.held_out = read_held_out(*held_out);
  rows.clear();
  if (object.has("widths")) object.read_rows("widths", rows, 3, NumberRange{1e-3, 1e15});
  for (const auto& row : rows) {
    const bool rising = curve.widths.empty() || row[0] > curve.widths.back().received.value();
    object.require(rising && row[1] <= row[2], "widths", fmt::format("[{}, {}, {}]", row[0], row[1], row[2]),
        "[received, p10, p90] with rising sizes");
    curve.widths.push_back({Bytes(row[0]), {row[1], row[2]}});
  }
  return curve;
}

CollectiveGrowth read_growth(JsonObject& object) {
  CollectiveGrowth growth;
  object.choice("kind", growth.kind, collective_names);
  object.choice("fabric", growth.fabric, fabric_names);
  object.read("from", growth.from, IntegerRange{2, 1'000'000});
  object.read("to", growth.to, IntegerRange{2, 1'000'000});
  std::vector<std::vector<double>> rows;
  object.read_rows("points", rows, 2, NumberRange{1e-3, 1e15});
  object.require(!rows.empty(), "points", "none", "[[buffer in bytes, time over time], ...]");
  for (const auto& row : rows) {
    object.require(growth.points.empty() || row[0] > growth.points.back().buffer.value(), "points",
        fmt::format("[{}, {}] is not above the point before", row[0], row[1]), "sizes rise");
    growth.points.push_back({Bytes(row[0]), row[1]});
  }
  object.optional("learned_on", growth.learned_on);
  read_provenance(object, growth);
  return growth;
}

ScaleOutLaw read_scale_out(JsonObject& object) {
  ScaleOutLaw law;
  object.choice("fabric", law.fabric, fabric_names);
  object.read("efficiency", law.efficiency, NumberRange{1e-3, 1});
  read_plausible(object, "base_s", law.base, Zero::allowed);
  optional_plausible(object, "per_doubling_s", law.per_doubling, Zero::allowed);
  optional_plausible(object, "per_node_s", law.per_node, Zero::allowed);
  object.optional_choice("transport", law.transport, transport_names);
  object.optional("half_bytes", law.half, Zero::allowed);
  object.optional("exponent", law.exponent, NumberRange{0.05, 2});
  object.optional("ring_hops", law.ring_hops, NumberRange{0, 1000});
  object.optional("cap_bytes_per_s", law.cap, Zero::allowed);
  read_provenance(object, law);
  return law;
}

}  // namespace stepcast
