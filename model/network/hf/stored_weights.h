// In which number type a checkpoint keeps its weights, and has its cache kept: quantization_config of its config.json,
// or the hf_quant_config.json beside it. Engines take both from there, so that a forecast of serving that was told
// nothing does too.
#pragma once

#include <string>
#include <vector>

#include "model/network/hf/modules/part_modules.h"

namespace stepcast {

struct StoredWeights {
  std::string type;  ///< "fp8-block", as --weights takes it; "": nothing narrows them, or in no way that is known
  std::string how;   ///< "fp8 in blocks", in words of the file; "": nothing narrows them
  /// What stays wide, in words: "attention", "attention with part of the MLP", "10 of 32 layers", or operators where it
  /// is no whole part: "attn.qkv.K, attn.qkv.V"; "": nothing that would be narrow.
  std::string wide;
  std::string cache;      ///< the same of keys and values in the cache, as --kv takes it: "fp8"
  std::string cache_how;  ///< "float of 8 bits", in words of the file; "": nothing narrows them
  /// What is narrow and would be wide by itself: "the LM head"; "": nothing.
  std::string narrow = {};
  std::string told_by = "quantization_config of the file";
  std::vector<WeightsOfLayers> wide_weights = {};   ///< operator by operator, with heads, tables and routers
  std::vector<WeightsOfExperts> wide_experts = {};  ///< where others of a layer's experts are narrow
  std::vector<std::string> unknown = {};            ///< patterns of modules that hold nothing known
  double element_bytes = 0;  ///< of an integer with its scale and zero point; 0: as the type has it
};

/// Of the text of a config.json, or of what `show network FILE --json` printed of it; of others, and where it does not
/// parse: nothing. `beside`: the text of the hf_quant_config.json of its folder, which speaks where it says nothing.
StoredWeights stored_weights(const std::string& config, const std::string& beside = {});
/// The same of a file, or of the folder of a checkpoint; of what cannot be read: nothing. A file of the name
/// config.json is read with what stands beside it.
StoredWeights stored_weights_of_file(const std::string& path);

}  // namespace stepcast
