// Finds the results of repeated runs: numbers of the file itself, a field of JSON files, the settled step of training
// logs, or what a regular expression finds in texts. One file is one run: steps of one log are no repeats, because what
// makes a run slow (its nodes, its clocks, its neighbours) stays the same over all of them.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/gate/gate_file.h"

namespace stepcast::gate {

/// What a step holds, where a log or a unit has rates instead of times; 0 = not known.
struct StepWork {
  double samples = 0, tokens = 0, gpus = 0;
};

struct FoundResults {
  std::vector<double> seconds;     ///< for one thing (studies/gate/gate_file.h), one for each run
  std::vector<std::string> files;  ///< of each, "" for numbers
  std::vector<std::string> notes;
};

/// `folder`: what names of files are beside; `own`: the folder where `gate run` puts what this case writes. No file is
/// no error. Errors: a file that cannot be read, a field or a pattern that is not there or is no number above zero, a
/// pattern without exactly one group, several numbers where `take` does not say which.
Expected<FoundResults> find_results(
    const ResultPlace& place, const std::string& folder, const std::string& own, const StepWork& work);

/// Files of a name with * and ?, in order of their names and of the numbers in them.
std::vector<std::string> matching_files(const std::string& folder, const std::string& pattern);

}  // namespace stepcast::gate
