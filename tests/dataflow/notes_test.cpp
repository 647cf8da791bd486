// What a plan says and the forecast does not follow is said in the program's notes.
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"

namespace stepcast::dataflow {
namespace {

std::vector<Note> notes_of(const char* line) {
  Plan plan;
  plan.mapping = std::string("mesh tp:2 dp:4\nuse tp, sp, dp, fsdp\n") + line + "\n";
  plan.gpus = 8;
  plan.global_batch = 8;
  const auto program = lower(**find_row(built_in().networks, "llama3-8b", "network"), plan,
      **find_row(built_in().stacks, "megatron-core", "stack"));
  EXPECT_TRUE(program) << to_text(program.error());
  return program->notes;
}

TEST(Notes, PlainPlansHaveNone) { EXPECT_TRUE(notes_of("").empty()); }

TEST(Notes, ChunksAndBucketSizesAreSaid) {
  const auto chunks = notes_of("move norm1.y gather in chunks 4");
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_NE(chunks.front().text.find("not pipelined"), std::string::npos);
  const auto bucket = notes_of("move weights gather bucket 25MB");
  ASSERT_EQ(bucket.size(), 1U);
  EXPECT_NE(bucket.front().text.find("one per block"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::dataflow
