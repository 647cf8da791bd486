// Takes the lines of a training log apart into their figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::calibrate {

/// A line of a log or file, without what terminals, torchrun and srun put around it.
struct LogLine {
  std::size_t number = 0;  ///< in the file, from 1
  std::string text;
};

/// At line feeds and carriage returns (progress bars write over their line), without terminal colours and without what
/// launchers put in front: "0: " (srun --label), "[default3]:", "[rank0]:" (torchrun --tee).
std::vector<LogLine> log_lines(std::string_view text);

/// A figure behind its label. Cut: the line ends in the label or with the figure, so that digits may be missing.
struct LogFigure {
  double value = 0;
  bool cut = false, present = false;

  /// The number without fraction, within what counts: a broken line may hold any number.
  [[nodiscard]] std::int64_t whole() const {
    constexpr double most = 1e15;
    return static_cast<std::int64_t>(std::clamp(value, -most, most));
  }
};
/// The first number after `label`; thousands separators ("7,123") are taken. `open_end`: the figure may end the line.
LogFigure figure_after(std::string_view line, std::string_view label, bool open_end = false);

/// "2025-06-12" as the line begins with or has in brackets; "" where it has none.
std::string date_in(std::string_view line);

}  // namespace stepcast::calibrate
