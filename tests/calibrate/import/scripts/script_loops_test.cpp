// Loops over a script's own arguments, text tools in $(...), lists with keys: what a launch is told by them.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/scripts/launch_arguments.h"

namespace stepcast::calibrate {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

LaunchLine launch_given(const std::string& script, const ArgumentMap& defined = {}) {
  const auto found = find_launches(script, "run.sh", defined);
  EXPECT_TRUE(found && found->size() == 1) << script << (found ? "" : to_text(found.error()));
  return found && !found->empty() ? found->front() : LaunchLine{};
}

/// The value of --tp in a script that sets TP and then trains; what is not known as it is written.
std::string tp_of(const std::string& script, const ArgumentMap& defined = {}) {
  const LaunchLine line = launch_given(script + "\ntorchrun train.py --tp $TP\n", defined);
  return line.given.empty() ? "" : line.given.front().value;
}

const std::string parsing = "TP=1\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --tp) TP=$2; shift 2;;\n"
                            "    --tp=*) TP=${1#*=}; shift;;\n    --) shift; break;;\n    *) shift;;\n  esac\ndone";

TEST(ScriptLoops, AWhileOverTheArgumentsIsReadTurnByTurn) {
  EXPECT_EQ(tp_of(parsing, {{"1", "--size"}, {"2", "--tp"}, {"3", "4"}}), "4");
  EXPECT_EQ(tp_of(parsing, {{"1", "--tp=2"}, {"2", "--fast"}}), "2");
  EXPECT_EQ(tp_of(parsing, {{"1", "--tp"}, {"2", "4"}, {"3", "--"}, {"4", "--tp"}, {"5", "8"}}), "4");
  // the same with other conditions, each of which ends behind the last argument
  const std::string turn = " do\n  if [ $1 = --tp ]; then TP=$2; fi\n  shift\ndone";
  for (const char* condition : {"while [ -n \"$1\" ];", "while [ \"$1\" != \"\" ];", "while (( $# ));",
           "until [ $# -eq 0 ];", "while [ $# -ge 1 ]\n"})
    EXPECT_EQ(tp_of(condition + turn, {{"1", "--tp"}, {"2", "4"}}), "4") << condition;
  const std::string endless = "while true; do\n  case $1 in\n    -t) TP=$2; shift 2;;\n    *) break;;\n  esac\ndone";
  EXPECT_EQ(tp_of(endless, {{"1", "-t"}, {"2", "4"}, {"3", "data"}, {"4", "-t"}, {"5", "8"}}), "4");
}

TEST(ScriptLoops, WithoutArgumentsNoTurnIsReadAndANoteSaysSo) {
  const LaunchLine none = launch_given(parsing + "\ntorchrun train.py --tp $TP\n");
  EXPECT_EQ(none.arguments.at("tp"), "1");
  EXPECT_THAT(
      none.notes, Contains(HasSubstr("line 2 goes through the script's arguments: read as if there were none")));
  EXPECT_THAT(none.unfollowed, IsEmpty());
  EXPECT_THAT(none.open, IsEmpty());
}

TEST(ScriptLoops, GetoptsTakesLettersWithAndWithoutValues) {
  const std::string options = "TP=1\nwhile getopts \"t:vn:\" opt; do\n  case $opt in\n    t) TP=$OPTARG;;\n"
                              "    n) N=$OPTARG;;\n    v) V=1;;\n  esac\ndone\nshift $((OPTIND - 1))";
  EXPECT_EQ(tp_of(options, {{"1", "-v"}, {"2", "-t"}, {"3", "4"}, {"4", "-n2"}}), "4");
  EXPECT_EQ(tp_of(options, {{"1", "-t8"}}), "8");
  const LaunchLine rest = launch_given(
      options + "\ntorchrun --nproc_per_node $1 train.py --n $N\n", {{"1", "-n"}, {"2", "2"}, {"3", "16"}});
  EXPECT_EQ(rest.gpus_per_node, 16);
  EXPECT_EQ(rest.arguments.at("n"), "2");
  EXPECT_EQ(tp_of(options), "1");
  const LaunchLine odd = launch_given(options + "\ntorchrun train.py --tp $TP\n", {{"1", "-x"}});
  EXPECT_THAT(odd.unfollowed, Contains(HasSubstr("line 2 loops over the script's arguments as a run decides")));
}

TEST(ScriptLoops, WhatARunDecidesInALoopIsSaid) {
  const std::string branch = "while [ $# -gt 0 ]; do\n  if grep -q x $1; then break; fi\n  shift\ndone";
  EXPECT_THAT(launch_given(branch + "\ntorchrun train.py --a 1\n", {{"1", "file"}}).unfollowed,
      Contains(HasSubstr("line 2 leaves a loop as a run decides")));
  // what waits for another program takes no arguments
  EXPECT_EQ(tp_of("TP=4\nuntil ping -c1 $1; do\n  sleep 1\ndone", {{"1", "host"}}), "4");
  const std::string still = "while [ $# -gt 0 ]; do\n  TP=$1\ndone";
  EXPECT_THAT(launch_given(still + "\ntorchrun train.py --tp $TP\n", {{"1", "2"}}).unfollowed,
      Contains(HasSubstr("loops over the script's arguments")));
  // other loops are as they were: once, whatever leaves them
  EXPECT_EQ(tp_of("for i in 1 2; do\n  TP=4\n  break\ndone"), "4");
  // and of several values the user chooses one
  EXPECT_EQ(tp_of("for TP in 1 2 4; do\n  echo $TP\ndone"), "$TP");
  EXPECT_EQ(tp_of("for TP in 1 2 4; do\n  echo $TP\ndone", {{"TP", "2"}}), "2");
}

TEST(ScriptLoops, NamesAndValuesOfArgumentsWithASign) {
  const std::string each = "for ARGUMENT in \"$@\"\ndo\n  KEY=$(echo $ARGUMENT | cut -f1 -d=)\n  LENGTH=${#KEY}\n"
                           "  VALUE=\"${ARGUMENT:$LENGTH+1}\"\n  export \"$KEY\"=\"$VALUE\"\ndone";
  EXPECT_EQ(tp_of(each, {{"1", "NODES=2"}, {"2", "TP=8"}}), "8");
  EXPECT_EQ(launch_given(each + "\ntorchrun train.py --a 1\n", {{"1", "NODES=2"}}).exported.at("NODES"), "2");
}

TEST(ScriptLoops, WhatIsEvaluatedMayExportFirst) {
  const std::string run = "RUN=\"export A=1; torchrun train.py --tp 2\"\n";
  for (const char* evaluates : {"eval $RUN\n", "eval \"$RUN\"\n"}) {
    const LaunchLine line = launch_given(run + evaluates);
    EXPECT_EQ(line.arguments.count("tp"), 1u) << evaluates;
    EXPECT_EQ(line.exported.count("A"), 1u) << evaluates;
  }
}

TEST(ScriptLoops, TheNumberThatNothingSetsIsNamed) {
  const LaunchLine line = launch_given("NPROC_PER_NODE=8 NNODES=$NODES swift sft --save $OUT --model a\n");
  ASSERT_FALSE(line.unknown.empty());
  EXPECT_EQ(line.unknown.front(), "NNODES=$NODES");
}

TEST(ScriptLoops, TextToolsPickAPartOfAText) {
  const std::map<std::string, std::string> printed = {
      {"echo 0,1,2,3 | tr ',' '\\n' | wc -l", "4"},
      {"echo 0,1,2,3 | awk -F, '{print NF}'", "4"},
      {"echo \"7b 4 8\" | awk '{print $2}'", "4"},
      {"echo 7b:4:8 | awk -F ':' '{ print $NF }'", "8"},
      {"echo 7b-4-8 | cut -d- -f2", "4"},
      {"echo 7b-4-8 | cut -d '-' -f 2-3", "4-8"},
      {"echo tp4 | cut -c3", "4"},
      {"echo tp4 | sed 's/tp//'", "4"},
      {"echo a.a | sed -e 's/a/b/g'", "b.b"},
      {"echo 1 2 4 | wc -w", "3"},
      {"echo 0,1,2 | grep -o , | wc -l", "2"},
      {"echo '2 * 4' | bc", "8"},
      {"bc <<< \"2*4\"", "8"},
      {"cut -d, -f2 <<< 1,4", "4"},
      {"echo A | tr '[:upper:]' '[:lower:]'", "a"},
      {"echo aab | tr -d a", "b"},
      {"printf '%s\\n' 1 | head -1", "1"},
      {"printf \"%s-%s\" 2 4", "2-4"},
      {"basename /models/llama-7b.json .json", "llama-7b"},
      {"python3 -c \"print(2 * 16 // 4)\"", "8"},
      {"echo 1 | xargs", "1"},
      // bash 5.2 and coreutils 9.1 print the same
      {"echo a-b-c | cut -d- -f3,1", "a-c"},
      {"echo a4 | cut -c2,1", "a4"},
      {"echo -ne '0,1,2,3' | tr ',' '\\n' | wc -l", "3"},
      {"echo 4r8r | tr -d '\\r'", "4r8r"},
  };
  for (const auto& [command, text] : printed) EXPECT_EQ(tp_of("TP=$(" + command + ")"), text) << command;
  EXPECT_EQ(tp_of("GPUS=0,1\nTP=`echo $GPUS | tr ',' '\\n' | wc -l`"), "2");
}

TEST(ScriptLoops, WhatAToolIsNotKnownForHangsOnItsOutput) {
  for (const char* command : {"echo 4 | sort -n", "echo 4 | sed 's/[0-9]/8/'", "echo 4 | awk '{print $1 * 2}'",
           "cat sizes | cut -d, -f1", "echo *.json | wc -w", "python -c \"print(16 / 4)\"", "echo 4 && echo 8",
           "nvidia-smi -L | wc -l", "cut -f1 < sizes", "echo -e 'a\\tb' | wc -c", "echo 4,2 | cut -d '' -f1",
           "echo 0,1 | tr '\\054' ' '", "echo 4 | tr z-a b", "python3 -c \"print(-7 // 2 + 8)\"",
           "python3 -c \"print(2 > 1)\"", "echo '2 ^ 3' | bc"}) {
    const LaunchLine line = launch_given("TP=$(" + std::string(command) + ")\ntorchrun train.py --tp $TP\n");
    EXPECT_THAT(line.arguments, IsEmpty()) << command;
  }
  // a variable that nothing sets is named, so that --define can tell it
  const LaunchLine line = launch_given("TP=$(echo $DEVICES | tr ',' '\\n' | wc -l)\ntorchrun train.py --tp $TP\n");
  ASSERT_EQ(line.given.size(), 1u);
  EXPECT_THAT(line.given.front().unset, Contains("DEVICES"));
  EXPECT_EQ(tp_of("TP=$(echo $DEVICES | tr ',' '\\n' | wc -l)", {{"DEVICES", "0,1,2"}}), "3");
}

TEST(ScriptLoops, WhatLeavesMoreThanALoopIsNotFollowed) {
  for (const char* script : {"f() { while [ $# -gt 0 ]; do case $1 in -t) TP=$2; return;; esac; shift; done; }\n"
                             "f -t 4 -t 8\n",
           "set -- 1 4 8\nfor i in 1; do while [ $# -gt 0 ]; do TP=$1; break 2; shift; done; done\n"})
    EXPECT_THAT(launch_given(std::string(script) + "torchrun train.py --tp $TP\n").unfollowed,
        Contains(testing::HasSubstr("leaves a loop as a run decides")))
        << script;
}

/// A loop that only seems to take the script's arguments is read once, as others are.
TEST(ScriptLoops, AShiftIsACommandOfItsOwn) {
  EXPECT_EQ(tp_of("while true; do # do not shift anything\nTP=2; done"), "2");
  EXPECT_EQ(tp_of("while true; do sleep --shift 3; TP=2; done"), "2");
  EXPECT_EQ(tp_of("until [ \"$(tail -1 log | awk '{print $1}')\" = done ]; do TP=4; done"), "4");
}

TEST(ScriptLoops, ListsWithKeys) {
  const std::string lists = "declare -A WAYS=([7b]=2 [13b]=4)\nTP=${WAYS[$SIZE]}";
  EXPECT_EQ(tp_of("SIZE=13b\n" + lists), "4");
  EXPECT_EQ(tp_of("SIZE=7b\n" + lists), "2");
  EXPECT_EQ(tp_of("SIZE=70b\n" + lists), "${WAYS[$SIZE]}");
}

}  // namespace
}  // namespace stepcast::calibrate
