// What one pool of a launch comes to: its split as flags of serve, and its engine's row where flags say too little.
#pragma once

#include <map>
#include <string>

#include "model/machine/machine.h"
#include "model/network/network.h"
#include "studies/engines/checkpoint.h"
#include "studies/engines/engine_launch.h"

namespace stepcast::engines {

using ToldFlags = std::map<std::string, std::string, std::less<>>;

/// The release of its engine: as its image tells it, or the first one of the row that --engine names; "": not told.
std::string release_of(const EnginePool& pool, const ToldFlags& told);

/// How many engines a pool has, where the launch leaves it open, is asked for by `flag`.
Expected<void> settle_copies(EnginePool& pool, const char* flag, const ToldFlags& told, bool lenient, AskedEngine& out);

/// Errors: more GPUs than there are, shares that are none, windows and layers of stages that are not the network's.
Expected<void> put_pool(const EngineSettings& settings, EnginePool& pool, const NetworkSpec& network, const Gpu& gpu,
    const ToldFlags& told, AskedEngine& out);

/// The pool that says the tokens of prompts.
struct TokenPool {
  const EngineSettings& settings;
  const NumberTypes& types;
  const Checkpoint& checkpoint;
  const ToldFlags& told;
};
/// Engines of their own that read prompts, beside `out`, which says tokens. Errors: another model, engine or number
/// type, blocks of another size, stages whose layers are dealt out by hand.
Expected<void> put_prompts(
    EnginePool& pool, const TokenPool& tokens, const NetworkSpec& network, const Gpu& gpu, AskedEngine& out);

}  // namespace stepcast::engines
