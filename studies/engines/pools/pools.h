// Pools of engines in a launch: which commands read prompts, which say tokens, and how many engines each pool has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/engines/said_arguments.h"

namespace stepcast::engines {

/// A command of a launch, with what it says.
struct FoundLine {
  EngineLine line;
  SaidArguments said;
  std::string essence = {};  ///< what decides a forecast, to tell whether two commands start the same
};
FoundLine found_line(EngineLine line, SaidArguments said);

/// One of those that start the same; nullptr: there is none. Errors: several that do not, with their lines.
Expected<const FoundLine*> only_one(const std::vector<FoundLine>& found, const std::string& file, const char* what);

/// Engines beside each other that are started alike.
struct EnginePool {
  SaidArguments server;
  std::map<std::string, std::string> environment;
  std::int64_t copies = 1;
  std::string open_copies;          ///< why it is not known how many there are; "": it is
  std::string release;              ///< of the engine, as its image tells it; "": not told
  std::string precision;            ///< of the checkpoint's weights, as its file has it: "mxfp4"; "": not told
  HostGpus host;                    ///< what each engine is given
  bool holds_all = false;           ///< these are for all its ranks, on any number of machines
  bool on_ray = false;              ///< its script starts Ray, so that its ranks may stand on several machines
  std::vector<std::string> doubts;  ///< what its script does that is not followed
  std::vector<std::string> notes;
};

/// Variables that say which GPUs of a machine a program sees.
constexpr const char* device_variables[] = {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

/// Ports where the engines of each pool listen, as a router before them is told.
struct PoolPorts {
  std::vector<std::string> prompts, tokens;
};
/// From the words of a router; nothing from other lines.
void add_ports(const EngineLine& line, PoolPorts& ports);
/// The port of "http://10.0.0.1:8100", "localhost:8100" or "8100"; "": none.
std::string port_of(std::string_view address);

struct LaunchedPools {
  EnginePool server;                  ///< reads and says, or says alone
  std::optional<EnginePool> prompts;  ///< of engines of their own that read them
};
/// Each command has its role by its own words, else by its part of a deployment, else by the port that a router knows
/// it by; Dynamo's vLLM says tokens where it is told nothing. Errors: no command, commands of one pool that differ, one
/// beside two pools whose role is not told.
Expected<LaunchedPools> pools_of(std::vector<FoundLine> servers, const PoolPorts& ports, const std::string& file);

/// Whether an argument says no more than that keys go to the other pool; a store of caches is something else.
bool joins_pools(const SaidArguments& said, const GivenArgument& given);

}  // namespace stepcast::engines
