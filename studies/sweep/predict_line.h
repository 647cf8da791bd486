// The command that forecasts one configuration of a sweep again, ready for a shell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "studies/arguments.h"
#include "studies/sweep/points.h"

namespace stepcast {

/// A word as a POSIX shell reads it back: in single quotes where it has to be.
std::string shell_word(std::string_view word);

class PredictLine {
 public:
  /// Of the sweep that `arguments` asked for.
  PredictLine(const Arguments& arguments, const Space& space, SpacePoints& points);
  /// "stepcast predict llama3-70b --machine dgx-h100 --global-batch 1024 --seq 8192 --gpus 512 --tp 8 ...". Nouns that a space file
  /// holds in full stand as NETWORK.json, MACHINE.json, ...: they have to be put into files.
  [[nodiscard]] std::string of(std::uint64_t index) const;

 private:
  std::string nouns_;
  const Space& space_;
  const SpacePoints& points_;
};

}  // namespace stepcast
