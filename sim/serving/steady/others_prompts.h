// How the prompts of other sequences come to iterations: in which share of them there are some, how many together, and
// how long one waits for room.
#pragma once

namespace stepcast::sim {

/// Of iterations, or of the gaps between them.
struct Bunches {
  double share = 0;  ///< that have prompts
  double each = 1;   ///< prompts of one group there: of the group that has most
};

/// Of so many groups, with a mean number of prompts to each of them, all by a Poisson law.
Bunches poisson_bunches(double mean, double groups);

/// More come in longer iterations, and those are longer for the prompts of the last: the number in one depends on the
/// number in the one before by `more`, so that its variance is mean / (1 - more^2), and it is 0 as often as in a
/// negative binomial law of this mean and variance. A router spreads them over groups.
Bunches arriving_bunches(double mean, double groups, double more);

/// Iterations that a prompt waits for room: of a queue with `most` servers whose service is one iteration, or of one
/// whose service takes several (Sakasegawa 1977, Annals of the Institute of Statistical Mathematics 29, 67-75; halved
/// as services are all as long).
double waits_for_room(double load, double most);

/// Of a closed loop: iterations of a cycle with `least` of them and so many others, `most` of whose prompts an
/// iteration has room for: x = least + waits(others / most / x).
double iterations_of_cycle(double least, double others, double most);

}  // namespace stepcast::sim
