// stepcast serve: an engine under load, forecast.
#pragma once

#include <optional>
#include <span>

#include "model/base/error.h"
#include "model/engine.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::serve {

struct Question;
/// What flags ask. Errors: those that miss a part of the load, or say it in more than one way.
Expected<Question> question_of(const Arguments& arguments);

/// Rows that a launch has of its own, each for its pool. `told_exchange`: flags say how both exchange rows of experts.
void put_rows(
    const std::optional<Engine>& row, const std::optional<Engine>& prompt_row, bool told_exchange, Question& question);

Expected<void> serve_command(const Arguments& arguments, Console& console);
std::span<const Flag> serve_flags();

}  // namespace stepcast::serve
