// The checkpoint that a launch names: which network of the catalogue it is, and in which number types its weights and
// its cache are. Names of checkpoints end in what was done to them: "Llama-3.3-70B-Instruct-FP8".
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "studies/engines/settings.h"

namespace stepcast::engines {

struct Checkpoint {
  std::string network;         ///< id in the catalogue; "": none is known by that name
  std::string weights, cache;  ///< number types of infer: "fp8-block"; "" = its name does not tell
  std::string cache_how;       ///< how its file has the cache kept, in words of that; "": there is no such file
  std::string refused;         ///< why weights of this type are not forecast
  bool bare_fp8 = false;       ///< its name ends in -FP8, and its maker's habits are not known
  bool several = false;        ///< its network has wide and narrow ones, and its name does not tell which it is
  bool optimized = false;      ///< NVIDIA's Model Optimizer made it, which tells the type of the cache to engines
  std::vector<std::string> notes;
};
/// By its name alone: "RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8", "/models/DeepSeek-R1".
Checkpoint checkpoint_of(const std::string& model);
/// Of a network that is stored in 8 bits by itself a bare "-FP8" means just that: DeepSeek-R1-FP8 has scales of blocks.
Checkpoint as_stored(Checkpoint checkpoint, std::string_view network);

struct NumberTypes {
  std::string weights, cache;
  std::vector<std::string> notes;
};
/// Which engine reads the checkpoint, of which network, and where.
struct TypesOf {
  std::string engine;                    ///< its row in the catalogue
  std::string release = {};              ///< "0.15.0"; "": not told
  const NetworkSpec* network = nullptr;  ///< nullptr: what hangs on it is left out
  const Gpu* gpu = nullptr;              ///< the same
};

/// What options say over what the checkpoint's name tells. `told`: types that flags give, which go over both. Errors:
/// types that no forecast has, and those that nobody tells, with the flag that would.
Expected<NumberTypes> number_types_of(
    const EngineSettings& settings, const Checkpoint& checkpoint, const TypesOf& of, const NumberTypes& told);

}  // namespace stepcast::engines
