// The last gate before a terminal, a file or a script: names and texts come from files, and what steers a terminal or
// is no text must not get through.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

#include "model/base/namespaces.h"

namespace stepcast::cli {

/// With characters that steer (model/base/utf8.h) and bytes that are no UTF-8 written as "\x1b" or "\u202e". Line ends
/// and tabs stay; `color` lets the sequences through that Paint writes, and no other.
std::string shown_text(std::string_view text, bool color = false);

/// A stream's buffer that passes all text through shown_text().
class ShownBuffer : public std::streambuf {
 public:
  ShownBuffer(std::streambuf& to, bool color) : to_(to), color_(color) {}
  ShownBuffer(const ShownBuffer&) = delete;
  ShownBuffer& operator=(const ShownBuffer&) = delete;
  ~ShownBuffer() override { finish(); }
  /// What was held back as the beginning of a character is none: shows it. False where it could not be written.
  bool finish();

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type letter) override;
  int sync() override { return to_.pubsync(); }

 private:
  bool put(std::string_view text) {
    return to_.sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
           static_cast<std::streamsize>(text.size());
  }
  std::streambuf& to_;
  bool color_;
  std::string held_;  ///< the beginning of a character or sequence whose end has not come yet
};

}  // namespace stepcast::cli
