// The cells of PyTorch's action lists (pytorch_csv.h), before they mean an order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/order.h"

namespace stepcast::sim::pytorch {

// clang-format off
/// As written: what B stands for is the dialect's matter.
enum class Verb : std::uint8_t {
  forward, input_grad, backward, backward_weight, weight_grad,
  send_forward, receive_forward, send_backward, receive_backward,
  unshard, reshard, reduce_grad
};
// clang-format on
constexpr bool computes(Verb verb) { return verb <= Verb::weight_grad; }
constexpr bool carries(Verb verb) { return verb >= Verb::send_forward && verb <= Verb::receive_backward; }

struct CellStep {
  Verb verb = Verb::forward;
  bool with_next = false;  ///< first of a fused pair
  std::int32_t stage = 0;
  std::int32_t micro_batch = -1;
  std::int32_t rank = 0;  ///< row - 1
  std::int32_t column = 1;
};

struct Cells {
  std::string where;  ///< the file
  int ranks = 0;
  bool pauses = false;          ///< an empty cell before an action
  std::vector<CellStep> steps;  ///< in reading order
};

/// "file:row:column".
std::string place(const Cells& cells, const CellStep& step);
/// As in the file: "2RECV_F0".
std::string text_of(const CellStep& step);
/// An error at the step's cell: "cell '2F0' ...".
tl::unexpected<Error> refuse(const Cells& cells, const CellStep& step, const std::string& what, std::string hint = {});

/// Rows and cells; no rule between cells is checked.
Expected<Cells> read_cells(std::string_view text, const std::string& where);

/// pytorch_messages.cpp: sends, receives and parameter handling against the order that the computing cells gave.
Expected<void> check_messages(const Cells& cells, const Order& order);

/// pytorch_actions.cpp: one or two actions ("(7F4;0B0)OVERLAP_F_B") of a cell's text, appended to `out`.
Expected<void> read_action(std::string_view text, const std::string& where, CellStep at, std::vector<CellStep>& out);

}  // namespace stepcast::sim::pytorch
