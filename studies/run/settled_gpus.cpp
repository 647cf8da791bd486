#include "studies/run/settled_gpus.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/untold_stack.h"
#include "studies/run/usual_software.h"

namespace stepcast::run {
namespace {

Expected<std::int64_t> gpus_of_a_node(const Request& request) {
  if (request.machine) return std::int64_t{request.machine->row.levels.front().gpus};
  TRY(const auto machine, choose_machine(default_machine, "default"));
  return std::int64_t{machine.row.levels.front().gpus};
}

/// A flag stands against a flag; over what a launch or a file says it goes as any other flag does.
bool stands_against(const Request& request, FieldId id, std::int64_t gpus) {
  const Request::Value* said = request.find(FieldId::gpus);
  if (said == nullptr || request.wishes().gpus == gpus) return false;
  return said->where.starts_with("--") || !request.where(id).starts_with("--");
}

Expected<void> settle_nodes(Request& request) {
  if (!request.says(FieldId::nodes)) return {};
  TRY(const auto per_node, gpus_of_a_node(request));
  const std::int64_t nodes = request.wishes().nodes, gpus = nodes * per_node;
  const std::string where = request.where(FieldId::nodes);
  if (stands_against(request, FieldId::nodes, gpus))
    return fail(where,
        fmt::format("{} nodes of {} GPUs are {}, and {} says {}", nodes, per_node, gpus, request.where(FieldId::gpus),
            request.wishes().gpus),
        "one of them");
  TRY(request.say(field(FieldId::gpus), std::to_string(gpus), where));
  request.unsay(FieldId::nodes);
  return {};
}

Expected<void> settle_data_ways(Request& request) {
  if (!request.says(FieldId::dp) || request.mapping) return {};
  const RunWishes& told = request.wishes();
  const std::int64_t ways = told.ways(), gpus = ways * told.data_ways;
  const std::string where = request.where(FieldId::dp);
  if (request.says(FieldId::gpus) && told.gpus != gpus) {
    const std::string other = told.gpus % ways == 0 ? fmt::format("--dp {}, or ", told.gpus / ways) : "";
    return fail(where,
        fmt::format("dp {} x tp {} x cp {} x pp {} are {} GPUs, and {} says {}", told.data_ways, told.tp, told.cp,
            told.pp, gpus, request.where(FieldId::gpus), told.gpus),
        fmt::format("{}{} GPUs", other, gpus));
  }
  TRY(request.say(field(FieldId::gpus), std::to_string(gpus), where));
  request.unsay(FieldId::dp);
  return {};
}

}  // namespace

Expected<void> settle_gpus(Request& request) {
  TRY(settle_nodes(request));
  return settle_data_ways(request);
}

namespace {

/// By what a line "use tp, dp, fsdp" of a mapping names.
bool uses_shards(std::string_view mapping) {
  while (!mapping.empty()) {
    const std::size_t end = std::min(mapping.find('\n'), mapping.size());
    const std::string_view line = stripped(mapping.substr(0, end));
    mapping.remove_prefix(std::min(end + 1, mapping.size()));
    if (!line.starts_with("use ")) continue;
    for (const std::string_view alias : {" fsdp", " hsdp"})
      if (line.find(alias) != line.npos) return true;
  }
  return false;
}

/// Weights in shards over the data ranks, as the flags or the mapping say.
bool is_sharded(const Request& request) {
  if (request.mapping) return uses_shards(request.mapping->text);
  return request.says(FieldId::zero) && request.wishes().zero == 3;
}

Expected<Chosen<Stack>> untold_software(const Request& request) {
  TRY(auto chosen, choose_stack(fmt::format("{}{}", like_software, usual_row(is_sharded(request))), "default"));
  chosen.notes.emplace_back("nobody named the software");
  return chosen;
}

}  // namespace

std::string_view usual_row(bool sharded) { return sharded ? usual_sharded_software : usual_software; }

Expected<Request> with_settled_software(Request request) {
  if (request.stack) return request;
  TRY(request.stack, untold_software(request));
  return request;
}

}  // namespace stepcast::run
