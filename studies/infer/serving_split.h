// How the ranks of an engine split an iteration: from the flags that engines have, or from a mapping of one's own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/engine.h"
#include "studies/run/scenario.h"

namespace stepcast::infer {

/// As typed, or as a record says it. Empty text: the default.
struct ServingWishes {
  std::string network, machine, engine;
  std::shared_ptr<const Engine> row;  ///< in place of `engine`: a launch's, with what it changes
  std::string profile;                ///< with laws of single kernels; "": the default one of the machine's GPU
  std::string weights, cache;         ///< number types: "fp8", "bf16"; weights may be narrower than products
  std::string products;               ///< "": the weights' type, or bf16 where nothing multiplies in it
  std::int64_t gpus = 0, tp = 1, pp = 1;
  std::int64_t ep = 1;             ///< experts are spread over so many ranks, and split over the rest of tp x dp
  std::int64_t spare_experts = 0;  ///< copies of some, over all ranks, in each layer with experts: in memory alone
  std::string exchange;            ///< of tokens with experts elsewhere: "gather", "rows"; "": the engine's
  std::int64_t draft = 0;          ///< words that a small network guesses before each iteration
  std::int64_t attention_dp = 1;   ///< groups of tp ranks with sequences of their own, which share the experts
  std::int64_t cp = 1;             ///< prompts and their cache are split by position over so many
  std::int64_t dcp = 1;            ///< of tp ranks with the same key heads so many have a part of each sequence's cache
  std::int64_t node_gpus = 0;      ///< that it has of each node; 0: all of them
  std::int64_t longest = 0;        ///< positions of the longest request that it is told to take; 0: it is not told
  bool longest_fits = false;       ///< it takes requests as long as its cache holds, up to the network's positions
  /// Of the longest request where `longest` does not say it, by the checkpoint that a launch names; 0: a launch does
  /// not tell it; nothing: by the network's name.
  std::optional<std::int64_t> positions;
  std::string layout;                   ///< layers of each stage, "31,30"; "": as the engine deals them out
  std::string context;                  ///< how prompts come to all keys: "gather", "ring", "exchange"; "": gather
  std::int64_t predicts_behind = 0;     ///< so many layers of its file stand before this network, a layer that guesses
  run::Request::Value mapping;          ///< text of the notation in place of the split; "": none
  run::Request::Value prompts_mapping;  ///< beside it, of prompts; "": the same
};

struct ServingSplit {
  run::Scenario scenario;       ///< network, machine and mapping
  std::string prompts_mapping;  ///< where prompts are split otherwise than words; "": as `scenario` says
  std::int64_t groups = 1;      ///< of ranks that have sequences of their own
  std::int64_t tensor_ways = 1, stages = 1, cp = 1, dcp = 1;
  std::vector<std::int64_t> layers;  ///< of each stage, where they are not as many on all; in order
  bool dealt_by_rule = false;        ///< `layers` are the engine's, and nobody said them
};

/// One replica. Errors: what does not divide, with what would; keys that cannot be split; a mapping beside flags that
/// say the same.
Expected<ServingSplit> serving_split(
    const ServingWishes& wishes, run::Chosen<NetworkSpec> network, run::Chosen<Machine> machine, const Engine& engine);

/// Do queries among so many positions see keys that something picks, and nothing tells what?
bool sees_picked_blocks(const NetworkSpec& network, std::int64_t positions);
/// Why they are not forecast, and what is beside fewer positions.
const char* unpicked_reason(const NetworkSpec& network);
std::string unpicked_hint(const NetworkSpec& network);

/// "tp 8, pp 1, dp-attention 4, ep 32, dcp 2".
std::string split_in_words(const ServingSplit& split);

}  // namespace stepcast::infer
