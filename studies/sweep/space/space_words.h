// A space as it was written, before its axes have values: words of the command line over those of a space file.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/run/request.h"
#include "studies/sweep/space/axes.h"
#include "studies/sweep/space/space.h"

namespace stepcast::sweep {

/// What was said of an axis, and where: "--tp", "space.json:/axes/tp".
struct AxisWords {
  std::vector<std::string> texts;
  std::string where;
};

struct SpaceWords {
  Request request;  ///< without keys that are axes
  std::array<std::optional<AxisWords>, axis_count> axes;
  std::optional<Request::Value> objective, where, top, price;
  std::optional<AxisWords> pareto;
  std::optional<Request> own;  ///< a launch as it stands, whose ways are tried beside the usual ones

  [[nodiscard]] std::optional<AxisWords>& axis(AxisId id) { return axes[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::optional<AxisWords>& axis(AxisId id) const { return axes[static_cast<std::size_t>(id)]; }
};

/// The text of a space file; a network named on the command line stands in for the file's. Errors point into the file.
Expected<SpaceWords> read_space_file(
    const std::string& text, const std::string& where, const std::optional<Chosen<NetworkSpec>>& network);

/// The usual values of every axis, and the run's own: an uneven layout, an order, a way of cp that sweeps leave alone
/// unless told.
SpaceWords with_own_values(SpaceWords words, const Space& usual, const Request& own);

/// NETWORK, --space and flags. Errors: no network, a key said in two places of a file, a scenario file beside --space,
/// a mapping.
Expected<SpaceWords> read_space_words(const Arguments& arguments);

/// The command line without lists of values, which a launch is not read with; of what it may leave to its reader the
/// first one ("8" of "8,16" and of "8..64*2").
Arguments without_axes(Arguments arguments);

/// The space that the words say, as read_space() makes it of a command line's.
Expected<Space> read_space(SpaceWords words);

}  // namespace stepcast::sweep
