#include "studies/launch/read/launch.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

namespace stepcast::launch {
namespace {

LaunchSource launch_source_of(std::string_view flag, std::map<std::string, std::string> defined = {}) {
  LaunchSource source;
  source.flag = find_launch_flag(flag);
  EXPECT_NE(source.flag, nullptr) << flag;
  source.defined = std::move(defined);
  return source;
}

Launch text_launch(std::string_view flag, const std::string& text, std::map<std::string, std::string> defined = {}) {
  auto read = read_launch_text(text, "run.sh", launch_source_of(flag, std::move(defined)));
  EXPECT_TRUE(read) << text << (read ? "" : to_text(read.error()));
  return read ? *read : Launch{};
}

std::string launch_mistake(const std::string& text, LaunchSource source) {
  const auto read = read_launch_text(text, "run.sh", source);
  EXPECT_TRUE(read || (!read.error().what.empty() && !read.error().hint.empty())) << text;
  return read ? "read" : to_text(read.error());
}
std::string launch_mistake(const std::string& text) { return launch_mistake(text, launch_source_of("--megatron")); }

std::string value_of(const Launch& launch, std::string_view name) {
  const GivenArgument* given = launch.find(name);
  return given == nullptr ? "(not given)" : given->value;
}

bool notes_hold(const Launch& launch, std::string_view text) {
  for (const std::string& note : launch.notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

class LaunchFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("launch_") + test->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Launch read(std::string_view flag, const std::string& name) {
    LaunchSource source = launch_source_of(flag);
    source.file = (folder_ / name).string();
    auto launch = read_launch(source);
    EXPECT_TRUE(launch) << (launch ? "" : to_text(launch.error()));
    return launch ? *launch : Launch{};
  }
  std::filesystem::path folder_;
};

TEST(Launch, AScript) {
  const Launch launch = text_launch("--megatron",
      "export CUDA_DEVICE_MAX_CONNECTIONS=1\nA=(--num-layers 32 --tensor-model-parallel-size 4)\n"
      "NCCL_DEBUG=INFO torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ${A[@]} --num-layers 40\n");
  EXPECT_EQ(launch.framework->id, "megatron-lm");
  EXPECT_EQ(launch.gpus, 16);
  EXPECT_EQ(launch.gpus_per_node, 8);
  EXPECT_EQ(value_of(launch, "num_layers"), "40");  // the last counts
  EXPECT_EQ(launch.arguments.size(), 3u);
  EXPECT_EQ(launch.environment.at("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
  EXPECT_EQ(launch.environment.at("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(value_of(without(launch, "num_layers"), "num_layers"), "(not given)");
  EXPECT_EQ(without(launch, "num_layers").arguments.size(), 1u);
}

TEST(Launch, WhoseItIs) {
  struct Case {
    const char *flag, *text, *framework;
  };
  const Case cases[] = {
      {"--megatron", "torchrun pretrain_gpt.py --num-layers 2 --tensor-model-parallel-size 2\n", "megatron-lm"},
      {"--megatron", "deepspeed pretrain_gpt.py --num-layers 2 --deepspeed --zero-stage 1\n", "megatron-deepspeed"},
      {"--deepspeed", "deepspeed pretrain_gpt.py --num-layers 2 --deepspeed_config ds.json\n", "megatron-deepspeed"},
      {"--megatron",
          "python examples/nlp/language_modeling/megatron_gpt_pretraining.py trainer.devices=8 model.num_layers=2\n",
          "nemo"},
      {"--nemo", "trainer:\n  devices: 8\nmodel:\n  tensor_model_parallel_size: 2\n", "nemo"},
      {"--nemo",
          "model:\n  tensor_model_parallel_size: 2\ntrain:\n  global_batch_size: 8\nddp:\n  overlap_grad_reduce: "
          "true\n",
          "megatron-bridge"},
      {"--torchtitan", "[parallelism]\ntensor_parallel_degree = 2\n", "torchtitan"},
      {"--megatron", "NGPU=8 ./run_train.sh --parallelism.tensor_parallel_degree 2\n", "torchtitan"},
      {"--deepspeed", "{\"zero_optimization\": {\"stage\": 2}}", "deepspeed"},
      {"--megatron", "{\"train_micro_batch_size_per_gpu\": 2}", "deepspeed"},
      {"--megatron", "{\"train_batch_size\": 2}", "deepspeed"},
      {"--accelerate",
          "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: "
          "FULL_SHARD\n",
          "accelerate"},
      {"--llm-foundry", "max_duration: 10ba\nmodel:\n  n_layers: 2\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n",
          "llm-foundry"},
      {"--megatron", "--num-layers 2\n# more\n--hidden-size 64 --bf16\n", "megatron-lm"}};
  for (const Case& c : cases) EXPECT_EQ(text_launch(c.flag, c.text).framework->id, c.framework) << c.text;
}

TEST(Launch, LinesOfConfigurations) {
  const Launch launch =
      text_launch("--deepspeed", "{\n  \"_note\": 1,\n  \"zero_optimization\": {\n    \"stage\": 3\n  }\n}\n");
  ASSERT_EQ(launch.arguments.size(), 1u);
  EXPECT_EQ(launch.arguments[0].line, 4u);
  EXPECT_EQ(launch.arguments[0].spelled, "zero_optimization.stage");
  const Launch file = text_launch("--megatron", "--num-layers 2\n--hidden-size 64\n");
  EXPECT_EQ(file.find("hidden_size")->line, 2u);
}

TEST(Launch, FilesThatTheScriptWrites) {
  const std::string script =
      "Z=2\nC=\"./ds.$SLURM_JOB_ID.json\"\ncat <<EOT > $C\n{\n  \"zero_optimization\": {\"stage\": $Z},\n  "
      "\"train_batch_size\": $GBS\n}\nEOT\n"
      "deepspeed pretrain_gpt.py --num-layers 2 --deepspeed --deepspeed_config $C\n";
  const Launch launch = text_launch("--megatron", script);
  EXPECT_EQ(value_of(launch, "zero_optimization.stage"), "2");
  EXPECT_EQ(launch.find("zero_optimization.stage")->line, 5u);
  EXPECT_EQ(launch.find("train_batch_size")->unset, std::vector<std::string>{"GBS"});
  EXPECT_TRUE(launch.find("train_batch_size")->file.empty());
  EXPECT_EQ(value_of(text_launch("--megatron", script, {{"GBS", "64"}}), "train_batch_size"), "64");
}

TEST_F(LaunchFolder, FilesBesideTheLaunch) {
  write("ds.json", "{\n  \"zero_optimization\": {\"stage\": 1},\n  \"num_layers\": 9\n}\n");
  write("run.sh", "deepspeed pretrain_gpt.py --num-layers 2 --deepspeed --deepspeed_config /job/conf/ds.json\n");
  const Launch launch = read("--megatron", "run.sh");
  EXPECT_EQ(value_of(launch, "zero_optimization.stage"), "1");
  EXPECT_TRUE(launch.find("zero_optimization.stage")->file.ends_with("ds.json"));
  EXPECT_EQ(launch.find("zero_optimization.stage")->line, 2u);
  EXPECT_EQ(value_of(launch, "num_layers"), "2");  // of the command line
  EXPECT_TRUE(notes_hold(launch, "num_layers is 9 in"));
  write("other.sh", "deepspeed pretrain_gpt.py --num-layers 2 --deepspeed_config lost.json\n");
  EXPECT_EQ(read("--megatron", "other.sh").unread, std::vector<std::string>{"lost.json"});
}

TEST_F(LaunchFolder, EveryFrameworkNamesItsFile) {
  write("m.yaml", "language_model:\n  num_layers: 3\n");
  write("t.toml", "[parallelism]\ntensor_parallel_degree = 4\n");
  write("a.yaml", "distributed_type: FSDP\nnum_processes: 16\n");
  write("n.yaml", "trainer:\n  num_nodes: 2\nmodel:\n  num_layers: 5\n");
  write("l.yaml", "max_duration: 1ep\nmodel:\n  n_layers: 7\n");
  write("megatron.sh", "torchrun pretrain_gpt.py --yaml-cfg m.yaml\n");
  write("titan.sh", "CONFIG_FILE=./t.toml NGPU=8 ./run_train.sh --training.seq_len 128\n");
  write("accelerate.sh", "accelerate launch --config_file a.yaml --mixed_precision bf16 train.py --x 1\n");
  write("nemo.sh", "python megatron_gpt_pretraining.py --config-path conf --config-name n model.num_layers=6\n");
  write("foundry.sh", "composer -n 8 train/train.py train/yamls/l.yaml max_seq_len=128\n");
  EXPECT_EQ(value_of(read("--megatron", "megatron.sh"), "language_model.num_layers"), "3");
  EXPECT_EQ(value_of(read("--torchtitan", "titan.sh"), "parallelism.tensor_parallel_degree"), "4");
  const Launch accelerate = read("--accelerate", "accelerate.sh");
  EXPECT_EQ(accelerate.framework->id, "accelerate");
  EXPECT_EQ(value_of(accelerate, "num_processes"), "16");
  EXPECT_EQ(value_of(accelerate, "mixed_precision"), "bf16");
  const Launch nemo = read("--nemo", "nemo.sh");
  EXPECT_EQ(value_of(nemo, "trainer.num_nodes"), "2");
  EXPECT_EQ(value_of(nemo, "model.num_layers"), "6");
  const Launch foundry = read("--llm-foundry", "foundry.sh");
  EXPECT_EQ(value_of(foundry, "model.n_layers"), "7");
  EXPECT_EQ(foundry.gpus, 8);
}

TEST_F(LaunchFolder, HostsOfDeepSpeed) {
  write("hosts", "# ours\nworker-0 slots=8\nworker-1 slots=8\n");
  write("run.sh", "deepspeed --hostfile hosts pretrain_gpt.py --num-layers 2 --zero-stage 1\n");
  EXPECT_EQ(read("--megatron", "run.sh").gpus, 16);
}

TEST_F(LaunchFolder, WordsBehindTheDashes) {
  LaunchSource source = launch_source_of("--megatron");
  source.file = "--";
  source.words = {"--num-layers", "32", "--swiglu", "--save", "$HOME/a b"};
  const auto launch = read_launch(source);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->where, "command line");
  EXPECT_EQ(value_of(*launch, "save"), "$HOME/a b");  // no shell
  EXPECT_EQ(launch->find("num_layers")->line, 0u);
  source.words = {"torchrun", "--nproc_per_node", "8", "pretrain_gpt.py", "--num-layers", "32"};
  EXPECT_EQ(read_launch(source)->gpus, 8);
  source.words.clear();
  EXPECT_FALSE(read_launch(source));
}

TEST(Launch, SeveralCommands) {
  const std::string train = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --bf16\n";
  const Launch launch =
      text_launch("--megatron", "python tools/preprocess_data.py --input x --workers 8\n" + train + train);
  EXPECT_EQ(launch.gpus, 8);
  EXPECT_TRUE(notes_hold(launch, "not read: preprocess_data.py in line 1"));
  const std::string two = launch_mistake(train + "torchrun pretrain_gpt.py --num-layers 4\n");
  EXPECT_NE(two.find("run.sh:1: 2 launches that differ: pretrain_gpt.py in line 1, pretrain_gpt.py in line 2"),
      std::string::npos)
      << two;
  const std::string chosen =
      "if [ \"$BATCH\" = 0 ]; then\n torchrun train.py --num-layers 2\nelse\n torchrun train.py --num-layers 4\nfi\n";
  EXPECT_NE(launch_mistake(chosen).find("--define the variable"), std::string::npos);
  EXPECT_EQ(value_of(text_launch("--megatron", chosen, {{"BATCH", "0"}}), "num_layers"), "2");
}

TEST(Launch, AFlagBeforeAVariableThatNothingSets) {
  const Launch launch = text_launch("--megatron", "torchrun pretrain_gpt.py --num-layers 2 --bf16 $EXTRA\n");
  EXPECT_EQ(value_of(launch, "bf16"), "true");
  EXPECT_TRUE(notes_hold(launch, "$EXTRA in line 1 is not set"));
}

TEST(Launch, MistakesSayWhereAndWhat) {
  struct Case {
    const char *text, *error;
  };
  const Case cases[] = {{"", "the file is empty"}, {"# only this\n", "nothing but comments"},
      {"plain words\n", "no command that starts a training"}, {"X=1\nY=2\n", "no command that starts a training"},
      {"#!/bin/bash\npython tools/convert.py --in a --out b\n",
          "run.sh: none of convert.py in line 2 has arguments of a training"},
      {"A=\"--num-layers 2\ntorchrun pretrain_gpt.py --hidden-size 4 $A\n",
          "run.sh:1: the value of A has a quote or bracket that does not close"},
      {"#!/bin/bash\n\ntorchrun pretrain_gpt.py --num-layers '2\n", "run.sh:3: the command ends inside a quote"},
      {"{\"zero_optimization\": {\"stage\": 1}", "run.sh:1"},
      {"[parallelism]\nx = [1,\n", "run.sh:2:9: not TOML: Error while parsing array"},
      {"X=1\nY=two\ncat > run.toml <<EOF\n[model]\nname = 1\nEOF\n", "no command that starts a training"},
      {"X=1\n[[ -n a ]] || exit\n", "no command that starts a training"},
      {"x = 1\n[[data]]\ny = 2\n", "is an argument of"}, {"a: 1\n  b: 2\n", "run.sh:2:4: not YAML: illegal map value"},
      {"nothing_of_it: 1\nor_that: 2\n", "run.sh:1: none of 2 names is an argument of Megatron-LM: nothing_of_it, ..."},
      {"nothing_of_it: 1\n", "run.sh:1: nothing_of_it is no argument of Megatron-LM"}};
  for (const Case& c : cases)
    EXPECT_NE(launch_mistake(c.text).find(c.error), std::string::npos) << c.text << "\n" << launch_mistake(c.text);
  EXPECT_NE(launch_mistake(std::string("torchrun\0 pretrain_gpt.py", 24)).find("run.sh:1: byte 0 is no text"),
      std::string::npos);
}

TEST(Launch, AnotherFrameworksFlagIsNamed) {
  EXPECT_NE(launch_mistake("nothing_of_it: 1\n")
                .find("launches of other frameworks have flags of their own: --megatron, --nemo"),
      std::string::npos);
  EXPECT_NE(launch_mistake("tensor_model_parallel_sise: 1\n").find("did you mean 'tensor_model_parallel_size'?"),
      std::string::npos);
}

TEST(Launch, TheProgramIsKept) {
  const auto of = [](const std::string& program) {
    return text_launch("--megatron",
        "torchrun " + program + " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512\n");
  };
  EXPECT_EQ(of("pretrain_bert.py").program, "pretrain_bert.py");
  EXPECT_EQ(of("tools/run_text_generation_server.py").program, "run_text_generation_server.py");
}

TEST(Launch, AnotherFrameworkThanTheFlagsIsSaid) {
  const std::string text = "torchrun pretrain_gpt.py --num-layers 24\n";
  EXPECT_TRUE(notes_hold(
      text_launch("--torchtitan", text), "a launch of Megatron-LM, and read as that in spite of --torchtitan"));
  EXPECT_FALSE(notes_hold(text_launch("--nemo", text), "in spite of"));
}

TEST(Launch, MistakesOfTheUser) {
  const std::string script = "torchrun pretrain_gpt.py --num-layers $L\n";
  EXPECT_NE(launch_mistake(script, launch_source_of("--megatron", {{"LAYERZ", "2"}}))
                .find("'LAYERZ' does not occur in run.sh"),
      std::string::npos);
  EXPECT_EQ(value_of(text_launch("--megatron", script, {{"L", "2"}}), "num_layers"), "2");
  LaunchSource source = launch_source_of("--megatron");
  source.release = "core 0.99";
  EXPECT_NE(launch_mistake(script, source).find("Megatron-LM has no release 'core 0.99' here"), std::string::npos);
  source.release = find_framework("megatron-lm")->table().releases().front().id;
  EXPECT_EQ(launch_mistake(script, source), "read");
  source.file = "no/such/file.sh";
  EXPECT_FALSE(read_launch(source));
}

TEST(Launch, DamageIsAnswered) {
  const std::string texts[] = {
      "Z=2\ncat <<EOT > ds.json\n{ \"zero_optimization\": {\"stage\": $Z}, \"b\": ${G:-1} }\nEOT\n"
      "if [ $Z = 2 ]; then X=--bf16; else X=--fp16; fi\ndeepspeed --num_gpus 8 pretrain_gpt.py --num-layers 2 $X "
      "--deepspeed_config ds.json\n",
      "trainer:\n  devices: 8\nmodel: &m\n  num_layers: 2\n  x: ${model.num_layers}\n",
      "[parallelism]\nx = 2\n[training]\nseq_len = 8\n",
      "{\"zero_optimization\": {\"stage\": 2}, \"train_batch_size\": 5e2}\n", "--num-layers 2\n--bf16 --x $(y)\n"};
  std::mt19937 random(3);
  using std::string_view_literals::operator""sv;
  constexpr std::string_view signs = "\"'`$(){}[]:,\\\n;&|<>#=*! ~+-\0"sv;
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = texts[random() % std::size(texts)];
    for (std::size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) text.erase(at, 1 + random() % 10);
      else text.insert(at, 1, signs[random() % signs.size()]);
      if (text.empty()) text = "x";
    }
    const auto read =
        read_launch_text(text, "run.sh", launch_source_of(launch_flags()[random() % launch_flags().size()].flag));
    if (!read) {
      EXPECT_FALSE(read.error().what.empty() || read.error().where.empty()) << text;
      continue;
    }
    ++accepted;
    EXPECT_NE(read->framework, nullptr);
    EXPECT_FALSE(read->arguments.empty()) << text;
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace stepcast::launch
