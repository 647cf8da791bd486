#include "studies/validation/peers.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/errors/carried.h"
#include "model/base/json_reader.h"
#include "studies/records/name_pattern.h"
#include "studies/validation/published/embedded_peers.h"

namespace stepcast::validation {
namespace {

constexpr Choice<PeerClaim> peer_claims[] = {{"authors", PeerClaim::authors},
    {"authors, rerun", PeerClaim::authors_rerun}, {"rerun", PeerClaim::rerun}, {"others", PeerClaim::others}};
constexpr Choice<bool> peer_quantities[] = {{"step time", false}, {"peak memory", true}};

void maybe_percent(JsonObject& row, const char* key, MaybeNumber& out, double least) {
  double percent = 0;
  if (!row.has(key)) return;
  row.read(key, percent, NumberRange{least, 10'000});
  out = percent / 100;
}

PeerError read_peer(JsonObject& row) {
  constexpr double least_error = -100;
  PeerError peer;
  row.read("tool", peer.tool);
  row.optional_choice("of", peer.of_memory, peer_quantities);
  row.read("judged_on", peer.judged_on);
  std::int64_t n = 0;
  if (row.has("n")) row.read("n", n, IntegerRange{1, 1'000'000}), peer.n = n;
  maybe_percent(row, "mape_percent", peer.mape, 0);
  maybe_percent(row, "at_most_percent", peer.at_most, 0);
  maybe_percent(row, "bias_percent", peer.bias, least_error);
  maybe_percent(row, "worst_percent", peer.worst, least_error);
  maybe_percent(row, "after_factor_percent", peer.after_factor, 0);
  row.require(peer.mape || peer.at_most, "mape_percent", "no figure", "mape_percent or at_most_percent");
  row.choice("claim", peer.claim, peer_claims);
  row.optional("cases", peer.cases);
  row.read("source", peer.source);
  row.optional("note", peer.note);
  return peer;
}

std::vector<PeerError> read_embedded_peers() { return carried_rows(embedded_peers(), "published", read_peers); }

}  // namespace

const char* to_text(PeerClaim claim) { return name_of<PeerClaim>(peer_claims, claim); }

Expected<std::vector<PeerError>> read_peers(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  std::vector<PeerError> rows;
  for (JsonObject& row : file.objects("peers")) rows.push_back(read_peer(row));
  return file.finish(std::move(rows));
}

const std::vector<PeerError>& peer_errors() {
  static const std::vector<PeerError> rows = read_embedded_peers();
  return rows;
}

OursOnPeer ours_on(const PeerError& peer, const std::vector<ValidatedCase>& cases) {
  std::vector<double> fitted, held_out, memory;
  for (const ValidatedCase& row : cases) {
    const auto named = [&](const std::string& pattern) { return fits_pattern(row.id, pattern); };
    if (std::none_of(peer.cases.begin(), peer.cases.end(), named)) continue;
    fitted.push_back(row.error);
    if (row.held_out_s > 0) held_out.push_back(row.held_out_s / row.measured_s - 1);
    if (row.measured_memory > 0) memory.push_back(row.predicted_memory / row.measured_memory - 1);
  }
  return {summarise(fitted), summarise(held_out), summarise(memory)};
}

}  // namespace stepcast::validation
