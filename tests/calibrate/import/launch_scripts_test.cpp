// Scripts as people write them: what of bash the reader of launches understands, what it leaves open, and that damage
// to them is answered.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "calibrate/import/scripts/launch_arguments.h"
#include "tests/calibrate/import/sample_logs.h"
#include "tests/trials.h"

namespace stepcast::calibrate {
namespace {

std::vector<LaunchLine> script_launches(const std::string& text, const ArgumentMap& defined = {}) {
  const auto found = find_launches(text, "run.sh", defined);
  EXPECT_TRUE(found) << text << (found ? "" : to_text(found.error()));
  return found ? *found : std::vector<LaunchLine>{};
}

LaunchLine only_launch(const std::string& text, const ArgumentMap& defined = {}) {
  const auto found = script_launches(text, defined);
  EXPECT_EQ(found.size(), 1u) << text;
  return found.size() == 1 ? found.front() : LaunchLine{};
}

const GivenArgument* given(const LaunchLine& launch, const std::string& name) {
  for (const GivenArgument& argument : launch.given)
    if (argument.name == name) return &argument;
  ADD_FAILURE() << "no " << name;
  static const GivenArgument none;
  return &none;
}

/// The value of --x.
std::string x_of(const std::string& script, const ArgumentMap& defined = {}) {
  return given(only_launch(script, defined), "x")->value;
}

TEST(LaunchScripts, TextThatCatPrintsIsAValue) {
  const std::string train = "python train.py $ARGS\n";
  const LaunchLine put_in = only_launch("L=24\nARGS=$(cat <<EOM\n  --num-layers $L\n  --x 3\nEOM\n)\n" + train);
  EXPECT_EQ(given(put_in, "num_layers")->value, "24");
  EXPECT_EQ(given(put_in, "x")->value, "3");
  EXPECT_EQ(x_of("L=24\nARGS=$(cat <<'EOM'\n--x $L\nEOM\n)\n" + train), "$L");
}

TEST(LaunchScripts, BcprunStartsWhatItsTextSays) {
  const LaunchLine launch = only_launch("bcprun --nnodes 4 --npernode 8 -c \"python train.py --x 3\"\n");
  EXPECT_EQ(given(launch, "x")->value, "3");
  EXPECT_EQ(launch.gpus(), 32);
  EXPECT_EQ(only_launch("bcprun -n 2 -p 4 --cmd 'python train.py --x 3'\n").gpus(), 8);
}

TEST(LaunchScripts, EveryArgumentHasItsLineAndSpelling) {
  const LaunchLine launch = only_launch(
      "#!/bin/bash\nARGS=(\n  --num-layers 32\n  # --num-layers 64\n  --Lr 1e-4  # small\n)\nMORE=\" \\\n  --bf16 \\\n"
      "  --seq-length 2048 \\\n\"\ntorchrun train.py \"${ARGS[@]}\" \\\n  # between the lines\n  $MORE\n");
  ASSERT_EQ(launch.given.size(), 2u);
  EXPECT_EQ(launch.given[0].spelled, "--num-layers");
  EXPECT_EQ(launch.given[0].line, 3u);
  EXPECT_EQ(launch.given[1].line, 5u);
  EXPECT_EQ(launch.line, 11u);
  ASSERT_EQ(launch.notes.size(), 1u);  // as bash has it
  EXPECT_EQ(launch.notes[0], "the comment in line 12 ends the command: what stands behind it is not handed over");
}

TEST(LaunchScripts, LinesOfStringsThatGoOn) {
  const LaunchLine launch =
      only_launch("A=\" \\\n  --x 1 \\\n  --y 2 \\\n\"\nB=\"$A --z 3\"\ntorchrun train.py $B --w 4\n");
  EXPECT_EQ(given(launch, "x")->line, 2u);
  EXPECT_EQ(given(launch, "y")->line, 3u);
  EXPECT_EQ(given(launch, "z")->line, 5u);
  EXPECT_EQ(given(launch, "w")->line, 6u);
}

TEST(LaunchScripts, Variables) {
  const std::string end = "\ntorchrun train.py --x $X\n";
  struct Case {
    const char* set;
    const char* value;
  };
  const Case cases[] = {{"X=${Y:-8}", "8"}, {"X=${Y-8}", "8"}, {"Y=; X=${Y:-8}", "8"}, {": ${X:=8}", "8"},
      {"X=${1:-\"a b\"}", "a b"}, {"A=4; X=${A:?needed}", "4"}, {"A=4; X=${A:+yes}", "yes"}, {"X=1; X+=2", "12"},
      {"A=(1 2 3); X=${#A[@]}", "3"}, {"A=(1 2 3); X=${A[1]}", "2"}, {"A=a/b/c.json; X=${A##*/}", "c.json"},
      {"A=a.b.c; X=${A%.*}", "a.b"}, {"A=a.b.c; X=${A%%.*}", "a"}, {"A=a-b-c; X=${A//-/_}", "a_b_c"},
      {"A=abc; X=${A:1:1}", "b"}, {"A=BF; X=${A,,}", "bf"}, {"A=2; B=3; X=$((A*$B+1))", "7"},
      {"A=2; X=$((2**(A+1)))", "8"}, {"X=$(expr 2 \\* 8)", "16"}, {"A=6; X=`expr $A / 2`", "3"},
      {"X=\"${Y:-${Z:-5}}\"", "5"}, {"export X=3", "3"}, {"declare -r X=3", "3"}, {"X=$(pwd)/out", "./out"},
      {"X=\"$(dirname \"$0\")/a.json\"", "./a.json"}, {"X=1 # 2", "1"}, {"X='a b'", "a b"}, {"X=5\r", "5"}};
  for (const Case& c : cases) EXPECT_EQ(x_of(c.set + end), c.value) << c.set;
}

TEST(LaunchScripts, WhatNothingSetsIsNamed) {
  const LaunchLine launch = only_launch(
      "A=$1\ntorchrun train.py --x $A --y ${GBS}0 --z $(nproc) --v $((GPUS * 8)) --w `hostname` --u ${Q:0:2}\n");
  EXPECT_EQ(given(launch, "x")->unset, std::vector<std::string>{"1"});
  EXPECT_EQ(given(launch, "x")->value, "$1");
  EXPECT_EQ(given(launch, "y")->unset, std::vector<std::string>{"GBS"});
  EXPECT_EQ(given(launch, "y")->value, "${GBS}0");
  EXPECT_EQ(given(launch, "z")->unset, std::vector<std::string>{"$(nproc)"});
  EXPECT_EQ(given(launch, "v")->unset, std::vector<std::string>{"GPUS"});
  EXPECT_EQ(given(launch, "w")->unset, std::vector<std::string>{"$(hostname)"});
  EXPECT_EQ(given(launch, "u")->unset, std::vector<std::string>{"Q"});
  EXPECT_TRUE(launch.arguments.empty());
}

/// The list may have any number of elements, and the text any length.
TEST(LaunchScripts, LengthsOfWhatNothingSetsAreNotKnown) {
  for (const char* set : {"A=( $( scontrol show hostnames $LIST ) )", "A=($(cat hostfile))", "A=($HOSTS)",
           "A=(node{1..4})", "A=(); for h in $HOSTS; do A+=($h); done"}) {
    const LaunchLine launch = only_launch(std::string(set) + "\nX=${#A[@]}\ntorchrun train.py --x $X\n");
    EXPECT_EQ(given(launch, "x")->unset, std::vector<std::string>{"${#A[@]}"}) << set;
  }
  EXPECT_EQ(x_of("A=$B; X=${#A}\ntorchrun train.py --x $X\n"), "${#A}");
}

TEST(LaunchScripts, VariablesOfTheUser) {
  const std::string script = "A=${TP:-1}\nB=$1\nC=4\ntorchrun train.py --x $A --y $B --z $C --v $D\n";
  const LaunchLine launch = only_launch(script, {{"TP", "8"}, {"1", "first"}, {"C", "5"}, {"D", "6"}});
  EXPECT_EQ(given(launch, "x")->value, "8");
  EXPECT_EQ(given(launch, "y")->value, "first");
  EXPECT_EQ(given(launch, "z")->value, "4");  // the script sets it
  EXPECT_EQ(given(launch, "v")->value, "6");
}

TEST(LaunchScripts, ArgumentsThatMayBeThere) {
  const LaunchLine launch = only_launch("torchrun train.py --seq-length 2048 $EXTRA --bf16 $MORE \"$@\"\n");
  EXPECT_EQ(given(launch, "seq_length")->value, "2048");
  EXPECT_EQ(given(launch, "bf16")->unset, std::vector<std::string>{"MORE"});  // a value, or more arguments
  ASSERT_EQ(launch.notes.size(), 2u);
  EXPECT_NE((launch.notes[0] + launch.notes[1]).find("$EXTRA in line 1 is not set"), std::string::npos);
}

TEST(LaunchScripts, ConditionsThatAreKnown) {
  const std::string end = "\ntorchrun train.py --x $X\n";
  struct Case {
    const char* set;
    const char* value;
  };
  const Case cases[] = {{"S=7b\nif [ $S = 7b ]; then\n X=1\nelse\n X=2\nfi", "1"},
      {"S=7b\nif [[ \"$S\" == \"13b\" ]]; then\n X=1\nelif [[ $S == 7* ]]; then\n X=2\nelse\n X=3\nfi", "2"},
      {"S=4\nif [ \"$S\" -gt 8 ]\nthen\n X=1\nelse\n X=2\nfi", "2"},
      {"S=4\nif ((S >= 4)); then X=1; else X=2; fi", "1"}, {"if [ -z \"$S\" ]; then X=1; else X=2; fi", "1"},
      {"S=a\nT=b\nif [[ $S == b ]] || [[ $T == b ]]; then X=1; else X=2; fi", "1"},
      {"S=a\nT=b\nif [ $S = a ] && [ $T = c ]; then X=1; else X=2; fi", "2"},
      {"S=4\nif [[ $S -ge 2 && $S -lt 4 ]]; then X=1; else X=2; fi", "2"},
      {"S=a\nif [ ! -n \"$S\" ]; then X=1; else X=2; fi", "2"},
      {"S=13b\ncase $S in\n  7b)\n    X=1\n    ;;\n  13b|14b) X=2; Y=1 ;;\n  *) X=3 ;;\nesac", "2"},
      {"S=x\ncase \"$S\" in a) X=1;; b) X=2;; *) X=3;; esac", "3"},
      {"S=1\nif [ $S = 2 ]; then\n X=\"\nfi\nX=5\n\"\nelse\n X=6\nfi", "6"}};
  for (const Case& c : cases) {
    EXPECT_EQ(x_of(c.set + end), c.value) << c.set;
    // A variable that nothing sets is as good as empty for -z; that is said.
    const auto notes = only_launch(c.set + end).notes;
    const bool asks = std::string(c.set).find("-z") != std::string::npos;
    EXPECT_EQ(notes,
        asks ? std::vector<std::string>{"line 1 asks whether S is set: nothing sets it"} : std::vector<std::string>{})
        << c.set;
  }
}

TEST(LaunchScripts, ConditionsThatAreNot) {
  const LaunchLine last = only_launch("X=1\nif [ -f a ]; then\n  X=2\nfi\ntorchrun train.py --x $X\n");
  EXPECT_EQ(given(last, "x")->value, "2");
  ASSERT_EQ(last.notes.size(), 1u);
  EXPECT_EQ(
      last.notes[0], "X is set in line 1 and, under a condition that is not known here, in line 3: the last counts");
  // What only the command line of the script says does not take the place of a default.
  const LaunchLine kept = only_launch("X=1\nif [ -f a ]; then\n  X=$2\nfi\ntorchrun train.py --x $X\n");
  EXPECT_EQ(given(kept, "x")->value, "1");
  ASSERT_EQ(kept.notes.size(), 1u);
  EXPECT_TRUE(kept.notes[0].ends_with("the first counts"));
  // The launch inside is found all the same; both of them where there are two.
  EXPECT_EQ(
      script_launches("if test -f a; then\n  torchrun train.py --x 1\nelse\n  torchrun train.py --x 2\nfi\n").size(),
      2u);
}

TEST(LaunchScripts, ArgumentsOfTheScriptThatNobodyGives) {
  EXPECT_EQ(x_of("torchrun train.py --x a \"$@\"\n"), "a");
  EXPECT_EQ(x_of("A=()\ntorchrun train.py --x a \"${A[@]}\"\n"), "a");
  EXPECT_EQ(x_of("torchrun train.py --x a \"$@\"\n", {{"@", "b"}}), "a b");
}

TEST(LaunchScripts, ArgumentsThatTheScriptGivesItself) {
  EXPECT_EQ(x_of("set -- a b c\nshift\ntorchrun train.py --x $1 $2\n"), "b c");
  EXPECT_EQ(x_of("set -- a b c\nshift 2\ntorchrun train.py --x \"$@\"\n"), "c");
  EXPECT_EQ(x_of("set -- a b\nshift 5\ntorchrun train.py --x 1 \"$@\"\n"), "1");
  // A function has its own, and the script's are back behind it.
  EXPECT_EQ(x_of("set -- a b\nf() {\n  X=$1$2\n  shift\n}\nf c\ntorchrun train.py --x $X $1\n"), "c$2 a");
  EXPECT_EQ(x_of("shift\ntorchrun train.py --x $1\n", {{"1", "a"}, {"2", "b"}}), "b");
}

// tests/bench/shell_bench.cpp has the time of texts like these.
TEST(LaunchScripts, QuotesWithoutEndAreReadOnce) {
  std::string script = "set --";
  for (int i = 0; i < 19'000; ++i) script += " ''";
  for (int i = 0; i < 3'000; ++i) script += "\nshift";
  EXPECT_EQ(x_of(script + "\ntorchrun train.py --x 1 \"$@\"\n").size(), 16'001u);
  for (const char* opens : {"echo $(\n", ". \"$(\n", "set -- $(\n"}) {
    std::string open;
    for (int i = 0; i < 3'000; ++i) open += opens;
    EXPECT_EQ(x_of(open + "torchrun train.py --x 1\n"), "1") << opens;
  }
}

TEST(LaunchScripts, Functions) {
  EXPECT_EQ(x_of("run() {\n  torchrun train.py --x $1$X\n}\nX=7\nrun 3\n"), "37");
  EXPECT_EQ(x_of("function run {\n  local a=$1\n  torchrun train.py --x $a\n}\nrun 3\n"), "3");
  EXPECT_EQ(x_of("run() { torchrun train.py --x $X; }\nX=2\n"), "2");  // nobody calls it
  EXPECT_EQ(script_launches("run() {\n  torchrun train.py --x $1\n  run $1\n}\nrun 1\n").size(),
      8u);  // an end is put to it
}

TEST(LaunchScripts, Heredocs) {
  const LaunchLine launch =
      only_launch("Z=1\nC=./ds.$SLURM_JOBID.json\ncat <<EOT > $C\n{\n  \"stage\": $Z,\n  \"batch\": $GBS\n}\nEOT\n"
                  "cat > other.yaml <<'EOF'\na: $Z\nEOF\necho \"{\\\"a\\\": $Z}\" > third.json\ndeepspeed train.py "
                  "--deepspeed_config $C\n");
  ASSERT_EQ(launch.files.size(), 3u);
  EXPECT_EQ(launch.files[0].name, given(launch, "deepspeed_config")->value);
  EXPECT_EQ(launch.files[0].text, "{\n  \"stage\": 1,\n  \"batch\": ${GBS}\n}\n");
  EXPECT_EQ(launch.files[0].line, 4u);
  EXPECT_EQ(launch.files[0].unset, std::vector<std::string>{"GBS"});
  EXPECT_EQ(launch.files[1].text, "a: $Z\n");
  EXPECT_EQ(launch.files[2].text, "{\"a\": 1}\n");
  // Text of another file is no command of this one, but that of a job is.
  EXPECT_TRUE(script_launches("cat <<E > notes.txt\ntorchrun train.py --x 1\nE\n").empty());
  EXPECT_EQ(x_of("X=4\nsbatch <<E\n#SBATCH --nodes=2\nsrun torchrun --nproc_per_node 8 --nnodes \\$SLURM_NNODES "
                 "train.py --x $X\nE\n"),
      "4");
}

TEST(LaunchScripts, WordsOfInnerShells) {
  const std::string set = "L=\"torchrun --nproc_per_node 8 --nnodes 2\"\nC=\"train.py --x 'a b' \\\n  --y 2\"\n";
  for (const char* command : {"srun --label bash -c \"$L --node_rank \\$SLURM_PROCID $C\"", "eval $L $C",
           "eval \"$L $C\"", "srun -l bash -lc \"export A=1; cd x && $L $C\"", "pdsh -w a,b \"cd x; $L $C\"",
           "srun singularity exec image.sif bash -c \"$L $C\""}) {
    const LaunchLine launch = only_launch(set + command + "\n");
    EXPECT_EQ(given(launch, "x")->value, "a b") << command;
    EXPECT_EQ(given(launch, "y")->line, 3u) << command;
    EXPECT_EQ(launch.gpus(), 16) << command;
  }
}

TEST(LaunchScripts, SizesOfJobs) {
  struct Case {
    const char* text;
    std::int64_t gpus;
  };
  const Case cases[] = {{"#SBATCH --nodes 4\n#SBATCH --gres=gpu:h100:8\nsrun torchrun --nproc_per_node "
                         "$SLURM_GPUS_ON_NODE --nnodes $SLURM_NNODES train.py --x 1",
                            32},
      {"#SBATCH -N 2\n#SBATCH --ntasks-per-node=8\nsrun python train.py --x 1", 16},
      {"deepspeed --include a:0,1,2,3@b:0,1,2,3 train.py --x 1", 8}, {"composer -n 8 train/train.py a.yaml x=1", 8},
      {"mpirun -np 16 -x NCCL_DEBUG=INFO python train.py --x 1", 16},
      {"accelerate launch --config_file a.yaml --num_processes 16 train.py --x 1", 16}};
  for (const Case& c : cases) EXPECT_EQ(only_launch(c.text).gpus(), c.gpus) << c.text;
}

/// man sbatch: it reads no #SBATCH behind the first line that is neither empty nor a comment. LSF reads all of a
/// script.
TEST(LaunchScripts, AJobsHeaderEndsAtItsFirstCommand) {
  const std::string job = "#!/bin/bash\n#SBATCH --nodes=4\n\n# a comment\n#SBATCH --ntasks-per-node=8\n",
                    late = "#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=4\n", run = "srun python train.py --x 1\n";
  EXPECT_EQ(only_launch("#!/bin/bash\n" + late + run).gpus(), 32);
  for (const char* command : {"echo hi\n", "set -e\n", "X=3\n", "if [ -n \"$Y\" ]; then\n  cd b\nfi\n",
           "f() {\n  cd b\n}\n", "cat <<E > a.txt\nb\nE\n", "module load cuda\n", "export A=1 # b\n"}) {
    const LaunchLine launch = only_launch(job + command + late + run);
    EXPECT_EQ(launch.gpus(), 32) << command;
    EXPECT_EQ(std::ranges::count_if(launch.notes,
                  [](const std::string& note) { return note.find("behind the first command") != note.npos; }),
        2)
        << command;
  }
  const std::string nodes = "srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES train.py --x 1\n";
  EXPECT_EQ(only_launch(job + "cd b\n" + late + nodes).gpus(), 32) << "nor is its variable set";
  EXPECT_EQ(only_launch("#PBS -l select=4:ngpus=8\ncd b\n#PBS -l select=8:ngpus=8\n" + run).gpus(), 32);
  EXPECT_EQ(
      only_launch("#BSUB -W 2\ncd b\n#BSUB -nnodes 8\nsrun --ntasks-per-node 8 python train.py --x 1\n").gpus(), 64);
  // LSF's slots, of all nodes and of each
  const std::string slots = "srun --ntasks-per-node 8 python train.py --x 1\n";
  EXPECT_EQ(only_launch("#BSUB -n 320 -R \"span[ptile=40]\"\n" + slots).gpus(), 64);
  EXPECT_EQ(only_launch("#BSUB -n 320\n#BSUB -R \"span[ptile=40]\"\n" + slots).gpus(), 64);
  EXPECT_EQ(only_launch("#BSUB -n 30 -R \"span[ptile=8]\"\n" + slots).gpus(), 32) << "the last has fewer slots";
  // A job that a script writes has a header of its own, and a shell reads none.
  EXPECT_EQ(only_launch("X=4\nsbatch <<E\n" + job + run + "E\n").gpus(), 32);
  EXPECT_EQ(only_launch("X=4\ncat > job.sh <<E\n" + job + run + "E\nsbatch job.sh\n").gpus(), 32);
  EXPECT_EQ(only_launch("X=4\ncat > job.sh <<E\n" + job + run + "E\n").gpus(), 32);
  EXPECT_EQ(only_launch("X=4\nbash <<E\n" + job + run + "E\n").gpus(), 0);
}

/// Letters behind backslashes in $'...', which is one word.
TEST(LaunchScripts, QuotesOfLettersAreTakenOff) {
  const LaunchLine launch =
      only_launch("torchrun --nproc_per_node $'8' train.py --seq-length $'4096' --name $'a\\tb\\'c'\n");
  EXPECT_EQ(launch.gpus(), 8);
  EXPECT_EQ(launch.arguments.at("seq_length"), "4096");
  EXPECT_EQ(launch.arguments.at("name"), "a\tb'c");
  const LaunchLine codes =
      only_launch("torchrun --nproc_per_node $'\\x38' train.py --seq-length $'\\0640\\x396' --name $'a\\qb\\x4'\n");
  EXPECT_EQ(codes.gpus(), 8);
  EXPECT_EQ(codes.arguments.at("seq_length"), "4096");
  EXPECT_EQ(codes.arguments.at("name"), "a\\qb\x04") << "what means nothing stays";
  for (const char* unread : {"\\u0034", "\\cA", "\\0", "\\x01"}) {
    const LaunchLine open = only_launch(fmt::format("torchrun train.py --seq-length $'4{}'\n", unread));
    ASSERT_EQ(open.given.size(), 1U) << unread;
    EXPECT_FALSE(open.given.front().unset.empty()) << unread;
  }
}

/// Counts that are not the run's: parts of several sizes, more nodes than the job has, and starts that do not meet.
TEST(LaunchScripts, LaunchersAreHeldAgainstTheirJob) {
  const std::string job = "#!/bin/bash\n#SBATCH --nodes=4\n", tasks = "#SBATCH --ntasks-per-node=8\n",
                    plain = " python train.py --x 1\n", inner = " torchrun --nproc_per_node 8 ",
                    end = " train.py --x 1\n";
  const struct {
    std::string text, why;
  } doubted[] = {
      {job + tasks + "#SBATCH hetjob\n#SBATCH --nodes=2\n" + tasks + "srun --het-group=0,1" + plain, "parts"},
      {job + "#SBATCH packjob\n#SBATCH -N 2\n" + tasks + "srun" + plain, "parts"},
      {"srun -N 4 --ntasks-per-node=8 python train.py --x 1 : -N 2 --ntasks-per-node=8" + plain, "parts"},
      {"mpirun -np 8 python a.py --x 1 : -np 4" + plain, "parts"},
      {"cat > j.sh <<E\n#!/bin/bash\nsrun" + plain + "E\nsbatch -N 4 -n 32 : -N 2 -n 16 j.sh\n", "parts"},
      {job + tasks + "srun -N 8" + plain, "8 nodes in a job of 4"},
      {job + "srun --nodes=5" + inner + "--nnodes 5" + end, "5 nodes in a job of 4"},
      {job + "srun" + inner + "--nnodes 2" + end, "on 4 nodes, and it is told 2"},
      {job + "srun --nodes 3" + inner + "--nnodes 2" + end, "on 3 nodes, and it is told 2"},
      {job + "srun bash -c \"" + inner + "--nnodes=2 train.py --x 1\"\n", "on 4 nodes, and it is told 2"},
      {job + inner + "--nnodes 8" + end, "waits for 8 nodes in a job of 4"},
      {job + "srun accelerate launch --num_machines 8 --num_processes 64" + end, "waits for 8 nodes in a job of 4"},
      {job + "srun" + inner + "--nnodes=1:2" + end, "takes 1:2 nodes, and the job has 4"}};
  for (const auto& c : doubted) {
    const LaunchLine launch = only_launch(c.text);
    EXPECT_EQ(launch.gpus(), 0) << c.text;
    EXPECT_NE(launch.doubted.find(c.why), std::string::npos) << c.text << launch.doubted;
  }
  const struct {
    std::string text;
    std::int64_t gpus;
  } clear[] = {{job + tasks + "srun -N 2" + plain, 16}, {job + "srun" + inner + "--nnodes $SLURM_NNODES" + end, 32},
      {job + "srun -N 2" + inner + "--nnodes 2" + end, 16},
      {job + "srun -N 1 -n 1 -w a" + inner + "--nnodes 4" + end, 32},
      {job + "srun --ntasks=1" + inner + "--nnodes 1" + end, 8}, {job + inner + "--nnodes 2" + end, 16},
      {job + "srun" + inner + "--nnodes=2:4" + end, 32}};
  for (const auto& c : clear) {
    const LaunchLine launch = only_launch(c.text);
    EXPECT_EQ(launch.gpus(), c.gpus) << c.text;
    EXPECT_EQ(launch.doubted, "") << c.text;
  }
  const LaunchLine elastic = only_launch(clear[6].text);
  ASSERT_FALSE(elastic.notes.empty());
  EXPECT_EQ(elastic.notes.front(), "torchrun takes 2:4 nodes: the 4 of the job");
}

TEST(LaunchScripts, WhatTheLauncherAndTheProgramAreTold) {
  const LaunchLine launch =
      only_launch("accelerate launch --config_file a.yaml --use_fsdp train.py conf.yaml --x 1 key=2\n");
  EXPECT_EQ(launch.launcher, "accelerate");
  ASSERT_EQ(launch.launcher_given.size(), 2u);
  EXPECT_EQ(launch.launcher_given[0].value, "a.yaml");
  EXPECT_EQ(launch.launcher_given[1].value, "true");
  ASSERT_EQ(launch.positional.size(), 1u);
  EXPECT_EQ(launch.positional[0].value, "conf.yaml");
  EXPECT_EQ(given(launch, "key")->spelled, "key");
}

TEST(LaunchScripts, WordsWithoutAShell) {
  const LaunchLine bare = launch_of_words({"--num-layers", "32", "--path", "$HOME/a b", "--swiglu"});
  EXPECT_EQ(bare.given.size(), 3u);
  EXPECT_EQ(given(bare, "path")->value, "$HOME/a b");
  EXPECT_EQ(launch_of_words({"torchrun", "--nproc_per_node", "8", "train.py", "--x", "1"}).gpus(), 8);
}

TEST(LaunchScripts, QuotesThatDoNotClose) {
  const LaunchLine launch = only_launch("A=\"--x 1\nB=2\ntorchrun train.py $A --y $B\n");
  EXPECT_EQ(launch.unclosed.at("A"), 1u);
  const auto cut = find_launches("x=1\ntorchrun train.py --a $((1 + \n", "run.sh");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().where, "run.sh:2");
  EXPECT_FALSE(cut.error().hint.empty());
}

TEST(LaunchScripts, NothingGrowsWithoutEnd) {
  std::string doubling = "X=aaaaaaaa\n", chain;
  for (int i = 0; i < 200; ++i) doubling += "X=$X$X\n";
  EXPECT_EQ(only_launch(doubling + "torchrun train.py --x $X --y 1\n").arguments.at("y"), "1");
  EXPECT_EQ(x_of("X=$X:a\ntorchrun train.py --x $X\n"), "$X:a");
  for (int i = 0; i < 500; ++i) chain += "${X:-";
  EXPECT_FALSE(find_launches("torchrun train.py --x " + chain + "\n", "run.sh"));
  chain += std::string(500, '}');
  EXPECT_TRUE(find_launches("torchrun train.py --x " + chain + "\n", "run.sh"));
  std::string loop = "f() {\n g\n g\n}\ng() {\n f\n f\n}\nf\n";
  EXPECT_TRUE(script_launches(loop).empty());
}

TEST(LaunchScripts, LongLinesAndOddBytes) {
  constexpr std::size_t share = sanitized ? 50 : 1;  // what stays below a command's longest text is read whole
  const std::string semicolons(300'000 / share, ';'), dollars(300'000 / share, '$'), quotes(100'000 / share | 1U, '"');
  for (const std::string& text : {semicolons, dollars, quotes, std::string(300'000 / share, '\\'),
           std::string(200'000 / share, '('), std::string(1000, '\0')}) {
    EXPECT_TRUE(find_launches(text, "run.sh"));
    EXPECT_TRUE(find_launches("X=1\n" + text + "\n", "run.sh"));
    (void)find_launches("torchrun train.py --x " + text, "run.sh");
  }
  std::string arrays = "A=", conditions = "if [ a = a ]";
  for (std::size_t i = 0; i < 20'000 / share; ++i) arrays += "(B=";
  for (std::size_t i = 0; i < 100'000 / share; ++i) conditions += " && [ a = a ]";
  EXPECT_TRUE(find_launches(arrays, "run.sh"));
  EXPECT_TRUE(find_launches(conditions + "; then X=1; fi", "run.sh"));
  std::string open;
  for (std::size_t i = 0; i < 20'000 / share; ++i) open += "X=${\nif [ \nf() {\ncat <<E\n";
  EXPECT_TRUE(find_launches(open, "run.sh"));
  EXPECT_EQ(only_launch("torchrun train.py --x \1\2\3 --y 1\r\n").arguments.at("y"), "1");
}

const char* const damaged_scripts[] = {sample_log::megatron_script,
    "#!/bin/bash\n#SBATCH --nodes=4\nTP=${TP:-2}\ncase $S in\n 7b) L=32; H=4096 ;;\n *) L=40 ;;\nesac\nif [ \"$TP\" "
    "-gt 1 ]; then\n"
    " E=\"--sp\"\nelse\n E=\"\"\nfi\nA=(--l $L --h \"$H\" # c\n)\nA+=(--t \"${TP}\" $E)\nrun() {\n local w=$1\n "
    "torchrun "
    "--nproc_per_node 8 \\\n  t.py \"${A[@]}\" --x $(( TP * 2**3 )) `date` $M\n}\nfor i in 1 2; do run $i; done\n",
    "C=./d.$J.json\ncat <<EOT > $C\n{ \"a\": $Z, \"b\": ${Q:-1} }\nEOT\nexport CMD=\" \\\n `pwd`/p.py \\\n --a 'x|y' "
    "\\\n --c $C \\\n \"\n"
    "clear; srun --w=60 bash -c \"$L --r \\$P $CMD\" 2>&1 | tee -a $(date).txt\neval ${CMD//a/b} ${X%%.*} ${#A[@]}\n"};

/// Damage at random places; whatever comes of it is answered, and values are no longer than what they can be made of.
TEST(LaunchScripts, DamageIsAnswered) {
  std::mt19937 random(12);
  using std::string_view_literals::operator""sv;
  constexpr std::string_view signs = "\"'`$(){}[]\\\n;&|<>#=*! ~+-\r\0\1\2"sv;
  std::size_t read = 0;
  for (int round = 0; round < trials(4000); ++round) {
    std::string text = damaged_scripts[random() % std::size(damaged_scripts)];
    for (std::size_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = signs[random() % signs.size()]; break;
        case 1: text.erase(at, 1 + random() % 20); break;
        case 2: text.insert(at, std::string(text, random() % text.size(), random() % 60)); break;
        default: text.insert(at, 1, signs[random() % signs.size()]);
      }
      if (text.empty()) text = "x";
    }
    const auto found = find_launches(text, "run.sh", {{"1", "a"}, {"M", "$M"}});
    if (!found) {
      EXPECT_TRUE(found.error().where.starts_with("run.sh:")) << text;
      EXPECT_FALSE(found.error().what.empty() || found.error().hint.empty()) << text;
      continue;
    }
    for (const LaunchLine& launch : *found) {
      read += launch.given.size();
      for (const GivenArgument& argument : launch.given) {
        EXPECT_FALSE(argument.name.empty() || argument.spelled.empty()) << text;
        EXPECT_LE(argument.line, 100u) << text;
        EXPECT_LT(argument.value.size(), 64u * 1024) << text;
        EXPECT_EQ(argument.value.find('\1'), std::string::npos) << text;
      }
    }
  }
  EXPECT_GT(read, trials(10'000U));
}

}  // namespace
}  // namespace stepcast::calibrate
