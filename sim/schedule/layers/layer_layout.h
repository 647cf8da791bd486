// Which layers lie on which virtual stage, as Megatron-LM writes it (--pipeline-model-parallel-layout, read in core/
// transformer/pipeline_parallel_layer_layout.py): E embedding, t decoder layer, m multi-token prediction, L loss, and |
// between stages, commas and spaces for the eye; x*3 repeats a letter or bar, (tt|)*10 a group. Stage s of the layout
// is virtual stage s: on rank s % p as its chunk s / p. Or a list of numbers of decoder layers per stage: "7,8,8,7".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"

namespace stepcast::sim {

struct StageLayers {
  bool embedding = false;  ///< before its layers
  int layers = 0;          ///< decoder layers
  int predictions = 0;     ///< multi-token prediction layers, after the decoder layers
  bool loss = false;       ///< LM head and loss, after everything
  friend bool operator==(const StageLayers&, const StageLayers&) = default;
};

struct LayerLayout {
  std::vector<StageLayers> stages;
  [[nodiscard]] int layers() const;
  [[nodiscard]] int predictions() const;
};

/// Megatron's notation. E has to come first and L last, each once, m after every t. Errors name where:column, from 1.
Expected<LayerLayout> read_layer_layout(std::string_view text, const std::string& where);
/// "7,8,8,7", brackets allowed. The embedding joins the first stage, the loss the last.
Expected<LayerLayout> read_layer_list(std::string_view text, const std::string& where);
/// The one that the text looks like: digits first, or a letter.
Expected<LayerLayout> read_layers(std::string_view text, const std::string& where);

/// Does it hold the whole model on this pipeline? The nearest layouts' numbers are in the hint.
Expected<void> check_layers(
    const LayerLayout& layout, int layers, int predictions, int ranks, int chunks, const std::string& where);

/// Megatron's notation: runs of three or more t as t*n, runs of equal stages as (t|)*n. Reads back the same.
std::string write_layer_layout(const LayerLayout& layout);

}  // namespace stepcast::sim
