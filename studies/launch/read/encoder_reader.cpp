// Launches of an encoder and a decoder: Megatron-LM's T5 (examples/t5/pretrain_t5.py and megatron/core/models/T5/
// t5_model.py at d98e8a6).
#include <fmt/format.h>

#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {

/// Both have as many layers of the same sizes, one table of words and one of positions; the logits have a bias where
/// the words serve for them, too.
Expected<void> read_encoder(const LaunchSubject& subject) {
  NetworkSpec& n = subject.out.network;
  LaunchAnswers& ask = subject.answers;
  const auto layers = ask.count(Asked::decoder_layers), length = ask.count(Asked::decoder_sequence);
  if (ask.error()) return tl::unexpected(*ask.error());
  if (!layers && !length) return {};
  const Asked given = layers ? Asked::decoder_layers : Asked::decoder_sequence;
  if (!layers || !length)
    return fail(ask.where(given),
        layers ? "a decoder whose sequences have no length" : "a decoder's length, and no decoder",
        layers ? "its length: --decoder-seq-length 128"
               : "its layers: --decoder-num-layers 12; images in front of words are a network by name, and --images");
  if (*layers != n.layers || *length < 1)
    return fail(ask.where(given), fmt::format("a decoder of {} layers behind an encoder of {}", *layers, n.layers),
        "as many: pretrain_t5.py takes the encoder's for both");
  if (!n.encoders.empty() || !n.pattern.empty() || n.experts.count > 0 || n.latent.kv_rank > 0 || n.mtp_layers > 0)
    return fail(ask.where(given), "an encoder in front of layers that are not plain attention and an MLP",
        "a network of the catalogue, by name");
  NetworkSpec encoder = n;
  encoder.causal = false;
  encoder.tied_embeddings = true;
  if (encoder.positions == Positions::learned) {
    encoder.positions = Positions::none, encoder.max_positions = 0;
    subject.note("the encoder adds the decoder's table of positions: its time for that is not counted");
  }
  n.encoders = {std::move(encoder)};
  n.pattern = {*layer_of_word("*x-")};
  n.head_bias = n.tied_embeddings;
  n.sequence = *length;
  return {};
}

}  // namespace stepcast::launch
