// Reads the JSON files of measured timelines. They are other programs' files: keys that are not needed are left alone.
#include <limits>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "sim/schedule/files/primus.h"

namespace stepcast::sim {
namespace {

constexpr IntegerRange primus_counts{1, 4096};
constexpr NumberRange milliseconds{0, 1e12};

/// The first of two names that the file has; versions of Primus differ.
void read_either(JsonObject& file, const std::string& key, const std::string& other, int& out) {
  file.read(!file.has(key) && file.has(other) ? other : key, out, primus_counts);
}

PrimusLane read_lane(JsonObject& rank, const std::string& name, bool required) {
  PrimusLane lane;
  if (!required && !rank.has(name + "_start")) return lane;
  rank.read(name + "_start", lane.start, milliseconds);
  rank.read(name + "_end", lane.end, milliseconds);
  const IntegerRange numbers{0, std::numeric_limits<std::int32_t>::max()};
  rank.optional(name + "_minibatch", lane.micro_batch, numbers);
  rank.optional(name + "_chunk", lane.chunk, IntegerRange{0, primus_counts.high});
  return lane;
}

PrimusRank read_rank(JsonObject& rank) {
  rank.allow_unknown_keys();
  return {rank.where(), read_lane(rank, "fwd", true), read_lane(rank, "bwd", true), read_lane(rank, "wgrad", false)};
}

}  // namespace

Expected<PrimusSize> read_primus_config(std::string_view text, const std::string& where) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  PrimusSize size;
  file.read("pp_size", size.ranks, primus_counts);
  read_either(file, "vp_size", "vpp_size", size.chunks);
  read_either(file, "num_mbs", "micro_batches", size.micro_batches);
  return file.finish(size);
}

Expected<PrimusRank> read_primus_rank(std::string_view text, const std::string& where, int iteration) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  const std::string key = std::to_string(iteration);
  if (!file.failed() && !file.has(key)) {
    const std::vector<std::string> there = file.keys();
    return fail(where, fmt::format("iteration {} is not there", iteration),
        there.empty() ? "the file has none" : fmt::format("{} to {}", there.front(), there.back()));
  }
  JsonObject child = file.object(key);
  PrimusRank rank = read_rank(child);
  return file.finish(std::move(rank));
}

Expected<PrimusTimeline> read_measured_timeline(std::string_view text, const std::string& where) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  PrimusSize size;
  file.read("p", size.ranks, primus_counts);
  file.read("v", size.chunks, primus_counts);
  file.read("m", size.micro_batches, primus_counts);
  std::vector<PrimusRank> ranks;
  for (JsonObject& rank : file.objects("ranks")) ranks.push_back(read_rank(rank));
  if (auto error = file.first_error()) return tl::unexpected(std::move(*error));
  return primus_timeline(size, ranks);
}

}  // namespace stepcast::sim
