// Puts what a dialect (facts/dialects.h) says in other words than our tables into theirs: widths that are derived,
// switches that stand for others, what a program does where it is told nothing.
#pragma once

#include "studies/launch/dialects/dialect_words.h"

namespace stepcast::launch {

/// Errors: what a dialect can ask for and no forecast follows.
Expected<void> settle_dialect(Launch& launch);

// One each; settle_dialect calls that of the launch's framework.
Expected<void> settle_gpt_neox(DialectWords& words);
Expected<void> settle_flagscale(DialectWords& words);
Expected<void> settle_megatron(DialectWords& words);
Expected<void> settle_megatron_swift(DialectWords& words);
Expected<void> settle_primus(DialectWords& words);
Expected<void> settle_nanotron(DialectWords& words);
Expected<void> settle_torchtitan(DialectWords& words);
Expected<void> settle_torchtune(DialectWords& words);
Expected<void> settle_verl(DialectWords& words);
Expected<void> settle_litgpt(DialectWords& words);
Expected<void> settle_olmo(DialectWords& words);
Expected<void> settle_openrlhf(DialectWords& words);
Expected<void> settle_llama_factory(DialectWords& words);
Expected<void> settle_axolotl(DialectWords& words);
Expected<void> settle_swift(DialectWords& words);
/// Variables that a YAML of ms-swift sets are those of the launch where the shell has none of that name.
void take_swift_environment(DialectWords& words);
/// NeMo 2 and Megatron-Bridge, which share recipes.
Expected<void> settle_nemo(DialectWords& words);
/// TRL's fine-tuning, among the programs on Hugging Face's Trainer: its own defaults.
Expected<void> settle_trl(DialectWords& words);
/// Is it one of TRL's fine-tunings?
bool is_trl(DialectWords& words);
/// Programs on Hugging Face's Trainer, and DeepSpeed's and accelerate's where they run one.
Expected<void> settle_trainer(DialectWords& words);

}  // namespace stepcast::launch
