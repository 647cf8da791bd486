#include "calibrate/trace/perfetto_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "calibrate/trace/packet_sequence.h"

namespace stepcast::calibrate {
namespace {

// Numbers of fields, as the .proto files have them.
namespace packet_field {
constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11, interned = 12, flags = 13,
                        state_cleared = 41, packed_by_deflate = 50, clock = 58, defaults = 59, descriptor = 60,
                        packed_by_zstd = 133;
}
namespace event_field {
constexpr std::uint32_t category_iid = 3, annotation = 4, type = 9, name_iid = 10, track = 11, category = 22, name = 23;
}
constexpr std::uint64_t slice_begins = 1, slice_ends = 2;

struct PerfettoTrack {
  std::int64_t device = -1, stream = -1;
  std::vector<RawTraceEvent> open;
};

/// The numbers in brackets of a track's name.
PerfettoTrack track_of(std::string_view name) {
  PerfettoTrack track;
  for (std::int64_t* number : {&track.device, &track.stream}) {
    const std::size_t at = name.find('[');
    if (at == std::string_view::npos) break;
    name.remove_prefix(at + 1);
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9' && digits < 15; ++digits)
      value = 10 * value + (name[digits] - '0');
    if (digits > 0) *number = value;
  }
  return track;
}

class PerfettoEvents {
 public:
  PerfettoEvents(const std::string& where, const TakeRawEvent& take) : place_{where}, take_(take) {}

  Expected<void> take_packet(std::string_view bytes) {
    ++place_.number;
    std::optional<std::uint64_t> time, clock;
    std::string_view event, interned, defaults, snapshot, descriptor;
    std::uint64_t sequence = 0;
    bool cleared = false;
    ProtoMessage packet(bytes);
    while (const auto field = packet.next()) {
      switch (field->number) {
        case packet_field::timestamp: time = field->value; break;
        case packet_field::clock: clock = field->value; break;
        case packet_field::sequence: sequence = field->value; break;
        case packet_field::flags: cleared = cleared || (field->value & 1) != 0; break;
        case packet_field::state_cleared: cleared = cleared || field->value != 0; break;
        case packet_field::track_event: event = field->bytes; break;
        case packet_field::interned: interned = field->bytes; break;
        case packet_field::defaults: defaults = field->bytes; break;
        case packet_field::clock_snapshot: snapshot = field->bytes; break;
        case packet_field::descriptor: descriptor = field->bytes; break;
        case packet_field::packed_by_deflate:
        case packet_field::packed_by_zstd: return place_.fault("is packed", "traceconv decompress_packets FILE OUT");
        default: break;
      }
    }
    if (packet.damaged()) return place_.fault("is damaged", "a whole trace");
    PacketSequence& writer = sequences_[sequence];
    if (cleared) writer = {};
    TRY(writer.take_defaults(defaults, place_));
    TRY(writer.take_clocks(snapshot, place_));
    TRY(writer.take_names(interned, place_));
    TRY(take_descriptor(descriptor));
    const std::uint64_t id = clock.value_or(writer.clock);
    // A time counts on from the one before it, whoever had that.
    if (event.empty() && (!time || !writer.clocks.contains(id))) return {};
    if (!time) return place_.fault("is an event without a time", "a whole trace");
    TRY(const double at, writer.nanoseconds(*time, id, place_));
    if (event.empty()) return {};
    return take_event(writer, at, event);
  }

  Expected<void> finish() {
    for (const auto& [uuid, track] : tracks_)
      for (const RawTraceEvent& open : track.open)
        if (open.category.find("kernel") != std::string::npos)
          return fail(place_.file,
              fmt::format("'{:.60}' never ends: the recording breaks off, or lost packets", open.name),
              "a whole recording; rocprofv3 --perfetto-buffer-size");
    return {};
  }

 private:
  Expected<void> take_descriptor(std::string_view bytes) {
    std::uint64_t uuid = 0;
    std::string_view name;
    TRY(place_.each(bytes, [&](const ProtoField& field) -> Expected<void> {
      if (field.number == 1) uuid = field.value;
      if (field.number == 2 || field.number == 10) name = field.bytes;  // one that lasts has a field of its own
      return {};
    }));
    if (name.empty()) return {};
    const PerfettoTrack said = track_of(name);
    tracks_[uuid].device = said.device, tracks_[uuid].stream = said.stream;
    return {};
  }

  Expected<void> take_annotation(PacketSequence& writer, std::string_view bytes, RawTraceEvent& event) const {
    std::string key, text;
    std::optional<double> number;
    std::int64_t whole = -1;
    TRY(place_.each(bytes, [&](const ProtoField& field) -> Expected<void> {
      switch (field.number) {
        case 1: {
          TRY(key, writer.named(writer.keys, field.value, place_));
          break;
        }
        case 10: key = field.bytes; break;
        case 2:
        case 3:
        case 4:
          whole = static_cast<std::int64_t>(field.value);
          number = static_cast<double>(whole);
          break;
        case 5: number = field.real(); break;
        case 6: text = field.bytes; break;
        case 17: {
          TRY(text, writer.named(writer.texts, field.value, place_));
          break;
        }
        default: break;
      }
      return {};
    }));
    if (number) event.set_number(key, true, *number, whole);
    else event.set_text(key, true, text);
    return {};
  }

  Expected<void> take_event(PacketSequence& writer, double at, std::string_view bytes) {
    RawTraceEvent event;
    std::uint64_t type = 0, uuid = writer.track;
    TRY(place_.each(bytes, [&](const ProtoField& field) -> Expected<void> {
      switch (field.number) {
        case event_field::type: type = field.value; break;
        case event_field::track: uuid = field.value; break;
        case event_field::category_iid: {
          TRY(event.category, writer.named(writer.categories, field.value, place_));
          break;
        }
        case event_field::category: event.category = field.bytes; break;
        case event_field::name_iid: {
          TRY(event.name, writer.named(writer.names, field.value, place_));
          break;
        }
        case event_field::name: event.name = field.bytes; break;
        case event_field::annotation: return take_annotation(writer, field.bytes, event);
        default: break;
      }
      return {};
    }));
    if (type != slice_begins && type != slice_ends) return {};
    if (!first_) first_ = at;
    constexpr double microsecond = 1e3;
    PerfettoTrack& track = tracks_[uuid];
    event.start = (at - *first_) / microsecond;
    if (type == slice_begins) {
      track.open.push_back(std::move(event));
      return {};
    }
    if (track.open.empty()) return {};  // it began before the recording
    RawTraceEvent ended = std::move(track.open.back());
    track.open.pop_back();
    ended.phase = "X", ended.duration = event.start - ended.start;
    if (ended.device < 0) ended.device = track.device;
    if (ended.stream < 0) ended.stream = track.stream;
    return take_(ended);
  }

  PacketPlace place_;
  const TakeRawEvent& take_;
  std::map<std::uint64_t, PacketSequence> sequences_;
  std::unordered_map<std::uint64_t, PerfettoTrack> tracks_;
  std::optional<double> first_;
};

constexpr char packet_tag = '\x0A';  // field 1 of Trace, with a length

struct PacketLength {
  std::uint64_t length = 0;
  std::size_t bytes = 0;  ///< that it takes itself: writers pad it
};

/// The length in front of a packet; nullopt at the end of the stream, or of what is none.
std::optional<PacketLength> length_in(std::streambuf& bytes) {
  PacketLength packet;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    const int byte = bytes.sbumpc();
    if (byte == std::streambuf::traits_type::eof()) return std::nullopt;
    packet.length |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    ++packet.bytes;
    if (byte < 0x80) return packet;
  }
  return std::nullopt;
}

}  // namespace

/// A packet behind a packet; texts have no such bytes in front.
bool is_perfetto(std::string_view head) {
  ProtoMessage trace(head);
  const auto first = trace.next();
  if (!head.starts_with(packet_tag) || !first || first->number != 1) return false;
  const std::string_view begin = head.substr(0, 64);
  const bool text =
      std::ranges::none_of(begin, [](char c) { return c >= 0 && c < ' ' && c != '\n' && c != '\t' && c != '\r'; });
  const auto behind = static_cast<std::size_t>(first->bytes.data() + first->bytes.size() - head.data());
  return !text && (behind == head.size() || head[behind] == packet_tag);
}

Expected<void> read_perfetto_events(TimingsStream& stream, RawTraceHead& head, const TakeRawEvent& take) {
  head.generator = perfetto_generator;
  const std::string where = stream.where();
  PerfettoEvents events(where, take);
  std::string packet;
  std::size_t at = 0;
  const auto broken = [&] {
    if (stream.error()) return tl::unexpected<Error>(*stream.error());
    return fail(where, fmt::format("the trace breaks off or is damaged behind byte {}", at), "a whole trace");
  };
  for (int tag = stream.sbumpc(); tag != TimingsStream::traits_type::eof(); tag = stream.sbumpc()) {
    constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;
    const auto head_of_packet = length_in(stream);
    if (tag != packet_tag || !head_of_packet || head_of_packet->length > most_bytes) return broken();
    packet.resize(head_of_packet->length);
    const auto length = static_cast<std::streamsize>(packet.size());
    if (stream.sgetn(packet.data(), length) != length) return broken();
    at += 1 + head_of_packet->bytes + packet.size();
    TRY(events.take_packet(packet));
    stream.mark();
  }
  if (stream.error()) return tl::unexpected<Error>(*stream.error());
  return events.finish();
}

}  // namespace stepcast::calibrate
