#include "studies/launch/facts/dialect_limits.h"

namespace stepcast::launch {
namespace {

// clang-format off
constexpr std::string_view by_preference = "trained by preferences or rewards, with passes of other networks in a step";
constexpr std::string_view low_bits = "frozen weights of few bits are not forecast";
constexpr std::string_view own_optimizer = "an optimizer with steps and states of its own is not forecast";
constexpr std::string_view to_host = "what is kept in host memory is not forecast";
constexpr std::string_view own_layers = "layers of another kind are not forecast";
constexpr DialectLimit limit_rows[] = {
    {"gpt-neox", "moe_num_experts", " 0 1 ", "how GPT-NeoX lays experts on ranks is not known here"},
    {"gpt-neox", "train_impl", " normal ", by_preference},
    {"gpt-neox", "norm", " layernorm rmsnorm te_layernorm te_rmsnorm ", "this norm is not forecast"},
    {"gpt-neox", "pos_emb", " learned rotary alibi none ", "these positions are not forecast"},
    {"gpt-neox", "activation", " gelu relu swish silu geglu reglu swiglu bilinear glu ",
     "this function is not forecast"},
    {"gpt-neox", "num_unique_layers", "", "weights that layers share are not forecast"},
    {"gpt-neox", "soft_prompt_tuning", "", "training of a prompt alone is not forecast"},
    {"gpt-neox", "curriculum_learning.enabled", " false ", "sequences that grow are not forecast"},
    {"gpt-neox", "gpt_j_tied", " false ", "one norm for attention and MLP is not read"},
    {"gpt-neox", "use_bnb_optimizer", " false ", own_optimizer},
    {"flagscale", "experiment.task.type", " train ", "only training is forecast"},
    {"flagscale", "experiment.task.backend", " megatron ", "only its Megatron backend is read"},
    {"flagscale", "enable_hetero", " false ", "ranks of several kinds are not forecast"},
    {"flagscale", "peft_type", "", "adapters of FlagScale are not read"},
    {"llama-factory", "stage", " pt sft ", by_preference},
    {"llama-factory", "finetuning_type", " full lora ", "training of some layers or rotations alone is not forecast"},
    {"llama-factory", "quantization_bit", "", low_bits},
    {"llama-factory", "mixture_of_depths", "", own_layers},
    {"llama-factory", "pure_bf16", " false ", "weights without copies in 32 bits are not forecast"},
    {"llama-factory", "use_galore", " false ", own_optimizer},
    {"llama-factory", "use_apollo", " false ", own_optimizer},
    {"llama-factory", "use_badam", " false ", own_optimizer},
    {"llama-factory", "use_adam_mini", " false ", own_optimizer},
    {"llama-factory", "use_muon", " false ", own_optimizer},
    {"llama-factory", "use_llama_pro", " false ", "training of added layers alone is not forecast"},
    {"llama-factory", "use_asft_loss", " false ", by_preference},
    {"llama-factory", "use_mca", " false ", "its Megatron engine has a file of its own"},
    {"llama-factory", "use_megatron_bridge", " false ", "its Megatron engine has a file of its own"},
    {"llama-factory", "use_hyper_parallel", " false ", "this engine is not read"},
    {"llama-factory", "use_kt", " false ", to_host},
    {"llama-factory", "use_unsloth_gc", " false ", to_host},
    {"axolotl", "adapter", " lora ", low_bits},
    {"axolotl", "load_in_8bit", " false ", low_bits},
    {"axolotl", "load_in_4bit", " false ", low_bits},
    {"axolotl", "gptq", " false ", low_bits},
    {"axolotl", "relora_steps", "", "adapters that are merged on the way are not forecast"},
    {"axolotl", "lisa_n_layers", "", "training of some layers alone is not forecast"},
    {"axolotl", "unfrozen_parameters", "", "training of some weights alone is not forecast"},
    {"axolotl", "rl", "", by_preference},
    {"axolotl", "reward_model", " false ", by_preference},
    {"axolotl", "process_reward_model", " false ", by_preference},
    {"llama-factory", "fp8", " false ", "which of its products are in 8 bits is not known here"},
    {"axolotl", "expert_parallel_size", " 1 ", "how its extension lays experts on ranks is not known here"},
    {"axolotl", "fp8", " false ", "which of its products are in 8 bits is not known here"},
    {"axolotl", "qat.weight_dtype", "", "training for quantisation is not forecast"},
    {"axolotl", "activation_offloading", " false ", to_host},
    {"axolotl", "layer_offloading", " false ", to_host},
    {"axolotl", "gradient_checkpointing", " true false ", to_host},
    {"axolotl", "batch_size", "", "a batch of one rank in older releases: gradient_accumulation_steps tells it now"},
    {"axolotl", "max_packed_sequence_len", "", "a setting of releases whose batches are packed in another way"},
    {"nanotron", "model_config.is_starcoder2_config", " false ", "StarCoder2's layers are not read from this file"},
    {"nanotron", "model_config.is_llamoe_config", " false ", "the experts of this example are not read"},
    {"nanotron", "model_config.is_mamba_config", " false ", own_layers},
};
// clang-format on

}  // namespace

std::span<const DialectLimit> dialect_limits() { return limit_rows; }

}  // namespace stepcast::launch
