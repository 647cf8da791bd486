// One command that starts a training: what the launcher is told (how many GPUs) and what the program is told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stepcast::calibrate {

/// Names without leading dashes, dashes inside as underscores, dots kept ("training.seq_len"); values as written,
/// several words joined by blanks, "true" for a flag without one. Hydra's name=value and +name=value count too.
using ArgumentMap = std::map<std::string, std::string>;

/// One argument as it was given. Its value is as in ArgumentMap, with what could not be put in left as it was written.
struct GivenArgument {
  std::string name;     ///< as in ArgumentMap
  std::string spelled;  ///< "--tensor-model-parallel-size"
  std::string value;
  std::size_t line = 0;            ///< of the text, from 1
  std::vector<std::string> unset;  ///< variables in it that nothing sets: "GLOBAL_BATCH", "1"
  std::string file = {};           ///< where it stands in another file than the launch: that, and `line` is its line
};

/// A file that the script writes itself (cat <<EOT > NAME).
struct LaunchFile {
  std::string name, text;  ///< ${NAME} in the text is a variable that nothing sets
  std::size_t line = 0;    ///< of the script, where its text begins
  std::vector<std::string> unset;
};

struct LaunchLine {
  std::size_t line = 0;  ///< of the text, from 1
  std::string program;   ///< "pretrain_gpt.py", "torchtitan.train", "run_train.sh", "nemo"
  bool script = false;   ///< it is a shell script that is not at hand
  bool wrapped = false;  ///< another program starts its launcher, on as many nodes as that one likes
  ArgumentMap arguments;
  std::vector<GivenArgument> given;                  ///< all of them in their order, also those with unknown values
  std::vector<GivenArgument> positional;             ///< words of the program in front of its options: `value`, no name
  std::string gpu_kind;                              ///< "mi250" of --gpus-per-node=mi250:8, as the job asks for it
  std::string launcher;                              ///< the innermost: "torchrun", "accelerate"
  std::vector<GivenArgument> launcher_given;         ///< its options
  ArgumentMap environment;                           ///< NAME=value before the command, names as written
  ArgumentMap exported;                              ///< what the script exports before it
  std::vector<LaunchFile> files;                     ///< all that the script writes
  std::vector<std::string> sourced;                  ///< scripts that it reads into itself and that are not at hand
  std::vector<std::string> unfollowed;               ///< what it does that is not followed: "line 4 shifts ..."
  std::map<std::string, std::size_t> open;           ///< variables that decide a condition and that nothing sets
  std::map<std::string, std::size_t> changed;        ///< names of files that it changes in place: the line
  std::vector<std::string> notes;                    ///< how values came about, where that is not sure
  std::map<std::string, std::size_t> unclosed;       ///< variables it uses whose quotes do not close: the line
  static constexpr std::int64_t unknown_count = -1;  ///< said by a value that the text does not set
  std::int64_t gpus_per_node = 0, nodes = 0, ranks = 0;  ///< as the launcher is told; 0 = not said
  std::int64_t node_gpus = 0;                            ///< GPUs of a node that the job asks for, whoever starts ranks
  std::string doubted;                                   ///< why those counts are not the run's: "" where they may be
  std::vector<std::string> unknown;  ///< "data_path=$1": values that the text does not set; not in `arguments`

  /// Of the whole job; 0 = not said or unknown. One node where only GPUs of a node are said.
  [[nodiscard]] std::int64_t gpus() const {
    if (!doubted.empty()) return 0;
    if (ranks > 0) return ranks;
    if (nodes < 0 || gpus_per_node <= 0 || (ranks < 0 && nodes == 0)) return 0;
    return gpus_per_node * std::max<std::int64_t>(1, nodes);
  }
};

}  // namespace stepcast::calibrate
