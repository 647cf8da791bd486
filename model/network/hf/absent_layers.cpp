#include "model/network/hf/absent_layers.h"

#include <string_view>

namespace stepcast::detail {
namespace {

/// By what the names of such classes begin with: src/transformers/models and diffusers' src/diffusers/models.
struct AbsentLayers {
  std::string_view begin, layers;
};
constexpr AbsentLayers absent[] = {
    {"Rwkv", "time mixing (RWKV-5 to 7)"},
    {"RWKV", "time mixing (RWKV-5 to 7)"},
    {"Ernie4_5_VL", "experts of their own for words and for images (ERNIE 4.5 VL)"},
    {"Apriel2", "several mixers for each layer, one of which runs (Apriel 2)"},
    {"OpenMoe", "experts with a MLP of their own beside them (OpenMoE)"},
    {"DecoderOnlyT5", "a decoder with biases by distance (T5's decoder alone)"},
    {"Hymba", "learned tokens in front, and keys shared between layers (Hymba)"},
    {"Plamo2", "Mamba whose steps go through norms and a rank of their own (PLaMo 2)"},
    {"ZambaFor", "one block of attention that layers share (Zamba)"},
    {"HGRN", "gated linear recurrences (HGRN)"},
    {"RetNet", "retention under its own names: examples/own-mixer has the layer"},
    {"GLAFor", "gated linear attention (GLA)"},
    {"BaichuanM1", "convolutions of keys and values in attention"},
    {"Blt", "patches of bytes of their own length (BLT)"},
    {"Hrm", "two recurrences inside each other (HRM)"},
    {"Moshi", "a second transformer over the codes of each step (Moshi)"},
    {"Fuyu", "patches of images that stand among words by a matrix (Fuyu)"},
    {"BigBird", "attention over blocks, some of them at random (BigBird)"},
    {"Longformer", "windows beside words that see all, with matrices of their own (Longformer)"},
    {"LED", "windows beside words that see all, with matrices of their own (Longformer)"},
    {"XLNet", "two streams of words in each order (XLNet)"},
    {"Pegasus", "tables of sines that its files count as weights (Pegasus)"},
    {"SwitchTransformers", "experts in an encoder and a decoder (Switch)"},
    {"NllbMoe", "experts in an encoder and a decoder (NLLB)"},
    {"T5Gemma", "attention over words and the encoder at once (T5Gemma)"},
    {"Motif", "attention that subtracts one softmax from another (Motif)"},
    {"Phi4Flash", "Mamba whose memory later layers share (Phi-4 flash)"},
    {"LLaDA2", "a loss over blocks of hidden words beside the words themselves (block diffusion)"},
    {"LLaDAMoE", "experts without a causal mask under names of its own (LLaDA-MoE)"},
    {"Florence2", "windows and channels that attend in turn (DaViT)"},
    {"Molmo", "images that are pooled by attention (Molmo)"},
    {"Chameleon", "images as words of a table that another network makes (Chameleon)"},
    {"CogVLM", "matrices of their own for words and for images (CogVLM)"},
    {"Musicgen", "several words a step, over an encoder (MusicGen)"},
    {"Csm", "a second transformer over the codes of each step (CSM)"},
    {"DINOv3", "positions that turn among patches in layers scaled by vectors (DINOv3)"},
    {"Beit", "biases by distance between patches (BEiT)"},
    {"EuroBert", "logits without a matrix in front of them over words that see both sides (EuroBERT)"},
    {"Sana", "linear attention beside MLPs with convolutions (Sana)"},
    {"AuraFlow", "two streams with gated MLPs and learned positions beside them (AuraFlow)"},
    {"Chroma", "vectors that a network of their own makes (Chroma)"},
    {"Flux2", "vectors that all layers share, and gated MLPs in one product (FLUX.2)"},
    {"Mochi", "two streams of two widths (Mochi)"},
    {"HiDream", "experts in two streams (HiDream)"},
    {"Lumina", "layers that refine texts and images first (Lumina)"},
    {"ZImage", "layers that refine texts and images first (Z-Image)"},
    {"CogView", "texts and images in one stream (CogView)"},
    {"LTX2", "video and sound in two streams (LTX-2)"},
    {"ResNet", "convolutions"},
    {"ConvNext", "convolutions"},
    {"EfficientNet", "convolutions"},
    {"MobileNet", "convolutions"},
    {"UNet", "convolutions"},
    {"Autoencoder", "convolutions"},
    {"Wav2Vec2", "convolutions of sound"},
    {"Hubert", "convolutions of sound"},
    {"WavLM", "convolutions of sound"},
    {"Swin", "windows that shift and patches that merge between stages (Swin)"},
    {"Sam", "attention with relative positions of two sides (SAM)"},
    {"Detr", "queries of objects over convolutions (DETR)"},
    {"DLRM", "tables of embeddings and crossed features (DLRM)"},
};

}  // namespace

std::string absent_layers(const std::string& architecture) {
  for (const AbsentLayers& row : absent)
    if (architecture.starts_with(row.begin)) return std::string(row.layers);
  return "";
}

}  // namespace stepcast::detail
