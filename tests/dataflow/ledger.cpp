#include "tests/dataflow/ledger.h"

#include <cassert>

#include <gtest/gtest.h>

#include "dataflow/place/moves.h"

namespace stepcast::dataflow {
namespace {

std::string time_name(const PlacedItem& item) {
  switch (item.when) {
    case When::each_micro_batch: break;
    case When::once_first_use: return "first use ";
    case When::once_last_use: return "last use ";
    case When::tail: return "tail ";
  }
  const char* cargo = item.cargo == Cargo::weight ? "weight " : item.cargo == Cargo::gradient ? "gradient " : "";
  const char* pass = item.pass == Pass::forward     ? "forward "
                     : item.pass == Pass::recompute ? "recompute "
                                                    : "backward ";
  return std::string(pass) + cargo;
}

/// A norm's gain and bias: "norm1.gamma".
bool is_norm_weight(const Tensor& tensor) {
  return tensor.role == TensorRole::weight && tensor.name.rfind("norm", 0) == 0;
}

template <typename Visit>
void for_each_row(const Network& network, const PlacedNetwork& placed, const std::string& block, const Visit& visit) {
  const PlacedBlock& b = block_of(network, placed, block);
  for (const auto* list : {&b.forward, &b.backward, &b.step})
    for (const PlacedItem& item : *list) {
      if (item.kind != PlacedKind::move || item.move == MoveKind::slice || item.move == MoveKind::mask) continue;
      const Tensor& tensor = network.tensors[b.copies[item.reads.front()].tensor];
      visit(
          (is_norm_weight(tensor) ? "norm " : "") + time_name(item) + to_text(item.move) + (item.again ? " again" : ""),
          item);
    }
}

}  // namespace

Expected<PlacedNetwork> place_text(const Network& network, const std::string& text, const PlacingOptions& options) {
  const Expected<MappingProgram> program = parse(text, "plan.flow");
  if (!program) return tl::unexpected(program.error());
  const Expected<std::vector<Statement>> statements = expand(*program);
  if (!statements) return tl::unexpected(statements.error());
  std::int64_t gpus = 1;
  if (!program->meshes.empty())
    for (const auto& axis : program->meshes.front().axes) gpus *= axis.size;
  return place(network, program->meshes, *statements, gpus, options);
}

PlacedNetwork placed_of(const Network& network, const std::string& text, const PlacingOptions& options) {
  Expected<PlacedNetwork> placed = place_text(network, text, options);
  if (placed) return std::move(*placed);
  ADD_FAILURE() << text << "\n" << to_text(placed.error());
  PlacedNetwork empty;
  empty.blocks.resize(network.blocks.size());
  return empty;
}

const PlacedBlock& block_of(const Network& network, const PlacedNetwork& placed, const std::string& block) {
  std::size_t b = 0;
  while (b < network.blocks.size() && network.blocks[b].name != block) ++b;
  assert(b < placed.blocks.size());
  return placed.blocks[b];
}

const WeightChain* chain_of(const Network& network, const PlacedBlock& block, const std::string& weight) {
  for (const WeightChain& chain : block.chains)
    if (network.tensors[chain.tensor].name == weight) return &chain;
  return nullptr;
}

MovedBytes moved_bytes(const Network& network, const PlacedNetwork& placed, const std::string& block) {
  MovedBytes rows;
  for_each_row(
      network, placed, block, [&](const std::string& row, const PlacedItem& item) { rows[row] += item.received; });
  return rows;
}

int moves_in(const Network& network, const PlacedNetwork& placed, const std::string& block, const std::string& row) {
  int count = 0;
  for_each_row(network, placed, block, [&](const std::string& name, const PlacedItem&) { count += name == row; });
  return count;
}

std::map<std::string, double> saved_bytes(
    const Network& network, const PlacedNetwork& placed, const std::string& block) {
  std::map<std::string, double> saved;
  const PlacedBlock& b = block_of(network, placed, block);
  std::size_t index = 0;
  while (network.blocks[index].name != block) ++index;
  for (const SavedCopy& s : b.saved)
    saved[s.copy >= 0 ? network.tensors[b.copies[s.copy].tensor].name
                      : network.blocks[index].operators[s.op].name + " side"] += s.bytes;
  return saved;
}

NetworkWriter::NetworkWriter(std::initializer_list<std::pair<const char*, std::int64_t>> dims) {
  net_.id = "written";
  net_.blocks.push_back({"block", 1, {}, -1, -1});
  for (const auto& [name, extent] : dims) net_.dims.push_back({name, extent});
}

std::vector<int> NetworkWriter::loops(const char* letters) const {
  std::vector<int> ids;
  for (; *letters != '\0'; ++letters) ids.push_back(net_.find_dim(std::string(1, *letters)));
  return ids;
}

int NetworkWriter::tensor(const char* name, const char* dims, TensorRole role, double bytes) {
  net_.tensors.push_back({name, loops(dims), bytes, role});
  return static_cast<int>(net_.tensors.size()) - 1;
}

Operator& NetworkWriter::product(
    const char* name, int out, const char* out_loops, int a, const char* a_loops, int b, const char* b_loops) {
  Operator op;
  op.name = name;
  op.monoid = Monoid::sum;
  op.output = {out, loops(out_loops)};
  op.inputs = {{a, loops(a_loops)}, {b, loops(b_loops)}};
  return net_.blocks.back().operators.emplace_back(std::move(op));
}

Operator& NetworkWriter::pointwise(
    const char* name, OperatorKind kind, const char* function, int out, std::initializer_list<int> inputs) {
  Operator op;
  op.name = name;
  op.kind = kind;
  op.function = function;
  op.output = {out, net_.tensors[out].dims};
  for (int input : inputs) op.inputs.push_back({input, net_.tensors[input].dims});
  return net_.blocks.back().operators.emplace_back(std::move(op));
}

Network NetworkWriter::finish(int input, int output) {
  net_.blocks.back().input = input;
  net_.blocks.back().output = output;
  return std::move(net_);
}

}  // namespace stepcast::dataflow
