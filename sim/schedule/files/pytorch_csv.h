// The action lists of torch.distributed.pipelining (PyTorch, torch/distributed/pipelining/schedules.py, _Action and
// _load_csv) as Orders, and back. One row per rank in rank order, one action per cell: stage, kind, micro-batch, as in
// "2F0"; an empty cell is a pause. A fused pair is one cell: "(7F4;0B0)OVERLAP_F_B".
//
// Two dialects use the letter B differently. Today B is the fused backward and I its input gradient; older files
// (PyTorch's tests zb1p_2rank_2stagep_*.csv) write B for the input gradient and BW for the fused one. W is the weight
// gradient in both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/order.h"

namespace stepcast::sim {

enum class CsvDialect {
  detect,  ///< by what the file has: I or BW; else a B of which each has its W is the older input gradient
  today,   ///< F, I, W, B = I and W in one
  older    ///< F, B = input gradient, W, BW = both in one
};
/// "detect", "today", "older": the values of --csv-dialect.
Expected<CsvDialect> find_csv_dialect(const std::string& name);
const char* name_of(CsvDialect dialect);

struct CsvOptions {
  CsvDialect dialect = CsvDialect::detect;
  int slices = 1;  ///< of the sequence: the file numbers units, not micro-batches
};

struct CsvOrder {
  Order order;  ///< has passed check_order()
  CsvDialect dialect = CsvDialect::today;
  std::vector<std::string> notes;  ///< what was read and left out
};

/// Stages lie where the file has them. Sends, receives and the handling of parameters (UNSHARD, RESHARD, REDUCE_GRAD)
/// are checked against the computation and left out, with a note. Text that PyTorch's reader would skip after an action
/// is refused. Two directions are recognised by the micro-batches that pass each half of the stages. Errors name
/// file:row:column, both from 1, and the cell.
Expected<CsvOrder> read_pytorch_csv(std::string_view text, const std::string& where, const CsvOptions& options = {});

/// Today's compute-only form, without pauses.
std::string write_pytorch_csv(const Order& order);
/// The cells of a rank's row.
std::vector<std::string> pytorch_actions(const Order& order, int rank);

}  // namespace stepcast::sim
