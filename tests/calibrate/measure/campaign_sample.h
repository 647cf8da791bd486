// A small plan and its campaign on the fake GPU, for tests.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "calibrate/measure/campaign.h"
#include "calibrate/measure/campaign_context.h"
#include "tests/calibrate/measure/fake_gpu.h"

namespace stepcast::calibrate {

inline PlannedWork planned_for_test(const Query& what, WorkMode mode = WorkMode::sampled, double duration = 0) {
  PlannedWork planned;
  planned.mode = mode;
  planned.works = {fake_work(what)};
  planned.duration = Seconds(duration);
  planned.estimate = Seconds(0.2 + duration);
  return planned;
}

/// Four products, a warm copy, a copy beside a product, a launch, half a second without rest, a layer, and one product
/// again: nine rows. The answers of the fake GPU take about 1.9 s.
inline CampaignRequest small_campaign() {
  CampaignRequest request;
  request.gpu = "h100-sxm";
  request.date = "2026-11-21";
  request.plan.budget = Seconds(20);
  auto& works = request.plan.works;
  for (const double size : {1024, 2048, 4096, 8192}) works.push_back(planned_for_test(GemmQuery{size, size, size, 1}));
  const MemoryQuery copy{find_memory_op("copy"), 1024, 2048, 2};
  works.push_back(planned_for_test(copy));
  works.push_back(planned_for_test(copy));
  works.back().works.front().warm = true;
  works.push_back(planned_for_test(copy));
  works.back().works.front().beside = GemmQuery{8192, 8192, 8192, 1};
  works.push_back(planned_for_test(LaunchQuery{LaunchKind::graph_kernel}));
  works.push_back(planned_for_test(GemmQuery{8192, 8192, 8192, 1}, WorkMode::sustained, 0.5));
  works.push_back(planned_for_test(GemmQuery{8192, 8192, 8192, 1}, WorkMode::alternating, 0.3));
  works.back().works.push_back(fake_work(copy));
  works.push_back(planned_for_test(GemmQuery{4096, 4096, 4096, 1}, WorkMode::repeat));
  for (const PlannedWork& work : works) request.plan.estimate += work.estimate;
  return request;
}
inline constexpr std::size_t rows_of_small_campaign = 9;

/// The rows by their names.
inline std::multiset<std::string> row_keys(const Measurements& measurements) {
  std::multiset<std::string> keys;
  for (const Measurement& row : measurements.rows)
    keys.insert(row_key(row.what, measurements.contexts.at(static_cast<std::size_t>(row.context))));
  return keys;
}

}  // namespace stepcast::calibrate
