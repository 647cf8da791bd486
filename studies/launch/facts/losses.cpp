#include "studies/launch/facts/losses.h"

#include <algorithm>
#include <iterator>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

// Liger makes the gradients of a piece beside it, in the type of the network, over its logits
// (linkedin/Liger-Kernel, src/liger_kernel/ops/fused_linear_cross_entropy.py). Cut cross entropy has tiles of logits in
// registers and makes them again in backward (arXiv 2411.09009). TRL checkpoints pieces of 256 positions
// (huggingface/trl@v1.9.0, trl/trainer/sft_trainer.py). torchtitan runs the backward of each of 8 pieces before the
// next (pytorch/torchtitan@b5bcd76c66, torchtitan/components/loss.py). torchtune's two have 8 pieces, and autograd
// keeps what each has read in 32 bits; the older one makes all logits in front of them (pytorch/torchtune@bd2a0fc7c3,
// torchtune/modules/loss), which Axolotl has too (axolotl-ai-cloud/axolotl@067b021c8b,
// src/axolotl/monkeypatch/loss/chunked.py).
constexpr KnownLoss losses[] = {{"liger", "Liger's head and loss in one", {LossPieces::by_width}, 2, true, false},
    {"cut", "cut cross entropy", {LossPieces::on_chip}, 2, true, true},
    {"trl", "TRL's loss in pieces of 256 positions", {LossPieces::tokens, 256}, 4, false, true},
    {"titan", "torchtitan's head and loss in pieces", {LossPieces::count, 8}, 4, false, false},
    {"tune", "torchtune's head and loss in pieces", {LossPieces::count, 8, true}, 4, false, false},
    {"tune-outputs", "torchtune's loss in pieces", {LossPieces::count, 8, true, true}, 4, false, false}};

/// By the end of an argument's name and a part of its value; "": it is on.
struct LossWord {
  std::string_view argument, value, loss;
};
constexpr LossWord words[] = {{"use_liger_kernel", "", "liger"}, {"use_liger", "", "liger"},
    {"enable_liger_kernel", "", "liger"}, {"liger_fused_linear_cross_entropy", "", "liger"},
    {"cut_cross_entropy", "", "cut"}, {"chunked_cross_entropy", "", "tune-outputs"},
    {"loss_type", "chunked_nll", "trl"}, {"loss.class", "chunked", "titan"}, {"loss._component_", "liger", "liger"},
    {"loss._component_", "linearcrossentropyloss", "tune"},
    {"loss._component_", "cewithchunkedoutputloss", "tune-outputs"}};
/// Values that make all logits.
constexpr std::string_view whole[] = {"nll", "dft", "crossentropyloss", "crossentropyloss.config"};

}  // namespace

MeantLoss meant_loss(std::string_view argument, const std::string& value) {
  const std::string said = lower_case(value);
  if (says_none(said) || is_switched_off(said)) return {};
  for (const LossWord& word : words) {
    const bool named = argument == word.argument || argument.ends_with("." + std::string(word.argument));
    if (!named || said.find(word.value) == said.npos) continue;
    return {std::ranges::find(losses, word.loss, &KnownLoss::id), false};
  }
  return {nullptr, !contains(whole, said) && !contains(whole, said.substr(said.rfind('.') + 1))};
}

}  // namespace stepcast::launch
