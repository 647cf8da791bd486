#include "dataflow/lower/read_plan.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

bool has_axes(const MappingProgram& program, const HomeStatement& home) {
  for (const HomePlace& place : home.places)
    for (const std::string& name : place.axes) {
      bool known = false;
      for (const MeshLine& line : program.meshes)
        for (const auto& axis : line.axes) known = known || axis.name == name;
      if (!known) return false;
    }
  return true;
}

std::int64_t axis_size(const MappingProgram& program, const std::string& name) {
  for (const MeshLine& line : program.meshes)
    for (const auto& axis : line.axes)
      if (axis.name == name) return axis.size;
  return 1;
}

/// Product of the axes on which the embedding splits the batch: first match per axis, as for every operator (rule 3).
std::int64_t batch_ranks_of(const ParsedPlan& parsed) {
  constexpr const char* embedding_loops[] = {"b", "s", "h", "v"};
  std::int64_t ranks = 1;
  std::vector<std::string_view> claimed;
  claimed.reserve(2 * parsed.statements.size());
  for (const Statement& statement : parsed.statements) {
    const auto* par = std::get_if<ParStatement>(&statement.body);
    const bool here = statement.scope.empty() || contains(statement.scope, "embed");
    if (!par || !here) continue;
    const auto walks = [&](const std::string& dim) { return contains(embedding_loops, dim); };
    if (!par->dims.empty() && std::ranges::none_of(par->dims, walks)) continue;
    for (const std::string& axis : par->axes) {
      if (contains(claimed, axis)) continue;
      claimed.push_back(axis);
      if (par->dims.size() == 1 && par->dims.front() == "b") ranks *= axis_size(parsed.program, axis);
    }
  }
  return ranks;
}

Expected<void> add_implied(const Stack& stack, const MappingProgram& program, std::vector<Statement>& statements) {
  for (const std::string& line : stack.statements) {
    TRY(auto parsed, parse(line, "stack " + stack.id));
    for (auto& item : parsed.body) {
      auto* statement = std::get_if<Statement>(&item);
      const auto* home = statement ? std::get_if<HomeStatement>(&statement->body) : nullptr;
      if (!home)
        return fail("stack " + stack.id, fmt::format("statement '{}'", line), "a stack implies `home` statements only");
      if (!has_axes(program, *home)) continue;
      statement->alias = "stack " + stack.id;
      statements.push_back(std::move(*statement));
    }
  }
  return {};
}

}  // namespace

Expected<ParsedPlan> read_plan(const Plan& plan) {
  TRY(auto program, parse(plan.mapping, plan.mapping_where));
  if (program.meshes.empty())
    return fail(plan.mapping_where, "the mapping has no mesh line",
        fmt::format("start with one, such as 'mesh tp:8 dp:{}'", std::max<std::int64_t>(1, plan.gpus / 8)));
  // Nothing that a mapping says is dropped: what a network already fixes cannot stand here.
  if (!program.operators.empty())
    return fail(to_text(program.operators.front().position),
        fmt::format("operator '{}' in a mapping of a network", program.operators.front().name),
        "the network brings its own operators; a program with operators stands alone");
  if (!program.dims.empty())
    return fail(plan.mapping_where,
        fmt::format("'dim {}:{}' in a mapping of a network", program.dims.front().name, program.dims.front().extent),
        "extents follow from the network and the batch");
  if (!program.archs.empty())
    return fail(to_text(program.archs.front().position), "an arch in a mapping of a network",
        "kernels are priced by the profile; stepcast dataflow counts a chip");
  TRY(auto statements, expand(program));
  const auto in_time = [](const Statement& s) {
    return std::holds_alternative<ForStatement>(s.body) || std::holds_alternative<LevelStatement>(s.body);
  };
  for (const Statement& statement : statements)
    if (statement.alias.empty() && in_time(statement))
      return fail(to_text(statement.position), fmt::format("'{}' in a mapping of a network", print(statement)),
          "the network's operators run each once per micro-batch; loops in time belong to programs with operators");
  return ParsedPlan{std::move(program), std::move(statements)};
}

Expected<ParsedPlan> read_plan(const Plan& plan, const Stack& stack) {
  TRY(auto parsed, read_plan(plan));
  TRY(add_implied(stack, parsed.program, parsed.statements));
  return parsed;
}

Expected<PlanBatch> batch_of(const NetworkSpec& spec, const Plan& plan, const ParsedPlan& parsed, std::int64_t stated) {
  const std::int64_t per = plan.micro_batch * batch_ranks_of(parsed);
  if (plan.micro_batch < 1 || plan.global_batch < 1)
    return fail("batch", fmt::format("micro batch {} and global batch {}", plan.micro_batch, plan.global_batch),
        "both are at least 1");
  if (plan.global_batch % per != 0) {
    const std::int64_t below = plan.global_batch / per * per, above = below + per;
    return fail("global batch",
        fmt::format("{} sequences do not divide by micro batch {} x {} batch-splitting ranks = {}", plan.global_batch,
            plan.micro_batch, per / plan.micro_batch, per),
        below > 0 ? fmt::format("nearest legal: {} or {}", below, above) : fmt::format("nearest legal: {}", above));
  }
  const std::int64_t micro_batches = plan.global_batch / per;
  if (stated > 0 && stated != micro_batches)
    return fail(plan.mapping_where,
        fmt::format("the mapping says mb:{}, but the batch makes {} micro-batches", stated, micro_batches),
        fmt::format("write mb:* or mb:{}", micro_batches));
  return PlanBatch{plan.sequence > 0 ? plan.sequence : spec.sequence, per, micro_batches};
}

Expected<std::int64_t> batch_ranks(const Plan& plan) {
  TRY(auto parsed, read_plan(plan));
  return batch_ranks_of(parsed);
}

}  // namespace stepcast::dataflow
