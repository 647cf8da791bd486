#include "studies/engines/habits.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/catalog.h"

namespace stepcast::engines {
namespace {

/// What an engine does unless told, where that hangs on the GPU. The first row that fits counts.
struct Habit {
  std::string_view engine, what;
  double least_gib, most_gib;  ///< of device memory
  std::string_view but_gpu;    ///< not on those whose name begins so
  bool many_ranks, few_ranks;  ///< at 4 tensor ranks and more; below
  std::int64_t value;
};
constexpr double any = 1e9;
// vllm/engine/arg_utils.py, get_batch_defaults (0.9 and later, of the server; LLM() reads 16,384 and 8,192 positions);
// python/sglang/srt/server_args.py, _handle_gpu_memory_settings (0.5).
constexpr std::array habits = {
    Habit{"vllm", "most_sequences", 70, any, "a100", true, true, 1024},
    Habit{"vllm", "most_sequences", 0, any, "", true, true, 256},
    Habit{"vllm", "most_positions", 70, any, "a100", true, true, 8192},
    Habit{"vllm", "most_positions", 0, any, "", true, true, 2048},
    Habit{"vllm-offline", "most_positions", 70, any, "a100", true, true, 16384},
    Habit{"vllm-offline", "most_positions", 0, any, "", true, true, 8192},
    Habit{"sglang", "most_positions", 0, 35, "", true, true, 2048},
    Habit{"sglang", "most_positions", 35, 60, "", true, true, 4096},
    Habit{"sglang", "most_positions", 60, 160, "", true, true, 8192},
    Habit{"sglang", "most_positions", 160, any, "", true, true, 16384},
    Habit{"sglang", "most_captured", 0, 35, "", false, true, 24},
    Habit{"sglang", "most_captured", 0, 35, "", true, false, 80},
    Habit{"sglang", "most_captured", 35, 60, "", false, true, 32},
    Habit{"sglang", "most_captured", 35, 60, "", true, false, 160},
    Habit{"sglang", "most_captured", 60, 160, "", false, true, 256},
    Habit{"sglang", "most_captured", 60, 160, "", true, false, 512},
    Habit{"sglang", "most_captured", 160, any, "", true, true, 512},
};

/// Rows of later releases that have the sizes of those before.
constexpr std::pair<std::string_view, std::string_view> alike[] = {{"vllm-2026", "vllm"}};

std::optional<std::int64_t> habit_of(
    std::string_view id, std::string_view what, const Gpu& gpu, std::int64_t tensor_ranks) {
  std::string_view engine = id;
  for (const auto& [later, before] : alike)
    if (id == later) engine = before;
  constexpr double gib = 1024.0 * 1024 * 1024;
  constexpr std::int64_t many = 4;
  const double memory = gpu.memory.value() / gib;
  for (const Habit& row : habits) {
    const bool ranks = tensor_ranks >= many ? row.many_ranks : row.few_ranks;
    const bool spared = !row.but_gpu.empty() && gpu.id.starts_with(row.but_gpu);
    if (row.engine == engine && row.what == what && memory >= row.least_gib && memory < row.most_gib && ranks &&
        !spared)
      return row.value;
  }
  return std::nullopt;
}

/// Hosts that run an engine's loop slower than those its row was measured on. Grace: the loads of Qwen3 30B, Llama 4
/// Scout and gpt-oss 120b on GB200 whose iterations wait for the host (NVIDIA/TensorRT-LLM 00f3768 and 03e27c7,
/// perf-overview.md) take 1.8 times what the loop takes elsewhere.
struct SlowerHost {
  std::string_view engine, gpu;  ///< as its name begins
  double pace;
};
constexpr SlowerHost slower_hosts[] = {
    {"tensorrt-llm", "gb200", 1.8}, {"tensorrt-llm", "gb300", 1.8}, {"tensorrt-llm", "gh200", 1.8}};

// vLLM: V1 is the default from 0.8 (its release notes), and from 0.14 the scheduler runs beside the GPU (issue 27679,
// pull request 27614). TensorRT-LLM: 0.10 has the executor of 2024, and 1.0 runs on PyTorch.
constexpr EngineRelease releases[] = {{"vllm", "0.8", "vllm-v0"}, {"vllm", "0.14", "vllm"}, {"vllm", "", "vllm-2026"},
    {"tensorrt-llm", "0.10", "tensorrt-llm-2023"}, {"tensorrt-llm", "1.0", "tensorrt-llm-2024"},
    {"tensorrt-llm", "", "tensorrt-llm"}};

}  // namespace

std::span<const EngineRelease> engine_releases() { return releases; }

std::vector<int> numbers_of_release(std::string_view release) {
  std::vector<int> numbers;
  int value = -1;
  for (const char c : std::string(release) + ".") {
    if (c >= '0' && c <= '9') {
      value = std::max(0, value) * 10 + (c - '0');
    } else {
      if (value < 0) break;
      numbers.push_back(value);
      value = -1;
      if (c != '.') break;
    }
  }
  return numbers;
}

std::string_view row_of_release(std::string_view engine, std::string_view release) {
  const std::vector<int> numbers = numbers_of_release(release);
  for (const EngineRelease& row : releases)
    if (!numbers.empty() && row.engine == engine && (row.before.empty() || numbers < numbers_of_release(row.before)))
      return row.row;
  return engine;
}

Engine as_usual(Engine row, const Gpu& gpu, const HabitRanks& ranks) {
  const auto known = std::ranges::find(built_in().engines, row.id, &Engine::id);
  if (known == built_in().engines.end()) return row;
  // SGLang counts the ranks of all its groups as tensor ranks, and deals its positions out to groups.
  const bool dealt = row.id == "sglang";
  const std::int64_t tensor = ranks.tensor * (dealt ? ranks.groups : 1);
  const auto settle = [&](const char* what, auto size, std::int64_t parts) {
    if (row.*size != (*known).*size) return;  // a row of one's own says it
    auto value = ranks.offline ? habit_of("vllm-offline", what, gpu, tensor) : std::nullopt;
    if (!value) value = habit_of(row.id, what, gpu, tensor);
    if (value) row.*size = std::max<std::int64_t>(1, *value / parts);
  };
  settle("most_sequences", &Engine::most_sequences, 1);
  settle("most_positions", &Engine::most_positions, dealt ? ranks.groups : 1);
  settle("most_captured", &Engine::most_captured, 1);
  return row;
}

double host_pace_of(const Engine& row, const Gpu& gpu) {
  if (row.host_pace > 0) return row.host_pace;
  for (const SlowerHost& host : slower_hosts)
    if (row.id == host.engine && gpu.id.starts_with(host.gpu)) return host.pace;
  return 0;
}

}  // namespace stepcast::engines
