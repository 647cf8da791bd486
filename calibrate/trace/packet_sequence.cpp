#include "calibrate/trace/packet_sequence.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace stepcast::calibrate {
namespace {

constexpr std::uint64_t first_of_sequence = 64;  // clocks of one sequence alone
constexpr std::uint32_t default_clock = 58, default_event = 11, default_track = 11;

}  // namespace

tl::unexpected<Error> PacketPlace::fault(const std::string& what, const std::string& hint) const {
  return fail(file, fmt::format("packet {} {}", number, what), hint);
}

Expected<void> PacketSequence::take_defaults(std::string_view bytes, const PacketPlace& place) {
  return place.each(bytes, [&](const ProtoField& field) -> Expected<void> {
    if (field.number == default_clock) clock = field.value;
    if (field.number != default_event) return {};
    return place.each(field.bytes, [&](const ProtoField& of_events) -> Expected<void> {
      if (of_events.number == default_track) track = of_events.value;
      return {};
    });
  });
}

Expected<void> PacketSequence::take_clocks(std::string_view bytes, const PacketPlace& place) {
  std::optional<double> known;
  std::vector<std::pair<std::uint64_t, SequenceClock>> own;
  TRY(place.each(bytes, [&](const ProtoField& field) -> Expected<void> {
    if (field.number != 1) return {};
    std::uint64_t id = 0;
    SequenceClock read;
    double time = 0;
    TRY(place.each(field.bytes, [&](const ProtoField& part) -> Expected<void> {
      if (part.number == 1) id = part.value;
      if (part.number == 2) time = static_cast<double>(part.value);
      if (part.number == 3) read.incremental = part.value != 0;
      if (part.number == 4) read.unit = static_cast<double>(part.value);
      return {};
    }));
    read.last = time * read.unit;
    if (id >= first_of_sequence) own.emplace_back(id, read);
    else if (!known) known = read.last;
    return {};
  }));
  for (auto& [id, read] : own) {
    if (!known) return place.fault(fmt::format("sets clock {} by none that is known", id), "a whole trace");
    read.offset = *known - read.last;
    clocks[id] = read;
  }
  return {};
}

Expected<double> PacketSequence::nanoseconds(std::uint64_t time, std::uint64_t id, const PacketPlace& place) {
  if (id < first_of_sequence) return static_cast<double>(time);
  const auto at = clocks.find(id);
  if (at == clocks.end())
    return place.fault(
        fmt::format("has a time of clock {}, which no packet explains", id), "a whole trace, with its first packets");
  SequenceClock& of = at->second;
  const double said = static_cast<double>(time) * of.unit;
  of.last = of.incremental ? of.last + said : said;
  return of.last + of.offset;
}

Expected<void> PacketSequence::take_names(std::string_view bytes, const PacketPlace& place) {
  return place.each(bytes, [&](const ProtoField& field) -> Expected<void> {
    Names* into = field.number == 1    ? &categories
                  : field.number == 2  ? &names
                  : field.number == 3  ? &keys
                  : field.number == 29 ? &texts
                                       : nullptr;
    if (into == nullptr) return {};
    std::uint64_t iid = 0;
    std::string_view text;
    TRY(place.each(field.bytes, [&](const ProtoField& part) -> Expected<void> {
      if (part.number == 1) iid = part.value;
      if (part.number == 2) text = part.bytes;
      return {};
    }));
    (*into)[iid] = text;
    return {};
  });
}

Expected<std::string> PacketSequence::named(const Names& names, std::uint64_t iid, const PacketPlace& place) {
  const auto at = names.find(iid);
  if (at != names.end()) return at->second;
  return place.fault(fmt::format("names text {}, which no packet has: packets were lost", iid),
      "a recording with a larger buffer: rocprofv3 --perfetto-buffer-size");
}

}  // namespace stepcast::calibrate
