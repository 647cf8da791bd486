// Machines of several kinds by name: "dgx-h100:64,dgx-a100:64".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/units.h"
#include "studies/mixed/names.h"
#include "studies/run/nouns.h"

namespace stepcast::mixed {

/// GPUs of one kind of machine.
struct MachineShare {
  Chosen<Machine> machine;
  std::int64_t gpus = 1;
};

/// Does the text name GPUs of machines rather than a machine?
bool names_shares(const std::string& text);

/// In the order that is written, which is that of ranks. Errors: a name without a number, a number that is none, a
/// machine that is not known, more GPUs than it has, or parts of nodes beside whole ones.
Expected<std::vector<MachineShare>> parse_shares(const std::string& text, const std::string& where);

/// "64 x H100 SXM (DGX H100) + 64 x A100 80GB (DGX A100)".
std::string to_text(const std::vector<MachineShare>& shares);

/// What joins the kinds where it is neither's own network: for each GPU while all others send, too.
struct BetweenKinds {
  BytesPerSecond rate;
  Seconds latency;  ///< on top of the network's own
};
/// "5 GB/s" or "5 GB/s,2 ms".
Expected<BetweenKinds> parse_between(const std::string& text, const std::string& where);

}  // namespace stepcast::mixed
