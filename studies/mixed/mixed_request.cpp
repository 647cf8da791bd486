#include "studies/mixed/mixed_request.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"

namespace stepcast::mixed {
namespace {

/// Nodes of the machines may differ in size, and the list says their GPUs.
Expected<void> check_flags_of_kinds(const Arguments& arguments, std::span<const std::string_view> own) {
  for (const auto& [name, value] : arguments.flags) {
    if (name == "--nodes")
      return fail(name, "counts nodes of one machine, and --machine names GPUs of several", "leave it out");
    const Flag* flag = find_flag(run_flags(), name);
    const bool taken = std::ranges::find(own, name) != own.end() || (flag != nullptr && !flag->output);
    if (!taken && name != "--between")
      return fail(name, "is of one machine, and --machine names several",
          "leave it out, or one kind of machine: --machine NAME --gpus N");
  }
  return {};
}

}  // namespace

std::int64_t MixedRequest::gpus() const {
  return std::accumulate(shares.begin(), shares.end(), std::int64_t{0},
      [](std::int64_t sum, const MachineShare& share) { return sum + share.gpus; });
}

Expected<bool> asks_for_kinds(const Arguments& arguments) {
  if (arguments.has("--machine") && names_shares(arguments.value("--machine"))) return true;
  if (!arguments.has("--between")) return false;
  return fail("--between", "joins machines of several kinds, and there is one", "--machine dgx-h100:64,dgx-a100:64");
}

Arguments without_kinds(Arguments arguments) {
  for (const char* flag : {"--machine", "--between"}) arguments.flags.erase(flag);
  return arguments;
}

Expected<MixedRequest> read_kinds(const Arguments& arguments) {
  MixedRequest asked;
  TRY(asked.shares, parse_shares(arguments.value("--machine"), asked.where));
  if (asked.shares.size() < 2)
    return fail(asked.where, "names GPUs of one machine",
        fmt::format("--machine {} --gpus {}", asked.shares.front().name, asked.shares.front().gpus));
  if (arguments.has("--between")) {
    TRY(asked.between, parse_between(arguments.value("--between"), "--between"));
  }
  return asked;
}

Expected<MixedRequest> read_mixed(const Arguments& arguments, std::span<const std::string_view> own) {
  TRY(check_flags_of_kinds(arguments, own));
  TRY(auto asked, read_kinds(arguments));
  TRY(asked.request, read_request(without_kinds(arguments)));
  return asked;
}

}  // namespace stepcast::mixed
