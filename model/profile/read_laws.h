// Readers of a profile's laws, one row each; profile_read.cpp puts them together. What is wrong in a row is kept by its
// object, and whoever opened the file asks for it at the end.
#pragma once

#include <span>
#include <string>

#include "model/profile/profile.h"
#include "model/profile/profile_names.h"

namespace stepcast {

/// [p10, p90] of measured over predicted times.
Spread read_spread(JsonObject& object, const std::string& key);
HeldOut read_held_out(JsonObject object);

template <typename Law> void read_provenance(JsonObject& object, Law& law) {
  object.choice("source", law.source, source_names);
  law.spread = read_spread(object, "spread");
}

/// What measurements add to a law: a correction over `names`, the interval with it, how well it forecast.
void read_refinement(JsonObject& object, Refinement& refinement, Spread of_law, std::span<const char* const> names);
/// A step knows neither the heads of an attention nor the rows of an operator, and experts are products to it.
void require_kernels_only(JsonObject& object, const Refinement& refinement);

RooflineLaw read_roofline(JsonObject& object, std::span<const char* const> names);
AttentionLaw read_attention(JsonObject object);
ScanLaw read_scan(JsonObject& object);
HyperConnectionLaw read_hyper_connection(JsonObject& object);
MemoryLaw read_memory(JsonObject object);

EngineAllReduce read_all_reduce(JsonObject& object);
EngineExchange read_exchange(JsonObject& object);
CollectiveCurve read_curve(JsonObject& object);
CollectiveGrowth read_growth(JsonObject& object);
ScaleOutLaw read_scale_out(JsonObject& object);

}  // namespace stepcast
