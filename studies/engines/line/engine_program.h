// The programs whose command lines are read: serving engines, and what loads them. A row says how a program is called,
// whose arguments it takes, and what its first plain word is.
#pragma once

#include <span>
#include <string_view>

#include "studies/launch/facts/argument_facts.h"

namespace stepcast::engines {

struct EngineProgram {
  std::string_view words;       ///< that call it: "vllm serve", "sglang.launch_server", "benchmark_serving.py"
  std::string_view name;        ///< "vLLM"
  std::string_view table;       ///< of its arguments; "": of a router, whose arguments are not read
  std::string_view engine;      ///< row of the catalogue that it runs; "": it loads a server that others start
  bool loads = false;           ///< its arguments tell a load
  std::string_view first = {};  ///< the argument that its first plain word is; "": it takes none
  std::string_view file = {};   ///< the argument that names a file with more of them
  bool file_wins = false;       ///< over what the line says (TensorRT-LLM); else the line goes over the file
  std::string_view over = {};   ///< the argument whose JSON goes over the line and the file
  std::string_view refused = {};
  /// Options by which a router is told where the engines listen that read prompts, and those that say tokens.
  std::string_view prompts_at = {}, tokens_at = {};
  bool starts_pools = false;     ///< its file describes both pools
  bool writes_requests = false;  ///< for benchmarks that read them; it starts no engine
};
/// The longest words first.
std::span<const EngineProgram> engine_programs();

/// Images of containers that run a program without naming it: "vllm/vllm-openai:v0.10.0". nullptr: another image.
const EngineProgram* program_of_image(std::string_view image);

/// The release of its engine that the tag of an image tells: "0.10.0" of the one above; "": none that begins with a
/// number, or an image whose tag counts something else.
std::string release_of_image(std::string_view image);

/// Read once; files that are wrong break the build, since a test reads all.
const launch::ArgumentTable& engine_table(std::string_view table);

/// The row of an argument by its whole name, else of the nearest section above it that takes any name ("moe_config.*").
/// nullptr: nobody knows it.
const launch::ArgumentFact* fact_of(const launch::ArgumentTable& table, std::string_view name);

/// The name that an argument counts by, where it has several: "tensor_parallel_size" of "tp".
std::string_view counted_name(const launch::ArgumentTable& table, std::string_view name);

}  // namespace stepcast::engines
