#include "studies/infer/iteration_page.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/infer/infer_report.h"
#include "studies/infer/roofs.h"
#include "studies/print/digits.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"

namespace stepcast::infer {
namespace {

using print::CellKind, print::html_escaped, print::HtmlTable;

constexpr const char* style = R"css(
.bar{position:relative;display:block;height:1rem;min-width:8rem}
.bar i{position:absolute;top:.1rem;bottom:.1rem;min-width:1px;background:var(--dot);border-radius:2px}
.bar i.move{background:var(--out)}
)css";

/// From `start` on, in shares of the whole.
std::string bar(double start, double share, bool move = false) {
  const double left = std::clamp(start, 0.0, 1.0);
  return fmt::format("<span class=\"bar\"><i{} style=\"left:{:.2f}%;width:{:.2f}%\"></i></span>",
      move ? " class=\"move\"" : "", 100 * left, 100 * std::clamp(share, 0.0, 1 - left));
}

std::string figure(const std::string& value, const std::string& what) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", html_escaped(value), html_escaped(what));
}

std::string figures(const Asked& asked, const Answer& answer) {
  const Phase& phase = answer.phase;
  std::string text = figure(format_seconds(phase.time),
      fmt::format("{}, {} to {}", asked.phase, format_seconds(phase.time * phase.spread.p10),
          format_seconds(phase.time * phase.spread.p90)));
  text += figure(print::grouped_digits(words_per_gpu(asked, answer)), "tokens/s/GPU");
  if (const auto user = words_per_user(asked, phase)) text += figure(fmt::format("{:.1f}", *user), "tokens/s/user");
  text += figure(print::grouped_digits(static_cast<double>(answer.room.sequences)), "sequences that the cache holds");
  return "<div class=\"figures\">\n" + text + "</div>\n";
}

/// Each bar begins where the one above it ends.
std::string waterfall(const sim::IterationTime& shown) {
  HtmlTable table(
      "What an iteration waits for", {{"what", CellKind::word}, {"time"}, {"share"}, {"from the start on"}});
  double done = 0;
  for (const auto& [what, share] : bindings_of(shown)) {
    table.row({html_escaped(what), format_seconds(shown.time * share), format_percent(share), bar(done, share)});
    done += share;
  }
  return table.text();
}

/// The first of the layers that take the longest in all.
std::string layer_in_time(const Answer& answer) {
  const ServingCost cost(answer.serving);
  const auto slices = cost.in_order(answer.phase.shown_rows, answer.phase.shown);
  std::map<int, Seconds> of_block;
  for (const sim::IterationSlice& slice : slices) of_block[slice.block] += slice.time;
  const int block = std::ranges::max_element(of_block, {}, &std::pair<const int, Seconds>::second)->first,
            first = std::ranges::find(slices, block, &sim::IterationSlice::block)->layer;
  std::vector<sim::IterationSlice> layer;
  std::ranges::copy_if(
      slices, std::back_inserter(layer), [&](const sim::IterationSlice& slice) { return slice.layer == first; });
  HtmlTable table("One layer in time",
      {{"kernel or move", CellKind::word}, {"shape", CellKind::word}, {"time"}, {"from the layer's start on"}});
  const Seconds begin = layer.front().start, whole = layer.back().start + layer.back().time - begin;
  for (const sim::IterationSlice& slice : layer)
    table.row({html_escaped(slice.label), html_escaped(slice.shape), format_seconds(slice.time),
        bar((slice.start - begin) / whole, slice.time / whole, slice.is_move)});
  return table.text();
}

std::string kernels(const sim::IterationTime& shown) {
  HtmlTable table(
      "Kernels and collectives", {{"kernel or move", CellKind::word}, {"shape", CellKind::word}, {"calls"}, {"time"},
                                     {"share"}, {"", CellKind::word}, {"source", CellKind::word}});
  for (const sim::IterationPart& part : shown.parts)
    table.row({html_escaped(part.label), html_escaped(part.shape), fmt::format("{:.0f}", part.calls),
        format_seconds(part.time), format_percent(part.time / shown.time), bar(0, part.time / shown.time, part.is_move),
        to_text(part.source)});
  return table.text();
}

std::string memory(const Capacity& room) {
  HtmlTable table("Memory of one GPU", {{"what", CellKind::word}, {"bytes"}, {"share"}, {"", CellKind::word}});
  double done = 0;
  const auto add = [&](const char* what, double bytes) {
    const double share = bytes / room.memory;
    table.row({what, format_bytes(Bytes(bytes)), format_percent(share), bar(done, share)});
    done += share;
  };
  add("weights", room.weights), add("cache", room.cache), add("activations", room.activations);
  add("workspace, graphs and NCCL", room.reserved);
  add("left free by the engine", std::max(0.0, room.memory * (1 - done)));
  return table.text() + fmt::format("<p class=\"soft\">{} positions of {:.0f} bytes; {} sequences</p>\n",
                            print::grouped_digits(static_cast<double>(room.positions)), room.bytes_per_position,
                            print::grouped_digits(static_cast<double>(room.sequences)));
}

std::string roofs(const Answer& answer) {
  HtmlTable table("Kernels under the roofs of the datasheet",
      {{"kernel", CellKind::word}, {"shape", CellKind::word}, {"FLOP/B"}, {"FLOP/s"}, {"device memory"},
          {"roof", CellKind::word}, {"reached"}, {"", CellKind::word}});
  for (const RoofedKernel& kernel : roofed_kernels(answer.serving, answer.phase.shown))
    table.row({html_escaped(kernel.label), html_escaped(kernel.shape), fmt::format("{:.3g}", kernel.intensity),
        format_flops(kernel.compute), format_rate(kernel.memory), kernel.below_memory ? "memory" : "compute",
        format_percent(kernel.share), bar(0, kernel.share)});
  return table.text();
}

std::string remarks(const Answer& answer) {
  std::string text;
  for (const std::string& warning : warnings_of(answer))
    text += fmt::format("<p><b>warning</b>: {}</p>\n", html_escaped(warning));
  if (!answer.serving.assumptions.empty())
    text += fmt::format("<p class=\"soft\">Defaults and assumptions: {}</p>\n",
        html_escaped(fmt::format("{}", fmt::join(answer.serving.assumptions, ", "))));
  return text;
}

}  // namespace

std::string iteration_page(const Asked& asked, const Answer& answer) {
  const Serving& serving = answer.serving;
  const std::string title =
      fmt::format("{} on {} x {}", serving.network().name, serving.scenario.plan.gpus, serving.machine().gpu.name);
  const std::string head = fmt::format("<header>\n<h1>{}</h1>\n<p>{}, {}, {}</p>\n</header>\n", html_escaped(title),
      html_escaped(serving.engine.name), html_escaped(split_in_words(serving)), html_escaped(asked.phase));
  const std::string body =
      head + figures(asked, answer) + print::html_section("binds", "What binds", waterfall(answer.phase.shown)) +
      print::html_section("layer", "One layer in time", layer_in_time(answer)) +
      print::html_section("kernels", "Kernels and collectives of one iteration", kernels(answer.phase.shown)) +
      print::html_section("memory", "Memory", memory(answer.room)) +
      print::html_section("roofs", "Roofline", roofs(answer)) +
      print::html_section("remarks", "Warnings and assumptions", remarks(answer));
  return print::page_text({.mark = iteration_page_mark,
      .title = title + ": " + asked.phase,
      .style = style,
      .body = body,
      .data = "",
      .script = ""});
}

}  // namespace stepcast::infer
