// stepcast serve: an engine under load, forecast.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/base/error.h"
#include "model/engine.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::serve {

/// Requests of a load that nobody counts: of each user ten, as benchmarks of serving do (InferenceX
/// utils/bench_serving), of a replica at a rate a thousand. Each is kept until the end: no more than `most_requests`.
inline constexpr std::int64_t requests_of_user = 10, requests_of_replica = 1000, most_requests = 3'000'000;

struct Question;
/// What flags ask. Errors: those that miss a part of the load, or say it in more than one way.
Expected<Question> question_of(const Arguments& arguments);

/// Rows that a launch has of its own, each for its pool. `told_exchange`: flags say how both exchange rows of experts.
void put_rows(
    const std::optional<Engine>& row, const std::optional<Engine>& prompt_row, bool told_exchange, Question& question);

Expected<void> serve_command(const Arguments& arguments, Console& console);
std::span<const Flag> serve_flags();

}  // namespace stepcast::serve
