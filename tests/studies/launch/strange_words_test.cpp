// Words of shells as strangers write them: arguments of scripts, loops over them, redirections, what `read` takes.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::HasSubstr;

TEST_F(StrangersLaunch, AValueMayHoldAnEqualsSign) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const Ran named = predict("--megatron", run + " --wandb-exp-name seq_length=64\n");
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(named.out, predict("--megatron", run + " --wandb-exp-name name\n").out);
}

TEST_F(StrangersLaunch, WordsBehindAColonAreNoCommand) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const Ran ran = predict("--megatron", "#!/bin/bash\n: '\nUsage:\ntorchrun pretrain_gpt.py" + sizes +
                                            " --tensor-model-parallel-size 8\n'\n: ${TP:=2}\n" + run +
                                            " --tensor-model-parallel-size $TP\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp 2,"));
}

TEST_F(StrangersLaunch, ShiftAndSetMoveTheScriptsArguments) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const std::string shifted = "#!/bin/bash\nMODEL=$1\nshift\nTP=$1\n" + run + " --tensor-model-parallel-size $TP\n";
  EXPECT_THAT(predict("--megatron", shifted, "--define 1=2 --define 2=8").out, HasSubstr("tp 8,"));
  const std::string set = "#!/bin/bash\nset -- 4 2\n" + run + " --tensor-model-parallel-size $1\n";
  EXPECT_THAT(predict("--megatron", set).out, HasSubstr("tp 4,"));
  const std::string all = "#!/bin/bash\nshift\n" + run + " \"$@\"\n";
  EXPECT_THAT(
      predict("--megatron", all, "--define 1=x --define 2=--tensor-model-parallel-size=8").out, HasSubstr("tp 8,"));
}

TEST_F(StrangersLaunch, ALoopOverTheScriptsArgumentsIsReadTurnByTurn) {
  const std::string text = "#!/bin/bash\nTP=8\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --tp) TP=$2; shift; "
                           "shift;;\n    --micro) MICRO=$2; "
                           "shift; shift;;\n  esac\ndone\ntorchrun --nproc_per_node 8 pretrain_gpt.py" +
                           sizes + " --tensor-model-parallel-size $TP\n";
  const Ran one = predict("--megatron", text, "--define 1=--tp --define 2=2");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("tp 2,"));
  const Ran more = predict("--megatron", text, "--define 1=--tp --define 2=2 --define 3=--micro --define 4=4");
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("tp 2,"));
  const Ran odd = predict("--megatron", text, "--define 1=--tp --define 2=2 --define 3=--macro");
  EXPECT_EQ(odd.code, 2) << odd.out;  // nothing shifts it away
  EXPECT_THAT(odd.err, HasSubstr("loops over the script's arguments as a run decides"));
}

TEST_F(StrangersLaunch, ALoopGoesThroughTheScriptsArguments) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  for (const char* all : {"in $*", "in \"$@\"", ""}) {
    const std::string text =
        fmt::format(
            "#!/bin/bash\nTP=2\nfor arg {}; do\n  if [[ $arg == --tp=* ]]; then\n    TP=${{arg#*=}}\n  fi\ndone\n",
            all) +
        run + " --tensor-model-parallel-size $TP\n";
    EXPECT_THAT(predict("--megatron", text, "--define 1=--x --define 2=--tp=4").out, HasSubstr("tp 4,")) << all;
    const Ran none = predict("--megatron", text);
    EXPECT_THAT(none.out, HasSubstr("tp 2,")) << all << none.err;
    EXPECT_THAT(none.out, HasSubstr("read as if there were none")) << all;
  }
}

TEST_F(StrangersLaunch, TestsAndSumsOfOneLineAreFollowed) {
  const std::string run =
      "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes + " --tensor-model-parallel-size $TP\n";
  const std::pair<const char*, const char*> rows[] = {{"TP=2\n[ \"$TP\" = 4 ] && TP=8\n", "tp 2,"},
      {"TP=2\n[[ $TP -eq 2 && 1 -lt 2 ]] && TP=8\n", "tp 8,"}, {"TP=2\n[ $TP = 2 ] || TP=8\n", "tp 2,"},
      {"TP=2; test $TP -gt 4 && TP=8\n", "tp 2,"}, {"[ 1 = 2 ] && TP=8 || TP=4\n", "tp 4,"},
      {"TP=2\n[ 1 = 2 ] && [ 1 = 1 ] && TP=8; [ 1 = 1 ] && {\n  X=1\n  TP=4\n}\n", "tp 4,"},
      {"TP=2\n[ 1 = 2 ] && { true || true; TP=8; }\n", "tp 2,"}, {"TP=4\n((TP=8))\n", "tp 8,"},
      {"W=16\n((TP = W / (2 * 2)))\n", "tp 4,"}, {"TP=4; ((TP /= 2)); ((TP > 1)) && let \"TP *= 4\"\n", "tp 8,"},
      {"TP=2\n[ -n \"$BIG\" ] && TP=8\n", "tp 2,"}, {"WAYS_7B=8\nSIZE=7B\neval TP=\\$WAYS_$SIZE\n", "tp 8,"},
      {"WAYS_7B=8\nSIZE=7B\ndeclare -n TP=WAYS_$SIZE\n", "tp 8,"}};
  for (const auto& [script, said] : rows) {
    const Ran ran = predict("--megatron", script + run);
    EXPECT_THAT(ran.out, HasSubstr(said)) << script << ran.err;
  }
  EXPECT_THAT(predict("--megatron", "TP=2\n[ \"$BIG\" = 1 ] && TP=8\n" + run).err, HasSubstr("--define BIG="));
  EXPECT_THAT(predict("--megatron", "TP=2\nread TP < sizes.txt\n" + run).err, HasSubstr("nothing sets $TP"));
  EXPECT_THAT(predict("--megatron", "TP=2\n((TP = WAYS * 2))\n" + run).err, HasSubstr("nothing sets $TP"));
  const std::string held = "TP=2\nread -r -d '' MORE << EOM\n--tensor-model-parallel-size 8\nEOM\n";
  EXPECT_THAT(predict("--megatron", held + run.substr(0, run.size() - 1) + " $MORE\n").out, HasSubstr("tp 8,"));
}

TEST_F(StrangersLaunch, ArgumentsBehindARedirectionCount) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  for (const char* where : {"> log.txt", ">log.txt 2>&1", "2>&1 >>log.txt", "&> \"$LOG/a b\"", "2> >(tee err.txt)",
           "< in.txt", "--data-path <path to the data>", "--load <CHECKPOINT_DIR>"})
    EXPECT_THAT(predict("--megatron", run + " " + where + " --tensor-model-parallel-size 8\n").out, HasSubstr("tp 8,"))
        << where;
  EXPECT_THAT(predict("--megatron", run + " --sequence-parallel stray\n").err,
      HasSubstr("'stray' behind it is not understood"));
  const std::string piped = run + " 2>&1 | tee log.txt --tensor-model-parallel-size 8\n";
  EXPECT_THAT(predict("--megatron", piped).out, HasSubstr("tp 1,")) << "of another command";
  const Ran unfilled = predict("--megatron", run + " --tensor-model-parallel-size <ranks>\n");
  EXPECT_THAT(unfilled.err, HasSubstr("'<ranks>' is no whole number"));
  EXPECT_THAT(predict("--megatron", "echo '{}' > made.json\n" + run + "\n").out, HasSubstr("tp 1,"));
}

TEST_F(StrangersLaunch, PartsOfTheScriptsArgumentsAreHandedOn) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const std::string given = "--define 1=8 --define 2=--tensor-model-parallel-size --define 3=4 --define 4=--swiglu";
  for (const char* part : {"\"${@:2}\"", "${*:2}", "\"${@:2:2}\"", "${@: -3}", "${@:2:$(( $# - 1 ))}"}) {
    const Ran ran = predict("--megatron", "#!/bin/bash\nN=$1\n" + run + " " + part + "\n", given);
    EXPECT_EQ(ran.code, 0) << part << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("tp 4,")) << part;
  }
  const Ran kept = predict(
      "--megatron", "#!/bin/bash\nEXTRA=(--a 1 --tensor-model-parallel-size 2)\n" + run + " \"${EXTRA[@]:2}\"\n");
  EXPECT_THAT(kept.out, HasSubstr("tp 2,")) << kept.err;
  const Ran unknown = predict("--megatron", "#!/bin/bash\n" + run + " \"${@:2}\"\n");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  EXPECT_THAT(unknown.err, HasSubstr("hands on ${@:2} of the script's own arguments"));
  const Ran count = predict("--megatron",
      "#!/bin/bash\nif [ $# -gt 2 ]; then TP=8; else TP=2; fi\n" + run + " --tensor-model-parallel-size $TP\n",
      "--define 1=a");
  EXPECT_THAT(count.out, HasSubstr("tp 2,")) << count.err;
}

/// What read takes from a text that is known is known; what it takes from elsewhere leaves no older value.
TEST_F(StrangersLaunch, WordsThatReadTakesFromAText) {
  const std::string start = "torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes,
                    named = start + " --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP\n",
                    listed = start + " --tensor-model-parallel-size ${P[0]} --pipeline-model-parallel-size ${P[1]}\n";
  for (const std::string& script : {"read -r TP PP <<< \"4 2\"\n" + named, "IFS=, read -r TP PP <<< 4,2\n" + named,
           "L=\"4  2\"\nread TP PP <<< $L\n" + named, "read -ra P <<< \"4 2\"\n" + listed,
           "P=(1 1)\nIFS=',' read -ra P <<< \"4,2\"\n" + listed,
           "OLD=$IFS; IFS=','; read -ra P <<< \"4,2\"; IFS=$OLD\n" + listed,
           "OLD=$IFS; IFS=,; IFS=$OLD\nread TP PP <<< \"4 2\"\n" + named,
           "L=\"4 2\n9 9\"\nread -r TP PP <<< \"$L\"\n" + named})
    EXPECT_THAT(
        predict("--megatron", "#!/bin/bash\n" + script).out, testing::AllOf(HasSubstr("tp 4,"), HasSubstr("pp 2,")))
        << script;
  for (const std::string& script : {"TP=1\nPP=1\nIFS=, read -r TP PP < sizes.txt\n" + named,
           "P=(1 1)\nIFS=, read -ra P <<< \"$UNKNOWN\"\n" + listed, "P=(1 1)\nmapfile -t P <<< 4\n" + listed,
           "TP=1\nPP=1\nread -d : TP PP <<< \"4 2\"\n" + named, "TP=1\nPP=1\nread TP PP <<EOT\n4 2\nEOT\n" + named,
           "TP=1\nPP=1\nIFS=, read -r TP PP <<EOT\n4,2\nEOT\n" + named,
           "TP=1\nPP=1\nIFS=$UNKNOWN\nread TP PP <<< \"4 2\"\n" + named}) {
    const Ran ran = predict("--megatron", "#!/bin/bash\n" + script);
    EXPECT_EQ(ran.code, 2) << script << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("nothing sets")) << script;
  }
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
