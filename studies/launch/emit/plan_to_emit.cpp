// A mapping read back into the split that the flags would have made it of: mapping_text the other way round.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/notation/mapping.h"
#include "dataflow/lower/stages.h"
#include "studies/launch/emit/emit.h"
#include "studies/run/split_plan.h"

namespace stepcast {
namespace {

using Statements = std::vector<Statement>;

std::string emit_place(const Position& position) { return fmt::format("{}:{}:{}", position.file, position.line, position.column); }

constexpr const char* emit_hint = "mappings as the flags of predict make them can be written out; see --print-scenario";

std::int64_t emit_axis_size(const MeshLine& mesh, std::string_view axis) {
  for (const MeshLine::Axis& row : mesh.axes)
    if (row.name == axis) return row.size;
  return 1;
}

/// The axes of a mesh line are some of `known`, each once.
Expected<void> check_emit_axes(const MeshLine& mesh, std::initializer_list<std::string_view> known) {
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    const std::string& name = mesh.axes[i].name;
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(emit_place(mesh.position), fmt::format("no flag splits over an axis '{}'", name), emit_hint);
  }
  return {};
}

/// Sizes, and the order of axes; those of size 1 that the line leaves out stand where they usually do.
void read_first_mesh(Split& split, const MeshLine& mesh) {
  split.tp = emit_axis_size(mesh, "tp");
  split.cp = emit_axis_size(mesh, "cp");
  split.replicas = emit_axis_size(mesh, "rep");
  split.dp = emit_axis_size(mesh, "dp") * split.replicas;
  split.pp = emit_axis_size(mesh, "pp");
  const auto place = [&](MeshAxis axis) {
    const auto found = std::find_if(mesh.axes.begin(), mesh.axes.end(), [&](const auto& row) { return row.name == to_text(axis); });
    return found - mesh.axes.begin();
  };
  split.order = usual_order;
  std::stable_sort(split.order.begin(), split.order.end(), [&](MeshAxis a, MeshAxis b) { return place(a) < place(b); });
}

Expected<void> read_meshes(Split& split, const MappingProgram& program, const NetworkSpec& network) {
  if (auto good = check_emit_axes(program.meshes[0], {"tp", "cp", "dp", "rep", "pp"}); !good) return good;
  read_first_mesh(split, program.meshes[0]);
  split.experts = network.experts.count > 0;
  if (program.meshes.size() < 2) return {};
  const MeshLine& second = program.meshes[1];
  if (program.meshes.size() > 2 || !split.experts)
    return fail(emit_place(program.meshes[split.experts ? 2 : 1].position), "no flag makes a mesh line more", emit_hint);
  if (auto good = check_emit_axes(second, {"etp", "ep", "edp", "erep", "pp"}); !good) return good;
  split.etp = emit_axis_size(second, "etp");
  split.ep = emit_axis_size(second, "ep");
  return {};
}

bool stands_in(const Statements& statements, const Statement& wanted) {
  return std::find(statements.begin(), statements.end(), wanted) != statements.end();
}

/// Every statement of the alias is there.
bool has_alias(const Statements& statements, std::string_view name) {
  for (const Alias& alias : builtin_aliases())
    if (alias.name == name)
      return std::all_of(alias.statements.begin(), alias.statements.end(), [&](const Statement& s) { return stands_in(statements, s); });
  return false;
}

void read_aliases(Split& split, const Statements& statements) {
  split.vocabulary = has_alias(statements, "vocab");
  split.sequence = has_alias(statements, "sp");
  const ContextKind by_pieces = has_alias(statements, "cp") ? ContextKind::ring : ContextKind::gather;
  split.context = has_alias(statements, "ulysses") ? ContextKind::ulysses : by_pieces;
  if (split.cp == 1) split.context = ContextKind::ring;
  split.zero = has_alias(statements, "fsdp") ? 3 : has_alias(statements, "zero2") ? 2 : has_alias(statements, "zero1") ? 1 : 0;
}

/// Tags that no --recompute stands for are left to the comparison.
void read_recompute(Split& split, const RecomputeStatement& recompute) {
  static const std::vector<std::string> core = {"attn.core"}, whole_layer = {"norm", "attn", "residual", "mlp"};
  const std::vector<std::string>& tags = recompute.tags;
  const bool layer = std::search(tags.begin(), tags.end(), whole_layer.begin(), whole_layer.end()) == tags.begin();
  if (tags != core && !layer) return;
  split.recompute_whole = recompute.whole;
  split.recompute = {layer ? Recompute::Kind::full : Recompute::Kind::selective, recompute.layers};
}

/// What --save-gathered keeps in this network.
std::vector<std::string> gathers_kept_in(const Scenario& scenario) {
  SplitWishes wishes;
  wishes.gpus = wishes.tp = 2;
  wishes.sp = wishes.save_gathered = true;
  return split_of(wishes, scenario.network.row, scenario.stack.row).kept_gathers;
}

void read_stage(Split& split, StageStatement& stage) {
  split.schedule = stage.schedule;
  split.chunks = chunks_of(stage.layout, split.pp);
  split.layers = stage.layout.list;
  stage.micro_batches = split.micro_batches;   // `mb:*` is what the batch makes
}

/// What each statement says by itself.
void read_statements(Split& split, Statements& statements, const Scenario& scenario) {
  split.micro_batches = scenario.micro_batches;
  split.scatter = implies_scatter(scenario.stack.row) ? Scatter::implied : Scatter::none;
  const std::vector<std::string> gathers = gathers_kept_in(scenario);
  for (Statement& statement : statements) {
    if (auto* stage = std::get_if<StageStatement>(&statement.body)) read_stage(split, *stage);
    if (const auto* recompute = std::get_if<RecomputeStatement>(&statement.body)) read_recompute(split, *recompute);
    if (const auto* save = std::get_if<SaveStatement>(&statement.body); save != nullptr && save->at_use && save->tensors == gathers)
      split.kept_gathers = gathers;
    if (print(statement).starts_with(scatter_statement)) split.scatter = Scatter::stated;
  }
}

/// Does it split or keep anything over more than one rank? Lines about axes of size 1 may be there or not.
bool does_something(const Statement& statement, const MappingProgram& program) {
  const auto one = [&](const std::string& axis) {
    return std::all_of(program.meshes.begin(), program.meshes.end(), [&](const MeshLine& mesh) { return emit_axis_size(mesh, axis) == 1; });
  };
  const auto all_one = [&](const std::vector<std::string>& axes) { return std::all_of(axes.begin(), axes.end(), one); };
  if (const auto* par = std::get_if<ParStatement>(&statement.body)) return !all_one(par->axes);
  if (const auto* home = std::get_if<HomeStatement>(&statement.body))
    return !std::all_of(home->places.begin(), home->places.end(), [&](const HomePlace& place) { return all_one(place.axes); });
  const auto* stage = std::get_if<StageStatement>(&statement.body);
  return stage == nullptr || !one(stage->axis);
}

Statements that_do_something(const Statements& statements, const MappingProgram& program) {
  Statements kept;
  for (const Statement& statement : statements)
    if (does_something(statement, program) && !stands_in(kept, statement)) kept.push_back(statement);
  // The order matters among statements of one kind: of those that split, the first that can does.
  std::stable_sort(kept.begin(), kept.end(), [](const Statement& a, const Statement& b) { return a.body.index() < b.body.index(); });
  return kept;
}

/// A mapping that lacks a line of its split, or has it elsewhere, is another program.
Expected<void> check_same(const Statements& given, const Statements& made, const std::string& where) {
  for (const Statement& statement : made)
    if (!stands_in(given, statement))
      return fail(where, fmt::format("the mapping lacks '{}', which flags with its sizes would say", print(statement)), emit_hint);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!(given[i] == made[i]))
      return fail(emit_place(given[i].position),
                  fmt::format("'{}' stands where the flags' mapping has '{}'", print(given[i]), print(made[i])), "put them in this order");
  return {};
}

/// What would run other layers on other ranks cannot be left aside.
Expected<void> check_apart_statement(const Statement& statement) {
  const bool stage = std::holds_alternative<StageStatement>(statement.body);
  if (!stage && !std::holds_alternative<ParStatement>(statement.body)) return {};
  return fail(emit_place(statement.position), fmt::format("no flag says '{}'", print(statement)), emit_hint);
}

std::vector<MeshLine::Axis> axes_of_many(const MeshLine& mesh) {
  std::vector<MeshLine::Axis> axes;
  for (const MeshLine::Axis& axis : mesh.axes)
    if (axis.size > 1) axes.push_back(axis);
  return axes;
}

Expected<void> check_meshes(const MappingProgram& given, const MappingProgram& made, const std::string& where) {
  if (given.meshes.size() != made.meshes.size())
    return fail(where, "experts have no mesh line of their own", "a second one such as: mesh etp:1 ep:8 edp:2 pp:4");
  for (std::size_t i = 0; i < made.meshes.size(); ++i)
    if (axes_of_many(given.meshes[i]) != axes_of_many(made.meshes[i]))
      return fail(emit_place(given.meshes[i].position), "no flags lay these axes in this order", emit_hint);
  return {};
}

/// Leaves in `plan.apart` what the split's own text has not.
Expected<void> compare(EmitPlan& plan, const MappingProgram& program, const Statements& given, const std::string& where) {
  const auto made_program = parse(mapping_text(plan.split), where);
  if (!made_program) return tl::unexpected(made_program.error());
  if (auto same = check_meshes(program, *made_program, where); !same) return same;
  const auto made = expand(*made_program);
  if (!made) return tl::unexpected(made.error());
  const Statements made_here = that_do_something(*made, program);
  Statements common;
  for (const Statement& statement : that_do_something(given, program)) {
    if (stands_in(made_here, statement)) {
      common.push_back(statement);
      continue;
    }
    if (auto good = check_apart_statement(statement); !good) return good;
    plan.apart.push_back(print(statement));
  }
  return check_same(common, made_here, where);
}

}  // namespace

Expected<EmitPlan> plan_to_emit(const Scenario& scenario) {
  const std::string& where = scenario.plan.mapping_where;
  const auto program = parse(scenario.plan.mapping, where);
  if (!program) return tl::unexpected(program.error());
  if (program->meshes.empty()) return fail(where, "no mesh line", emit_hint);
  auto statements = expand(*program);
  if (!statements) return tl::unexpected(statements.error());
  EmitPlan plan;
  plan.scenario = &scenario;
  if (auto good = read_meshes(plan.split, *program, scenario.network.row); !good) return tl::unexpected(good.error());
  read_statements(plan.split, *statements, scenario);
  read_aliases(plan.split, *statements);
  if (plan.split.zero == 0) plan.split.replicas = 1;  // of nothing
  if (auto good = compare(plan, *program, *statements, where); !good) return tl::unexpected(good.error());
  for (const WrittenArch& arch : program->archs) plan.apart.push_back(print(arch));
  return plan;
}

}  // namespace stepcast
