// A space as it was written, before its axes have values: words of the command line over those of a space file.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/error.h"
#include "studies/arguments.h"
#include "studies/request.h"
#include "studies/sweep/axes.h"
#include "studies/sweep/space.h"

namespace stepcast {

/// What was said of an axis, and where: "--tp", "space.json:/axes/tp".
struct AxisWords {
  std::vector<std::string> texts;
  std::string where;
};

struct SpaceWords {
  Request request;                       ///< without keys that are axes
  std::array<std::optional<AxisWords>, axis_count> axes;
  std::optional<Request::Value> objective, where, top, price;
  std::optional<AxisWords> pareto;

  [[nodiscard]] std::optional<AxisWords>& axis(AxisId id) { return axes[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::optional<AxisWords>& axis(AxisId id) const { return axes[static_cast<std::size_t>(id)]; }
};

/// The text of a space file; a network named on the command line stands in for the file's. Errors point into the file.
Expected<SpaceWords> read_space_file(const std::string& text, const std::string& where, const std::optional<Chosen<NetworkSpec>>& network);

/// NETWORK, --space and flags. Errors: no network, a key said in two places of a file, a scenario file beside --space, a mapping.
Expected<SpaceWords> read_space_words(const Arguments& arguments);

/// The space that the words say, as read_space() makes it of a command line's.
Expected<Space> read_space(SpaceWords words);

}  // namespace stepcast
