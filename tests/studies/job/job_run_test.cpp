// A job's run on more GPUs and with a larger batch.
#include "studies/job/job_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::job {
namespace {

// A batch has 100,000,000 sequences at most. Ten times 20,000,000 are refused, and not left as they were.
TEST(JobRun, ABatchThatNoRunMayHaveIsNotGrownTo) {
  Request request;
  request.network = choose_network("llama3-8b", "network").value();
  for (const char* key : {"gpus", "tp"}) ASSERT_TRUE(request.say(key, "8", key));
  JobRun now{complete(request).value(), {}, {}, {}};
  now.scenario.plan.global_batch = 20'000'000;
  const auto larger = grown_run(request, now, 1, 10);
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().where, "--global-batch");
  EXPECT_THAT(larger.error().what, testing::HasSubstr("200000000"));
}

}  // namespace
}  // namespace stepcast::job
