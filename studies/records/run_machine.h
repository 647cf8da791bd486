// The machine of a record: the catalogue's with the same GPU, with the record's node size and bandwidths put in.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "studies/records/run_record.h"

namespace stepcast::records {

struct RunMachine {
  Machine row;
  std::vector<std::string> assumptions;
};

/// Error: a GPU that the catalogue lacks, or one without a machine.
Expected<RunMachine> machine_of(const Run& run);

}  // namespace stepcast::records
