// Sentences of several forecasts, gathered.
#include "studies/print/shared_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::print {
namespace {

// "all" is said by the three; "hot" by both of group h, "cold" by one of them, "late" by one of h and all of group a.
TEST(SharedNotes, EachOnceWithWhoSaysIt) {
  const std::vector<NotesOf> all = {{"8 x h", "h", {"hot", "all", "cold", "hot"}},
      {"16 x h", "h", {"all", "hot", "late"}}, {"8 x a", "a", {"late", "all"}}};
  EXPECT_THAT(to_texts(shared_notes(all)), testing::ElementsAre("h: hot", "all", "8 x h: cold", "16 x h, a: late"));
  EXPECT_TRUE(shared_notes({}).empty());
}

TEST(SharedNotes, OneAloneNeedsNoName) {
  EXPECT_THAT(to_texts(shared_notes({{"h", "h", {"a", "b"}}})), testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace stepcast::print
