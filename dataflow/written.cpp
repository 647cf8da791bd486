#include "dataflow/written.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/parser.h"

namespace stepcast {
namespace {

class Writer {
 public:
  explicit Writer(const MappingProgram& program) : program_(program) {
    net_.id = program.map_name.empty() ? "program" : program.map_name;
    net_.dims = program.dims;
    net_.blocks.push_back({"program", 1, {}, -1, -1});
  }

  Expected<Network> run() {
    for (const WrittenOperator& written : program_.operators)
      if (auto added = add(written); !added) return tl::unexpected(added.error());
    if (net_.blocks.front().operators.empty()) return fail("program", "no operator is written", "write one, such as 'O: O[m,n] += I[m,k] * W[k,n]'");
    net_.blocks.front().output = net_.blocks.front().operators.back().output.tensor;
    for (const Operator& op : net_.blocks.front().operators)
      for (const Access& input : op.inputs) {
        Tensor& tensor = net_.tensors[input.tensor];
        const bool made = std::any_of(net_.blocks.front().operators.begin(), net_.blocks.front().operators.end(), [&](const Operator& o) { return o.output.tensor == input.tensor; });
        if (!made && tensor.name.front() == 'W') tensor.role = TensorRole::weight;
      }
    if (auto checked = check_graph(net_); !checked) return tl::unexpected(checked.error());
    return std::move(net_);
  }

 private:
  Expected<Access> access(const WrittenAccess& written, const Position& position) {
    Access out;
    for (const WrittenIndex& index : written.indices) {
      const std::string& loop = index.terms.front().loop;
      if (index.terms.size() > 1 || index.terms.front().step != 1)
        return fail(to_text(position), fmt::format("an index of {} is a sum of loops, whose parts overlap: they cannot be laid on a mesh", written.tensor), "put the ranks into the arch, such as 'arch fabric { gpu[8] { ... } }', and write level lines");
      const int dim = net_.find_dim(loop);
      if (dim < 0) {
        std::vector<std::string> names;
        for (const Dim& d : net_.dims) names.push_back(d.name);
        return fail(to_text(position), fmt::format("loop '{}' of {} has no extent", loop, written.tensor), names.empty() ? fmt::format("add 'dim {}:EXTENT'", loop) : name_hint(loop, names));
      }
      out.loops.push_back(dim);
    }
    out.tensor = net_.find_tensor(written.tensor);
    if (out.tensor < 0) {
      net_.tensors.push_back({written.tensor, out.loops, 2, TensorRole::activation});
      out.tensor = static_cast<int>(net_.tensors.size()) - 1;
    }
    if (net_.tensors[out.tensor].dims.size() != out.loops.size())
      return fail(to_text(position), fmt::format("{} is accessed with {} dims here and {} before", written.tensor, out.loops.size(), net_.tensors[out.tensor].dims.size()), "one loop per tensor dim");
    return out;
  }

  Expected<void> add(const WrittenOperator& written) {
    Operator op;
    op.name = written.name;
    op.tags = written.tags;
    op.monoid = written.monoid;
    op.function = written.function;
    auto output = access(written.output, written.position);
    if (!output) return tl::unexpected(output.error());
    op.output = std::move(*output);
    for (const WrittenAccess& input : written.inputs) {
      auto read = access(input, written.position);
      if (!read) return tl::unexpected(read.error());
      op.inputs.push_back(std::move(*read));
    }
    constexpr const char* kLinear[] = {"add", "bias", "scale", "dropout", "cast"};
    const bool product = written.function.empty() && written.joint == '*' && written.monoid == Monoid::sum;
    const bool sum = written.function.empty() && written.joint == '+';
    if (sum) op.function = "add";
    const bool linear = sum || std::any_of(std::begin(kLinear), std::end(kLinear), [&](const char* f) { return written.function == f; });
    op.kind = product ? OperatorKind::einsum : linear ? OperatorKind::linear : OperatorKind::nonlinear;
    net_.blocks.front().operators.push_back(std::move(op));
    return {};
  }

  const MappingProgram& program_;
  Network net_;
};

}  // namespace

Expected<Network> network_of(const MappingProgram& program) { return Writer(program).run(); }

}  // namespace stepcast
