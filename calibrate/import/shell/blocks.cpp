#include "calibrate/import/shell/blocks.h"

namespace stepcast::calibrate {

void ShellBlocks::open(Block block) {
  // Text that only looks like a script may open blocks without end.
  constexpr std::size_t deepest = 1000;
  if (open_.size() >= deepest) return;
  if (!active()) block.taken = true;
  open_.push_back(std::move(block));
}

void ShellBlocks::open_if(ShellTruth holds) {
  open({});
  choose(holds);
}

void ShellBlocks::open_case(std::optional<std::string> subject) {
  Block block;
  block.is_case = block.wants_label = true;
  block.subject = std::move(subject);
  open(std::move(block));
}

void ShellBlocks::choose(ShellTruth holds) {
  if (open_.empty()) return;
  Block& block = open_.back();
  block.id = ++last_id_;
  block.state = block.taken ? ShellTruth::no : holds;
  if (block.state == ShellTruth::no) return;
  if (holds == ShellTruth::yes) block.taken = true;
  if (block.doubted) block.state = ShellTruth::unknown;
  block.doubted = true;
}

void ShellBlocks::else_if(ShellTruth holds) {
  if (!open_.empty() && !open_.back().is_case) choose(holds);
}

void ShellBlocks::label(std::string_view pattern) {
  Block& block = open_.back();
  block.wants_label = false;
  const bool any = pattern == "*";
  choose(any ? ShellTruth::yes : block.subject ? shell_pattern(pattern, *block.subject) : ShellTruth::unknown);
}

void ShellBlocks::end_label() {
  if (!at_case()) return;
  open_.back().wants_label = true;
  open_.back().state = ShellTruth::no;
}

void ShellBlocks::close(bool is_case) {
  if (!open_.empty() && open_.back().is_case == is_case) open_.pop_back();
}

bool ShellBlocks::active() const {
  return std::none_of(open_.begin(), open_.end(), [](const Block& block) { return block.state == ShellTruth::no; });
}

bool ShellBlocks::undecided() const {
  return std::any_of(open_.begin(), open_.end(), [](const Block& block) { return block.state == ShellTruth::unknown; });
}

}  // namespace stepcast::calibrate
