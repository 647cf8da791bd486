// The engine's steps beside the event loop (engine.cpp), one source file each.
#pragma once

#include "sim/schedule/engine.h"

namespace stepcast::engine {

enum Direction { ahead = 0, back = 1 };

/// engine_stages.cpp: fills workspace.stages.
void gather_stages(const Order& order, const StageTimes& times, EngineWorkspace& workspace);

/// in_flight.cpp: fills peak_in_flight and peak_in_flight_stage.
void count_in_flight(const Order& order, Timeline& timeline);

/// deadlock.cpp: who waits for whom, starting at a rank that the run has left stuck.
Error name_deadlock(const Order& order, const EngineWorkspace& workspace);

}  // namespace stepcast::engine
