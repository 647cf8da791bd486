#include "dataflow/place/splits.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/place/par_rules.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

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
    const auto walks = [](const Access& access, int dim) { return contains(access.loops, dim); };
    const auto has = [&](int dim) {
      return dim >= 0 && (walks(op.output, dim) ||
                             std::ranges::any_of(op.inputs, [&](const Access& input) { return walks(input, dim); }));
    };
    AtomMask claimed = 0;
    for (const ParRule& rule : rules_) {
      const AtomMask free = rule.atoms & ~claimed;
      if (free == 0 || !in_scope(rule.statement->scope, op)) continue;
      if (!rule.dims.empty() && std::ranges::none_of(rule.dims, has)) continue;
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

  /// Rule 4: the major factor takes gcd(p, what is left of it), on the slow end of the atoms; the rest goes to the
  /// next.
  template <typename Has>
  Expected<bool> assign(const Operator& op, const ParRule& rule, AtomMask free, const Has& has, OperatorSplit& split) {
    std::array<std::size_t, max_atoms> room;
    std::size_t found = 0;
    for (std::size_t a = mesh_.atoms.size(); a-- > 0;)
      if (free >> a & 1U) room[found++] = a;
    const std::span atoms(room.data(), found);  // slow to fast
    std::int64_t left = mesh_.size_of(free);
    AtomMask taken = 0;
    for (std::size_t f = 0; f < rule.dims.size(); ++f) {
      const int dim = rule.dims[f];
      const bool last = f + 1 == rule.dims.size();
      if (dim < 0) continue;
      const std::int64_t extent = unsplit(dim, split);
      std::int64_t part = last ? left : std::gcd(left, extent);
      if (last && has(dim) && !network_.dims[dim].expected && extent % part != 0)
        return does_not_divide(op, rule, dim, split, part);
      for (std::size_t a : atoms) {
        if ((taken >> a & 1U) || part == 1) continue;
        const std::int64_t share = std::gcd(mesh_.atoms[a].size, part);
        if (share == 1) continue;
        if (share < mesh_.atoms[a].size) {  // the slow part of this atom belongs to the factor: cut it
          cuts_.push_back(mesh_.atoms[a].stride * (mesh_.atoms[a].size / share));
          return false;
        }
        taken |= AtomMask{1} << a;
        part /= share;
        left /= share;
        if (has(dim)) split.loop[a] = static_cast<std::int16_t>(dim);
      }
    }
    for (std::size_t a : atoms)
      if (op.kind == OperatorKind::attention && split.loop[a] == op.key_loop) TRY(check_keys(op, rule));
    for (std::size_t a : atoms)
      if (split.loop[a] >= 0 && contains(op.whole_loops, split.loop[a]))
        return fail(where_of(*rule.statement),
            fmt::format("'{}' splits loop {} of operator {}, which must stay whole", print(*rule.statement),
                network_.dims[split.loop[a]].name, op.name),
            fmt::format("scope the statement with `at`, or put `at {}: par none on ...` before it", op.name));
    return true;
  }

  /// Keys of a cache may lie on several ranks, whose results are joined (rule 10): forward alone, and where every
  /// rank's part is as good as any other's.
  Expected<void> check_keys(const Operator& op, const ParRule& rule) const {
    const auto refused = [&](const char* what, const char* hint) {
      return fail(where_of(*rule.statement),
          fmt::format("'{}' splits the keys of the fused core {}{}", print(*rule.statement), op.name, what), hint);
    };
    if (network_.tensors[op.inputs[1].tensor].role != TensorRole::cache)
      return refused(
          "", "split its queries (`par s`) or heads instead; a stack with separate attention products may split keys");
    if (op.domain != Domain::causal && op.domain != Domain::all)
      return refused(", whose queries see some of them alone", "keep the keys of such layers whole");
    const bool more = std::ranges::any_of(op.inputs.begin() + 1, op.inputs.end(),
        [&](const Access& access) { return !contains(access.loops, op.key_loop); });
    if (more) return refused(", whose softmax has terms beside them", "keep the keys of such layers whole");
    return {};
  }

  Expected<bool> does_not_divide(
      const Operator& op, const ParRule& rule, int dim, const OperatorSplit& split, std::int64_t part) const {
    std::int64_t total = 1;
    for (int d : rule.dims)
      if (d >= 0) total *= unsplit(d, split);
    const std::int64_t extent = rule.dims.size() > 1 ? total : unsplit(dim, split);
    const std::int64_t ranks = rule.dims.size() > 1 ? mesh_.size_of(rule.atoms) : part;
    return fail(where_of(*rule.statement),
        fmt::format("'{}' splits {} (extent {}) of operator {} over {} ranks, which does not divide: {:.4g} per rank",
            print(*rule.statement), fmt::join(rule.par->dims, "*"), extent, op.name, ranks,
            static_cast<double>(extent) / static_cast<double>(ranks)),
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
    TRY(auto mesh, make_mesh(meshes, gpus, cuts));
    TRY(mark_stage_atoms(mesh, statements));
    TRY(auto rules, par_rules(network, mesh, statements));
    Splits splits{std::move(mesh), {}};
    Resolver resolver(network, splits.mesh, rules, cuts);
    bool refined = false;
    for (const Block& block : network.blocks) {
      auto& row = splits.blocks.emplace_back(block.operators.size());
      for (std::size_t o = 0; o < block.operators.size() && !refined; ++o) {
        TRY(auto done, resolver.resolve(block.operators[o], row[o]));
        refined = !done;
      }
      if (refined) break;
    }
    if (!refined) return splits;
  }
}

}  // namespace stepcast::dataflow
