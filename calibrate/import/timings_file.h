// Files of timings, plain or packed by gzip. What is short is read whole; traces of hundreds of megabytes pass by as a
// stream, whose memory is bounded whatever the file holds.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast::calibrate {

/// A stream of pieces of text. Its reader marks every part that it is done with, and no part may be too long.
class TimingsStream : public std::streambuf {
 public:
  /// The next piece, which stays until the one after; "" at the end.
  using Next = std::function<Expected<std::string_view>()>;

  TimingsStream(std::string where, Next next) : where_(std::move(where)), next_(std::move(next)) {}
  /// One text, whole.
  TimingsStream(std::string where, std::string_view text);

  [[nodiscard]] const std::string& where() const { return where_; }
  void mark() { unmarked_ = 0; }
  /// Why the stream ended before its time.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  int_type underflow() override;

  std::string where_;
  Next next_;
  std::size_t unmarked_ = 0;
  std::optional<Error> error_;
};

class TimingsFile {
 public:
  /// Errors: what cannot be read; a packed file that is damaged, or breaks off, within the head.
  static Expected<TimingsFile> open(const std::string& path);

  /// The whole text, or its first 64 MiB.
  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// From the beginning. Each call opens the file anew.
  [[nodiscard]] Expected<std::unique_ptr<TimingsStream>> stream() const;

 private:
  TimingsFile() = default;
  std::string path_, head_;
  bool whole_ = true;
};

}  // namespace stepcast::calibrate
