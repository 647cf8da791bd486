#include "dataflow/place/resize.h"

#include <algorithm>
#include <string_view>

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

}  // namespace

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
