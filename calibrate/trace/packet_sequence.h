// What the packets of one writer of a Perfetto trace have said so far: numbers that stand for texts, clocks of its own,
// defaults. Numbers of fields are those of the .proto files that perfetto_reader.h names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "calibrate/trace/proto_wire.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Where in a file a packet is, for its errors.
struct PacketPlace {
  const std::string& file;
  std::size_t number = 0;
  [[nodiscard]] tl::unexpected<Error> fault(const std::string& what, const std::string& hint) const;

  /// Calls `with` for each field of a message within the packet. Error: bytes that are no message.
  template <class With> Expected<void> each(std::string_view bytes, With with) const {
    ProtoMessage message(bytes);
    while (const auto field = message.next()) {
      TRY(with(*field));
    }
    if (message.damaged()) return fault("is damaged", "a whole trace");
    return {};
  }
};

/// A clock of one sequence of packets, against the one that all know. Nanoseconds.
struct SequenceClock {
  double offset = 0, unit = 1, last = 0;
  bool incremental = false;
};

struct PacketSequence {
  using Names = std::unordered_map<std::uint64_t, std::string>;
  Names categories, names, keys, texts;
  std::map<std::uint64_t, SequenceClock> clocks;
  std::uint64_t clock = 0, track = 0;  ///< by default

  /// TracePacketDefaults, ClockSnapshot and InternedData of a packet.
  Expected<void> take_defaults(std::string_view bytes, const PacketPlace& place);
  Expected<void> take_clocks(std::string_view bytes, const PacketPlace& place);
  Expected<void> take_names(std::string_view bytes, const PacketPlace& place);

  /// A time of the clock with this number. Error: a clock of the sequence that no packet explains.
  Expected<double> nanoseconds(std::uint64_t time, std::uint64_t id, const PacketPlace& place);
  /// Error: packets were lost.
  static Expected<std::string> named(const Names& names, std::uint64_t iid, const PacketPlace& place);
};

}  // namespace stepcast::calibrate
