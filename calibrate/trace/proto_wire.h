// The wire format of protocol buffers: fields of a message one by one (protobuf.dev/programming-guides/encoding).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/base/namespaces.h"

namespace stepcast::calibrate {

/// A field's number and what it holds: a number (varint or fixed), or bytes (text, a message).
struct ProtoField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
  [[nodiscard]] double real() const { return std::bit_cast<double>(value); }
};

/// A message in memory; stays valid as long as its bytes.
class ProtoMessage {
 public:
  explicit ProtoMessage(std::string_view bytes) : left_(bytes) {}
  /// The next field; nullopt at the end, or where the bytes are no message.
  std::optional<ProtoField> next();
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  std::optional<std::uint64_t> varint();
  std::string_view left_;
  bool damaged_ = false;
};

}  // namespace stepcast::calibrate
