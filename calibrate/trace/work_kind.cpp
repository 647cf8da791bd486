#include "calibrate/trace/work_kind.h"

#include <array>

#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
struct KindName { WorkKind kind; const char* text; };
constexpr KindName kind_names[] = {
    {WorkKind::gemm, "gemm"}, {WorkKind::grouped_gemm, "grouped gemm"}, {WorkKind::conv, "conv"},
    {WorkKind::attention, "attention"}, {WorkKind::norm, "norm and softmax"}, {WorkKind::elementwise, "elementwise"},
    {WorkKind::copy_layout, "copies of layout"}, {WorkKind::embedding, "embedding"}, {WorkKind::routing, "routing"},
    {WorkKind::scan, "scan"}, {WorkKind::optimizer, "optimizer"}, {WorkKind::unplaced, "unplaced"},
    {WorkKind::communication, "communication"}, {WorkKind::memcpy, "memcpy"}, {WorkKind::memset, "memset"}};
static_assert(std::size(kind_names) == work_kinds);

struct CollectiveWord { std::string_view part, kind; };
/// Without underscores, in lower case. AllGather's base form of PyTorch is an all-gather; all_to_all of NCCL's are
/// sends and receives, and its kernels say so.
constexpr CollectiveWord collective_parts[] = {
    {"reducescatter", "reduce_scatter"}, {"allreduce", "all_reduce"}, {"crossdevicereduce", "all_reduce"},
    {"lamport", "all_reduce"}, {"allgather", "all_gather"}, {"alltoall", "all_to_all"}, {"all2all", "all_to_all"},
    {"dispatch", "all_to_all"}, {"combine", "all_to_all"}, {"sendrecv", "send_recv"}, {"send", "send_recv"},
    {"recv", "send_recv"}, {"broadcast", "broadcast"}, {"barrier", "barrier"}, {"reduce", "reduce"}};
// clang-format on

}  // namespace

const char* to_text(WorkKind kind) {
  for (const KindName& row : kind_names)
    if (row.kind == kind) return row.text;
  return "?";
}

std::string_view collective_kind_in(std::string_view name) {
  std::string plain = lower_case(name);
  std::erase(plain, '_');
  for (const CollectiveWord& row : collective_parts)
    if (plain.find(row.part) != std::string::npos) return row.kind;
  return "collective";
}

}  // namespace stepcast::calibrate
