// Greedy zero bubble in rounds: in each round every rank gets one forward and one input gradient (per chunk), and
// weight gradients go where the rank would wait. The rules follow the schedulers that the authors of Zero Bubble
// Pipeline Parallelism (Qi et al., arXiv 2401.10241) and of its V form (arXiv 2405.15362) publish in
// github.com/sail-sg/zero-bubble, zb.py and zbv.py; here stages may differ, and an activation is held until its W.
#pragma once

#include "sim/schedule/search/greedy_board.h"

namespace stepcast::sim::greedy {

/// The choices that no rule settles; all combinations are tried.
struct RoundRule {
  bool wait_before_first_input_grad = false;  ///< plain: no forward that would delay the first input gradient
  bool prefer_input_grad = false;             ///< plain: a forward may be left out for a round
  bool fill_forward = true;                   ///< a W before a forward though it delays that
  bool fill_backward = true;                  ///< V: the same before an input gradient
};

/// Stage s on rank s.
Layout rounds_plain(const Problem& problem, const RoundRule& rule);
/// Stages r and 2p-1-r on rank r. Nothing where the cap leaves the rounds no room.
std::optional<Layout> rounds_v(const Problem& problem, const RoundRule& rule);

}  // namespace stepcast::sim::greedy
