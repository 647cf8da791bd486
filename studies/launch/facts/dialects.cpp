#include "studies/launch/facts/dialects.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast::launch {
namespace {

constexpr std::string_view sizes_and_plan =
    "the network's config.json in place of NETWORK, and the plan by flags: --tp, --pp, --zero, --micro-batch, "
    "--global-batch, --seq";

constexpr std::string_view command_and_gpus =
    "the command inside it, as a script or behind --megatron --, and the job's GPUs by --gpus N";

// clang-format off
constexpr Dialect dialect_rows[] = {
    // EleutherAI/gpt-neox, megatron/neox_arguments
    {"GPT-NeoX", "gpt-neox", "pipe_parallel_size|gpt_j_residual|no_weight_tying|output_layer_parallelism|"
                             "checkpoint_factor|attention_config num_layers|pos_emb num_layers"},
    // FlagOpen/FlagScale, examples/*/conf
    {"FlagScale", "flagscale", "experiment.runner.backend|experiment.task.backend|system.precision. model.|"
                               "system.tensor_model_parallel_size model.|train.system. train.model."},
    // hiyouga/LLaMA-Factory, src/llamafactory/v1/config and src/llamafactory/hparams
    {"LLaMA-Factory's second version", "", "model_class dist_config.|model_class kernel_config.|model_class train_dataset",
     sizes_and_plan},
    // its src/llamafactory/train/mca: Megatron-LM's words beside its own
    {"LLaMA-Factory on Megatron-LM", "", "finetuning_type tensor_model_parallel_size|"
                                         "finetuning_type pipeline_model_parallel_size|"
                                         "finetuning_type expert_model_parallel_size", sizes_and_plan},
    {"LLaMA-Factory", "llama-factory", "finetuning_type|cutoff_len|stage template model_name_or_path"},
    // okoge-kaz/llm-recipes, scripts: words of Megatron-LM around a network of Hugging Face
    {"llm-recipes", "", "base_model train_iters global_batch_size|base_model hf_transformer_model_dir", sizes_and_plan, true},
    // OpenSparseLLMs/Linear-MoE, examples/linear_moe_*: Megatron-LM with other mixers in place of attention
    {"Linear-MoE", "", "la_module", "a forecast of linear attention of its kinds, which there is not", true},
    // oumi-ai/oumi, configs/recipes
    {"oumi", "", "model.model_name training.trainer_type|model.model_name data.train.datasets", sizes_and_plan, false,
     "oumi train|oumi distributed|oumi.train"},
    // axolotl-ai-cloud/axolotl, src/axolotl/utils/schemas
    {"Axolotl", "axolotl", "base_model micro_batch_size|base_model sequence_len|base_model datasets."},
    // huggingface/nanotron, src/nanotron/config
    {"Nanotron", "nanotron", "tokens.micro_batch_size|parallelism.pp_engine|parallelism.tp_mode"},
    // allenai/OLMo-core, src/olmo_core/train: "train_module" beside "trainer"; its releases are started from Python
    {"OLMo-core", "", "train_module. model.|train_module. trainer.", sizes_and_plan, true},
    // allenai/OLMo, olmo/config.py; device_train_microbatch_size is Composer's word too
    {"OLMo", "olmo", "model.mlp_ratio|model.mlp_hidden_size|model.weight_tying|model.attention_layer_norm|"
                 "device_train_microbatch_size fsdp.wrapping_strategy"},
    // snowflakedb/ArcticTraining, projects
    {"ArcticTraining", "", "model.name_or_path data.sources", sizes_and_plan},
    // stanford-crfm/levanter, config
    {"Levanter", "", "trainer.train_batch_size model.type|data.cache_dir model.type|trainer.per_device_parallelism",
     "the network's config.json in place of NETWORK, --stack jax, and the plan by flags: --tp, --zero, --micro-batch, "
     "--global-batch, --seq", true},
    // facebookresearch/lingua, apps/*/configs
    {"Lingua", "", "grad_acc_steps distributed.|probe_freq model.|probe_freq distributed.", sizes_and_plan},
    // modelscope/ms-swift, examples
    {"Megatron-SWIFT", "megatron-swift", "tuner_type tensor_model_parallel_size|train_type tensor_model_parallel_size|"
                                         "tuner_type micro_batch_size|train_type micro_batch_size|"
                                         "tuner_type expert_model_parallel_size|train_type expert_model_parallel_size|"
                                         "tuner_type pipeline_model_parallel_size|train_type pipeline_model_parallel_size"},
    {"ms-swift", "ms-swift", "tuner_type|rlhf_type|train_type per_device_train_batch_size|sft_type max_length|"
                             "sft_type model_type|sft_type model_id_or_path"},
    // pytorch/torchtune, recipes/configs
    {"torchtune", "torchtune", "model._component_ batch_size|model._component_ optimizer._component_"},
    // Lightning-AI/litgpt, config_hub; LightningCLI's own files name classes
    {"LitGPT", "litgpt", "tokenizer_dir out_dir|checkpoint_dir out_dir train.micro_batch_size|initial_checkpoint_dir out_dir"},
    {"Lightning", "", "trainer. model.class_path|trainer. data.class_path|trainer.strategy.class_path", sizes_and_plan},
    // AI-Hypercomputer/maxtext, src/MaxText/configs/base.yml
    {"MaxText", "", "base_emb_dim base_num_decoder_layers|ici_fsdp_parallelism|dcn_data_parallelism|"
                    "per_device_batch_size max_target_length|per_device_batch_size base_output_directory|"
                    "base_output_directory run_name",
     "the network's config.json in place of NETWORK, --stack jax, and the plan by flags", true,
     "MaxText.train|MaxText.sft.sft_trainer|maxtext.trainers.pre_train.train"},
    // NVIDIA-NeMo/Automodel, examples/llm_pretrain and llm_finetune
    {"NeMo Automodel", "", "step_scheduler. model.|step_scheduler. distributed.", sizes_and_plan, false,
     "automodel finetune|automodel pretrain|nemo_automodel.cli.app"},
    // aws/sagemaker-hyperpod-recipes, recipes_collection and launcher_scripts: a command names a recipe of its own
    {"SageMaker HyperPod's recipes", "", "training_config.model_config. run.|run.model_type training_config.|"
                                         "recipes base_results_dir", sizes_and_plan, true},
    // PrimeIntellect-ai/prime-rl, configs and examples
    {"prime-rl", "", "model.name data.seq_len deployment.|model.name data.seq_len renderer.|"
                     "model.name data.seq_len optim.lr", sizes_and_plan},
    // foundation-model-stack/fms-fsdp, scripts/train.sh
    {"FMS FSDP", "", "fsdp_activation_checkpointing sharding_strategy", sizes_and_plan, true},
    // NVIDIA-NeMo/RL, examples/configs
    {"NeMo RL", "", "policy. sft.|policy. grpo.|policy. dpo.|policy. ppo.|policy. cluster.num_nodes|policy. cluster.gpus_per_node",
     "of its fine-tuning the network in front, and the split and the batch by flags; of rollouts beside training steps "
     "there is no forecast"},
    // volcengine/verl, verl/trainer/config
    {"verl's fine-tuning", "verl-sft", "model.partial_pretrain"},
    // verl/trainer/sft_trainer.py: its newer program, whose micro-batches are filled by tokens
    {"verl's fine-tuning by engines", "", "data.train_files data.max_token_len_per_gpu|data.train_files engine",
     sizes_and_plan, true},
    // hiyouga/EasyR1, examples/config.yaml and examples/*.sh
    {"EasyR1", "", "worker.actor.|worker.rollout.", "a forecast of rollouts beside training steps, which there is not",
     true, "verl.trainer.main"},
    {"verl", "", "actor_rollout_ref.",
     "a forecast of rollouts beside training steps, which there is not", true, "verl.trainer.main_ppo"},
    // THUDM/slime, scripts; OpenRLHF/OpenRLHF, openrlhf/cli/train_ppo_ray.py
    {"slime", "", "rollout_batch_size actor_num_nodes|rollout_batch_size actor_num_gpus_per_node",
     "a forecast of rollouts beside training steps, which there is not; of its training alone the arguments of "
     "Megatron-LM: --megatron -- ARGS", true},
    {"OpenRLHF", "", "actor_num_nodes vllm_num_engines|rollout_batch_size vllm_num_engines",
     "a forecast of rollouts beside training steps, which there is not", true},
    // openrlhf/cli: the programs beside its train_sft, by flat names and by those with sections
    {"OpenRLHF's training by preferences or rewards", "", "",
     "a forecast of rollouts, or of passes of other networks in a step, which there is not; its fine-tuning is read: "
     "--openrlhf-sft", true,
     "openrlhf.cli.train_ppo|openrlhf.cli.train_ppo_ray|openrlhf.cli.train_dpo|openrlhf.cli.train_kto|"
     "openrlhf.cli.train_rm|openrlhf.cli.train_prm|openrlhf.cli.train_kd"},
    // NVIDIA/Megatron-LM, train_rl.py
    {"Megatron-LM's reinforcement learning", "", "",
     "a forecast of rollouts beside training steps, which there is not; of its training step alone the arguments behind "
     "--megatron --, without perform_rl_step", true, "train_rl.py"},
    // schemas of jobs of Azure Machine Learning and of AWS Batch: the command stands inside, and what runs it beside
    {"Azure Machine Learning (commandJob)", "", "$schema command compute|command compute distribution.type|"
                                                "command compute resources.instance_count", command_and_gpus},
    {"AWS Batch (nodeProperties)", "", "nodeProperties.numNodes|jobDefinitionName nodeProperties.", command_and_gpus},
    // aws-samples/awsome-distributed-training, 3.test_cases/pytorch/FSDP, and SageMaker's examples before it
    {"AWS's FSDP samples", "", "max_context_width hidden_width|hidden_width num_heads", sizes_and_plan, true},
    // hpcaitech/ColossalAI, examples/language and applications
    {"ColossalAI", "", "plugin l b|p b g|plugin max_length|plugin max_len|plugin batch_size|plugin grad_checkpoint|"
                       "plugin micro_batch_size|plugin use_grad_checkpoint",
     sizes_and_plan, true},
    // ServiceNow/Fast-LLM, examples
    {"Fast-LLM", "", "model.base_model. model.multi_stage.|model.base_model. training.train_iters", sizes_and_plan},
    // Ascend/MindSpeed-LLM, examples/fsdp2
    {"MindSpeed-LLM's FSDP2", "", "model.model_id parallel.fsdp_modules|model.model_name_or_path parallel.|"
                                "model.train_from_scratch data.", sizes_and_plan, true},
    // NVIDIA/NeMo-Framework-Launcher, launcher_scripts/main.py: the training it names lies in a folder of its own
    {"NeMo-Framework-Launcher", "", "stages training|stages launcher_scripts_path|training.run.time_limit|"
                                   "train_settings.model_size_in_b",
     "the YAML of the training that it names, conf/training/...: --nemo FILE, with its overrides behind --", true},
    // AMD-AGI/Primus, examples/*/configs: presets of its own under what a file says
    {"Primus", "primus", "modules.pre_trainer.|modules.sft_trainer.|modules.post_trainer."},
    // NVIDIA-NeMo/Megatron-Bridge, scripts/performance: what a recipe does not say, its Python has for each GPU
    {"Megatron-Bridge's performance scripts", "", "model_recipe_name compute_dtype",
     "the recipe's own settings beside its overrides: the network in front, and all of the plan by flags", true},
    // mlfoundations/open_lm, open_lm/main.py
    {"OpenLM", "", "train_num_samples model fsdp|dataset_resampled fsdp_amp", sizes_and_plan, true},
    // Cerebras/modelzoo, src/cerebras/modelzoo/models/nlp/*/configs, of releases 1 and 2
    {"Cerebras' Model Zoo", "", "train_input. runconfig.|trainer.init.backend.|trainer.fit.train_dataloader.",
     sizes_and_plan},
};

constexpr Dialect text_dialect_rows[] = {
    // InternLM/xtuner and other users of mmengine
    {"XTuner", "", "from xtuner|from mmengine", sizes_and_plan},
    // InternLM/InternEvo, configs/*.py
    {"InternEvo", "", "parallel = dict(|model = dict(", sizes_and_plan},
    // hpcaitech/ColossalAI, examples' config.py
    {"ColossalAI", "", "plugin = |booster = |TENSOR_PARALLEL_SIZE = ", sizes_and_plan},
    // allenai/OLMo-core, src/scripts
    {"OLMo-core", "", "from olmo_core", sizes_and_plan},
    // NVIDIA-NeMo/NeMo, nemo/collections/llm/recipes, and Megatron-Bridge's: functions that call others
    {"NeMo's Python", "", "import nemo_run|from nemo.|from nemo import",
     "the network in front, and the split and the batch by flags, or --megatron -- ARGS"},
    {"Megatron-Bridge's Python", "", "from megatron.bridge|import megatron.bridge",
     "the network in front, and the split and the batch by flags, or --megatron -- ARGS"},
    // Lightning-AI/pytorch-lightning, src/lightning/fabric and pytorch
    {"Lightning", "", "from lightning|import lightning|from pytorch_lightning|import pytorch_lightning", sizes_and_plan},
};
// clang-format on

std::string_view taken(std::string_view& text, char until) {
  const std::size_t end = std::min(text.find(until), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool has_name(const Launch& launch, std::string_view mark) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const GivenArgument& given) {
    return mark.ends_with('.') ? given.name.starts_with(mark) : given.name == mark;
  });
}

bool has_marks(const Launch& launch, std::string_view marks) {
  while (!marks.empty()) {
    std::string_view together = taken(marks, '|');
    bool all = true;
    while (!together.empty()) all = has_name(launch, taken(together, ' ')) && all;
    if (all) return true;
  }
  return false;
}

/// At the beginning of a line, where a program has its statements.
bool begins_a_line(std::string_view text, std::string_view piece) {
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) {
    const std::string_view line = text.substr(0, at).substr(text.substr(0, at).rfind('\n') + 1);
    if (line.find_first_not_of(" \t") == line.npos) return true;
  }
  return false;
}

Error not_read(const Dialect& dialect, const std::string& where, std::string_view what = "configuration") {
  return {where, fmt::format("a {} of {}, which is recognised and not read", what, dialect.name),
      std::string(dialect.needed)};
}

bool has_program(const Dialect& dialect, std::string_view program) {
  for (std::string_view names = dialect.programs; !names.empty();)
    if (taken(names, '|') == program) return true;
  return false;
}

}  // namespace

std::span<const Dialect> dialects() { return dialect_rows; }
std::span<const Dialect> text_dialects() { return text_dialect_rows; }

const Dialect* dialect_of(const Launch& launch) {
  const auto rows = dialects();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Dialect& row) { return has_marks(launch, row.marks); });
  return found == rows.end() ? nullptr : &*found;
}

Expected<void> check_dialect(const Launch& launch, const std::string* program) {
  if (program != nullptr)
    for (const Dialect& row : dialects())
      if (has_program(row, *program)) return tl::unexpected(not_read(row, launch.where, "launch"));
  const Dialect* dialect = dialect_of(launch);
  const bool counts = dialect != nullptr && (dialect->commands || program == nullptr);
  if (counts && dialect->framework.empty())
    return tl::unexpected(not_read(*dialect, launch.where, program != nullptr ? "launch" : "configuration"));
  return {};
}

Expected<void> check_text_dialect(std::string_view text, const std::string& where) {
  for (const Dialect& row : text_dialects())
    for (std::string_view marks = row.marks; !marks.empty();)
      if (begins_a_line(text, taken(marks, '|'))) return tl::unexpected(not_read(row, where));
  return {};
}

std::string_view flag_of_framework(const Framework& framework) {
  const auto flags = launch_flags();
  const std::string_view id = framework.id == "megatron-swift" ? "ms-swift" : framework.id;  // one flag takes both
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const LaunchFlag& row) { return row.usual == id; });
  return found == flags.end() ? "--megatron" : found->flag;
}

}  // namespace stepcast::launch
