// From typed choices to a completed split: what predict does with its flags and a sweep with each point of its space.
#pragma once

#include <string>

#include "model/base/error.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"
#include "studies/run/split/split.h"
#include "studies/run/split/wishes.h"

namespace stepcast::run {

/// Completed, but neither checked (check_split) nor with layers laid on stages (lay_layers): the schedule with its own
/// chunks, sequence parallelism, vocabulary, dp, micro-batches. Takes any positive wishes.
Split split_of(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack);

/// Does the sequence divide over the ranks that sequence parallelism would split it on?
bool sequence_divides(const SplitWishes& wishes);
/// Do gathered inputs kept for backward change anything in this split? Not without sequence parallelism, nor where
/// backward makes them again.
bool keeps_gathers(const Split& split);
/// Does the stream have pieces that another split of it between stages would save?
bool crosses_repeated(const Split& split);

/// What --layout says of layers on stages, except `balanced`, for which they are laid out nearly evenly: it is weighed
/// when all else is known (balanced_layers). Errors as of given_layers and nearly_even_layers.
Expected<void> lay_layers(Split& split, const LayoutChoice& choice, const NetworkSpec& network,
    const std::string& layout_where, const std::string& stages_where);
/// Layers that are the same number everywhere need no list.
void drop_even_layers(Split& split);

/// "tp 8, cp 1, pp 4, dp 16, sp, zero 1, 1f1b".
std::string in_words(const Split& split);

void set_size(Plan& plan, const SplitSize& size);
/// The checked split as a plan in the notation; `base` brings what a split says nothing about: precision and adapters.
Plan plan_of(const Split& split, const SplitSize& size, Plan base);

}  // namespace stepcast::run
