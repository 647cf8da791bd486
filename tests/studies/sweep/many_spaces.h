// Small spaces that together use every axis: what the tests of the sweep's core run on.
#pragma once

#include <array>
#include <ostream>
#include <string_view>
#include <vector>

#include "tests/trials.h"

namespace stepcast::sweep::testing_sweep {

struct SmallSpace {
  const char* name;
  const char* line;  ///< what stands behind `stepcast sweep`
  friend void PrintTo(const SmallSpace& space, std::ostream* out) { *out << space.name; }
};

inline constexpr SmallSpace small_spaces[] = {
    {"Llama7bOnOneNode", "llama2-7b --machine dgx-h100 --gpus 8 --global-batch 32 --seq 4096 --recompute "
                         "none,selective,full --zero 0,1,2,3 --pp 1,2,4,8 --chunks 1,2 "
                         "--micro-batch 1,2,4 --pareto step_time,memory.peak"},
    {"Gpt175bLikeCalculon", "gpt3-175b --machine dgx-a100 --stack megatron-2022 --gpus 64 --global-batch 64 --seq 2048 "
                            "--tp 4,8,16,32 --pp 4,8,16 --sp off,on "
                            "--scatter-boundary off,on --save-gathered off,on --recompute none,selective,full "
                            "--micro-batch 1,2 --chunks 1,2,3 --zero 0,1 "
                            "--pareto step_time,memory.peak,mfu"},
    {"Gpt175bOldStack", "gpt3-175b --machine dgx-a100 --stack megatron-2020 --gpus 128 --global-batch 128 --seq 2048 "
                        "--tp 4,8 --pp 8,16,32 --recompute selective,full "
                        "--micro-batch 1,2,4 --chunks 1,2,3 --tp-overlap off,on --dp-overlap off,on --zero 0,1 "
                        "--pareto memory.peak,energy"},
    {"Bloom",
        "bloom-176b --machine jean-zay-a100 --stack megatron-deepspeed-2022 --gpus 56,112 --global-batch 192 --seq "
        "2048 --tp 1,2,4,8 --pp 7,14 "
        "--layout even --recompute none,full --micro-batch 1,2,4 --chunks 1,2 --zero 0,1 --pareto step_time,gpus"},
    {"BloomTwelveStages", "bloom-176b --machine jean-zay-a100 --stack megatron-deepspeed --gpus 96 --global-batch 96 "
                          "--seq 2048 --tp 2,4 --pp 12,6 "
                          "--layout balanced;Et*5|(t*6|)*10t*5L;even --recompute none,full --micro-batch 1,2 --chunks "
                          "1 --zero 0,1 --objective memory_headroom"},
    {"Llama70bZeroBubble", "llama3-70b --machine dgx-h100 --gpus 64 --global-batch 128 --seq 8192 --tp 2,4,8 --pp "
                           "2,4,5,8 --recompute none,full --micro-batch 1,2 --chunks 1,2 "
                           "--schedule auto,gpipe,1f1b,eager-1f1b,interleaved-1f1b,looped-bfs,zb-h1,zb-h2,zb-v "
                           "--pareto step_time,memory.peak"},
    {"Llama8bAllSchedules", "llama3-8b --machine dgx-a100 --gpus 16,32 --global-batch 64 --seq 8192 --tp 1,2 --pp "
                            "1,2,4,8 --recompute none,full --micro-batch 1,2 --chunks 1,2,4 "
                            "--schedule all --pareto step_time,memory.peak"},
    {"Llama1bAutocast",
        "llama3.2-1b --machine dgx-h100 --gpus 1,8 --stack pytorch-autocast --global-batch 8 --seq 4096 "
        "--tp 1,2 --pp 1,2 --recompute none,full --micro-batch 1,2,4,8 --zero 0,1,2,3 "
        "--pareto step_time,memory.peak"},
    {"Mixtral", "mixtral-8x7b --machine dgx-h100 --gpus 32 --global-batch 64 --seq 4096 --tp 1,2,4 --pp 1,2,4 --ep "
                "1,2,4,8 --etp 1,2 --recompute none,full "
                "--micro-batch 1,2 --chunks 1,2 --zero 0,1 --pareto step_time,memory.peak"},
    {"MixtralOrders", "mixtral-8x22b --machine dgx-h100 --gpus 64 --global-batch 128 --seq 4096 --tp 2,4 --pp 2,4,7 "
                      "--ep 2,4,8 --etp 1,2 --order all --recompute full "
                      "--micro-batch 1,2 --chunks 1,2 --zero 1 --objective tokens_per_s_per_gpu"},
    {"DeepseekMixedLayers",
        "deepseek-v2-lite --machine hgx-h800 --gpus 32 --global-batch 128 --seq 4096 --tp 1,2 --pp 1,3,9 --ep 1,2,4,8 "
        "--recompute none,full "
        "--micro-batch 1,2,4 --chunks 1,3 --zero 0,1,2,3 --schedule auto,zb-h1 --pareto step_time,memory.peak"},
    {"DeepseekV3Balanced",
        "deepseek-v3 --machine hgx-h800 --gpus 256 --global-batch 1024 --seq 4096 --tp 1,2 --pp 8,16 --ep 8,16,32 "
        "--precision fp8,bf16 --recompute full "
        "--micro-batch 1,2 --chunks 1,2 --schedule auto,zb-h1,dualpipev --layout balanced --zero 1,2 --top 50"},
    {"QwenMoeUneven", "qwen3-30b-a3b --machine dgx-h100 --gpus 16 --global-batch 64 --seq 4096 --tp 1,2,4 --pp 1,2,4 "
                      "--ep 1,2,4,8 --layout even;Et*11|(t*12|)*2t*13L;balanced "
                      "--recompute none,full:3,full --micro-batch 1,2 --chunks 1,2 --zero 0,1"},
    {"LongContextAllKinds",
        "llama3-8b --machine dgx-h100 --gpus 32 --global-batch 16 --seq 32768 --tp 1,2,4 --cp 1,2,4,8 --cp-kind all "
        "--pp 1,2,4 --sp off,on "
        "--recompute none,full --micro-batch 1,2 --chunks 1,2 --zero 1,3 --pareto step_time,memory.peak"},
    {"LongContextOrders", "llama3-70b --machine dgx-h100 --gpus 128 --global-batch 32 --seq 65536 --tp 4,8 --cp 2,4,8 "
                          "--cp-kind gather,ring,ulysses --pp 2,4 "
                          "--order tp-cp-dp-pp,cp-tp-pp-dp,pp-dp-tp-cp,dp-cp-tp-pp --sp on,off --recompute full "
                          "--micro-batch 1 --chunks 1,2 --zero 1,2"},
    {"Fsdp", "llama2-7b --machine dgx-h100 --stack pytorch-fsdp --gpus 8,16,32 --global-batch 64 --seq 4096 --tp 1,2,4 "
             "--pp 1,2 --recompute none,full,full:7 "
             "--micro-batch 1,2,4 --chunks 1,2 --zero 3,2,0 --tp-overlap auto,off --dp-overlap off,on --pareto "
             "step_time,memory.peak"},
    {"FsdpEagerOnPcie", "llama3.2-1b --machine l40s-server --stack pytorch-fsdp-eager --gpus 8,16 --global-batch 64 "
                        "--seq 2048 --tp 1,2 --pp 1,2,4 --recompute none,full "
                        "--micro-batch 1,2,4,8 --chunks 1,2 --zero 3,1 --dp-overlap off,on --order "
                        "tp-cp-dp-pp,dp-tp-cp-pp,pp-dp-tp-cp"},
    {"HybridShards", "llama2-7b --machine dgx-h100 --stack pytorch-fsdp --gpus 16,32 --global-batch 64 --seq 4096 --tp "
                     "1,2 --cp 1,2 --pp 1,2 --recompute none,full "
                     "--micro-batch 1,2 --chunks 1,2 --zero 3,1,0 --dp-replicate 1,2,4,3 --order "
                     "tp-cp-dp-pp,dp-tp-cp-pp --dp-overlap off,on --pareto step_time,memory.peak"},
    {"MixtralCopies", "mixtral-8x7b --machine dgx-h100 --gpus 32 --global-batch 64 --seq 4096 --tp 1,2 --pp 1,2 --ep "
                      "1,2,4,8 --etp 1,2 --recompute full "
                      "--micro-batch 1,2 --chunks 1 --zero 1,2,3 --dp-replicate 1,4,2 --pareto step_time,memory.peak"},
    {"DeepspeedZero", "gpt3-6.7b --machine dgx-1-v100 --stack deepspeed-zero --gpus 16,32 --global-batch 64 --seq 2048 "
                      "--precision fp16,fp32 --tp 1,2,4 --pp 1,2 "
                      "--recompute none,selective,full --micro-batch 1,2,4 --chunks 1 --zero 0,1,2,3 --dp-overlap "
                      "off,on --pareto step_time,memory.peak"},
    {"VoltaSixteenGigabytes",
        "megatron-3.6b --machine dgx-1-v100-16gb --stack megatron-2020 --gpus 32 --global-batch 64 --seq 2048 "
        "--precision fp16 --tp 1,2,4,8 --pp 1,2,3,5,6 "
        "--recompute none,full,selective --micro-batch 1,2,4 --chunks 1,2,5 --tp-overlap auto,on --dp-overlap on,off"},
    {"BlackwellNarrowTypes",
        "llama3-70b --machine dgx-b200 --gpus 32 --global-batch 64 --seq 8192 --precision bf16,fp8,mxfp8,nvfp4 --tp "
        "1,2,4 --pp 1,2,4 --recompute none,full,full:5 "
        "--micro-batch 1,2 --chunks 1,2,5 --zero 1,2 --sp auto,off --pareto step_time,memory.peak"},
    {"RackScale", "grok-1 --machine gb200-nvl72 --gpus 144,72 --global-batch 144 --seq 8192 --tp 1,2,4,8 --pp 1,2,4 "
                  "--ep 1,2,4,8 --recompute none,full --micro-batch 1,2 "
                  "--chunks 1,2,4 --zero 1 --objective energy --pareto energy,step_time"},
    {"NemoOnHopper", "nemotron4-15b --machine dgx-h100 --stack nemo --gpus 32 --global-batch 64 --seq 4096 --tp "
                     "1,2,4,8 --pp 1,2,4 --recompute none,full --micro-batch 1,2 "
                     "--chunks 1,2,4 --sp off,on --tp-overlap off,on --save-gathered off,on --zero 1 --dp-overlap "
                     "auto,off --precision fp8,bf16"},
    {"LlmFoundryMpt",
        "mpt-7b --machine dgx-a100-40gb --stack llm-foundry --gpus 8,64 --global-batch 256 --seq 2048 --tp 1,2 --pp 1 "
        "--recompute none,full,full:2,full:4 "
        "--micro-batch all --zero 3,2,1,0 --dp-overlap off,on --tp-overlap off,on --pareto step_time,memory.peak"},
    {"JaxMi300", "llama2-70b --machine mi300x-server --stack jax --gpus 64 --global-batch 128 --seq 4096 --tp 1,2,4,8 "
                 "--pp 1,2,4,5 --recompute none,full --micro-batch 1,2 "
                 "--chunks 1,2,5 --zero 3,1 --sp off,on"},
    {"TinyCounts", "llama3.2-1b --machine l40s-server --gpus 1,2 --global-batch 8 --seq 1024 --precision fp16 --tp 1,2 "
                   "--pp 1,2 --recompute none,selective,full,full:1,full:3 "
                   "--micro-batch all --chunks 1,2,4,8 --zero 0,1,2,3 --sp auto,off,on --dp-overlap off,on "
                   "--tp-overlap off,on --schedule auto,gpipe,zb-v"},
    {"DeepPipeline", "megatron-145b --machine dgx-a100 --stack megatron-2020 --gpus 160,320 --global-batch 64 --seq "
                     "2048 --tp 1,2,4,8 --pp 10,16,20,40,80 "
                     "--recompute full,selective --micro-batch 1,2 --chunks 1,2,4 --scatter-boundary off,on,auto "
                     "--order tp-cp-dp-pp,tp-cp-pp-dp --zero 0"},
    {"SharedExpertsInPieces", "llama4-scout --machine dgx-h100 --gpus 64 --global-batch 64 --seq 8192 --tp 1,2,4,8 "
                              "--cp 1,2 --pp 1,2,4 --ep 1,4,16 --etp 1,2 --recompute full "
                              "--micro-batch 1,2 --chunks 1,2,3 --zero 1,2 --schedule auto,zb-v,v-half"},
    {"ThreefoldShards",
        "gpt3-175b --machine dgx-a100 --stack megatron-2022 --gpus 192,384 --global-batch 384 --seq 2048 "
        "--tp 4,8 --pp 1,2,4 --recompute none,full --micro-batch 1,2 --chunks 1,2 --zero 2,3 --order "
        "tp-cp-dp-pp,dp-tp-cp-pp --pareto step_time,memory.peak"},
    {"UnequalShards", "llama3-8b --machine dgx-h100 --gpus 24,48 --global-batch 96 --seq 4096 --tp 1,2,4 --pp 1,2 "
                      "--recompute none,full --micro-batch 1,2 --chunks 1,2 --zero 2,3 --order "
                      "tp-cp-dp-pp,dp-tp-cp-pp --pareto step_time,memory.peak"},
    {"TwoCopies", "llama2-13b --machine dgx-h100 --gpus 16 --global-batch 32 --seq 4096 --tp 1,2 --pp 2,4,8 "
                  "--recompute none,full --micro-batch 1,2 --chunks 1,2 "
                  "--schedule dualpipe,auto,chimera,zb-auto,seq-1f1b,zb-h2 --zero 0,2 --layout even,balanced"},
};

/// All of them; with sanitizers three, which have experts, orders, shards of weights, two copies and every switch.
inline std::vector<SmallSpace> tried_spaces() {
  std::vector<SmallSpace> spaces;
  for (const SmallSpace& space : small_spaces)
    for (const std::string_view few : {"MixtralOrders", "TinyCounts", "TwoCopies"})
      if (!sanitized ? few == "TwoCopies" : few == space.name) spaces.push_back(space);
  return spaces;
}

}  // namespace stepcast::sweep::testing_sweep
