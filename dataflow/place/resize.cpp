#include "dataflow/place/resize.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "dataflow/place/moves.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// Rule 4: what is dealt out over several dims, or read off one dim's extent.
bool deals_by_extent(const Statement& statement, const Network& network, const std::vector<int>& grown) {
  const auto grows = [&](std::string_view name) { return contains(grown, network.find_dim(name)); };
  if (const auto* par = std::get_if<ParStatement>(&statement.body))
    return par->dims.size() > 1 && std::ranges::any_of(par->dims, grows);
  const auto* home = std::get_if<HomeStatement>(&statement.body);
  return home != nullptr && std::ranges::any_of(home->places, [&](const HomePlace& place) {
    const std::size_t star = place.what.find('*');
    if (star == std::string::npos || place.what == "*") return false;
    for (std::string_view rest = place.what; !rest.empty();) {
      const std::size_t end = std::min(rest.find('*'), rest.size());
      if (grows(rest.substr(0, end))) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
  });
}

/// It receives what its kind does of its tensor: no manner was stated, no softmax is joined, no cache is gathered.
bool is_plain(const PlacedItem& item, const PlacedBlock& block, const Network& network) {
  const Tensor& tensor = network.tensors[block.copies[item.reads.front()].tensor];
  return item.statement < 0 && item.maxima_received == 0 && tensor.role != TensorRole::cache;
}

void resize(PlacedBlock& block, const Network& network, const Mesh& mesh) {
  for (Copy& copy : block.copies)
    copy.bytes =
        local_elements(network, copy.tensor, copy.place, mesh) * network.tensors[copy.tensor].bytes_per_element;
  for (PlacedItem& item : block.forward)
    if (item.kind == PlacedKind::move)
      item.received = received_bytes(
          item.move, block.copies[item.reads.front()].bytes, static_cast<double>(mesh.size_of(item.atoms)));
}

/// By how much each tensor grows; empty where one grows otherwise than by two, or a weight does.
std::vector<double> growth_of_tensors(const Network& network, const Network& larger) {
  std::vector<double> growth;
  for (std::size_t t = 0; t < network.tensors.size(); ++t) {
    const double before = network.elements(static_cast<int>(t)), after = larger.elements(static_cast<int>(t));
    const bool stays = after == before, doubles = after == 2 * before;
    const TensorRole role = network.tensors[t].role;
    if (role == TensorRole::cache || !(stays || (doubles && role != TensorRole::weight))) return {};
    growth.push_back(stays ? 1 : 2);
  }
  return growth;
}

/// Dims that are twice as large; nullopt where one is anything else.
std::optional<std::vector<int>> doubled_dims(const Network& network, const Network& larger) {
  std::vector<int> dims;
  for (std::size_t d = 0; d < network.dims.size(); ++d) {
    if (larger.dims[d].extent == network.dims[d].extent) continue;
    if (larger.dims[d].extent != 2 * network.dims[d].extent) return std::nullopt;
    dims.push_back(static_cast<int>(d));
  }
  return dims;
}

/// A log-sum-exp is as large as its core's output by the last extent, a softmax over split keys joins more than its
/// tensor's bytes, and flat shards are rounded up.
bool grows_by_tensors(
    const PlacedBlock& placed, const Block& block, const std::vector<int>& grown, const std::vector<double>& growth) {
  for (const Copy& copy : placed.copies)
    if (growth[static_cast<std::size_t>(copy.tensor)] != 1 && contains(copy.place.at, flat_shard)) return false;
  for (const std::vector<PlacedItem>* items : {&placed.forward, &placed.backward, &placed.step})
    for (const PlacedItem& item : *items)
      if (item.maxima_received > 0) return false;
  return std::ranges::none_of(placed.saved, [&](const SavedCopy& saved) {
    return saved.copy < 0 && contains(grown, block.operators[static_cast<std::size_t>(saved.op)].output.loops.back());
  });
}

void grow(PlacedBlock& placed, const Block& block, const std::vector<double>& growth) {
  const auto of_copy = [&](int copy) { return growth[static_cast<std::size_t>(placed.copies[copy].tensor)]; };
  for (Copy& copy : placed.copies) copy.bytes *= growth[static_cast<std::size_t>(copy.tensor)];
  for (std::vector<PlacedItem>* items : {&placed.forward, &placed.backward, &placed.step})
    for (PlacedItem& item : *items)
      if (item.kind == PlacedKind::move) item.received *= of_copy(item.reads.front());
  for (SavedCopy& saved : placed.saved)
    saved.bytes *= saved.copy >= 0 ? of_copy(saved.copy)
                                   : growth[static_cast<std::size_t>(block.operators[saved.op].output.tensor)];
}

}  // namespace

bool double_sizes(
    PlacedNetwork& placed, const Network& network, const Network& larger, const std::vector<Statement>& statements) {
  const auto alike = [](const Block& a, const Block& b) { return a.operators.size() == b.operators.size(); };
  if (network.dims.size() != larger.dims.size() || network.tensors.size() != larger.tensors.size() ||
      !std::ranges::equal(network.blocks, larger.blocks, alike))
    return false;
  const std::vector<double> growth = growth_of_tensors(network, larger);
  const auto grown = doubled_dims(network, larger);
  if (growth.empty() || !grown) return false;
  if (std::ranges::any_of(statements, [&](const Statement& s) { return deals_by_extent(s, network, *grown); }))
    return false;
  for (std::size_t b = 0; b < placed.blocks.size(); ++b)
    if (!grows_by_tensors(placed.blocks[b], network.blocks[b], *grown, growth)) return false;
  for (std::size_t b = 0; b < placed.blocks.size(); ++b) grow(placed.blocks[b], network.blocks[b], growth);
  return true;
}

void halve_sizes(PlacedNetwork& placed, const Network& network, const Network& larger) {
  std::vector<double> growth = growth_of_tensors(network, larger);
  for (double& factor : growth) factor = 1 / factor;
  for (std::size_t b = 0; b < placed.blocks.size(); ++b) grow(placed.blocks[b], network.blocks[b], growth);
}

bool resize(PlacedNetwork& placed, const Network& network, const std::vector<Statement>& statements,
    const std::vector<int>& grown) {
  if (std::ranges::any_of(statements, [&](const Statement& s) { return deals_by_extent(s, network, grown); }))
    return false;
  for (const PlacedBlock& block : placed.blocks) {
    // Gradients and what happens once per step have sizes of their own.
    if (!block.backward.empty() || !block.step.empty() || !block.saved.empty()) return false;
    for (const PlacedItem& item : block.forward)
      if (item.kind == PlacedKind::move && !is_plain(item, block, network)) return false;
  }
  for (PlacedBlock& block : placed.blocks) resize(block, network, placed.mesh);
  return true;
}

}  // namespace stepcast::dataflow
