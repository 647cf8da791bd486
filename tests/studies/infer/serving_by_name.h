// Engines that tests name, and parts of their iterations by label.
#pragma once

#include <gtest/gtest.h>

#include "studies/infer/phases.h"
#include "studies/infer/serving.h"

namespace stepcast::infer {

inline Serving served(const ServingWishes& wishes) {
  auto made = serving_of(wishes);
  EXPECT_TRUE(made) << to_text(made.error());
  return std::move(*made);
}

inline Serving serving(
    const std::string& network, const std::string& machine, std::int64_t tp, const char* engine = "vllm") {
  ServingWishes wishes;
  wishes.network = network, wishes.machine = machine, wishes.engine = engine, wishes.tp = tp;
  return served(wishes);
}

inline sim::IterationTime iterate(const Serving& serving, const sim::Rows& rows) {
  return ServingCost(serving).time(rows);
}

/// Null: no part has the label.
inline const sim::IterationPart* part_of(const sim::IterationTime& iteration, const std::string& label) {
  for (const sim::IterationPart& part : iteration.parts)
    if (part.label == label) return &part;
  return nullptr;
}

}  // namespace stepcast::infer
