#include "studies/cli/arguments.h"
#include "studies/cli/flag_makers.h"
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

/// "8k" is 8 x 1,024 where a flag counts positions, and no number elsewhere.
TEST(Arguments, LengthsMayBeWrittenInThousands) {
  const std::vector<Flag> flags = {
      length_flag("--prompt", "Work", "positions", 100'000, 0), count_flag("--batch", "Work", "sequences", 100)};
  const auto with = [&](const std::vector<std::string>& words) { return parse_arguments(flags, 0, 0, "", words); };
  EXPECT_EQ(with({"--prompt", "8k"})->value("--prompt"), "8192");
  EXPECT_EQ(with({"--prompt=8K"})->value("--prompt"), "8192");
  EXPECT_EQ(with({"--prompt", "0k"})->value("--prompt"), "0");
  EXPECT_EQ(with({"--prompt", "8000"})->value("--prompt"), "8000");
  for (const char* text : {"k", "1.5k", "-1k", "8kk", "8m", "98k", "9999999999999999k"})
    EXPECT_FALSE(with({"--prompt", text})) << text;
  EXPECT_FALSE(with({"--batch", "1k"}));
  EXPECT_THAT(with({"--prompt", "98k"}).error().what, HasSubstr("100352"));
}

/// Commands of a step that are asked of an iteration say which one answers.
TEST(Arguments, AFlagOfAnIterationNamesTheCommandThatKnowsIt) {
  const auto hint = [](const std::string& command, const std::string& flag) {
    return parse_arguments(run_flags(), 1, 1, "stepcast " + command + " NETWORK", {"llama3-8b", flag, "1"})
        .error()
        .hint;
  };
  EXPECT_THAT(hint("whatif", "--context"), HasSubstr("stepcast infer NETWORK --context ... --what-if"));
  EXPECT_THAT(hint("roofline", "--prompt"), HasSubstr("--prompt ... --roofline"));
  EXPECT_THAT(hint("timeline", "--engine"), HasSubstr("--trace FILE.json"));
  EXPECT_THAT(hint("sweep", "--context"), testing::Not(HasSubstr("infer")));
  EXPECT_THAT(hint("whatif", "--contxt"), testing::Not(HasSubstr("infer")));
}

/// vLLM's ratio and SGLang's are not the same: neither is taken for the other.
TEST(Arguments, AWordOfTwoMeaningsSaysBoth) {
  const std::vector<Flag> flags = {text_flag("--shortest", "SHARE", "Load", "of lengths")};
  const auto error = parse_arguments(flags, 0, 0, "", {"--random-range-ratio", "0.8"}).error();
  EXPECT_THAT(error.hint, HasSubstr("--shortest 0.8 is SGLang's 0.8"));
  EXPECT_THAT(error.hint, HasSubstr("vLLM's 0.2"));
}

}  // namespace
}  // namespace stepcast::cli
