// What callers add to an error: where the value was said, and what else helps.
#include <gtest/gtest.h>

#include "model/errors/error_context.h"

namespace stepcast {
namespace {

Error cap() { return {"memory-cap", "3 is too little", "memory-cap 4 or more"}; }

TEST(ErrorContext, APlaceHasItsCallersNameAndSoHasTheHint) {
  EXPECT_EQ(to_text(renamed_place(cap(), "memory-cap", "run.json:/memory_cap")),
      "run.json:/memory_cap: 3 is too little (run.json:/memory_cap 4 or more)");
  EXPECT_EQ(to_text(renamed_place(cap(), "memory", "--memory")), to_text(cap()));
  // A name that only begins as the hint does is another one.
  EXPECT_EQ(renamed_place({"group", "", "groups of 4"}, "group", "--group").hint, "groups of 4");
}

TEST(ErrorContext, WhatWasFoundStaysWhereverItIsSaid) {
  EXPECT_EQ(to_text(error_at("--cap", cap())), "--cap: 3 is too little (memory-cap 4 or more)");
  EXPECT_EQ(error_in("a.json", cap()).where, "a.json: memory-cap");
  EXPECT_EQ(error_in("a.json", {"", "is empty", ""}).where, "a.json");
  EXPECT_EQ(error_about("zb-h1", cap()).what, "zb-h1: 3 is too little");
}

TEST(ErrorContext, TextsInsideFilesHaveOnePointer) {
  EXPECT_EQ(
      at_one_pointer({"run.json:/network:/layers", "", ""}, "run.json:/network").where, "run.json:/network/layers");
  EXPECT_EQ(at_one_pointer({"run.json:/network", "", ""}, "run.json:/network").where, "run.json:/network");
  EXPECT_EQ(renamed_front({"part line 3:1:7", "", ""}, "part line 3:1:", "part line 3 column ").where,
      "part line 3 column 7");
}

TEST(ErrorContext, HintsAreAddedOrReplacedAndNeverLost) {
  EXPECT_EQ(with_more_hint(cap(), "or another schedule").hint, "memory-cap 4 or more; or another schedule");
  EXPECT_EQ(with_more_hint({"", "", ""}, "stepcast list gpus").hint, "stepcast list gpus");
  EXPECT_EQ(with_more_hint(cap(), "").hint, cap().hint);
  EXPECT_EQ(with_hint(cap(), "--global-batch 16").hint, "--global-batch 16");
  EXPECT_EQ(with_hint(cap(), "").hint, cap().hint);
}

}  // namespace
}  // namespace stepcast
