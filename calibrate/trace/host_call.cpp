#include "calibrate/trace/host_call.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
struct HostCallRow { HostCallKind kind; std::string_view part; };
/// CUDA's and HIP's runtime and driver; PyTorch's DataLoader, .item() and checkpoints; Python's collector.
constexpr HostCallRow call_rows[] = {
    {HostCallKind::synchronisation, "Synchronize"}, {HostCallKind::synchronisation, "_local_scalar_dense"},
    {HostCallKind::loader, "DataLoader"}, {HostCallKind::loader, "dataloader"},
    {HostCallKind::garbage_collection, "Python GC"}, {HostCallKind::garbage_collection, "gc.collect"},
    {HostCallKind::garbage_collection, "built-in function collect"}, {HostCallKind::garbage_collection, "gc_collect"},
    {HostCallKind::checkpoint, "save_checkpoint"}, {HostCallKind::checkpoint, "torch/serialization.py"}};

struct HostCallText { HostCallKind kind; const char* text; };
constexpr HostCallText call_texts[] = {
    {HostCallKind::synchronisation, "synchronisations"}, {HostCallKind::loader, "the loader"},
    {HostCallKind::garbage_collection, "garbage collection"}, {HostCallKind::checkpoint, "checkpoints"}};
// clang-format on

}  // namespace

const char* to_text(HostCallKind kind) {
  for (const HostCallText& row : call_texts)
    if (row.kind == kind) return row.text;
  return "?";
}

std::optional<HostCallKind> host_call_of(std::string_view name) {
  for (const HostCallRow& row : call_rows)
    if (name.find(row.part) != std::string_view::npos) return row.kind;
  return std::nullopt;
}

}  // namespace stepcast::calibrate
