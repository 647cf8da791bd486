// Knows the programs that start training programs, and what they are told about the size of a job.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "calibrate/import/scripts/launch_line.h"

namespace stepcast::calibrate {

/// An option of a launcher that is a count. `innermost`: it starts the ranks itself, whatever is around it.
struct LaunchOption {
  std::string_view launcher, name;
  std::int64_t LaunchLine::*field;
  bool innermost;
};
/// The row of a launcher's option, or of its first one where `name` is empty; null if none.
const LaunchOption* find_launch_option(std::string_view launcher, std::string_view name);

/// Tells a launcher by the word that calls it, with or without a path.
bool is_launcher(std::string_view word);
/// A program that is no file and whose first word says what it does: "swift" of ms-swift's `swift sft`.
bool is_command_program(std::string_view word);
/// Such a program that starts its ranks itself, as many as NPROC_PER_NODE and NNODES say.
bool starts_ranks_by_environment(std::string_view word);
/// Such a program that starts a rank for each GPU that is there.
bool takes_each_device(std::string_view word);
/// The name that launch options use: "torchrun" of "torch.distributed.run", "srun" of "#SBATCH".
std::string_view launcher_kind(std::string_view word);
/// An option of a launcher that takes no value.
bool is_launcher_switch(std::string_view launcher, std::string_view name);
/// Does its -m name a Python module?
bool names_module(std::string_view launcher);

}  // namespace stepcast::calibrate
