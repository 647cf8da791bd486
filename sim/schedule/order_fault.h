// What check_order() finds, for readers that know the place of each action in a file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "sim/schedule/order.h"

namespace stepcast::sim {

struct OrderFault {
  std::optional<std::size_t> at;  ///< the action in Order::actions that `what` is said of; none: the order as a whole
  std::string what, hint;
};

/// The first fault of the order; check_order() gives the same as an error.
tl::expected<void, OrderFault> find_fault(const Order& order);

/// The fault with its rank and action.
Error error_of(const OrderFault& fault, const Order& order);

}  // namespace stepcast::sim
