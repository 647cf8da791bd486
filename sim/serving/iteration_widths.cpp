// Layers that a checkpoint leaves wide, and heads that are narrow, in an iteration's form.
#include <algorithm>
#include <set>
#include <utility>

#include "sim/serving/iteration.h"

namespace stepcast::sim {

using dataflow::OwnWeights, dataflow::Program, dataflow::ProgramBlock;

/// Layers of one block that differ in their widths become blocks of their own.
void IterationForm::keep_widths(const OwnWidths& widths, const Program& words, const Program* prompts) {
  if (!widths.any()) return;
  const std::vector<int> order = blocks_in_order(words);
  const std::vector<int> prompts_order = prompts != nullptr ? blocks_in_order(*prompts) : std::vector<int>();
  struct Part {
    std::set<std::string> kernels;
    int block = 0;
    double calls = 0;
  };
  std::vector<std::vector<Part>> parts(order.size());
  std::vector<Run> runs;
  int next = 0;
  for (const Run& run : runs_) next = std::max(next, run.block + 1);
  std::int64_t layer = 0;
  for (const Run& run : runs_) {
    if (run.block >= static_cast<int>(order.size())) {
      runs.push_back(run);
      continue;
    }
    const auto at = static_cast<std::size_t>(run.block);
    const ProgramBlock& block = words.blocks[order[at]];
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t here = block.is_layer ? layer++ : -1;
      Held& held = held_[static_cast<std::size_t>(run.stage)];
      for (const OwnWeights& weights : block.weights) {
        const double turned = wide_share(weights, widths, here) - weights.wide;
        (weights.expert ? held.wide_experts : held.wide) += turned * weights.elements;
      }
      std::set<std::string> kernels = turned_kernels(block, widths, here);
      if (prompts != nullptr) kernels.merge(turned_kernels(prompts->blocks[prompts_order[at]], widths, here));
      auto part = std::ranges::find(parts[at], kernels, &Part::kernels);
      if (part == parts[at].end()) {
        parts[at].push_back({std::move(kernels), parts[at].empty() ? run.block : next++});
        part = parts[at].end() - 1;
      }
      ++part->calls;
      if (!runs.empty() && runs.back().block == part->block && runs.back().stage == run.stage) ++runs.back().count;
      else runs.push_back({part->block, run.stage, 1});
    }
  }
  std::vector<PackedLine> lines;
  for (const PackedLine& line : lines_) {
    if (line.block >= static_cast<int>(order.size())) {
      lines.push_back(line);
      continue;
    }
    for (const Part& part : parts[static_cast<std::size_t>(line.block)]) {
      PackedLine& own = lines.emplace_back(line);
      own.block = part.block, own.calls = part.calls;
      if (own.work && part.kernels.contains(own.label)) own.work->keeps_width = !own.work->keeps_width;
    }
  }
  lines_ = std::move(lines), runs_ = std::move(runs);
}

}  // namespace stepcast::sim
