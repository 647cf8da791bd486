// GPUs that jobs, containers and services are given, held against the ranks of an engine and the machine's kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/studies/engines/asked_launch.h"
#include "tests/studies/run_program.h"

namespace stepcast::engines {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::Ran;
using testing_program::run_line;

const std::string four_ranks = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4\n";

/// Slurm's ways to ask (slurm.schedmd.com/sbatch.html): of a job, of a step, by node and in all, with a kind and
/// without, beside other resources.
TEST(HostGpus, SlurmsAreHeld) {
  for (const char* header : {"#SBATCH --gres=gpu:2", "#SBATCH --gres=nvme:1,gpu:h100:2", "#SBATCH --gpus-per-node=2",
           "#SBATCH -G 2", "#SBATCH --nodes=1\n#SBATCH --gpus=h100:2", "#SBATCH --gres=gpu:h100:2(S:0-1)",
           "#SBATCH --gres=gpu:2(S:0-1)"})
    EXPECT_THAT(read(std::string("#!/bin/bash\n") + header + "\n" + four_ranks).error,
        HasSubstr("tp 4 x pp 1 on one machine, where 2 GPUs are asked for"))
        << header;
  EXPECT_THAT(read("srun --gres=gpu:2 " + four_ranks).error, HasSubstr("where 2 GPUs are asked for"));
  EXPECT_THAT(read("srun --gres=gpu " + four_ranks).error, HasSubstr("where 1 GPU is asked for"));
  for (const char* header : {"#SBATCH --gres=gpu:4", "#SBATCH --gpus=8", "#SBATCH --nodes=2\n#SBATCH --gpus=4",
           "#SBATCH --gres=nvme:2", "#SBATCH --gpus-per-node=$N"})
    EXPECT_EQ(read(std::string("#!/bin/bash\n") + header + "\n" + four_ranks).error, "") << header;
  // how many nodes is not known here, or they are several
  for (const char* step : {"srun --nodes=$N --gpus-per-node=2", "srun -N2 --gpus-per-node=2",
           "srun -n 4 --ntasks-per-node=2 --gpus-per-node=2", "srun -N 1-2 --gpus-per-node=2"})
    EXPECT_EQ(read(std::string(step) + " " + four_ranks).error, "") << step;
  // a step goes over its job
  EXPECT_EQ(read("#!/bin/bash\n#SBATCH --gres=gpu:2\nsrun --gres=gpu:4 " + four_ranks).error, "");
}

/// Of several nodes each has so many: ranks beyond them are behind the network.
TEST(HostGpus, NodesOfAJobAreAsSmallAsItSays) {
  const Read got = read("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=2\nsrun " + four_ranks);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.flags.at("--node-gpus"), "2");
  // all GPUs of a step on the nodes of its job, and those of a job on the nodes of a step
  for (const char* lines : {"#SBATCH --nodes=2\nsrun --gpus=4 ", "#SBATCH --gpus=4\nsrun -N 2 "})
    EXPECT_EQ(read(std::string("#!/bin/bash\n") + lines + four_ranks).asked.flags.at("--node-gpus"), "2") << lines;
  EXPECT_FALSE(read("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nsrun " + four_ranks)
                   .asked.flags.contains("--node-gpus"));
}

TEST(HostGpus, DockersAreHeld) {
  const std::string image = " vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B --tensor-parallel-size 4\n";
  for (const char* given : {"--gpus 2", "--gpus=2", "--gpus '\"device=0,1\"'", "--gpus device=2,3",
           "--device nvidia.com/gpu=0 --device nvidia.com/gpu=1"})
    EXPECT_THAT(read(std::string("docker run ") + given + image).error, HasSubstr("where 2 GPUs are asked for"))
        << given;
  for (const char* given : {"--gpus all", "--gpus 4", "--gpus \"device=$D\"", "--device nvidia.com/gpu=all", ""})
    EXPECT_EQ(read(std::string("docker run ") + given + image).error, "") << given;
}

std::string compose(const std::string& more) {
  return "services:\n  vllm:\n    image: vllm/vllm-openai:v0.11.0\n"
         "    command: --model Qwen/Qwen3-8B --tensor-parallel-size 4\n" +
         more;
}

Ran served(const std::string& name, const std::string& text) {
  std::ofstream(own_path(name)) << text;
  return run_line("serve --input 64 --output 8 --concurrency 4 --launch " + own_path(name));
}

TEST(HostGpus, ComposesAreHeld) {
  const std::string devices = "    deploy:\n      resources:\n        reservations:\n          devices:\n"
                              "          - driver: nvidia\n            capabilities: [gpu]\n";
  for (const std::string& more : {devices + "            device_ids: ['0', '1']\n", devices + "            count: 2\n",
           std::string("    gpus: 2\n"), std::string("    gpus:\n    - driver: nvidia\n      count: 2\n"),
           std::string("    devices: [nvidia.com/gpu=0, nvidia.com/gpu=1]\n")})
    EXPECT_THAT(served("compose.yaml", compose(more)).err, HasSubstr("where 2 GPUs are asked for")) << more;
  for (const std::string& more : {devices + "            device_ids: ['${IDS}']\n",
           devices + "            count: all\n", std::string("    gpus: all\n"), std::string("    gpus: 4\n")})
    EXPECT_EQ(served("compose.yaml", compose(more)).err, "") << more;
}

std::string pod(const std::string& image, const std::string& resource) {
  return "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    image: " + image +
         "\n    command: [vllm, serve, Qwen/Qwen3-8B, --tensor-parallel-size, '2']\n    resources:\n      limits: {" +
         resource + "}\n";
}

TEST(HostGpus, OtherVendorsAreSaid) {
  constexpr const char* said = "warning: the launch is for AMD's GPUs, and the forecast is for DGX H100";
  const std::string serve = "vllm serve Qwen/Qwen3-8B\n", sglang = "python3 -m sglang.launch_server --model-path ";
  for (const std::string& text : {"docker run --device=/dev/kfd --device=/dev/dri vllm/vllm-openai:v0.11.0 " + serve,
           "docker run rocm/vllm:rocm6.4 " + serve,
           "docker run lmsysorg/sglang:v0.5.6-rocm700 " + sglang + "Qwen/Qwen3-8B\n",
           sglang + "Qwen/Qwen3-8B --attention-backend aiter\n", "SGLANG_USE_AITER=1 " + sglang + "Qwen/Qwen3-8B\n",
           "VLLM_ROCM_USE_AITER=1 " + serve})
    EXPECT_THAT(served("run.sh", text).out, HasSubstr(said)) << text;
  EXPECT_THAT(served("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "amd.com/gpu: '2'")).out, HasSubstr(said));
  EXPECT_THAT(served("pod.yaml", pod("rocm/vllm:latest", "cpu: '8'")).out, HasSubstr(said));
  EXPECT_THAT(served("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "amd.com/gpu: '1'")).err,
      HasSubstr("tp 2 x pp 1 on one machine, where 1 GPU is asked for"));
  EXPECT_THAT(served("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu: '2'")).out, Not(HasSubstr("is for")));
  EXPECT_THAT(served("run.sh", "docker run -v /data/waiter:/m -v /opt/rocm:/r vllm/vllm-openai:v0.11.0 " + serve).out,
      Not(HasSubstr("is for")));
}

/// Where the launch does not fit, that it is for other GPUs may be why.
TEST(HostGpus, AnErrorKeepsWhatIsSaidOfOtherGpus) {
  const std::string large = "docker run rocm/vllm:latest vllm serve deepseek-ai/DeepSeek-R1 --tensor-parallel-size 8\n";
  const Ran ran = served("run.sh", large);
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("the launch is for AMD's GPUs, and the forecast is for DGX H100: --machine"));
}

}  // namespace
}  // namespace stepcast::engines
