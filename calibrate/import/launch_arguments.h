// Command lines that start a training: what the launcher is told (how many GPUs) and what the program is told. From
// shell scripts (variables, arrays, continued lines) or from logs that show the command.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace stepcast {

/// Names without leading dashes, dashes inside as underscores, dots kept ("training.seq_len"); values as written,
/// several words joined by blanks, "true" for a flag without one. Hydra's name=value and +name=value count too.
using ArgumentMap = std::map<std::string, std::string>;

struct LaunchLine {
  std::size_t line = 0;  ///< of the text, from 1
  std::string program;   ///< "pretrain_gpt.py", "torchtitan.train", "run_train.sh", "nemo"
  ArgumentMap arguments;
  ArgumentMap environment;                               ///< NAME=value before the command, names as written
  static constexpr std::int64_t unknown_count = -1;      ///< said by a value that the text does not set
  std::int64_t gpus_per_node = 0, nodes = 0, ranks = 0;  ///< as the launcher is told; 0 = not said
  std::vector<std::string> unknown;  ///< "data_path=$1": values that the text does not set; not in `arguments`

  /// Of the whole job; 0 = not said or unknown. One node where only GPUs of a node are said.
  [[nodiscard]] std::int64_t gpus() const;
};

/// Launchers known: torchrun, torch.distributed.run and .launch, deepspeed, srun (with #SBATCH), mpirun, accelerate,
/// python, torchtitan's run_train.sh (NGPU=), nemo. Commands that run no Python program with arguments are passed over.
/// Fails where a command is cut off inside a quote.
Expected<std::vector<LaunchLine>> find_launches(std::string_view text, const std::string& where);

/// "--num-layers" -> "num_layers".
std::string argument_name(std::string_view written);
/// Letters that names of arguments have: letters, digits, _ . and -.
bool is_argument_letter(char c);

}  // namespace stepcast
