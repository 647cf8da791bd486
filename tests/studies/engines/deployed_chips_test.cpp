// Deployments on other chips than the machine's: a chip that is no GPU is refused, another GPU is a warning.
#include <array>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::Ran;
using testing_program::run_line;

Ran infer(const std::string& name, const std::string& text, const std::string& more = "") {
  std::ofstream(own_path(name)) << text;
  return run_line("infer --launch " + own_path(name) + " --prompt 1024 " + more);
}

std::string pod(const std::string& image, const std::string& resource, const std::string& selector) {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: server\nspec:\n  template:\n    spec:\n" +
         selector + "      containers:\n      - name: server\n        image: " + image +
         "\n        command: [vllm, serve]\n        args: [meta-llama/Llama-3.1-8B-Instruct, "
         "--tensor-parallel-size=2]\n"
         "        resources:\n          limits:\n            " +
         resource + ": 2\n";
}

TEST(DeployedChips, EnginesOnOtherChipsAreRefused) {
  const Ran gpu = infer("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu", ""));
  EXPECT_EQ(gpu.code, 0) << gpu.err;
  EXPECT_THAT(gpu.out, Not(HasSubstr("asks for GPUs")));
  for (const auto& [image, resource, chip] :
      {std::array{"vllm/vllm-openai:v1", "google.com/tpu", "TPUs"}, std::array{"vllm/vllm-tpu:v1", "cpu", "TPUs"},
          std::array{"vllm/vllm-openai:v1", "aws.amazon.com/neuron", "Neuron cores"}}) {
    const Ran ran = infer("pod.yaml", pod(image, resource, ""));
    EXPECT_EQ(ran.code, 2) << image << resource;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("it starts on "), HasSubstr(chip)));
    const Ran lenient = infer("pod.yaml", pod(image, resource, ""), "--lenient");
    EXPECT_EQ(lenient.code, 0) << lenient.err;
    EXPECT_THAT(lenient.out, HasSubstr("engines on these are not forecast"));
  }
}

TEST(DeployedChips, ScriptsForOtherChipsAreRefused) {
  const std::string serve = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2\n";
  EXPECT_EQ(infer("run.sh", "export NCCL_DEBUG=INFO\n" + serve).code, 0);
  EXPECT_THAT(infer("run.sh", "export HCCL_BUFFSIZE=1024\n" + serve).err, HasSubstr("it starts on Ascend NPUs"));
  EXPECT_THAT(infer("run.sh", "docker run --rm quay.io/ascend/vllm-ascend:v0.11.0 " + serve).err,
      HasSubstr("it starts on Ascend NPUs"));
  EXPECT_EQ(infer("run.sh", "docker run --gpus all vllm/vllm-openai:v0.11.0 " + serve).code, 0);
}

/// A secret that is still to be filled in says nothing; a number of copies that is does of a load, and not of an
/// iteration.
TEST(DeployedChips, TemplatesAreReadWhereTheyDecideNothing) {
  const std::string text = pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu", "");
  const std::string secret = "---\napiVersion: v1\nkind: Secret\nstringData:\n  token: {{HF_TOKEN}}\n";
  EXPECT_EQ(infer("pod.yaml", text + secret).code, 0);
  std::string copies = text;
  copies.insert(copies.find("  template:"), "  replicas: {{COPIES}}\n");
  EXPECT_EQ(infer("pod.yaml", copies).code, 0);
  const std::string load = "serve --input 64 --output 8 --concurrency 4 --launch " + own_path("pod.yaml");
  EXPECT_THAT(
      run_line(load).err, AllOf(HasSubstr("pod.yaml:6 replicas '{{COPIES}}' is no number"), HasSubstr("--replicas N")));
  EXPECT_EQ(run_line(load + " --replicas 3 --gpus 6").code, 0);
  copies.replace(copies.find("{{COPIES}}"), 10, "2");
  EXPECT_EQ(infer("pod.yaml", copies).code, 0);
}

TEST(DeployedChips, GemmaForChatIsOfItsNetwork) {
  EXPECT_THAT(
      infer("run.sh", "vllm serve google/gemma-3-27b-it --tensor-parallel-size 2\n").out, HasSubstr("Gemma 3 27B"));
}

TEST(DeployedChips, NodesWithOtherGpusAreSaid) {
  const std::string selector = "      nodeSelector:\n        cloud.google.com/gke-accelerator: nvidia-l4\n";
  const std::string text = pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu", selector);
  EXPECT_THAT(infer("pod.yaml", text).out,
      HasSubstr("the deployment asks for GPUs 'nvidia-l4', and the forecast is for DGX H100"));
  EXPECT_THAT(
      infer("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu",
                            "      nodeSelector:\n        cloud.google.com/gke-accelerator: nvidia-h100-80gb\n"))
          .out,
      Not(HasSubstr("asks for GPUs")));
}

}  // namespace
}  // namespace stepcast::engines
