// A run on machines of several kinds, as it is asked for: --machine dgx-h100:64,dgx-a100:64.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "studies/cli/arguments.h"
#include "studies/mixed/shares.h"
#include "studies/run/request.h"

namespace stepcast::mixed {

struct MixedRequest {
  Request request;                   ///< says neither machine nor profile
  std::vector<MachineShare> shares;  ///< two and more
  std::optional<BetweenKinds> between;
  std::string where = "--machine";
  [[nodiscard]] std::int64_t gpus() const;
};

/// Does --machine name GPUs of machines? Error: it does not, and --between joins several.
Expected<bool> asks_for_kinds(const Arguments& arguments);

/// `own`: flags of the command that it takes on several kinds, too, beside those that say a run. Errors: other flags,
/// which are of one machine; one machine alone; --nodes.
Expected<MixedRequest> read_mixed(const Arguments& arguments, std::span<const std::string_view> own);

/// Without --machine and --between.
Arguments without_kinds(Arguments arguments);
/// Their machines and what joins them.
Expected<MixedRequest> read_kinds(const Arguments& arguments);

}  // namespace stepcast::mixed
