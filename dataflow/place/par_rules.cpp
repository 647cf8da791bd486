#include "dataflow/place/par_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "dataflow/place/placement.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

std::vector<std::string> dim_names(const Network& network) { return names_of(network.dims, &Dim::name); }

Expected<void> check_tags(const Network& network, const Statement& statement, const std::vector<std::string>& named) {
  for (const std::string& tag : named) {
    if (is_common_tag(tag)) continue;
    std::vector<std::string> tags;
    for (const Block& block : network.blocks) add_tags(block.operators, tags);
    TRY(check_tag(tag, std::move(tags), where_of(statement), "no operator of the network has"));
  }
  return {};
}

/// Tensors that a statement names, without the words for classes of them.
std::vector<std::string> named_tensors(const Statement& statement) {
  std::vector<std::string> names;
  if (const auto* home = std::get_if<HomeStatement>(&statement.body)) names = {home->what};
  if (const auto* move = std::get_if<MoveStatement>(&statement.body)) names = move->what;
  if (const auto* save = std::get_if<SaveStatement>(&statement.body)) names = save->tensors;
  std::erase_if(names, [](const std::string& name) {
    return name == "weights" || name == "grads" || name == "optimizer" || name == "boundary";
  });
  return names;
}

/// `home weights: b on dp` speaks to no weight: say so.
Expected<void> check_class_dims(const Network& network, const Statement& statement, const HomeStatement& home) {
  if (home.what != "weights" && home.what != "grads" && home.what != "optimizer") return {};
  for (const HomePlace& place : home.places) {
    if (place.what == "*" || place.what == "full" || place.what == "partial") continue;
    const bool some = std::ranges::any_of(network.tensors, [&](const Tensor& tensor) {
      return tensor.role == TensorRole::weight && std::ranges::any_of(tensor.dims, [&](int d) {
        return ("*" + place.what + "*").find("*" + network.dims[d].name + "*") != std::string::npos;
      });
    });
    if (!some)
      return fail(where_of(statement), fmt::format("no weight has the dim '{}'", place.what),
          "name a dim of a weight, or * for flat shards");
  }
  return {};
}

/// Tags and tensors must exist. An alias may name tensors that only other networks have.
Expected<void> check_names(const Network& network, const Statement& statement) {
  TRY(check_tags(network, statement, statement.scope));
  if (const auto* recompute = std::get_if<RecomputeStatement>(&statement.body))
    TRY(check_tags(network, statement, recompute->tags));
  if (!statement.alias.empty()) return {};
  if (const auto* home = std::get_if<HomeStatement>(&statement.body)) TRY(check_class_dims(network, statement, *home));
  for (const std::string& name : named_tensors(statement)) {
    if (network.find_tensor(name) >= 0) continue;
    return fail(where_of(statement), fmt::format("network {} has no tensor '{}'", network.id, name),
        name_hint(name, names_of(network.tensors, &Tensor::name)));
  }
  return {};
}

Expected<AtomMask> atoms_of(const Mesh& mesh, const std::vector<std::string>& axes, const Statement& statement) {
  AtomMask mask = 0;
  for (const std::string& name : axes) {
    const Mesh::Axis* axis = mesh.find(name);
    if (!axis)
      return fail(where_of(statement), fmt::format("unknown axis '{}' in '{}'", name, print(statement)),
          name_hint(name, mesh.axis_names()));
    if ((mask & axis->atoms) != 0)
      return fail(where_of(statement), fmt::format("axis '{}' is named twice in '{}'", name, print(statement)),
          "name each axis once");
    mask |= axis->atoms;
  }
  return mask;
}

Expected<void> check_wire(const Statement& statement) {
  const auto* move = std::get_if<MoveStatement>(&statement.body);
  if (!move || move->as.empty() || wire_bytes(move->as) > 0) return {};
  return fail(where_of(statement), fmt::format("unknown wire type '{}'", move->as),
      "one of: fp32, bf16, fp16, fp8, fp8block, mxfp8");
}

Expected<void> check_no_stage(const Mesh& mesh, AtomMask atoms, const Statement& statement) {
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
    if ((atoms >> a & 1U) && mesh.atoms[a].stage)
      return fail(where_of(statement),
          fmt::format("'{}' splits a tensor dim on the axis that carries the layers", print(statement)),
          "give the layers an axis of their own");
  return {};
}

Expected<void> check_not_listed(const ParStatement& par, const Statement& statement) {
  if (par.layout.list.empty()) return {};
  return fail(where_of(statement), fmt::format("'{}' cuts a tensor dim into listed parts", print(statement)),
      "parts of a tensor dim are equal: leave the list out (lists lay layers on stages)");
}

/// Layouts other than whole blocks cut each rank's part further.
std::int64_t pieces_per_rank(const Layout& layout) {
  return layout.kind == Layout::Kind::zigzag ? 2 : layout.kind == Layout::Kind::cyclic ? layout.cyclic : 1;
}

/// The id of a dim that a rule splits. An alias may name dims that only other networks have (the width of shared
/// experts in a dense network): -1.
Expected<int> split_dim(const Network& network, const Mesh& mesh, const ParRule& rule, const std::string& name) {
  const int dim = network.find_dim(name);
  const Statement& statement = *rule.statement;
  if (dim < 0 && statement.alias.empty())
    return fail(where_of(statement), fmt::format("no operator of network {} has a loop '{}'", network.id, name),
        name_hint(name, dim_names(network)));
  if (dim < 0 || network.dims[dim].expected || rule.par->layout.kind == Layout::Kind::block) return dim;
  const std::int64_t pieces = mesh.size_of(rule.atoms) * pieces_per_rank(rule.par->layout);
  if (network.dims[dim].extent % pieces != 0)
    return fail(where_of(statement),
        fmt::format("'{}' needs {} ({}) in {} pieces", print(statement), name, network.dims[dim].extent, pieces),
        "the pieces of the layout must divide the extent");
  return dim;
}

Expected<ParRule> par_rule(const Network& network, const Mesh& mesh, const Statement& statement, int index) {
  const auto& par = std::get<ParStatement>(statement.body);
  TRY(auto atoms, atoms_of(mesh, par.axes, statement));
  TRY(check_no_stage(mesh, atoms, statement));
  TRY(check_not_listed(par, statement));
  ParRule rule{&par, &statement, index, atoms, {}};
  for (const std::string& name : par.dims) {
    TRY(auto dim, split_dim(network, mesh, rule, name));
    rule.dims.push_back(dim);
  }
  return rule;
}

/// What stands behind the point in the names of dims that only layers of one shape have ("f.wide"), each once.
std::vector<std::string> shape_suffixes(const Network& network) {
  std::vector<std::string> found;
  for (const Dim& dim : network.dims)
    if (const auto point = dim.name.find('.'); point != std::string::npos && !contains(found, dim.name.substr(point)))
      found.push_back(dim.name.substr(point));
  return found;
}

/// What splits f splits the f of every shape, and what splits s the positions that are guessed.
Expected<void> add_rules_of_shapes(
    const Network& network, const Mesh& mesh, ParRule rule, std::vector<ParRule>& rules) {
  for (const std::string& suffix : shape_suffixes(network)) {
    ParRule own = rule;
    bool differs = false;
    for (std::size_t i = 0; i < own.dims.size(); ++i) {
      if (own.dims[i] < 0) continue;
      const std::string name = network.dims[own.dims[i]].name + suffix;
      if (network.find_dim(name) < 0) continue;
      TRY(own.dims[i], split_dim(network, mesh, rule, name));
      differs = true;
    }
    if (differs) rules.push_back(std::move(own));
  }
  return {};
}

}  // namespace

Expected<void> mark_stage_atoms(Mesh& mesh, const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    const auto* stage = std::get_if<StageStatement>(&statement.body);
    if (!stage) continue;
    TRY(auto mask, atoms_of(mesh, {stage->axis}, statement));
    for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
      if (mask >> a & 1U) mesh.atoms[a].stage = true;
  }
  return {};
}

Expected<std::vector<ParRule>> par_rules(
    const Network& network, const Mesh& mesh, const std::vector<Statement>& statements) {
  std::vector<ParRule> rules;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    TRY(check_names(network, statements[i]));
    TRY(check_wire(statements[i]));
    if (!std::holds_alternative<ParStatement>(statements[i].body)) continue;
    TRY(auto rule, par_rule(network, mesh, statements[i], static_cast<int>(i)));
    rules.push_back(rule);
    TRY(add_rules_of_shapes(network, mesh, std::move(rule), rules));
  }
  return rules;
}

std::vector<Statement> statements_for(const Network& network, const std::vector<Statement>& statements) {
  std::vector<Statement> own;
  for (Statement statement : statements) {
    if (!statement.alias.empty()) {
      if (auto* par = std::get_if<ParStatement>(&statement.body); par != nullptr && !par->dims.empty()) {
        std::erase_if(par->dims, [&](const std::string& dim) { return network.find_dim(dim) < 0; });
        if (par->dims.empty()) continue;
      }
      const std::vector<std::string> tensors = named_tensors(statement);
      const auto is_here = [&](const std::string& name) { return network.find_tensor(name) >= 0; };
      if (!tensors.empty() && std::ranges::none_of(tensors, is_here)) continue;
    }
    own.push_back(std::move(statement));
  }
  return own;
}

}  // namespace stepcast::dataflow
