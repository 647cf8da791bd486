// How often every level reads and writes every tensor, exactly, from the loops alone.
// A level's tile of a tensor is the set of elements that everything from its rounds in time inwards touches, for one
// instance and one round of the loops outside. A tile moves when it changes: of the new tile, only what the one just
// before it did not hold. For tensor T and the step from a level l that keeps it to the next level c inside that does
// (or the multiply-add, which holds nothing and reads every time):
//   fills(c)  = new elements, summed over the rounds outside c;
//   reads(l)  = the same for all units under one instance of l together, elements that several units get in the same
//               round counted once (a multicast);
//   updates(l) = the same for the output: every element that a unit held is summed into l once per stay, units that
//               hold the same element in the same round together;
//   reads(l) of the output = updates(l) less the elements that l's instance holds at all: a first write reads nothing;
//   refills(c) = fills(c) of the output = stays at c less the elements that c's instance holds at all.
// For whole tiles without windows this is Timeloop's nest analysis (Parashar et al., ISPASS 2019): tile x units that
// need different parts x rounds, where the innermost rounds that T does not depend on cost nothing.
// Short last rounds run as short as they are; a unit that has nothing to do in a round keeps what it holds.
#pragma once

#include "dataflow/chip/count/nest.h"

namespace stepcast::dataflow {

/// Sums over dims of closed forms: no allocation, whatever the extents. Only windows over dims with short rounds, and
/// windows with gaps inside, are walked along their own index; Timeloop's way looks at every unit.
void count(const Nest& nest, Counts& counts);

}  // namespace stepcast::dataflow
