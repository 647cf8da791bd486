// Writes the command that forecasts one configuration of a sweep again, ready for a shell.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "studies/cli/arguments.h"
#include "studies/run/request.h"
#include "studies/sweep/price/points.h"

namespace stepcast::sweep {

class PredictLine {
 public:
  /// Writes lines for the sweep that `arguments` asked for.
  PredictLine(const Arguments& arguments, const Space& space, SpacePoints& points);
  /// "stepcast predict llama3-70b --machine dgx-h100 --global-batch 1024 --gpus 512 --tp 8 --pp 4 ...", without what
  /// predict, or the scenario file of the sweep, says by itself. Nouns that a space file holds in full stand as
  /// NETWORK.json, MACHINE.json, ...: they have to be put into files.
  [[nodiscard]] std::string of(std::uint64_t index) const;

 private:
  void add(std::string& text, std::string_view flag, std::string_view key, const std::string& value,
      const std::string& usual) const;
  /// What predict takes where neither the line nor the scenario file says it; "" where that is not sure.
  [[nodiscard]] std::string usual_value(const AxisRow& axis, const SplitWishes& wishes) const;

  std::string nouns_, behind_, precision_;
  /// by whether weights lie in shards: --stack, where nobody named the software and predict takes another than all of
  /// the space has
  std::array<std::string, 2> software_;
  Request::Said said_;  ///< by the scenario file
  const Space& space_;
  const SpacePoints& points_;
};

}  // namespace stepcast::sweep
