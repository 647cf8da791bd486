// Memory as a page: by lifetime on the fullest rank, over time, and what one layer keeps.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/report/page_parts.h"
#include "studies/print/page/html_text.h"
#include "studies/run/figures/phases.h"
#include "studies/timeline/memory_svg.h"

namespace stepcast::report {
namespace {

std::string lifetimes_table(const MemoryReport& memory) {
  HtmlTable table("Memory by lifetime", {{"lifetime", CellKind::word}, {"bytes"}, {"share of the GPU"}});
  for (const LifetimeRow& row : lifetime_rows(memory)) {
    const double share = row.bytes / memory.capacity;
    table.row({html_escaped(row.name), format_bytes(row.bytes), bar_cell(share, format_percent(share))});
  }
  table.row({"peak", format_bytes(memory.peak),
      bar_cell(memory.peak / memory.capacity, format_percent(memory.peak / memory.capacity))});
  return table.text();
}

std::string stages_memory(const MemoryReport& memory, const StepReport& step) {
  HtmlTable table(
      "Memory by stage", {{"stage"}, {"kept the whole step", CellKind::number, "weights, gradients, optimizer"},
                             {"most micro-batches in flight"}});
  for (std::size_t rank = 0; rank < memory.always.size(); ++rank)
    table.row({fmt::format("{}", rank), format_bytes(memory.always[rank]),
        fmt::format("{}", step.timeline.peak_in_flight[rank])});
  return table.text();
}

constexpr std::array buffer_kinds = {
    "weight", "gathered weight", "gradient", "optimizer", "saved for backward", "temporary", "message"};
constexpr std::array buffer_lives = {"whole step", "whole step, shared", "per micro-batch in flight",
    "within the forward", "within the backward", "per block at work"};

static_assert(buffer_kinds.size() == static_cast<std::size_t>(BufferKind::message) + 1);
static_assert(buffer_lives.size() == static_cast<std::size_t>(Count::per_block_window) + 1);

std::string buffers_of(const ProgramBlock& block) {
  std::vector<const Buffer*> buffers;
  for (const Buffer& buffer : block.buffers)
    if (buffer.bytes.value() > 0) buffers.push_back(&buffer);
  std::stable_sort(
      buffers.begin(), buffers.end(), [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  HtmlTable table("Buffers of " + block.name,
      {{"tensor", CellKind::word}, {"what", CellKind::word}, {"lives", CellKind::word}, {"bytes"}});
  for (const Buffer* buffer : buffers)
    table.row({html_escaped(buffer->label), buffer_kinds[static_cast<std::size_t>(buffer->kind)],
        buffer_lives[static_cast<std::size_t>(buffer->count)], format_bytes(buffer->bytes)});
  return html_details(html_escaped(block.name), table.text());
}

std::string all_buffers(const Program& program) {
  std::string text;
  for (const ProgramBlock& block : program.blocks) text += buffers_of(block);
  return text;
}

}  // namespace

std::string memory_page(const Dossier& dossier) {
  const StepReport& step = dossier.prediction.step;
  const MemoryReport& memory = step.memory;
  const std::string verdict =
      memory.fits ? fmt::format("fits, {} free", format_bytes(memory.capacity - memory.peak))
                  : fmt::format("does NOT fit: {} too much", format_bytes(memory.peak - memory.capacity));
  const std::string body =
      head_figures({{format_bytes(memory.peak), fmt::format("peak on rank {}, the fullest", memory.rank)},
          {format_bytes(memory.capacity), "of one GPU: " + verdict},
          {format_bytes(memory.allocated), "in tensors: torch.cuda.max_memory_allocated"},
          {format_bytes(memory.reserved), "held by the allocator"}}) +
      html_section("lifetimes", fmt::format("By lifetime, on rank {}", memory.rank), lifetimes_table(memory)) +
      html_section("over-time", "Over the step, by rank",
          "<div class=\"wide\">" + memory_svg(dossier.scene) + memory_svg(dossier.scene, Sheet::narrow) +
              "</div>\n<p class=\"soft\">" + html_escaped(memory_caption(dossier.scene)) + "</p>\n") +
      html_section("by-stage", "By stage", stages_memory(memory, step)) +
      html_section("buffers", "Buffers of a block on one rank", all_buffers(dossier.prediction.program));
  return static_page(dossier, "Memory", "memory.html", body);
}

}  // namespace stepcast::report
