#include "studies/cli/arguments.h"
#include "studies/launch/run_flags.h"
#include "studies/run/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Expected<Arguments> typed(const std::vector<std::string>& words) {
  return parse_arguments(run_flags(), 1, 1, "stepcast predict NETWORK [flags]", words);
}

TEST(Arguments, WordsAndFlagsInAnyOrder) {
  const auto arguments = typed({"--tp", "8", "llama3-70b", "--json", "--pp=4"});
  ASSERT_TRUE(arguments) << to_text(arguments.error());
  EXPECT_THAT(arguments->words, ElementsAre("llama3-70b"));
  EXPECT_EQ(arguments->flags.at("--tp"), "8");
  EXPECT_EQ(arguments->flags.at("--pp"), "4");
  EXPECT_TRUE(arguments->has("--json"));
  EXPECT_FALSE(arguments->has("--explain"));
  EXPECT_THAT(typed({"--json", "--", "llama3-70b"})->words, ElementsAre("llama3-70b"));
}

TEST(Arguments, ValuesOfAFlagThatRepeatsStayAsTyped) {
  const auto arguments = typed({"llama3-70b", "--define", "GPUS=0,1", "--define=TP=8"});
  ASSERT_TRUE(arguments) << to_text(arguments.error());
  EXPECT_THAT(arguments->values("--define"), ElementsAre("GPUS=0,1", "TP=8"));
  EXPECT_THAT(arguments->values("--tp"), testing::IsEmpty());
}

TEST(Arguments, AFlagOfOtherProgramsSuggestsTheOneThatMeansTheSame) {
  const std::pair<const char*, const char*> others[] = {{"--mbs", "--micro-batch"}, {"--gbs", "--global-batch"},
      {"--batch", "--global-batch"}, {"--fsdp", "--zero 3"}, {"--vpp", "--chunks"},
      {"--mixed-precision", "--precision"}};
  for (const auto& [theirs, ours] : others) {
    const auto arguments = typed({"llama3-70b", theirs, "8"});
    ASSERT_FALSE(arguments) << theirs;
    EXPECT_EQ(arguments.error().hint, std::string("did you mean '") + ours + "'?");
  }
  // A command without such a flag goes by letters.
  constexpr Flag flags[] = {{.name = "--bath", .key = "", .value = "N", .group = "", .doc = ""}};
  const auto by_letters = parse_arguments(flags, 0, 0, "", {"--batch", "8"});
  ASSERT_FALSE(by_letters);
  EXPECT_EQ(by_letters.error().hint, "did you mean '--bath'?");
}

TEST(Arguments, UnknownFlagSuggestsTheNearest) {
  const auto arguments = typed({"llama3-70b", "--global-bach", "64"});
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error().where, "--global-bach");
  EXPECT_THAT(arguments.error().hint, HasSubstr("--global-batch"));
}

TEST(Arguments, MissingValueNamesWhatTheFlagTakes) {
  for (const std::vector<std::string>& words :
      {std::vector<std::string>{"llama3-70b", "--tp"}, {"llama3-70b", "--tp", "--pp", "2"}}) {
    const auto arguments = typed(words);
    ASSERT_FALSE(arguments);
    EXPECT_EQ(arguments.error().where, "--tp");
    EXPECT_EQ(arguments.error().what, "needs a value");
  }
}

TEST(Arguments, NegativeValueIsAValueOutOfRange) {
  const auto arguments = typed({"llama3-70b", "--tp", "-1"});
  ASSERT_FALSE(arguments);
  EXPECT_EQ(to_text(arguments.error()), "--tp: -1 is out of range (a whole number from 1 to 32768)");
}

TEST(Arguments, TwiceIsRefused) {
  const auto arguments = typed({"llama3-70b", "--tp", "2", "--tp", "4"});
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error().where, "--tp");
  EXPECT_THAT(arguments.error().what, HasSubstr("2 times"));
}

TEST(Arguments, TooFewAndTooManyWords) {
  EXPECT_THAT(typed({"--tp", "2"}).error().hint, HasSubstr("usage: stepcast predict"));
  EXPECT_THAT(typed({"a", "b"}).error().what, HasSubstr("unexpected argument 'b'"));
}

TEST(Arguments, EveryFlagRecordIsDocumentedAndFound) {
  for (const Flag& flag : run_flags()) {
    EXPECT_FALSE(flag.doc.empty()) << flag.name;
    EXPECT_TRUE(flag.name.starts_with("--"));
    EXPECT_EQ(flag.value.empty(), flag.kind == FlagKind::toggle) << flag.name;
    EXPECT_EQ(find_flag(run_flags(), flag.name), &flag);
    EXPECT_EQ(find_field(flag.key) != nullptr, !flag.key.empty()) << flag.key;
  }
}

}  // namespace
}  // namespace stepcast::cli
