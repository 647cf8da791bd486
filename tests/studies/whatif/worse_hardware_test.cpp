// Worse hardware makes no step faster: a rate that falls or a delay that grows, over plans of every kind of network,
// sharding, exchange and schedule.
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::whatif {
namespace {

class DrawnPlans {
 public:
  template <typename T> T one_of(const std::vector<T>& values) { return values[random_() % values.size()]; }

  /// Without the program's name; "" where its sizes do not multiply out.
  std::string next() {
    const int gpus = one_of<int>({8, 16, 32, 64, 256}), tp = one_of<int>({1, 1, 2, 4, 8});
    const int cp = one_of<int>({1, 1, 1, 2, 4}), pp = one_of<int>({1, 1, 2, 4});
    if (gpus % (tp * cp * pp) != 0) return "";
    std::string plan = fmt::format(
        "{} --machine {} --stack {} --gpus {} --tp {} --cp {} --pp {} --cp-kind {} --zero {} "
        "--recompute {} --global-batch {}",
        network(), one_of<std::string>({"dgx-a100", "dgx-h100", "dgx-b200", "aws-p5", "l40s-server", "mi300x-server"}),
        one_of<std::string>({"megatron-core", "pytorch-fsdp", "nemo", "megatron-2022", "deepspeed-zero",
            "pytorch-fsdp-eager", "deepseek", "jax"}),
        gpus, tp, cp, pp, one_of<std::string>({"ring", "gather", "ulysses"}), one_of<int>({0, 1, 2, 3}),
        one_of<std::string>({"none", "selective", "full"}), gpus / (tp * cp * pp) * pp * one_of<int>({1, 2, 4}));
    if (experts_) plan += one_of<std::string>({"", " --ep 2", " --ep 4", " --ep 8"});
    plan += one_of<std::string>({"", "", "", " --lora 16", " --precision fp8", " --dp-replicate 2", " --sp off"});
    if (pp > 1)
      plan += one_of<std::string>({"", "", " --schedule zb-h1", " --schedule gpipe", " --schedule zb-v",
          " --schedule dualpipe", " --chunks 2", " --layout balanced"});
    return plan;
  }

 private:
  std::string network() {
    experts_ = one_of<int>({0, 0, 1}) == 1;
    if (experts_)
      return one_of<std::string>({"mixtral-8x7b", "deepseek-v2-lite", "qwen3-30b-a3b", "gpt-oss-20b",
          "qwen3-next-80b-a3b", "nemotron-3-nano"});
    return one_of<std::string>({"llama2-7b", "llama3-8b", "mistral-7b", "llama3-70b", "gpt3-175b", "gemma3-4b",
        "mamba2-2.7b", "nemotron-h-8b", "falcon-h1-34b"});
  }

  bool experts_ = false;
  std::mt19937 random_{20261122};
};

/// What hides behind what may shift, by 1.6 % at most here.
TEST(WorseHardware, MakesNoStepFaster) {
  DrawnPlans drawn;
  constexpr int enough = 2000;
  int compared = 0;
  for (int draws = 0; draws < 20 * enough && compared < enough; ++draws) {
    const std::string plan = drawn.next();
    const std::string change = drawn.one_of<std::string>({"compute=0.5x", "compute=0.9x", "hbm=0.5x", "hbm=0.999x",
        "nvlink=0.5x", "nvlink=0.9x", "nic=0.5x", "nic=0.9x", "latency=2x", "network-latency=2x", "host-link=0.5x",
        "kernel-start=2x", "host-per-launch=2x", "contention=2x"});
    if (plan.empty()) continue;
    const testing_program::Ran ran =
        testing_program::run_line(fmt::format("whatif {} --change {} --json", plan, change));
    if (ran.code != 0) continue;  // no legal plan, or a machine without that level
    ++compared;
    const nlohmann::json report = nlohmann::json::parse(ran.out);
    const double before = report["before"]["step_time_s"], after = report["after"]["step_time_s"];
    EXPECT_GT(after, 0.98 * before) << plan << " " << change;
  }
  EXPECT_EQ(compared, enough) << "the others were refused";
}

}  // namespace
}  // namespace stepcast::whatif
