// The time of an exchange of experts' rows between ranks, by the kernels of engines (EngineExchange).
#pragma once

#include <string_view>

#include "model/profile/collective_law.h"
#include "model/profile/profile.h"

namespace stepcast {

/// The law of these kernels for the query's direction and place (within a node or across nodes): at its rank count,
/// else at the nearest one. Kernels come from libraries that engines share: laws of software whose name begins so come
/// first, then those of others. nullptr: nobody timed the kernel in this place.
const EngineExchange* find_exchange(
    const Profile& profile, std::string_view software, ExchangeKernel kernel, const ExchangeQuery& query);

/// On one rank, from the call to its end. At rank counts that the law was not fitted on it is `transferred` and
/// `extrapolated`; beyond the tokens that were measured, too.
RatedTime exchange_time(const EngineExchange& law, const ExchangeQuery& query);

/// What a rank sends to others, or across nodes to other nodes, under this law.
Bytes sent_bytes(const EngineExchange& law, const ExchangeQuery& query);

}  // namespace stepcast
