// The space of a sweep: nouns and numbers that stay, and axes with their values. A configuration is a number, read
// digit by digit (mixed radix, AxisId order, the last axis fastest), so that any range of numbers is a part of the
// work.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/run/request.h"
#include "studies/sweep/space/axes.h"

namespace stepcast::sweep {

/// Takes back what the request says of axes, which have values of their own.
void unsay_axes(Request& request);

using Digits = std::array<std::uint16_t, axis_count>;

struct Space {
  Request request;  ///< network, machine, stack, profile and every key that has one value
  std::array<std::vector<std::string>, axis_count> values;    ///< at least one each
  std::array<std::vector<std::int64_t>, axis_count> numbers;  ///< the same where the axis is of numbers
  std::int64_t global_batch = 1, sequence = 1;                ///< of all configurations
  bool tiers = false;                                         ///< the tier axes decide the order of the mesh
  std::string objective = "step_time";                        ///< name of a figure, as are those of pareto
  /// the constraint as given, unread, and where it was given
  std::string where, where_origin = "--where";
  std::vector<std::string> pareto;  ///< empty: no front
  double price_per_gpu_hour = 0;    ///< US dollars; 0 = not said
  std::uint64_t top = 10;
  bool top_said = false;  ///< otherwise a page may list more

  [[nodiscard]] std::uint64_t size() const;
  /// Numbers that share all digits up to and including `axis`: how far apart its values lie.
  [[nodiscard]] std::uint64_t stride(AxisId axis) const;
  [[nodiscard]] Digits digits(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t index(const Digits& digits) const;
  [[nodiscard]] const std::string& value(const Digits& digits, AxisId axis) const {
    return values[static_cast<std::size_t>(axis)][digits[static_cast<std::size_t>(axis)]];
  }
  [[nodiscard]] std::int64_t number(const Digits& digits, AxisId axis) const {
    return numbers[static_cast<std::size_t>(axis)][digits[static_cast<std::size_t>(axis)]];
  }
};

constexpr std::uint64_t largest_space = std::uint64_t{1} << 62;

/// From the command line: NETWORK or scenario file, run flags, axes, and --space FILE, over which flags win. A space
/// file is
///   { "network": "gpt3-175b", "machine": "dgx-a100", "global_batch": 64, "sequence": 2048,
/// "axes": { "gpus": 64, "tp": "all", "pp": [1, 2, 4, 8], "recompute": ["none", "full"], "tp_tier": ["node", "cluster"]
/// },
/// "where": "memory.peak < 70 GiB", "objective": "step_time", "pareto": ["step_time", "memory.peak"], "top": 10,
/// "price": 2.5 } with any key of a scenario file beside "axes". --gpus and --global-batch are required; a mapping is
/// refused. Keys and axes with one value that somebody said are in the request too, "auto" and tiers apart. Errors:
/// what a scenario's would be, unknown axes, empty lists, more than 2^62 configurations.
Expected<Space> read_space(const Arguments& arguments);
/// The same on this machine, whatever the command line names.
Expected<Space> read_space_on(const Chosen<Machine>& machine, const Arguments& arguments);

}  // namespace stepcast::sweep
