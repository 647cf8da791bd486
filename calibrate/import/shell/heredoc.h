// Finds texts that a shell script writes into files itself: cat <<EOT > NAME ... EOT.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace stepcast::calibrate {

struct Heredoc {
  std::string_view header;        ///< the line without the "<<EOT"
  std::string_view target;        ///< behind > or tee, as written; empty where it goes elsewhere
  std::size_t body = 0, end = 0;  ///< of the text: its first character, behind its last line
  std::size_t next = 0;           ///< behind the line that closes it
  bool expands = true;            ///< variables in it are put in
  bool appends = false;           ///< what the file holds already stays in front
};

/// The text that the line at `at` opens; nothing where it opens none that a later line closes.
std::optional<Heredoc> heredoc_at(std::string_view text, std::size_t at);

}  // namespace stepcast::calibrate
