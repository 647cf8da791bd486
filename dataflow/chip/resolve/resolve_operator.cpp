#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/resolve/resolve.h"
#include "dataflow/notation/parser.h"
#include "dataflow/notation/written.h"
#include "dataflow/place/splits.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {

bool holds_for(const std::vector<std::string>& scope, const WrittenOperator& op) {
  return scope.empty() ||
         std::ranges::any_of(scope, [&](const std::string& tag) { return tag == op.name || contains(op.tags, tag); });
}

const WrittenOperator& written_operator(const MappingProgram& program, const std::string& op) {
  return *std::ranges::find(program.operators, op, &WrittenOperator::name);
}

namespace {

/// Operators whose accesses are not a plain nest of loops.
constexpr const char* functions_without_nest[] = {"select", "route", "scan", "opaque"};

Expected<const WrittenOperator*> chosen_operator(const MappingProgram& program, const std::string& name) {
  const std::vector<std::string> names = names_of(program.operators, &WrittenOperator::name);
  if (names.empty())
    return fail("program", "no operator is written", "write one, such as 'O: O[m,n] += I[m,k] * W[k,n]'");
  if (name.empty() && names.size() > 1)
    return fail("operator", fmt::format("the program has {} operators: {}", names.size(), fmt::join(names, ", ")),
        "name one of them");
  if (name.empty()) return &program.operators.front();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return fail("operator", fmt::format("the program has no operator '{}'", name), name_hint(name, names));
  return &program.operators[found - names.begin()];
}

/// An index that is not one loop by itself: the next rank would need a part of this one's.
Expected<void> check_no_windows(const WrittenOperator& op) {
  const auto check = [&](const WrittenAccess& access) -> Expected<void> {
    for (const WrittenIndex& index : access.indices)
      if (index.terms.size() > 1 || (index.terms.size() == 1 && index.terms.front().step != 1))
        return fail(to_text(op.position),
            fmt::format("operator {} reads windows of {}, which a mesh does not split", op.name, access.tensor),
            "leave the mesh out and give the extents of one rank");
    return {};
  };
  for (const WrittenAccess& input : op.inputs) TRY(check(input));
  return check(op.output);
}

bool is_padded(const WrittenOperator& op, const std::string& dim) {
  return std::ranges::any_of(op.pads, [&](const WrittenPad& pad) { return pad.dim == dim; });
}

/// What one rank of the mesh does: the extent of a dim after the `par` statements that split the operator.
Expected<void> take_rank_extents(const MappingProgram& program, const std::vector<Statement>& statements,
    const WrittenOperator& op, ChipProgram& chip) {
  if (program.meshes.empty()) return {};
  TRY(check_no_windows(op));
  TRY(auto network, network_of(program));
  std::int64_t ranks = 1;
  for (const MeshLine::Axis& axis : program.meshes.front().axes) ranks = safe_product(ranks, axis.size);
  TRY(auto splits, resolve_splits(network, program.meshes, statements, ranks));
  const auto& operators = network.blocks.front().operators;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    if (operators[o].name != op.name) continue;
    for (ChipDim& dim : chip.dims) {
      const int id = network.find_dim(dim.name);
      if (id < 0) continue;
      // A padded loop is longer here than in the network: the ranks share it all the same.
      const double parts = static_cast<double>(network.dims[id].extent) /
                           local_extent(network, id, splits.blocks.front()[o], splits.mesh);
      const double exact = static_cast<double>(dim.extent) / parts;
      const double local = is_padded(op, dim.name) ? std::ceil(exact) : exact;
      if (local != std::floor(local) || local < 1)
        return fail(to_text(op.position), fmt::format("one rank has {} of {} ({})", local, dim.name, dim.extent),
            "levels count whole parts: let the mesh divide it");
      dim.extent = static_cast<std::int64_t>(local);
    }
  }
  return {};
}

class OperatorReader {
 public:
  OperatorReader(const MappingProgram& program, const WrittenOperator& op, ChipProgram& chip)
      : program_(program), op_(op), chip_(chip) {}

  Expected<void> run() {
    if (contains(functions_without_nest, op_.function))
      return fail(to_text(op_.position),
          fmt::format("operator {} is '{}', which is not a plain nest of loops", op_.name, op_.function),
          "levels count einsums and pointwise functions");
    if (!op_.domain.query.empty() || !op_.domain.key.empty())
      return fail(to_text(op_.position),
          fmt::format("operator {} works on a part of its loops only (where ...)", op_.name),
          "levels count whole nests: map it without 'where', and scale");
    chip_.op = op_.name;
    TRY(add_dims());
    for (const WrittenAccess& input : op_.inputs) {
      if (input.tensor == op_.output.tensor)
        return fail(to_text(op_.position), fmt::format("operator {} reads {} and writes it", op_.name, input.tensor),
            "give the result a name of its own: += already sums");
      TRY(add_tensor(input, use_of(input.tensor)));
    }
    return add_tensor(op_.output, TensorUse::output);
  }

 private:
  template <typename Visit> void each_term(const Visit& visit) const {
    const auto visit_access = [&](const WrittenAccess& access) {
      for (const WrittenIndex& index : access.indices)
        for (const WrittenIndex::Term& term : index.terms) visit(access, term);
    };
    visit_access(op_.output);
    for (const WrittenAccess& input : op_.inputs) visit_access(input);
  }

  /// In the order of the dim lines, so that text written from a ChipProgram gives the same order back.
  Expected<void> add_dims() {
    std::vector<std::string> declared;
    for (const Dim& dim : program_.dims) {
      declared.push_back(dim.name);
      bool used = false;
      each_term([&](const WrittenAccess&, const WrittenIndex::Term& term) { used = used || term.loop == dim.name; });
      if (used) chip_.dims.push_back({dim.name, dim.extent});
    }
    Expected<void> known;
    each_term([&](const WrittenAccess& access, const WrittenIndex::Term& term) {
      if (known && dim_id(term.loop) < 0)
        known = fail(to_text(op_.position), fmt::format("loop '{}' of {} has no extent", term.loop, access.tensor),
            nearest_name(term.loop, declared).empty() ? fmt::format("add 'dim {}:EXTENT'", term.loop)
                                                      : name_hint(term.loop, declared));
    });
    if (!known) return known;
    return pad_dims();
  }

  /// pad d:1.25 grows a loop; pad d alone speaks of the parts of a mesh split, which network_of() sees to.
  Expected<void> pad_dims() {
    for (const WrittenPad& pad : op_.pads) {
      const int dim = dim_id(pad.dim);
      if (dim < 0)
        return fail(to_text(op_.position),
            fmt::format("'pad {}' on operator {}, which has no such loop", pad.dim, op_.name),
            name_hint(pad.dim, dim_names_of_chip()));
      if (pad.factor > 0)
        chip_.dims[dim].extent =
            static_cast<std::int64_t>(std::ceil(static_cast<double>(chip_.dims[dim].extent) * pad.factor - 1e-9));
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> dim_names_of_chip() const { return names_of(chip_.dims, &ChipDim::name); }

  [[nodiscard]] int dim_id(const std::string& name) const {
    const auto found = std::ranges::find(chip_.dims, name, &ChipDim::name);
    return found == chip_.dims.end() ? -1 : static_cast<int>(found - chip_.dims.begin());
  }

  /// As network_of() tells weights: a name in W that no operator writes.
  [[nodiscard]] TensorUse use_of(const std::string& tensor) const {
    const bool made =
        std::ranges::any_of(program_.operators, [&](const WrittenOperator& o) { return o.output.tensor == tensor; });
    return !made && tensor.starts_with('W') ? TensorUse::weight : TensorUse::input;
  }

  Expected<void> add_tensor(const WrittenAccess& access, TensorUse use) {
    ChipTensor tensor{access.tensor, use, {}, 2};
    for (const WrittenIndex& index : access.indices) {
      ChipIndex resolved;
      for (const WrittenIndex::Term& term : index.terms) {
        if (term.step < 1)
          return fail(to_text(op_.position),
              fmt::format("{} steps by {} along {}", access.tensor, term.step, term.loop),
              "steps of an index are at least 1");
        const int dim = dim_id(term.loop);
        for (const ChipIndex::Term& other : resolved.terms)
          if (other.dim == dim)
            return fail(to_text(op_.position),
                fmt::format("one index of {} has loop {} twice", access.tensor, term.loop),
                "add the steps: 3*a instead of 2*a+a");
        resolved.terms.push_back({dim, term.step});
      }
      tensor.indices.push_back(std::move(resolved));
    }
    chip_.tensors.push_back(std::move(tensor));
    return {};
  }

  const MappingProgram& program_;
  const WrittenOperator& op_;
  ChipProgram& chip_;
};

}  // namespace

Expected<void> resolve_operator(
    const MappingProgram& program, const std::vector<Statement>& statements, const std::string& op, ChipProgram& chip) {
  TRY(auto chosen, chosen_operator(program, op));
  TRY(OperatorReader(program, *chosen, chip).run());
  return take_rank_extents(program, statements, *chosen, chip);
}

}  // namespace stepcast::dataflow
