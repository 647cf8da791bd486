#include "studies/engines/pools/addressed.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "studies/engines/checkpoint.h"

namespace stepcast::engines {
namespace {

/// Where engines listen that are told no port: vllm/entrypoints/openai/cli_args.py, python/sglang/srt/server_args.py,
/// tensorrt_llm/commands/serve.py.
struct UsualPort {
  std::string_view table, port;
};
constexpr UsualPort usual_ports[] = {{"vllm", "8000"}, {"sglang", "30000"}, {"tensorrt-llm", "8000"}};

/// A text whose variables are all set.
std::string told(SaidArguments& said, std::string_view name) {
  const GivenArgument* given = said.find(name);
  return given == nullptr || !given->unset.empty() ? "" : given->value;
}

bool is_open(SaidArguments& said, std::string_view name) {
  const GivenArgument* given = said.find(name);
  return given != nullptr && !given->unset.empty();
}

/// "" where it is not known: a container's port may be another one outside.
std::string listens_at(const FoundLine& server) {
  const std::string& before = server.line.before;
  const auto stands_behind = [&](std::string_view program) { return before.find(program) != before.npos; };
  const bool inside = stands_behind("docker ") || stands_behind("podman ") || stands_behind("nerdctl ");
  for (const char* elsewhere : {"ssh ", "pdsh ", "clush ", "kubectl ", "oc "})
    if (stands_behind(elsewhere)) return "";
  const bool as_outside = before.find("--network host") != before.npos ||
                          before.find("--network=host") != before.npos || before.find("--net host") != before.npos ||
                          before.find("--net=host") != before.npos;
  if (!server.line.part.empty() || (inside && !as_outside)) return "";
  SaidArguments said = server.said;
  if (const std::string port = told(said, "port"); !port.empty() || is_open(said, "port")) return port_of(port);
  const auto row = std::ranges::find(usual_ports, server.said.program->table, &UsualPort::table);
  return row == std::end(usual_ports) ? "" : std::string(row->port);
}

/// The host of "http://10.0.0.1:8100/v1".
std::string_view host_of(std::string_view address) {
  if (const std::size_t scheme = address.find("://"); scheme != address.npos) address.remove_prefix(scheme + 3);
  return address.substr(0, address.find_first_of(":/"));
}

/// The port that a benchmark names on its own machine; "": it names none.
std::string loads_port(const FoundLine& bench) {
  constexpr std::string_view here[] = {"", "localhost", "127.0.0.1", "0.0.0.0"};
  SaidArguments said = bench.said;
  for (const char* name : {"base_url", "url"}) {
    const std::string address = told(said, name);
    if (address.empty() && !is_open(said, name)) continue;
    return contains(here, host_of(address)) ? port_of(address) : "";
  }
  return contains(here, std::string_view(told(said, "host"))) && !is_open(said, "host") ? port_of(told(said, "port"))
                                                                                        : "";
}

/// A node of one engine, one of two pools, or a program that loads itself.
bool stands_apart(const FoundLine& server) {
  if (server.said.program->loads || server.line.role != PoolRole::whole) return true;
  SaidArguments said = server.said;
  for (const char* name : {"node_rank", "data_parallel_rank", "data_parallel_start_rank", "headless"})
    if (said.find(name) != nullptr) return true;
  return std::ranges::any_of(said.all, [&](const GivenArgument& given) { return joins_pools(said, given); });
}

/// The network that a name is of; "": it may be anything.
std::string network_of(SaidArguments& said, std::string_view name) {
  const std::string model = told(said, name);
  return model.empty() ? "" : checkpoint_of(model).network;
}

/// A name by which the server knows its model says nothing of another one.
void check_model(const FoundLine& server, const FoundLine& bench, AddressedEngines& out) {
  SaidArguments served = server.said, asked = bench.said;
  const std::string name = served.find("model_path") != nullptr ? "model_path" : "model";
  const std::string serves = network_of(served, name), wanted = network_of(asked, "model");
  if (serves.empty() || wanted.empty() || serves == wanted || served.find("served_model_name") != nullptr) return;
  out.doubts.push_back(fmt::format("{}:{} asks for {:.80}, and {}:{} serves {:.80}", bench.line.where, bench.line.line,
      told(asked, "model"), server.line.where, server.line.line, told(served, name)));
}

}  // namespace

AddressedEngines addressed_engines(std::vector<FoundLine> servers, std::vector<FoundLine> benches, bool has_router) {
  AddressedEngines out{std::move(servers), std::move(benches), {}, {}};
  if (out.benches.empty() || out.servers.empty() || has_router) return out;
  if (std::ranges::any_of(out.servers, [](const FoundLine& server) { return stands_apart(server); })) return out;
  std::vector<std::string> listen, loaded;
  for (const FoundLine& server : out.servers) listen.push_back(listens_at(server));
  for (const FoundLine& bench : out.benches) loaded.push_back(loads_port(bench));
  const bool all_told = !contains(listen, std::string()) && !contains(loaded, std::string());
  const auto same = [](const std::vector<FoundLine>& lines) {
    return std::ranges::all_of(lines, [&](const FoundLine& one) { return one.essence == lines.front().essence; });
  };
  // Benchmarks at several ports: of each alike, one stands for all.
  const bool alike =
      std::ranges::count(loaded, loaded.front()) == std::ssize(loaded) || (same(out.servers) && same(out.benches));
  if (all_told) {
    const std::string port = loaded.front();
    std::vector<FoundLine> chosen;
    for (std::size_t i = 0; i < listen.size(); ++i)
      if (listen[i] == port) chosen.push_back(out.servers[i]);
    if (chosen.empty() && out.servers.size() == 1)
      out.doubts.push_back(fmt::format("{}:{} loads port {}, and the engine listens at {}: what stands between them is "
                                       "not followed",
          out.benches.front().line.where, out.benches.front().line.line, port, listen.front()));
    else if (chosen.empty())
      out.notes.push_back(
          fmt::format("no engine listens at port {}, which is loaded: a router before all of them", port));
    else if (chosen.size() < out.servers.size() && !alike) {
      out.doubts.push_back(fmt::format("benchmarks load engines at ports {}, and they or the engines differ",
          fmt::join(std::set<std::string>(loaded.begin(), loaded.end()), ", ")));
    } else if (chosen.size() < out.servers.size()) {
      out.notes.push_back(fmt::format(
          "the benchmark loads port {}: of {} engines those that listen there are forecast", port, out.servers.size()));
      out.servers = std::move(chosen);
      std::vector<FoundLine> of_these;
      for (std::size_t i = 0; i < loaded.size(); ++i)
        if (loaded[i] == port) of_these.push_back(out.benches[i]);
      out.benches = std::move(of_these);
    }
  }
  check_model(out.servers.front(), out.benches.front(), out);
  return out;
}

}  // namespace stepcast::engines
