// Decides which branches of a shell script would run, as far as that can be known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/shell/words.h"

namespace stepcast::calibrate {

class ShellBlocks {
 public:
  void open_if(ShellTruth holds);
  void open_case(std::optional<std::string> subject);  ///< nothing: its value is not known
  void else_if(ShellTruth holds);
  void label(std::string_view pattern);
  void end_label();
  void close(bool is_case);

  [[nodiscard]] bool active() const;     ///< what stands here is read
  [[nodiscard]] bool undecided() const;  ///< and may not be run
  [[nodiscard]] std::size_t branch() const { return undecided() ? open_.back().id : 0; }
  [[nodiscard]] bool wants_label() const { return !open_.empty() && open_.back().is_case && open_.back().wants_label; }
  [[nodiscard]] bool at_case() const { return !open_.empty() && open_.back().is_case; }
  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  void close_to(std::size_t depth) { open_.resize(std::min(depth, open_.size())); }

 private:
  struct Block {
    bool is_case = false, wants_label = false;
    ShellTruth state = ShellTruth::no;
    bool taken = false, doubted = false;  ///< a branch before would run for sure; might run
    std::optional<std::string> subject;
    std::size_t id = 0;
  };
  void open(Block block);
  void choose(ShellTruth holds);

  std::vector<Block> open_;
  std::size_t last_id_ = 0;
};

}  // namespace stepcast::calibrate
