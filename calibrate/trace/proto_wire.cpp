#include "calibrate/trace/proto_wire.h"

namespace stepcast::calibrate {

std::optional<std::uint64_t> ProtoMessage::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7Fu) << shift;
    if (byte < 0x80) return value;
  }
  damaged_ = true;
  return std::nullopt;
}

std::optional<ProtoField> ProtoMessage::next() {
  if (left_.empty() || damaged_) return std::nullopt;
  const auto tag = varint();
  if (!tag) return std::nullopt;
  ProtoField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  const auto type = static_cast<unsigned>(*tag & 7);
  if (type == 0) {
    const auto value = varint();
    if (!value) return std::nullopt;
    field.value = *value;
    return field;
  }
  std::uint64_t size = type == 1 ? 8 : type == 5 ? 4 : 0;
  if (type == 2) size = varint().value_or(left_.size() + 1);
  if (size > left_.size() || (type != 1 && type != 2 && type != 5)) {
    damaged_ = true;
    return std::nullopt;
  }
  field.bytes = left_.substr(0, size);
  left_.remove_prefix(size);
  if (type != 2)
    for (std::size_t i = 0; i < size; ++i)
      field.value |= static_cast<std::uint64_t>(static_cast<unsigned char>(field.bytes[i])) << (8 * i);
  return field;
}

}  // namespace stepcast::calibrate
