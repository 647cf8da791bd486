#include "studies/engines/pools/pools.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/machine/gpu_words.h"

namespace stepcast::engines {
namespace {

/// ai-dynamo/dynamo@b6d5e48722 components/src/dynamo/vllm/args.py; sgl-project/sglang python/sglang/srt/server_args.py;
/// vllm-project/vllm vllm/config/kv_transfer.py; NVIDIA/TensorRT-LLM@4c05a74891 tensorrt_llm/commands/serve.py.
struct RoleWord {
  std::string_view argument, value;
  PoolRole role;
};
constexpr RoleWord role_words[] = {{"is_prefill_worker", "true", PoolRole::prompts},
    {"is_decode_worker", "true", PoolRole::tokens}, {"disaggregation_mode", "prefill", PoolRole::prompts},
    {"disaggregation_mode", "decode", PoolRole::tokens},
    {"kv_transfer_config.kv_role", "kv_producer", PoolRole::prompts},
    {"kv_transfer_config.kv_role", "kv_consumer", PoolRole::tokens}, {"server_role", "context", PoolRole::prompts},
    {"server_role", "generation", PoolRole::tokens}};

/// Connectors from GPU to GPU (vllm/distributed/kv_transfer/kv_connector/factory.py); others are stores.
constexpr std::string_view connectors[] = {
    "nixlconnector", "p2pncclconnector", "mooncakeconnector", "moriioconnector", "nixl"};
/// Settings of them that say nothing of time.
constexpr std::string_view harmless_settings[] = {"kv_transfer_config.kv_role", "kv_transfer_config.kv_rank",
    "kv_transfer_config.kv_parallel_size", "kv_transfer_config.kv_port", "kv_transfer_config.kv_ip",
    "kv_transfer_config.engine_id", "kv_transfer_config.kv_buffer_device", "kv_transfer_config.kv_buffer_size",
    "kv_transfer_config.kv_load_failure_policy", "kv_transfer_config.enable_permute_local_kv",
    "kv_transfer_config.enable_async_transfers"};
/// Of the connector itself: addresses, channels.
constexpr std::string_view connector_settings = "kv_transfer_config.kv_connector_extra_config";

bool is_harmless(std::string_view name) {
  return contains(harmless_settings, name) || name.starts_with(connector_settings);
}

/// Which node or data rank of one engine a command starts.
constexpr const char* rank_names[] = {"node_rank", "data_parallel_rank", "data_parallel_start_rank"};
/// Two engines that are up at once differ in one of these.
constexpr const char* address_names[] = {"host", "port", "base_gpu_id", "dist_init_addr", "node_rank"};

std::string said_of(SaidArguments& said, std::string_view name) { return lower_case(said.text(name).value_or("")); }

PoolRole role_of(FoundLine& found, const PoolPorts& ports) {
  for (const RoleWord& row : role_words)
    if (said_of(found.said, row.argument) == row.value) return row.role;
  if (found.line.role != PoolRole::whole) return found.line.role;
  const std::string name = lower_case(found.line.part);
  if (said_of(found.said, "kv_transfer_config.kv_role") == "kv_both") {
    if (name.find("prefill") != name.npos) return PoolRole::prompts;
    if (name.find("decode") != name.npos) return PoolRole::tokens;
  }
  const std::string port = said_of(found.said, "port");
  const bool reads = !port.empty() && contains(ports.prompts, port),
             says = !port.empty() && contains(ports.tokens, port);
  return reads == says ? PoolRole::whole : reads ? PoolRole::prompts : PoolRole::tokens;
}

std::string essence_of(const SaidArguments& said) {
  std::map<std::string, std::string> counted;
  for (const GivenArgument& given : said.all) {
    const launch::ArgumentFact* fact = fact_of(said.table(), given.name);
    if (fact == nullptr || fact->reach == launch::Reach::step || fact->reach == launch::Reach::uncovered)
      counted[std::string(counted_name(said.table(), given.name))] = given.value;
  }
  // Ports and ranks of the connector differ from one engine to the next.
  std::erase_if(counted, [](const auto& one) { return is_harmless(one.first); });
  std::string text(said.program->table);
  for (const auto& [name, value] : counted) text += "\n" + name + " " + value;
  return text;
}

std::string place_of(const FoundLine& found) {
  return found.line.part.empty() ? fmt::format("line {}", found.line.line)
                                 : fmt::format("{} in line {}", found.line.part, found.line.line);
}
std::string places_of(const std::vector<FoundLine>& found) {
  std::vector<std::string> places;
  for (const FoundLine& one : found) places.push_back(place_of(one));
  return fmt::format("{}", fmt::join(places, ", "));
}

/// It starts the first node of its engine, or all of them.
bool leads(FoundLine& found) {
  for (const char* name : rank_names)
    if (const GivenArgument* rank = found.said.find(name); rank != nullptr && rank->value != "0") return false;
  const GivenArgument* headless = found.said.find("headless");
  return headless == nullptr || headless->value == "false";
}

std::string address_of(FoundLine& found) {
  std::string text = found.line.before + "\n" + found.line.part;
  for (const char* name : address_names) text += "\n" + said_of(found.said, name);
  for (const char* name : device_variables)
    if (const auto set = found.line.environment.find(name); set != found.line.environment.end())
      text += "\n" + set->second;
  return text;
}

/// How many engines commands start that are alike but for the nodes and addresses of each.
void count_copies(std::vector<FoundLine>& alike, EnginePool& pool) {
  std::set<std::string> addresses;
  std::int64_t leaders = 0, copies = 0;
  for (FoundLine& one : alike) {
    if (pool.open_copies.empty()) pool.open_copies = one.line.open_copies;
    if (!leads(one)) continue;
    ++leaders, copies += one.line.copies;
    addresses.insert(address_of(one));
  }
  const auto open = [&](const char* why) {
    if (pool.open_copies.empty())
      pool.open_copies = fmt::format("{} commands start engines alike ({}), {}", alike.size(), places_of(alike), why);
  };
  if (leaders == 0 && alike.size() > 1) open("and which of them are nodes of one engine hangs on variables");
  if (static_cast<std::int64_t>(addresses.size()) < leaders) open("and whether all of them run is not told");
  pool.copies = leaders == 0 ? alike.front().line.copies : copies;
}

/// By its variables, and by kernels that one vendor's GPUs alone run.
std::string_view vendor_of_line(const FoundLine& found) {
  if (const auto vendor = vendor_of_environment(found.line.environment); !vendor.empty()) return vendor;
  SaidArguments said = found.said;
  for (const char* name : {"attention_backend", "prefill_attention_backend", "decode_attention_backend"}) {
    const std::string kernels = lower_case(said.text(name).value_or(""));
    if (const auto vendor = vendor_of(kernels.find("aiter") == kernels.npos ? kernels : "rocm"); !vendor.empty())
      return vendor;
  }
  return {};
}

EnginePool pool_of(const FoundLine& found) {
  EnginePool pool;
  pool.server = found.said, pool.environment = found.line.environment;
  pool.copies = found.line.copies, pool.open_copies = found.line.open_copies;
  pool.host = found.line.host, pool.holds_all = found.line.holds_all, pool.on_ray = found.line.on_ray;
  if (pool.host.vendor.empty()) pool.host.vendor = vendor_of_line(found);
  pool.release = found.line.release, pool.precision = found.line.precision;
  pool.doubts = found.line.unfollowed, pool.notes = found.said.notes;
  // An engine on other chips than GPUs is another program, and no profile is of them.
  const std::string chip =
      found.line.chip.empty() ? std::string(chip_of_environment(found.line.environment)) : found.line.chip;
  if (!chip.empty()) pool.doubts.push_back(fmt::format("it starts on {}, and engines on these are not forecast", chip));
  return pool;
}

/// Engines alike by their arguments that stand on unlike GPUs, or on pods with more and fewer of them, are unlike.
Expected<void> check_like_hosts(const std::vector<FoundLine>& alike, const std::string& file) {
  const auto words = [](const HostGpus& host) {
    return fmt::format("{} {:.40}", host.count, host.kind.empty() ? "GPUs" : host.kind);
  };
  const HostGpus& first = alike.front().line.host;
  for (const FoundLine& one : alike) {
    const HostGpus& host = one.line.host;
    const bool kinds = !host.kind.empty() && !first.kind.empty() && lower_case(host.kind) != lower_case(first.kind);
    const bool counts = host.count > 0 && first.count > 0 && host.count != first.count;
    if (kinds || counts)
      return fail(file,
          fmt::format("commands that are alike stand on unlike GPUs: {} on {}, {} on {}", place_of(alike.front()),
              words(first), place_of(one), words(host)),
          fmt::format("--launch {}:{} for one of them", file, one.line.line));
  }
  return {};
}

Expected<EnginePool> pool_of(std::vector<FoundLine>& alike, const std::string& file, const char* what) {
  TRY(const auto one, only_one(alike, file, what));
  if (one != nullptr) TRY(check_like_hosts(alike, file));
  EnginePool pool = pool_of(*one);
  if (one->said.program->loads) return pool;  // benchmarks run one after the other
  pool.open_copies.clear();
  count_copies(alike, pool);
  return pool;
}

}  // namespace

FoundLine found_line(EngineLine line, SaidArguments said) {
  std::string essence = essence_of(said);
  return {std::move(line), std::move(said), std::move(essence)};
}

Expected<const FoundLine*> only_one(const std::vector<FoundLine>& found, const std::string& file, const char* what) {
  if (found.empty()) return nullptr;
  if (std::ranges::all_of(found, [&](const FoundLine& one) { return one.essence == found.front().essence; }))
    return &found.front();
  return fail(file, fmt::format("{} commands {}, and they differ: {}", found.size(), what, places_of(found)),
      fmt::format("--launch {}:{} for one of them", file, found.front().line.line));
}

std::string port_of(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon != address.npos) address.remove_prefix(colon + 1);
  address = address.substr(0, address.find('/'));
  const bool number = !address.empty() && std::ranges::all_of(address, [](unsigned char c) { return std::isdigit(c); });
  return number ? std::string(address) : "";
}

void add_ports(const EngineLine& line, PoolPorts& ports) {
  if (line.program->prompts_at.empty()) return;
  std::vector<std::string>* to = nullptr;
  for (const ShellWord& word : line.words) {
    std::string_view text = word.text;
    if (text.starts_with('-')) {
      const std::string_view name = text.substr(0, text.find('='));
      to = name == line.program->prompts_at  ? &ports.prompts
           : name == line.program->tokens_at ? &ports.tokens
                                             : nullptr;
      text.remove_prefix(std::min(text.size(), name.size() + 1));
    }
    if (const std::string port = port_of(text); to != nullptr && !port.empty()) to->push_back(port);
  }
}

Expected<LaunchedPools> pools_of(std::vector<FoundLine> servers, const PoolPorts& ports, const std::string& file) {
  std::vector<FoundLine> prompts, tokens, untold;
  for (FoundLine& one : servers) {
    const PoolRole role = role_of(one, ports);
    const bool says = role == PoolRole::tokens || one.said.program->table == "dynamo-vllm";
    (role == PoolRole::prompts ? prompts : says ? tokens : untold).push_back(one);
  }
  LaunchedPools out;
  if (prompts.empty() || tokens.size() + untold.size() == 0) {
    if (servers.empty())
      return fail(file, "no command in it starts a serving engine",
          "vllm serve, python -m sglang.launch_server, trtllm-serve, trtllm-bench, or a container that runs one");
    TRY(out.server, pool_of(servers, file, "start engines"));
    return out;
  }
  if (!untold.empty())
    return fail(file, fmt::format("whether these read prompts or say tokens is not told: {}", places_of(untold)),
        fmt::format("their role in their own words (--disaggregation-mode, kv_role), or --launch {}:{} for one engine",
            file, untold.front().line.line));
  TRY(out.server, pool_of(tokens, file, "say tokens"));
  TRY(out.prompts, pool_of(prompts, file, "read prompts"));
  return out;
}

bool joins_pools(const SaidArguments& said, const GivenArgument& given) {
  const std::string_view name = counted_name(said.table(), given.name);
  if (std::ranges::any_of(role_words, [&](const RoleWord& row) { return row.argument == name; })) return true;
  if (name == "kv_transfer_config.kv_connector")
    return contains(connectors, std::string_view(lower_case(stripped(given.value))));
  return is_harmless(name);
}

}  // namespace stepcast::engines
