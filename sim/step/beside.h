// Collectives of a step beside its pipeline: what of them shows. Shared by the forecast, which has a timeline, and its
// bound.
#pragma once

#include <algorithm>

namespace stepcast::sim {

/// Moves run beside the pipeline, one after the other. From `begin` on, n blocks of `block` seconds close one by one
/// (gradients) or are needed one by one (parameters), each with `move` seconds on the fabric. Times are the timeline's.
class SideBySide {
 public:
  // Reduce j starts when block j has closed and reduce j-1 is done: the last ends at the largest of these lines.
  void close(double begin, double n, double block, double move) {
    if (move > 0) queue_ = std::max({queue_ + n * move, begin + block + n * move, begin + n * block + move});
  }
  // Block j starts when gather j is done; `late` is by how much the worst of them is.
  void need(double begin, double n, double block, double move) {
    if (move > 0) late_ = std::max({late_, queue_ + move - begin, queue_ + n * move - (begin + (n - 1) * block)});
    queue_ += n * move;
  }
  [[nodiscard]] double queue() const { return queue_; }
  [[nodiscard]] double late() const { return late_; }

 private:
  double queue_ = 0, late_ = 0;
};

/// Seconds that overlapped moves add to the step. Bare is what is still open when nothing is left to hide it, at most
/// all of it; what hides slows the kernels that hide it, where there are any beside it: not during the `lead` in which
/// the stage stands idle.
inline double shown_beside(double open, double beside, double lead, double busy, double contention) {
  const double bare = std::clamp(open, 0.0, beside);
  const double hidden = std::min(std::max(0.0, beside - bare - lead), busy);
  return bare + hidden * (contention / (1 + contention));
}

}  // namespace stepcast::sim
