#include "dataflow/place/placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast {

std::string where_of(const Statement& s) {
  const Position& p = s.position;
  if (p.line == 0) return p.file.empty() ? "plan" : p.file;
  return fmt::format("{}:{}:{}", p.file, p.line, p.column);
}

bool in_scope(const std::vector<std::string>& scope, const Operator& op) {
  return scope.empty() || std::any_of(scope.begin(), scope.end(), [&](const std::string& tag) { return has_tag(op, tag); });
}

/// Scale bytes included: fp8 per tensor 0, blocks of 128 one fp32 each, mx one byte per 32 (rule 19).
double wire_bytes(const std::string& type) {
  struct Wire { const char* name; double bytes; };
  constexpr Wire kWires[] = {{"fp32", 4}, {"bf16", 2}, {"fp16", 2}, {"fp8", 1}, {"fp8block", 1 + 4.0 / 128}, {"mxfp8", 1 + 1.0 / 32}};
  for (const Wire& wire : kWires)
    if (type == wire.name) return wire.bytes;
  return 0;
}

namespace {

struct ParRule {
  const ParStatement* par;
  const Statement* statement;
  int index;
  AtomMask atoms;
  std::vector<int> dims;   ///< ids; -1 for a factor the network lacks
};

std::vector<std::string> dim_names(const Network& network) {
  std::vector<std::string> names;
  for (const Dim& dim : network.dims) names.push_back(dim.name);
  return names;
}

std::vector<std::string> all_tags(const Network& network) {
  std::vector<std::string> tags;
  for (const Block& block : network.blocks)
    for (const Operator& op : block.operators) {
      tags.push_back(op.name);
      tags.insert(tags.end(), op.tags.begin(), op.tags.end());
    }
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

/// Tags that every network may be scoped by, whether this one has such operators or not (docs/design.md, section B).
constexpr const char* kCommonTags[] = {"embed", "norm", "attn", "attn.qkv", "attn.core", "attn.out", "residual", "mlp", "router",
                                       "dispatch", "expert", "combine", "shared", "head", "loss"};

Expected<void> check_tags(const Network& network, const Statement& statement, const std::vector<std::string>& named) {
  for (const std::string& tag : named) {
    if (std::find(std::begin(kCommonTags), std::end(kCommonTags), tag) != std::end(kCommonTags)) continue;
    const auto tags = all_tags(network);
    if (std::find(tags.begin(), tags.end(), tag) == tags.end())
      return fail(where_of(statement), fmt::format("no operator of the network has the tag '{}'", tag), name_hint(tag, tags));
  }
  return {};
}

/// Tensors that a statement names, without the words for classes of them.
std::vector<std::string> named_tensors(const Statement& statement) {
  std::vector<std::string> names;
  if (const auto* home = std::get_if<HomeStatement>(&statement.body)) names = {home->what};
  if (const auto* move = std::get_if<MoveStatement>(&statement.body)) names = move->what;
  if (const auto* save = std::get_if<SaveStatement>(&statement.body)) names = save->tensors;
  std::erase_if(names, [](const std::string& name) { return name == "weights" || name == "grads" || name == "optimizer" || name == "boundary"; });
  return names;
}

/// `home weights: b on dp` speaks to no weight: say so.
Expected<void> check_class_dims(const Network& network, const Statement& statement, const HomeStatement& home) {
  if (home.what != "weights" && home.what != "grads" && home.what != "optimizer") return {};
  for (const HomePlace& place : home.places) {
    if (place.what == "*" || place.what == "full" || place.what == "partial") continue;
    const bool some = std::any_of(network.tensors.begin(), network.tensors.end(), [&](const Tensor& tensor) {
      return tensor.role == TensorRole::weight && std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](int d) {
               return ("*" + place.what + "*").find("*" + network.dims[d].name + "*") != std::string::npos;
             });
    });
    if (!some) return fail(where_of(statement), fmt::format("no weight has the dim '{}'", place.what), "name a dim of a weight, or * for flat shards");
  }
  return {};
}

/// Tags and tensors must exist. An alias may name tensors that only other networks have.
Expected<void> check_names(const Network& network, const Statement& statement) {
  if (auto scope = check_tags(network, statement, statement.scope); !scope) return scope;
  if (const auto* recompute = std::get_if<RecomputeStatement>(&statement.body))
    if (auto tags = check_tags(network, statement, recompute->tags); !tags) return tags;
  if (!statement.alias.empty()) return {};
  if (const auto* home = std::get_if<HomeStatement>(&statement.body))
    if (auto dims = check_class_dims(network, statement, *home); !dims) return dims;
  for (const std::string& name : named_tensors(statement)) {
    if (network.find_tensor(name) >= 0) continue;
    std::vector<std::string> tensors;
    for (const Tensor& tensor : network.tensors) tensors.push_back(tensor.name);
    return fail(where_of(statement), fmt::format("network {} has no tensor '{}'", network.id, name), name_hint(name, tensors));
  }
  return {};
}

Expected<AtomMask> atoms_of(const Mesh& mesh, const std::vector<std::string>& axes, const Statement& statement) {
  AtomMask mask = 0;
  for (const std::string& name : axes) {
    const Mesh::Axis* axis = mesh.find(name);
    if (!axis) return fail(where_of(statement), fmt::format("unknown axis '{}' in '{}'", name, print(statement)), name_hint(name, mesh.axis_names()));
    if ((mask & axis->atoms) != 0)
      return fail(where_of(statement), fmt::format("axis '{}' is named twice in '{}'", name, print(statement)), "name each axis once");
    mask |= axis->atoms;
  }
  return mask;
}

Expected<std::vector<ParRule>> par_rules(const Network& network, Mesh& mesh, const std::vector<Statement>& statements) {
  // The stage axis first: no tensor may lie on it.
  for (const Statement& statement : statements)
    if (const auto* stage = std::get_if<StageStatement>(&statement.body)) {
      auto mask = atoms_of(mesh, {stage->axis}, statement);
      if (!mask) return tl::unexpected(mask.error());
      for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
        if (*mask >> a & 1U) mesh.atoms[a].stage = true;
    }
  std::vector<ParRule> rules;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    if (auto names = check_names(network, statement); !names) return tl::unexpected(names.error());
    if (const auto* move = std::get_if<MoveStatement>(&statement.body); move && !move->as.empty() && wire_bytes(move->as) == 0)
      return fail(where_of(statement), fmt::format("unknown wire type '{}'", move->as), "one of: fp32, bf16, fp16, fp8, fp8block, mxfp8");
    const auto* par = std::get_if<ParStatement>(&statement.body);
    if (!par) continue;
    auto mask = atoms_of(mesh, par->axes, statement);
    if (!mask) return tl::unexpected(mask.error());
    ParRule rule{par, &statement, static_cast<int>(i), *mask, {}};
    for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
      if ((*mask >> a & 1U) && mesh.atoms[a].stage)
        return fail(where_of(statement), fmt::format("'{}' splits a tensor dim on the axis that carries the layers", print(statement)),
                    "give the layers an axis of their own");
    if (!par->layout.list.empty())
      return fail(where_of(statement), fmt::format("'{}' cuts a tensor dim into listed parts", print(statement)), "parts of a tensor dim are equal: leave the list out (lists lay layers on stages)");
    for (const std::string& name : par->dims) {
      const int dim = network.find_dim(name);
      if (dim >= 0) {
        const std::int64_t pieces = mesh.size_of(*mask) * (par->layout.kind == Layout::Kind::zigzag ? 2 : par->layout.kind == Layout::Kind::cyclic ? par->layout.cyclic : 1);
        if (par->layout.kind != Layout::Kind::block && network.dims[dim].extent % pieces != 0)
          return fail(where_of(statement), fmt::format("'{}' needs {} ({}) in {} pieces", print(statement), name, network.dims[dim].extent, pieces), "the pieces of the layout must divide the extent");
      }
      // An alias may name dims that only other networks have (shared expert width in a dense network).
      if (dim < 0 && statement.alias.empty())
        return fail(where_of(statement), fmt::format("no operator of network {} has a loop '{}'", network.id, name), name_hint(name, dim_names(network)));
      rule.dims.push_back(dim);
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string divisors_text(std::int64_t n) {
  std::vector<std::int64_t> legal;
  for (std::int64_t d = 1; d <= n && d <= 4096 && legal.size() < 16; ++d)
    if (n % d == 0) legal.push_back(d);
  return fmt::format("{}", fmt::join(legal, ", "));
}

class Resolver {
 public:
  Resolver(const Network& network, const Mesh& mesh, const std::vector<ParRule>& rules, std::vector<std::int64_t>& cuts)
      : network_(network), mesh_(mesh), rules_(rules), cuts_(cuts) {}

  /// False: `cuts` got a new entry and the mesh must be refined.
  Expected<bool> resolve(const Operator& op, OperatorSplit& split) {
    const std::vector<int> loops = loops_of(op);
    const auto has = [&](int dim) { return dim >= 0 && std::find(loops.begin(), loops.end(), dim) != loops.end(); };
    AtomMask claimed = 0;
    for (const ParRule& rule : rules_) {
      const AtomMask free = rule.atoms & ~claimed;
      if (free == 0 || !in_scope(rule.statement->scope, op)) continue;
      if (!rule.dims.empty() && std::none_of(rule.dims.begin(), rule.dims.end(), has)) continue;
      claimed |= free;
      for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
        if (free >> a & 1U) split.statement[a] = static_cast<std::int16_t>(rule.index);
      if (rule.dims.empty()) continue;  // `none`: claimed, not split
      auto done = assign(op, rule, free, has, split);
      if (!done || !*done) return done;
    }
    return true;
  }

 private:
  std::int64_t unsplit(int dim, const OperatorSplit& split) const {
    std::int64_t extent = network_.dims[dim].extent;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (split.loop[a] == dim) extent = std::max<std::int64_t>(1, extent / mesh_.atoms[a].size);
    return extent;
  }

  /// Rule 4: the major factor takes gcd(p, what is left of it), on the slow end of the atoms; the rest goes to the next.
  template <typename Has>
  Expected<bool> assign(const Operator& op, const ParRule& rule, AtomMask free, const Has& has, OperatorSplit& split) {
    std::vector<std::size_t> atoms;  // slow to fast
    for (std::size_t a = mesh_.atoms.size(); a-- > 0;)
      if (free >> a & 1U) atoms.push_back(a);
    std::int64_t left = mesh_.size_of(free);
    std::vector<bool> taken(mesh_.atoms.size(), false);
    for (std::size_t f = 0; f < rule.dims.size(); ++f) {
      const int dim = rule.dims[f];
      const bool last = f + 1 == rule.dims.size();
      if (dim < 0) continue;
      const std::int64_t extent = unsplit(dim, split);
      std::int64_t part = last ? left : std::gcd(left, extent);
      if (last && has(dim) && !network_.dims[dim].expected && extent % part != 0) return does_not_divide(op, rule, dim, split, part);
      for (std::size_t a : atoms) {
        if (taken[a] || part == 1) continue;
        const std::int64_t share = std::gcd(mesh_.atoms[a].size, part);
        if (share == 1) continue;
        if (share < mesh_.atoms[a].size) {  // the slow part of this atom belongs to the factor: cut it
          cuts_.push_back(mesh_.atoms[a].stride * (mesh_.atoms[a].size / share));
          return false;
        }
        taken[a] = true;
        part /= share;
        left /= share;
        if (has(dim)) split.loop[a] = static_cast<std::int16_t>(dim);
      }
    }
    for (std::size_t a : atoms)
      if (op.kind == OperatorKind::attention && split.loop[a] == op.key_loop)
        return fail(where_of(*rule.statement), fmt::format("'{}' splits the keys of the fused core {}", print(*rule.statement), op.name),
                    "split its queries (`par s`) or heads instead; a stack with separate attention products may split keys");
    for (std::size_t a : atoms)
      if (split.loop[a] >= 0 && std::find(op.whole_loops.begin(), op.whole_loops.end(), split.loop[a]) != op.whole_loops.end())
        return fail(where_of(*rule.statement), fmt::format("'{}' splits loop {} of operator {}, which must stay whole", print(*rule.statement),
                                                           network_.dims[split.loop[a]].name, op.name),
                    fmt::format("scope the statement with `at`, or put `at {}: par none on ...` before it", op.name));
    return true;
  }

  Expected<bool> does_not_divide(const Operator& op, const ParRule& rule, int dim, const OperatorSplit& split, std::int64_t part) const {
    std::int64_t total = 1;
    for (int d : rule.dims)
      if (d >= 0) total *= unsplit(d, split);
    const std::int64_t extent = rule.dims.size() > 1 ? total : unsplit(dim, split);
    const std::int64_t ranks = rule.dims.size() > 1 ? mesh_.size_of(rule.atoms) : part;
    return fail(where_of(*rule.statement),
                fmt::format("'{}' splits {} (extent {}) of operator {} over {} ranks, which does not divide: {:.4g} per rank", print(*rule.statement),
                            fmt::join(rule.par->dims, "*"), extent, op.name, ranks, static_cast<double>(extent) / static_cast<double>(ranks)),
                fmt::format("legal sizes: {}", divisors_text(total)));
  }

  const Network& network_;
  const Mesh& mesh_;
  const std::vector<ParRule>& rules_;
  std::vector<std::int64_t>& cuts_;
};

}  // namespace

Expected<Splits> resolve_splits(const Network& network, const std::vector<MeshLine>& meshes,
                                const std::vector<Statement>& statements, std::int64_t gpus) {
  std::vector<std::int64_t> cuts;
  for (;;) {
    auto mesh = make_mesh(meshes, gpus, cuts);
    if (!mesh) return tl::unexpected(mesh.error());
    auto rules = par_rules(network, *mesh, statements);
    if (!rules) return tl::unexpected(rules.error());
    Splits splits{std::move(*mesh), {}};
    Resolver resolver(network, splits.mesh, *rules, cuts);
    bool refined = false;
    for (const Block& block : network.blocks) {
      auto& row = splits.blocks.emplace_back(block.operators.size());
      for (std::size_t o = 0; o < block.operators.size() && !refined; ++o) {
        auto done = resolver.resolve(block.operators[o], row[o]);
        if (!done) return tl::unexpected(done.error());
        refined = !*done;
      }
      if (refined) break;
    }
    if (!refined) return splits;
  }
}

Placement placement_of(const Access& access, const OperatorSplit& split, const Mesh& mesh, bool output) {
  Placement place;
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    const int loop = split.loop[a];
    if (loop < 0) continue;
    const auto found = std::find(access.loops.begin(), access.loops.end(), loop);
    if (found != access.loops.end())
      place.at[a] = static_cast<Slot>(found - access.loops.begin());
    else if (std::find(access.row_loops.begin(), access.row_loops.end(), loop) != access.row_loops.end())
      place.at[a] = static_cast<Slot>(access.row_dim);  // rows follow their tokens (rule 27)
    else if (output)
      place.at[a] = kPartial;
  }
  return place;
}

double local_elements(const Network& network, int tensor, const Placement& place, const Mesh& mesh) {
  double elements = network.elements(tensor);
  double flat = 1;
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    if (place.at[a] >= 0) elements /= static_cast<double>(mesh.atoms[a].size);
    if (place.at[a] == kFlat) flat *= static_cast<double>(mesh.atoms[a].size);
  }
  return flat == 1 ? elements : std::ceil(elements / flat);
}

double local_extent(const Network& network, int loop, const OperatorSplit& split, const Mesh& mesh) {
  auto extent = static_cast<double>(network.dims[loop].extent);
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a)
    if (split.loop[a] == loop) extent /= static_cast<double>(mesh.atoms[a].size);
  return extent;
}

std::string to_text(const Placement& place, const Network& network, int tensor, const Mesh& mesh) {
  std::string text;
  for (std::size_t a = 0; a < mesh.atoms.size(); ++a) {
    if (place.at[a] == kReplicate || mesh.atoms[a].stage) continue;
    const std::string what = place.at[a] == kPartial ? "partial" : place.at[a] == kFlat ? "*" : network.dims[network.tensors[tensor].dims[place.at[a]]].name;
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", what, mesh.label(AtomMask{1} << a));
  }
  return text.empty() ? "full" : text;
}

}  // namespace stepcast
