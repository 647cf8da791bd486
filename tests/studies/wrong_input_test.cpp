// Every wrong input ends with exit code 2, nothing on stdout, and a message with numbers and the nearest legal values.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_program::Ran;
using testing_program::run_line;

/// A file in the test's own folder.
std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing_program::own_path("stepcast_wrong_" + name);
  std::ofstream(path) << text;
  return path;
}

std::string input_refusal(const std::string& line) {
  const Ran ran = run_line(line);
  EXPECT_EQ(ran.code, 2) << line << "\n" << ran.err;
  EXPECT_EQ(ran.out, "") << line;
  return ran.err;
}

const std::string llama = "predict llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 ";

TEST(WrongInput, UnknownNames) {
  EXPECT_THAT(input_refusal("predcit llama3-70b"), HasSubstr("did you mean 'predict'?"));
  EXPECT_THAT(input_refusal("predict llama3-7b"), AllOf(HasSubstr("unknown network"), HasSubstr("llama3-")));
  EXPECT_THAT(
      input_refusal("predict llama3-70b --machine dgx-h10"), AllOf(HasSubstr("--machine"), HasSubstr("dgx-h100")));
  EXPECT_THAT(input_refusal("predict llama3-70b --stack megatron-cor"), HasSubstr("megatron-core"));
  EXPECT_THAT(input_refusal("predict llama3-70b --profile h100-sxn"), HasSubstr("h100-sxm"));
  EXPECT_THAT(
      input_refusal("predict llama3-70b --tpp 8"), AllOf(HasSubstr("--tpp: unknown flag"), HasSubstr("'--tp'")));
  EXPECT_THAT(input_refusal("list network5"), HasSubstr("did you mean 'networks'?"));
  EXPECT_THAT(input_refusal("show network lama3-70b"), HasSubstr("llama3-70b"));
  EXPECT_THAT(input_refusal("show schedule 1f1p"), HasSubstr("1f1b"));
  EXPECT_THAT(input_refusal("--versoin"), HasSubstr("unknown flag"));
}

/// A bare name, which no slash marks as a path, may be a folder, too.
TEST(WrongInput, AFolderOfNoCheckpointIsSaid) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path place = testing_program::own_path("stepcast_wrong_place");
  std::filesystem::create_directories(place / "adir");
  std::filesystem::create_directories(place / "llama3-8b");
  std::filesystem::current_path(place);
  EXPECT_THAT(input_refusal("predict adir"), HasSubstr("adir: is a folder without a config.json"));
  EXPECT_EQ(run_line("predict llama3-8b").code, 0) << "the catalogue has it";
  std::filesystem::current_path(before);
}

/// GPT-2 has 1,024: 1,000 + 24 are all of them.
TEST(WrongInput, RequestsBeyondLearnedPositions) {
  const std::string served = "serve gpt2-1.5b --gpus 1 --input 1000 --concurrency 1 --output ";
  EXPECT_THAT(input_refusal(served + "25"), HasSubstr("1000 + 25 positions, and gpt2-1.5b has learned positions"));
  EXPECT_EQ(run_line(served + "24").code, 0);
}

TEST(WrongInput, TwoFormsOfOneAnswer) {
  for (const char* line : {"whatif llama3-8b --gpus 8", "scale llama3-8b --gpus 8",
           "sweep llama3-8b --gpus 8 --global-batch 8", "schedule --compare --stages 2 --micro-batches 4"})
    EXPECT_THAT(input_refusal(std::string(line) + " --csv --json"), HasSubstr("--csv: beside --json")) << line;
}

TEST(WrongInput, TimingsOfAnotherWorldAndTooFew) {
  const std::string head = "m,n,k,dtype,time_us\n", product = "1024,1024,1024,bf16,";
  const auto fit = [](const std::string& file) {
    return input_refusal("calibrate fit " + file + " --gpu h100-sxm -o " + testing_program::own_path("p.json"));
  };
  EXPECT_THAT(fit(written("years.csv", head + product + "1e300\n")), HasSubstr("within an hour"));
  EXPECT_THAT(fit(written("hours.csv", head + product + "3600000001\n")), HasSubstr("within an hour"));
  EXPECT_THAT(fit(written("few.csv", head + product + "10\n")), HasSubstr("a law needs 4 rows or more"));
}

TEST(WrongInput, WhatIsSaidOfLogsNeedsALog) {
  const std::string records = "calibrate runs " STEPCAST_SOURCE_DIR "/examples/measured_runs.json ";
  for (const char* said : {"--machine nope", "--gpus 8", "--model llama3-8b"})
    EXPECT_THAT(input_refusal(records + said), HasSubstr("none of the files is one")) << said;
}

TEST(WrongInput, MissingAndExtraWords) {
  EXPECT_THAT(input_refusal("predict"), HasSubstr("no network is named"));
  EXPECT_THAT(input_refusal("show network"), HasSubstr("usage: stepcast show"));
  EXPECT_THAT(input_refusal("predict llama3-70b llama3-8b"), HasSubstr("unexpected argument 'llama3-8b'"));
  EXPECT_THAT(run_line(std::vector<std::string>{}).err, HasSubstr("Usage: stepcast COMMAND"));
}

/// On 4 stages 6 micro-batches are a round of 4 and half a round: 4 and 8 are whole, times dp 2.
TEST(WrongInput, SchedulesNameTheBatchesThatTheyRun) {
  EXPECT_THAT(input_refusal("predict llama3-8b --gpus 8 --pp 4 --chunks 2 --global-batch 12"),
      HasSubstr("--global-batch 8 or 16, which are 4 or 8 micro-batches"));
  EXPECT_EQ(run_line("predict llama3-8b --gpus 8 --pp 4 --chunks 2 --global-batch 16").code, 0);
  EXPECT_THAT(input_refusal("predict llama3-8b --gpus 8 --pp 8 --schedule dualpipe --global-batch 6"),
      HasSubstr("--global-batch 16, which is 16 micro-batches"));
  EXPECT_THAT(input_refusal("predict llama3-8b --gpus 8 --pp 8 --schedule interleaved-1f1b"), HasSubstr("chunks 2"));
}

TEST(WrongInput, NumbersThatDoNotDivide) {
  EXPECT_THAT(input_refusal("predict llama3-70b --gpus 56 --tp 7"), HasSubstr("legal tp: 1, 2, 4, 8, 16, 32, 64"));
  EXPECT_THAT(input_refusal("predict llama3-70b --gpus 500 --tp 8 --pp 4"), HasSubstr("nearest: 480 or 512 GPUs"));
  EXPECT_THAT(input_refusal("predict llama3-70b --gpus 96 --tp 8 --pp 3"), HasSubstr("legal pp: 1, 2, 4;"));
  EXPECT_THAT(input_refusal(llama + "--global-batch 1000"), HasSubstr("nearest: 992 or 1008"));
  EXPECT_THAT(input_refusal(llama + "--global-batch 1024 --micro-batch 3"), HasSubstr("1008 or 1056"));
  EXPECT_THAT(input_refusal(llama + "--seq 8190"), HasSubstr("8184 or 8192"));
  EXPECT_THAT(input_refusal(llama + "--chunks 3"), HasSubstr("legal chunks at pp 4: 1, 2, 4, 5, 10, 20"));
}

TEST(WrongInput, ExpertsOfADenseNetwork) {
  EXPECT_THAT(input_refusal(llama + "--ep 8"), HasSubstr("--ep: network llama3-70b has no experts"));
  EXPECT_THAT(input_refusal(llama + "--etp 2"), HasSubstr("--etp: network llama3-70b has no experts"));
}

TEST(WrongInput, MoreGpusThanTheMachineHas) {
  EXPECT_THAT(input_refusal("predict llama3-70b --machine dgx-h100 --gpus 100000 --tp 8"),
      AllOf(HasSubstr("--gpus: 100000 GPUs"), HasSubstr("at most 16384")));
  EXPECT_THAT(
      input_refusal("predict gpt2-1.5b --machine two-2080ti-pc --gpus 4 --precision fp16"), HasSubstr("at most 2"));
}

TEST(WrongInput, ScheduleThatCannotRun) {
  EXPECT_THAT(input_refusal(llama + "--chunks 2 --global-batch 96"),  // 6 micro-batches on 4 stages
      AllOf(HasSubstr("interleaved-1f1b"), HasSubstr("micro-batches")));
  EXPECT_THAT(input_refusal(llama + "--chunks 2 --schedule 1f1b"), HasSubstr("chunk"));
  EXPECT_THAT(input_refusal(llama + "--schedule 1f1p"), HasSubstr("did you mean '1f1b'?"));
  EXPECT_THAT(input_refusal("predict llama3-8b --gpus 1 --global-batch 100000000"), HasSubstr("absurdly many"));
}

TEST(WrongInput, NegativeZeroAndAbsurd) {
  for (const char* flag : {"--gpus", "--tp", "--pp", "--cp", "--chunks", "--micro-batch", "--global-batch", "--seq"})
    for (const char* value : {"0", "-1", "1.5", "8x", "99999999999999999999"})
      EXPECT_THAT(input_refusal(std::string("predict llama3-70b ") + flag + " " + value), HasSubstr(flag));
  EXPECT_THAT(input_refusal(llama + "--zero 4"), HasSubstr("from 0 to 3"));
  EXPECT_THAT(input_refusal(llama + "--recompute full:81"), HasSubstr("from 1 to "));
  EXPECT_THAT(input_refusal(llama + "--precision int3"), HasSubstr("bf16"));
}

TEST(WrongInput, PrecisionThatTheGpuLacks) {
  EXPECT_THAT(input_refusal("predict gpt2-1.5b --machine two-2080ti-pc --precision bf16"),
      AllOf(HasSubstr("no bf16"), HasSubstr("fp16")));
}

TEST(WrongInput, SequenceBeyondLearnedPositions) {
  EXPECT_THAT(input_refusal("predict gpt2-1.5b --seq 2048"), AllOf(HasSubstr("--seq"), HasSubstr("at most 1024")));
}

TEST(WrongInput, FilesThatAreNotThere) {
  EXPECT_THAT(input_refusal("predict /no/such/file.json"), HasSubstr("/no/such/file.json"));
  EXPECT_THAT(input_refusal("predict llama3-8b --mapping /no/such.flow"), HasSubstr("/no/such.flow"));
  EXPECT_THAT(input_refusal("predict llama3-8b --machine /tmp/"), HasSubstr("folder"));
}

TEST(WrongInput, MappingAgainstGpusFlagsAndBatch) {
  const std::string flow =
      written("eight.flow", "mesh tp:2 cp:1 dp:4 pp:1\nuse tp, dp\npar layer on pp sched 1f1b for mb:4\n");
  const std::string base = "predict llama3-8b --mapping " + flow;
  EXPECT_EQ(run_line(base).code, 0);
  EXPECT_THAT(input_refusal(base + " --gpus 16"), HasSubstr("16 GPUs, but the mesh tp 2, cp 1, dp 4, pp 1 makes 8"));
  EXPECT_THAT(input_refusal(base + " --tp 4"), HasSubstr("--tp: the mapping"));
  EXPECT_THAT(input_refusal(base + " --global-batch 32"), AllOf(HasSubstr("8 micro-batches"), HasSubstr("mb:4")));
  EXPECT_THAT(input_refusal(base + " --global-batch 15"), HasSubstr("nearest: 12 or 16"));
}

TEST(WrongInput, MappingTextWithMistakes) {
  const auto mapped = [](const std::string& text) {
    return input_refusal("predict llama3-8b --mapping " + written("bad.flow", text));
  };
  EXPECT_THAT(mapped("use tp\n"), HasSubstr("no mesh line"));
  EXPECT_THAT(mapped("mesh tp:8\npra b on tp\n"), HasSubstr(":2:1"));
  EXPECT_THAT(mapped("mesh tp:8\nuse tpp\n"), HasSubstr("tp"));
  EXPECT_THAT(mapped("mesh dp:8\npar q on dp\n"), HasSubstr("q"));
  EXPECT_THAT(mapped("mesh dp:8\npar b on dq\n"), HasSubstr("dq"));
  EXPECT_THAT(mapped("mesh a:4 b:2\nmesh c:6\npar b on a\n"), HasSubstr("6"));  // two lines, two products
  EXPECT_THAT(mapped("mesh a:99999 b:99999\npar b on a\n"), HasSubstr("absurd"));
  EXPECT_THAT(mapped("mesh a:99999999 b:99999999\npar b on a\n"), HasSubstr("ranks"));
}

TEST(WrongInput, OutputFlagsThatExclude) {
  EXPECT_THAT(input_refusal(llama + "--print-scenario --json"), HasSubstr("--print-scenario"));
}

/// What `show` prints of a row.
std::string shown_row(const std::string& words) {
  const Ran ran = run_line("show " + words + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.out;
}

TEST(WrongInput, AFileOfAnotherKindIsNamedInEachPlace) {
  const std::string network = written("n.json", shown_row("network llama3-8b")),
                    machine = written("m.json", shown_row("machine dgx-h100")),
                    stack = written("s.json", shown_row("stack nemo")),
                    profile = written("p.json", shown_row("profile h100-sxm")),
                    engine = written("e.json", shown_row("engine vllm")),
                    forecast = written("f.json", run_line("predict llama3-8b --zero 3 --json").out);
  const std::string files[] = {network, machine, stack, profile, engine, forecast};
  const char* kinds[] = {"a network", "a machine", "training software", "a profile", "an engine", "a forecast"};
  const std::pair<const char*, const char*> places[] = {{"predict ", ""}, {"predict llama3-8b --machine ", ""},
      {"predict llama3-8b --stack ", ""}, {"predict llama3-8b --profile ", ""},
      {"infer llama3-8b --prompt 100 --engine ", ""}};
  for (std::size_t place = 0; place < std::size(places); ++place)
    for (std::size_t file = 0; file < std::size(files); ++file) {
      if (place == file) continue;
      const std::string line = places[place].first + files[file];
      EXPECT_THAT(input_refusal(line), AllOf(HasSubstr(std::string("this is ") + kinds[file]), HasSubstr("place")))
          << line;
    }
}

TEST(WrongInput, ALaunchInPlaceOfANetworkIsSentToItsFlag) {
  const std::string script = written("run.sh", "torchrun pretrain_gpt.py --num-layers 32\n");
  EXPECT_THAT(input_refusal("predict " + script), HasSubstr("--launch " + script));
  EXPECT_THAT(input_refusal("predict llama3-8b --deepspeed nothing.json --gpus 8"), HasSubstr("cannot be read"));
}

TEST(WrongInput, JsonInPlaceOfAMappingIsOneError) {
  const std::string file = written("a.json", "{\n  \"tp\": 8,\n  \"pp\": 4\n}\n");
  for (const std::string& line : {"dataflow " + file, "predict llama3-8b --mapping " + file})
    EXPECT_THAT(input_refusal(line), HasSubstr("this is JSON, and a mapping in the notation is asked for")) << line;
}

TEST(Input, AByteOrderMarkSaysNothing) {
  const std::string mark = "\xEF\xBB\xBF";
  const std::string network = written("n.json", mark + shown_row("network llama3-8b")),
                    machine = written("m.json", mark + shown_row("machine dgx-h100"));
  const Ran plain = run_line("predict llama3-8b --zero 3 --gpus 8"),
            marked = run_line("predict " + network + " --machine " + machine + " --zero 3 --gpus 8");
  ASSERT_EQ(marked.code, 0) << marked.err;
  const auto step = [](const Ran& ran) { return ran.out.substr(ran.out.find("Step time"), 80); };
  EXPECT_EQ(step(plain), step(marked));
}

TEST(Input, AnEditedRowSaysThatItDiffers) {
  std::string row = shown_row("network llama3-8b");
  const std::string same = written("same.json", row);
  row.replace(row.find("\"layers\": 32"), 12, "\"layers\": 16");
  const std::string edited = written("edited.json", row);
  EXPECT_THAT(run_line("predict " + same + " --zero 3").out, testing::Not(HasSubstr("differs from")));
  EXPECT_THAT(run_line("predict " + edited + " --zero 3 --json").out,
      AllOf(HasSubstr("differs from llama3-8b of the catalogue, whose name it has: it has 4540469248"),
          HasSubstr("published are 8030261248")));
}

}  // namespace
}  // namespace stepcast::studies
