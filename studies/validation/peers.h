// Lists how far other tools' forecasts are off, by their own word or as others found: rows of
// studies/validation/published/*.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/validation/validation.h"

namespace stepcast::validation {

/// Who says so: the tool's authors; they, and a run of the tool gave the same; only such a run; somebody else.
enum class PeerClaim : std::uint8_t { authors, authors_rerun, rerun, others };
const char* to_text(PeerClaim claim);

/// Errors are fractions, predicted / measured - 1; absent = not published.
struct PeerError {
  std::string tool, judged_on, source, note;
  bool of_memory = false;  ///< of peak memory, else of the step time
  MaybeCount n;
  MaybeNumber mape, at_most, bias, worst;
  MaybeNumber after_factor;  ///< MAPE once one factor for all its cases was fitted
  PeerClaim claim = PeerClaim::authors;
  std::vector<std::string> cases;  ///< patterns of the records that it was judged on; none = they are not here
};

/// Strict. Error: a row without any figure, and what JsonObject refuses.
Expected<std::vector<PeerError>> read_peers(const std::string& text, const std::string& where);

/// The rows that the program carries; a wrong one is a broken build.
const std::vector<PeerError>& peer_errors();

/// Our errors on those of a peer's cases that were validated, doubtful ones too, as the peer counted them.
struct OursOnPeer {
  ErrorSummary fitted, held_out, memory;
};
OursOnPeer ours_on(const PeerError& peer, const std::vector<ValidatedCase>& cases);

}  // namespace stepcast::validation
