// The share of a job's time that goes into steps which last. Failures are a Poisson process in the time that the job is
// up: it computes, saves or restarts. Each sends it back to a checkpoint; a failure during a restart begins it again.
// The laws are exact for this process (derivations beside them in goodput.cpp).
#pragma once

#include <cstdint>

#include "model/base/units.h"

namespace stepcast::sim {

/// How often a job fails and what it takes to go on.
struct FailureCosts {
  double per_second = 0;  ///< failures of the whole job
  Seconds detect;         ///< from a failure until the restart begins
  Seconds restart;        ///< from there until the first step runs, the checkpoint read from storage
  /// share of failures after which the last checkpoint in memory is still whole, and the restart from it
  double soft = 0;
  Seconds soft_restart;
  [[nodiscard]] Seconds mean_between() const { return Seconds(1 / per_second); }
};

/// When state is saved. Of `per_stored` saves the last goes to storage, the others stay in memory; 1: all are stored.
struct Saves {
  Seconds interval;  ///< of computing, from one save to the next
  Seconds store;     ///< steps stand still for a save to storage
  Seconds settle;    ///< from the end of that until it is safe: it is written while steps go on
  std::int64_t per_stored = 1;
  Seconds keep;  ///< steps stand still for a save to memory
};

/// Shares of the time that the job is up; they sum to 1.
struct UpShares {
  double useful = 0;      ///< steps that need not be done again: the goodput
  double saving = 0;      ///< steps stand still for saves that last
  double lost = 0;        ///< work that failures undo, with its saves
  double detecting = 0;   ///< nobody has noticed yet
  double restarting = 0;  ///< until the first step runs
};

/// `settle` must not be longer than the time from one stored save to the next. Without failures: no loss but saves.
UpShares up_shares(const FailureCosts& failures, const Saves& saves);
inline double goodput(const FailureCosts& failures, const Saves& saves) { return up_shares(failures, saves).useful; }

/// Of Meta's research clusters (Kokolis et al. 2024, arXiv 2410.21680, section on ETTR):
///   ETTR = (1 - f (restart + interval / 2)) / (1 + save / interval), f failures per second.
/// It is of first order in the loss per failure. `loss` is f (restart + interval / 2); up to `most_loss` it is within 3
/// points of the exact law (goodput_test.cpp), and beyond that it goes on to nonsense below 0.
struct FirstOrderGoodput {
  static constexpr double most_loss = 0.2;
  double value = 0, loss = 0;
  [[nodiscard]] bool in_range() const { return loss <= most_loss; }
};
FirstOrderGoodput first_order_goodput(double failures_per_second, Seconds interval, Seconds save, Seconds restart);

}  // namespace stepcast::sim
