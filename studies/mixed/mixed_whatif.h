// stepcast whatif on machines of several kinds: the levers of each kind's machine by itself, what joins the kinds, the
// plan's numbers, and how many GPUs of each kind there are. Layers and micro-batches are dealt anew each time.
#pragma once

#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/mixed/mixed_run.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::mixed {

/// What is compared of a forecast: memory is the most of any stage, and what its kind has of it.
Outcome outcome_of(const MixedRun& run);

/// Errors: the run itself cannot be forecast.
Expected<Sensitivity> sensitivity_of_kinds(const MixedRequest& asked, double factor, const Console& console);

/// `stepcast whatif` on one machine or on several kinds.
Expected<void> whatif_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::mixed
