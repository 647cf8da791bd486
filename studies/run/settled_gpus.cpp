#include "studies/run/settled_gpus.h"

#include <string>

#include <fmt/format.h>

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

}  // namespace stepcast::run
