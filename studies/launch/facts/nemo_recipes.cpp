#include "studies/launch/facts/nemo_recipes.h"

#include <algorithm>

namespace stepcast::launch {
namespace {

// NVIDIA/NeMo@8cfedd7203: nemo/collections/llm/recipes/NAME.py, pretrain_recipe() and the trainer() that it calls. All
// compute in bf16-mixed, sum and gather in buckets beside the work, and have the optimizer of
// recipes/optim/adam.py, which lies in shards.
constexpr NemoRecipe recipe_rows[] = {{"gemma2_27b", 8, 2, 0, 1, 1, false, false, 2, 8, 4096, 32, 2},
    {"gemma2_2b", 2, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2},
    {"gemma2_9b", 8, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2},
    {"gpt3_175b", 4, 8, 6, 1, 1, true, false, 1, 8, 2048, 2048, 2},
    {"llama2_7b", 2, 1, 0, 1, 1, false, false, 1, 8, 4096, 512, 1},
    {"llama31_70b", 4, 4, 5, 2, 1, true, false, 1, 8, 8192, 512, 1},
    {"llama31_8b", 1, 1, 0, 2, 1, false, false, 1, 8, 8192, 512, 1},
    {"llama32_1b", 1, 1, 0, 1, 1, false, false, 1, 8, 8192, 512, 1},
    {"llama32_3b", 1, 1, 0, 1, 1, false, false, 1, 8, 8192, 512, 1},
    {"llama3_70b", 4, 4, 5, 2, 1, true, false, 1, 8, 8192, 512, 1},
    {"llama3_70b_16k", 8, 2, 0, 2, 1, true, false, 4, 8, 16384, 512, 1},
    {"llama3_70b_64k", 8, 4, 0, 8, 1, true, false, 32, 8, 65536, 512, 1},
    {"llama3_8b", 1, 1, 0, 2, 1, false, false, 1, 8, 8192, 512, 1},
    {"llama3_8b_128k", 4, 2, 0, 8, 1, true, false, 8, 8, 131072, 512, 1},
    {"llama3_8b_16k", 4, 2, 0, 2, 1, true, false, 2, 8, 16384, 512, 1},
    {"llama3_8b_64k", 4, 2, 0, 4, 1, true, false, 4, 8, 65536, 512, 1},
    {"mistral_7b", 1, 1, 0, 2, 1, false, false, 1, 8, 4096, 512, 1},
    {"mistral_nemo_12b", 2, 1, 0, 2, 1, true, false, 1, 8, 8192, 512, 1},
    {"mixtral_8x22b", 2, 4, 14, 2, 8, true, false, 16, 8, 4096, 512, 1},
    {"mixtral_8x7b", 1, 4, 8, 1, 8, false, false, 8, 8, 4096, 512, 1},
    {"nemotron3_8b", 2, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2},
    {"nemotron4_15b", 4, 1, 0, 1, 1, true, false, 1, 8, 4096, 32, 2},
    {"nemotron4_340b", 8, 12, 8, 2, 1, true, false, 768, 8, 4096, 2304, 1},
    {"qwen3_14b", 8, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2},
    {"qwen3_1p7b", 1, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2},
    {"qwen3_235b_a22b", 4, 16, 0, 2, 8, true, false, 16, 8, 4096, 32, 1},
    {"qwen3_30b_a3b", 4, 2, 0, 1, 4, true, true, 1, 8, 4096, 32, 2},
    {"qwen3_32b", 8, 2, 0, 1, 1, false, true, 2, 8, 4096, 32, 2},
    {"qwen3_4b", 2, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2},
    {"qwen3_8b", 4, 1, 0, 1, 1, false, false, 1, 8, 4096, 32, 2}};

}  // namespace

const NemoRecipe* find_nemo_recipe(std::string_view name) {
  const auto row = std::ranges::find(recipe_rows, name, &NemoRecipe::name);
  return row == std::end(recipe_rows) ? nullptr : &*row;
}

}  // namespace stepcast::launch
