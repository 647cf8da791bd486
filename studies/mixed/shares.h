// Machines of several kinds by name: "dgx-h100:64,dgx-a100:64".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/namespaces.h"
#include "model/base/units.h"
#include "studies/run/nouns.h"

namespace stepcast::mixed {

/// GPUs of one kind of machine.
struct MachineShare {
  Chosen<Machine> machine;
  std::int64_t gpus = 1;
  std::string name;  ///< of the machine, as it was written
};

/// Does the text name GPUs of machines rather than a machine?
bool names_shares(const std::string& text);

/// In the order that is written, which is that of ranks. Errors: a name without a number, a number that is none, a
/// machine that is not known, more GPUs than it has, or parts of nodes beside whole ones.
Expected<std::vector<MachineShare>> parse_shares(const std::string& text, const std::string& where);

/// Errors: more GPUs than the machine has, or parts of nodes beside whole ones.
Expected<void> check_share_of_machine(const MachineShare& share, const std::string& where);

/// "dgx-h100:64,dgx-a100:64", of the catalogue's ids.
std::string ids_of(const std::vector<MachineShare>& shares);
/// "64 x H100 SXM (DGX H100) + 64 x A100 80GB (DGX A100)".
std::string to_text(const std::vector<MachineShare>& shares);

/// "dgx-h100=2.5,dgx-a100=1.2", or "2.5" for all of them: a number of each share, by the name it was written with.
/// Errors: a share without a number, a name twice, a number of no share or that is none in [low, high].
Expected<std::vector<double>> numbers_of_shares(const std::string& text, const std::vector<MachineShare>& shares,
    const std::string& where, double low, double high);
/// Do numbers stand with names of machines?
inline bool names_machines(const std::string& text) { return text.find('=') != text.npos; }

/// What joins the kinds where it is neither's own network: for each GPU while all others send, too.
struct BetweenKinds {
  BytesPerSecond rate;
  Seconds latency;  ///< on top of the network's own
};
/// "5 GB/s" or "5 GB/s,2 ms".
Expected<BetweenKinds> parse_between(const std::string& text, const std::string& where);

}  // namespace stepcast::mixed
