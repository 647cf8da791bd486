#include "dataflow/notation/written.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dataflow/notation/parser.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

using Checked = Expected<void>;

constexpr double index_bytes = 8;  // of what a select looks up: token ids and labels, as the built networks have them
constexpr std::array<std::string_view, 5> linear_functions{"add", "bias", "scale", "dropout", "cast"};
constexpr const char* arch_hint =
    "put the ranks into the arch, such as 'arch fabric { gpu[8] { ... } }', and write level lines";

bool among(const std::vector<int>& loops, int loop) { return contains(loops, loop); }

std::vector<int> without(const std::vector<int>& loops, const std::vector<int>& taken) {
  std::vector<int> left;
  for (int loop : loops)
    if (!among(taken, loop)) left.push_back(loop);
  return left;
}

/// One written operator as the cluster placer knows operators. `op` has its accesses already.
class OperatorWriter {
 public:
  OperatorWriter(Network& net, const WrittenOperator& written, Operator& op) : net_(net), written_(written), op_(op) {}

  Checked run() {
    struct Row {
      std::string_view function;
      Checked (OperatorWriter::*write)();
    };
    static constexpr std::array<Row, 4> rows{{{"select", &OperatorWriter::select}, {"route", &OperatorWriter::route},
        {"scan", &OperatorWriter::scan}, {"opaque", &OperatorWriter::opaque}}};
    op_.function = written_.function;
    for (const std::string& loop : written_.whole_loops) op_.whole_loops.push_back(net_.find_dim(loop));
    if (!written_.pads.empty())
      return refused(fmt::format("'pad {}' is not known to the cluster placer, which lays out whole parts only",
                         written_.pads.front().dim),
          fmt::format("give 'dim {}' an extent that divides", written_.pads.front().dim));
    TRY(domain());
    const auto named = [&](const Row& row) { return row.function == written_.function; };
    const auto row = std::ranges::find_if(rows, named);
    if (row != rows.end()) return (this->*row->write)();
    if (!op_.whole_loops.empty()) return kind(OperatorKind::opaque);
    if (attention_like()) return attention();
    return kind(pointwise_or_product());
  }

 private:
  [[nodiscard]] tl::unexpected<Error> refused(const std::string& what, const std::string& hint) const {
    return fail(to_text(written_.position), fmt::format("operator {}: {}", written_.name, what), hint);
  }

  Checked kind(OperatorKind kind) {
    op_.kind = kind;
    return {};
  }

  [[nodiscard]] OperatorKind pointwise_or_product() {
    const bool bare = written_.function.empty();
    if (bare && written_.joint == '*' && written_.monoid == Monoid::sum) return OperatorKind::einsum;
    if (bare && written_.joint == '+') op_.function = "add";
    const auto row = std::ranges::find(linear_functions, op_.function);
    return row != linear_functions.end() ? OperatorKind::linear : OperatorKind::nonlinear;
  }

  Checked domain() {
    const WrittenDomain& domain = written_.domain;
    if (domain.key.empty()) return {};
    op_.domain = domain.window > 0 ? Domain::window : Domain::causal;
    op_.reach = domain.window;
    op_.query_loop = net_.find_dim(domain.query);
    op_.key_loop = net_.find_dim(domain.key);
    const std::vector<int> loops = loops_of(op_);
    if (!among(loops, op_.query_loop) || !among(loops, op_.key_loop))
      return refused(fmt::format("'where {} <= {}' names a loop that it lacks", domain.key, domain.query),
          "compare two of its loops");
    const std::int64_t queries = net_.dims[op_.query_loop].extent, keys = net_.dims[op_.key_loop].extent;
    if (queries == keys) return {};
    return refused(fmt::format("'where {} <= {}' compares loops of {} and {}", domain.key, domain.query, keys, queries),
        "queries and keys run over one dim: give both one extent");
  }

  /// The last operand tells which rows: token ids, labels.
  Checked select() {
    op_.function.clear();
    if (op_.inputs.size() != 2)
      return refused("a select reads a table and what to look up in it", "select TABLE[v,h], IDS[b,s]");
    Tensor& ids = net_.tensors[op_.inputs.back().tensor];
    ids.role = TensorRole::data;
    ids.bytes_per_element = index_bytes;
    return kind(OperatorKind::select);
  }

  /// '=' takes token rows to the experts, '+=' brings them back: "Xe[e,c,h] = route X[b,s,h]",
  /// "Y[b,s,h] += route Oe[e,c,h], gates[b,s,k]". The rows are the last loop that the token side lacks.
  Checked route() {
    const bool back = written_.monoid == Monoid::sum;
    op_.function = back ? "combine" : "dispatch";
    Access &rows = back ? op_.inputs.front() : op_.output, &tokens = back ? op_.output : op_.inputs.front();
    const std::vector<int> row_side = without(rows.loops, tokens.loops), token_side = without(tokens.loops, rows.loops);
    if (row_side.empty() || token_side.empty())
      return refused("a route changes the order of rows, so each side has loops that the other lacks",
          "Xe[e,c,h] = route X[b,s,h] to the experts, Y[b,s,h] += route Oe[e,c,h], gates[b,s,k] back");
    const auto row = std::ranges::find(rows.loops, row_side.back());
    rows.row_dim = static_cast<int>(row - rows.loops.begin());
    rows.row_loops = token_side;
    net_.dims[row_side.back()].expected = true;
    return kind(OperatorKind::route);
  }

  Checked scan() {
    if (op_.whole_loops.empty())
      return refused("a scan for the cluster placer says which loop it runs along, and that loop stays whole",
          "scan(s): a chain over ranks is not placed");
    return kind(OperatorKind::opaque);
  }

  Checked opaque() {
    op_.function.clear();
    return kind(OperatorKind::opaque);
  }

  [[nodiscard]] bool attention_like() const {
    return written_.monoid == Monoid::softmax && written_.function.empty() && op_.inputs.size() >= 3;
  }

  /// O softmax= Q, K, V[, more keys]: the fused core. Head sizes, the last loops, stay whole.
  Checked attention() {
    const std::vector<int> keys = without(without(op_.inputs[1].loops, op_.inputs[0].loops), op_.output.loops);
    const auto scalar = [](const Access& access) { return access.loops.empty(); };
    if (keys.size() != 1 || scalar(op_.output) || std::ranges::any_of(op_.inputs, scalar))
      return refused("the fused core joins queries, keys and values over one loop of keys",
          "O[b,s,g,r,d] softmax= Q[b,s,g,r,d], K[b,t,g,d], V[b,t,g,d] where t <= s");
    if (op_.key_loop >= 0 && op_.key_loop != keys.front())
      return refused(fmt::format("'where' compares {}, but the keys run over {}", written_.domain.key,
                         net_.dims[keys.front()].name),
          fmt::format("where {} <= QUERY", net_.dims[keys.front()].name));
    op_.key_loop = keys.front();
    op_.whole_loops = {op_.inputs.front().loops.back(), op_.output.loops.back()};
    for (const Access& input : op_.inputs) op_.whole_loops.push_back(input.loops.back());
    return kind(OperatorKind::attention);
  }

  Network& net_;
  const WrittenOperator& written_;
  Operator& op_;
};

class Writer {
 public:
  explicit Writer(const MappingProgram& program) : program_(program) {
    net_.id = program.map_name.empty() ? "program" : program.map_name;
    net_.dims = program.dims;
    net_.blocks.push_back({"program", 1, {}, -1, -1});
  }

  Expected<Network> run() {
    for (const WrittenOperator& written : program_.operators) TRY(add(written));
    Block& block = net_.blocks.front();
    if (block.operators.empty())
      return fail("program", "no operator is written", "write one, such as 'O: O[m,n] += I[m,k] * W[k,n]'");
    block.output = block.operators.back().output.tensor;
    name_weights();
    TRY(check_graph(net_));
    return std::move(net_);
  }

 private:
  /// What nobody makes and is called W... is trained.
  void name_weights() {
    const std::vector<Operator>& operators = net_.blocks.front().operators;
    for (std::size_t t = 0; t < net_.tensors.size(); ++t) {
      const auto makes = [&](const Operator& op) { return op.output.tensor == static_cast<int>(t); };
      const bool made = std::ranges::any_of(operators, makes);
      Tensor& tensor = net_.tensors[t];
      if (!made && tensor.name.front() == 'W' && tensor.role != TensorRole::data) tensor.role = TensorRole::weight;
    }
  }

  Checked add(const WrittenOperator& written) {
    Operator op;
    op.name = written.name;
    op.tags = written.tags;
    op.monoid = written.monoid;
    if (auto output = access(written.output, written.position)) op.output = std::move(*output);
    else return tl::unexpected(output.error());
    for (const WrittenAccess& input : written.inputs) {
      TRY(auto read, access(input, written.position));
      op.inputs.push_back(std::move(read));
    }
    TRY(OperatorWriter(net_, written, op).run());
    net_.blocks.front().operators.push_back(std::move(op));
    return {};
  }

  Expected<Access> access(const WrittenAccess& written, const Position& position) {
    Access out;
    for (const WrittenIndex& index : written.indices) {
      TRY(auto dim, loop_of(index, written.tensor, position));
      out.loops.push_back(dim);
    }
    out.tensor = net_.find_tensor(written.tensor);
    if (out.tensor < 0) {
      net_.tensors.push_back({written.tensor, out.loops, 2, TensorRole::activation});
      out.tensor = static_cast<int>(net_.tensors.size()) - 1;
    }
    const std::size_t dims = net_.tensors[out.tensor].dims.size();
    if (dims != out.loops.size())
      return fail(to_text(position),
          fmt::format("{} is accessed with {} dims here and {} before", written.tensor, out.loops.size(), dims),
          "one loop per tensor dim");
    return out;
  }

  /// Parts of a window overlap at their edges: no placement says that, so a mesh cannot hold them.
  Expected<int> loop_of(const WrittenIndex& index, const std::string& tensor, const Position& position) {
    if (index.terms.size() != 1 || index.terms.front().step != 1)
      return fail(to_text(position),
          fmt::format("an index of {} is a sum or a multiple of loops, whose parts no mesh can place", tensor),
          arch_hint);
    const std::string& loop = index.terms.front().loop;
    const int dim = net_.find_dim(loop);
    if (dim >= 0) return dim;
    const std::vector<std::string> names = names_of(net_.dims, &Dim::name);
    return fail(to_text(position), fmt::format("loop '{}' of {} has no extent", loop, tensor),
        names.empty() ? fmt::format("add 'dim {}:EXTENT'", loop) : name_hint(loop, names));
  }

  const MappingProgram& program_;
  Network net_;
};

}  // namespace

Expected<Network> network_of(const MappingProgram& program) { return Writer(program).run(); }

}  // namespace stepcast::dataflow
