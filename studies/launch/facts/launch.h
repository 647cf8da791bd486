// Holds a launch as somebody wrote it: a script, a command line or a configuration file is taken apart, but has no
// meaning yet.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_arguments.h"
#include "studies/launch/facts/framework.h"
#include "studies/run/field_id.h"

namespace stepcast::launch {

/// Where the words behind -- stand.
constexpr const char* words_alone = "command line";

struct Launch {
  const Framework* framework = nullptr;
  std::string where;  ///< the file, or words_alone
  /// id of a release of the framework's table; "" = the newest that knows the arguments
  std::string release;
  std::vector<GivenArgument> arguments;  ///< in their order; the last of a name counts, as argparse has it
  ArgumentMap environment;               ///< set in the script or in front of the command
  std::int64_t gpus = 0, gpus_per_node = 0, logged_batch = 0;  ///< as the launcher, or a log, says; 0 = not said
  std::string device;                                          ///< the GPU's name where a log prints it
  std::string gpu_kind;                                        ///< "mi250" where the job asks for such GPUs
  std::string untold_gpus;                                     ///< of `notes`, why their number is not known
  std::string program;                                         ///< "pretrain_gpt.py"; "" where none is named
  std::vector<std::string> notes;                              ///< what was chosen or left out in reading
  std::string adapted;                                         ///< projections with adapters, as --lora-on takes them
  std::set<FieldId> told;                                      ///< by flags beside the launch
  bool short_weights = false;       ///< weights are loaded in 16 bits, and no engine keeps copies of them in 32
  std::vector<std::string> unread;  ///< files that it names and that are not there
  /// "run.sh:3 --max_length 2048" where that bounds samples, and batches are as long as their longest; "" = it is the
  /// length of every sequence
  std::string bound;
  std::string lost;                     ///< of `unread`, the one that has the program's own arguments; "" = none
  std::vector<std::string> unfollowed;  ///< what its script does that is not followed

  /// The one that counts; null where it was not given.
  [[nodiscard]] const GivenArgument* find(std::string_view name) const;
  /// Is it that one? `given` is of `arguments`.
  [[nodiscard]] bool counts(const GivenArgument& given) const { return find(given.name) == &given; }
};

/// "run.sh:12 --micro-batch-size".
std::string place_of(const Launch& launch, const GivenArgument& given);

/// Does `name` end in `part`, whole or behind a dot?
bool names_argument(std::string_view name, std::string_view part);

/// The same without one argument, so that the framework's own default holds.
Launch without(Launch launch, std::string_view name);

}  // namespace stepcast::launch
