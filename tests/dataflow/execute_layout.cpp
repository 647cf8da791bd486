#include "tests/dataflow/execute_layout.h"

#include <map>

namespace stepcast::dataflow {

ShardLayout::ShardLayout(const Network& network, const PlacedNetwork& placed)
    : net_(network), placed_(placed), tables_(network.tensors.size()) {
  join_dims();
  collect_atoms();
  join_rows();
  for (std::size_t t = 0; t < net_.tensors.size(); ++t) fill_table(static_cast<int>(t));
}

int ShardLayout::root(int dim) const {
  while (joined_[dim] != dim) dim = joined_[dim];
  return dim;
}

void ShardLayout::join_dims() {
  for (std::size_t d = 0; d < net_.dims.size(); ++d) joined_.push_back(static_cast<int>(d));
  const auto join = [&](const Access& access) {
    for (std::size_t i = 0; i < access.loops.size(); ++i)
      joined_[root(access.loops[i])] = root(net_.tensors[access.tensor].dims[i]);
  };
  for (const Block& block : net_.blocks)
    for (const Operator& op : block.operators) {
      join(op.output);
      for (const Access& input : op.inputs) join(input);
    }
}

void ShardLayout::collect_atoms() {
  split_by_.assign(net_.dims.size(), 0);
  const std::size_t atoms = placed_.mesh.atoms.size();
  for (const auto& block : placed_.splits)
    for (const OperatorSplit& split : block)
      for (std::size_t a = 0; a < atoms; ++a)
        if (split.loop[a] >= 0) split_by_[root(split.loop[a])] |= AtomMask{1} << a;
  for (const PlacedBlock& block : placed_.blocks)
    for (const Copy& copy : block.copies)
      for (std::size_t a = 0; a < atoms; ++a) {
        if (copy.place.at[a] >= 0)
          split_by_[root(net_.tensors[copy.tensor].dims[copy.place.at[a]])] |= AtomMask{1} << a;
        if (copy.place.at[a] == flat_shard) tables_[copy.tensor].flat |= AtomMask{1} << a;
      }
}

/// Rows in another order are cut as the tokens are, and tokens as the rows, whichever statement cuts them.
void ShardLayout::join_rows() {
  const auto together = [&](const Access& access) {
    if (access.row_dim < 0) return;
    const int rows = root(access.loops[access.row_dim]);
    for (const int loop : access.row_loops)
      if (net_.dims[loop].extent > 1) split_by_[rows] = split_by_[root(loop)] |= split_by_[rows];
  };
  for (std::size_t passes = 0; passes < net_.blocks.size() + 1; ++passes)
    for (const Block& block : net_.blocks)
      for (const Operator& op : block.operators) {
        together(op.output);
        for (const Access& input : op.inputs) together(input);
      }
}

int ShardLayout::piece_of(std::int64_t index, std::int64_t extent, AtomMask atoms) const {
  const std::int64_t pieces = placed_.mesh.size_of(atoms);
  return static_cast<int>(index / ((extent + pieces - 1) / pieces));
}

int ShardLayout::digit(int piece, AtomMask atoms, std::size_t atom) const {
  for (std::size_t a = 0; a < atom; ++a)
    if (atoms >> a & 1U) piece /= static_cast<int>(placed_.mesh.atoms[a].size);
  return piece % static_cast<int>(placed_.mesh.atoms[atom].size);
}

void ShardLayout::fill_table(int tensor) {
  Table& table = tables_[tensor];
  const auto& dims = net_.tensors[tensor].dims;
  const auto elements = static_cast<int>(net_.elements(tensor));
  table.piece.assign(dims.size() + 1, std::vector<int>(elements));
  int stride = elements;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto extent = static_cast<int>(net_.dims[dims[d]].extent);
    const AtomMask atoms = split_by_[root(dims[d])];
    stride /= extent;
    for (int e = 0; e < elements; ++e) table.piece[d][e] = piece_of(e / stride % extent, extent, atoms);
    table.even = table.even && extent % placed_.mesh.size_of(atoms) == 0;
  }
  // Flat: elements between the same cuts of all dims, numbered in order.
  std::map<std::vector<int>, std::vector<int>> cells;
  for (int e = 0; e < elements; ++e) {
    std::vector<int> cell;
    for (std::size_t d = 0; d < dims.size(); ++d) cell.push_back(table.piece[d][e]);
    cells[cell].push_back(e);
  }
  for (const auto& [cell, members] : cells) {
    const auto count = static_cast<std::int64_t>(members.size());
    table.even = table.even && count % placed_.mesh.size_of(table.flat) == 0;
    for (std::int64_t i = 0; i < count; ++i) table.piece[dims.size()][members[i]] = piece_of(i, count, table.flat);
  }
}

int ShardLayout::coordinate(int rank, std::size_t atom) const {
  const Atom& a = placed_.mesh.atoms[atom];
  return static_cast<int>(rank / a.stride % a.size);
}

std::vector<int> ShardLayout::group(int rank, AtomMask atoms) const {
  std::vector<int> members;
  for (int other = 0; other < ranks(); ++other) {
    bool same = true;
    for (std::size_t a = 0; a < placed_.mesh.atoms.size(); ++a)
      same = same && ((atoms >> a & 1U) || coordinate(other, a) == coordinate(rank, a));
    if (same) members.push_back(other);
  }
  return members;
}

std::vector<int> ShardLayout::walked(int loop, const OperatorSplit& split, int rank) const {
  std::vector<int> indices;
  const AtomMask atoms = split_by_[root(loop)];
  for (int i = 0; i < net_.dims[loop].extent; ++i) {
    const int piece = piece_of(i, net_.dims[loop].extent, atoms);
    bool mine = true;
    for (std::size_t a = 0; a < placed_.mesh.atoms.size(); ++a)
      mine = mine && (split.loop[a] != loop || digit(piece, atoms, a) == coordinate(rank, a));
    if (mine) indices.push_back(i);
  }
  return indices;
}

std::vector<char> ShardLayout::holds(int tensor, const Placement& place, int rank, AtomMask only) const {
  const Table& table = tables_[tensor];
  std::vector<char> held(table.piece.front().size(), 1);
  for (std::size_t a = 0; a < placed_.mesh.atoms.size(); ++a) {
    const Slot slot = place.at[a];
    if (!(only >> a & 1U) || (slot < 0 && slot != flat_shard)) continue;
    const AtomMask atoms = slot == flat_shard ? table.flat : split_by_[root(net_.tensors[tensor].dims[slot])];
    const std::vector<int>& piece = slot == flat_shard ? table.piece.back() : table.piece[slot];
    for (std::size_t e = 0; e < held.size(); ++e) held[e] = held[e] && digit(piece[e], atoms, a) == coordinate(rank, a);
  }
  return held;
}

}  // namespace stepcast::dataflow
