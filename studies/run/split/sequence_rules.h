// Rules of a split that positions obey: those of the sequence and of an encoder, over cp, tp and stages.
#pragma once

#include "studies/run/split/split.h"

namespace stepcast::run {

/// What a rule looks at.
struct BrokenSplit {
  const Split& split;
  const SplitSize& size;
  const NetworkSpec& network;
  const SplitOrigin& origin;
};

bool positions_fit(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error positions_error(const BrokenSplit& a);
/// Sequences in which every query sees all keys before it, where longer ones have picked blocks.
bool keys_seen(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error keys_error(const BrokenSplit& a);

bool sequence_fits(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error sequence_error(const BrokenSplit& a);

bool context_heads_fit(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error context_heads_error(const BrokenSplit& a);

bool window_goes_round(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error window_error(const BrokenSplit& a);

bool encoder_reaches(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error encoder_error(const BrokenSplit& a);

bool encoder_fits(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error encoder_length_error(const BrokenSplit& a);

bool encoder_heads_fit(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error encoder_heads_error(const BrokenSplit& a);

bool boundary_fits(const Split& split, const SplitSize& size, const NetworkSpec& network);
Error boundary_error(const BrokenSplit& a);

}  // namespace stepcast::run
