// Heading, pictures and tables that stand without script, and behind them the view that can be zoomed.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"
#include "studies/timeline/memory_svg.h"
#include "studies/timeline/page.h"

namespace stepcast::timeline {
namespace {

std::string timeline_card(const std::string& value, const std::string& words) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", value, words);
}

std::string timeline_share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

/// What rounding leaves of nothing is nothing.
std::string timeline_time(double seconds) { return seconds > 1e-12 ? format_seconds(Seconds(seconds)) : "0 s"; }

std::string gpus_text(const StepScene& scene) {
  const auto ranks = static_cast<std::size_t>(scene.order->ranks),
             alike = static_cast<std::size_t>(scene.ranks_per_stage);
  std::string text = html_plural(ranks, "pipeline rank", "pipeline ranks");
  if (alike > 1)
    text += fmt::format(
        "{} for {} GPUs that do the same", ranks > 1 ? ", each" : "", html_count(static_cast<double>(alike)));
  return text + ", " +
         html_plural(static_cast<std::size_t>(scene.order->micro_batches), "micro-batch", "micro-batches");
}

std::string timeline_head(const StepScene& scene) {
  const Timeline& timeline = *scene.timeline;
  const RankSums slowest =
      rank_sums(scene)[static_cast<std::size_t>(std::clamp(scene.slowest_stage, 0, scene.order->ranks - 1))];
  return fmt::format("<header>\n<h1>Timeline of one training step</h1>\n<p id=\"run\">{}</p>\n<p class=\"soft\">A "
                     "forecast: {}.</p>\n",
             html_escaped(scene.title), gpus_text(scene)) +
         "<div class=\"figures\">\n" +
         (scene.too_much.empty() ? "" : timeline_card("does NOT fit", html_escaped(scene.too_much))) +
         timeline_card(format_seconds(Seconds(scene.end)), "step time") +
         timeline_card(format_seconds(timeline.makespan), "of it in the pipeline") +
         timeline_card(
             format_percent(timeline.bubble_fraction()), "bubble: idle share of the pipeline, over all ranks") +
         timeline_card(fmt::format("{} {}", html_escaped(rank_word_of(scene)), scene.slowest_stage),
             fmt::format("is the slowest; its kernels compute {} of the step",
                 timeline_share(slowest.forward + slowest.backward, scene.end))) +
         "</div>\n</header>\n";
}

/// The script fills in what is of the window; without it the whole step stands there.
std::string window_table(const StepScene& scene) {
  HtmlTable table("Where the time of each rank goes",
      {{"pipeline rank", CellKind::word}, {"forward", CellKind::number, "kernels of forward passes"},
          {"backward", CellKind::number, "kernels of backward passes, recompute among them"},
          {"waiting", CellKind::number, "kernels that wait for moves"},
          {"held by sends", CellKind::number,
              "between actions, by sends to and from other stages that nothing may overlap"},
          {"bubble", CellKind::number, "between actions, with nothing to do"},
          {"around the pipeline", CellKind::number, "phases before and after it"},
          {"computing", CellKind::number, "forward and backward, of the window"}});
  const std::vector<RankSums> sums = rank_sums(scene);
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    const RankSums& sum = sums[rank];
    table.row({fmt::format("{} {}", html_escaped(rank_word_of(scene)), rank), timeline_time(sum.forward),
        timeline_time(sum.backward), timeline_time(sum.waiting), timeline_time(sum.held), timeline_time(sum.bubble),
        timeline_time(sum.around), timeline_share(sum.forward + sum.backward, scene.end)});
  }
  return table.text();
}

std::string phases_table(const StepScene& scene) {
  if (scene.around.empty()) return "";
  HtmlTable table(
      "Phases around the pipeline", {{"phase", CellKind::word}, {"begins"}, {"takes"}, {"share of the step"}});
  for (const SceneStretch& stretch : scene.around) {
    const double time = stretch.end - stretch.start;
    table.row({html_escaped(stretch.name), timeline_time(stretch.start), timeline_time(time),
        timeline_share(time, scene.end)});
  }
  return html_section("around", "Before and after the pipeline", table.text());
}

std::string timeline_key(const StepScene& scene) {
  constexpr std::string_view classes[] = {"forward", "backward", "input", "weight"};
  constexpr std::string_view names[] = {"forward", "backward", "input gradient", "weight gradient"};
  bool used[4] = {};
  for (const Action& action : scene.order->actions) used[static_cast<std::size_t>(action.kind)] = true;
  std::string text = "<p class=\"legend\">";
  for (std::size_t kind = 0; kind < 4; ++kind)
    if (used[kind]) text += fmt::format("<span><i class=\"swatch {}\"></i>{}</span> ", classes[kind], names[kind]);
  if (!scene.around.empty()) text += "<span><i class=\"swatch step\"></i>around the pipeline</span> ";
  return text + "<span><i class=\"swatch idle\"></i>idle</span></p>\n";
}

std::string pipeline_section(const StepScene& scene) {
  const TimelinePicture picture = timeline_picture(scene);
  return html_section("pipeline", "The pipeline in one picture",
      fmt::format(
          "<figure>{}<figcaption>{}{}</figcaption></figure>\n", picture.svg, timeline_key(scene), picture.caption));
}

std::string memory_section(const StepScene& scene) {
  const std::string chart = embedded_uplot().empty() ? "" : "<div id=\"memory-chart\" hidden></div>\n";
  return html_section("memory", "Memory over time",
      fmt::format("{}<figure id=\"memory-picture\">{}</figure>\n<p class=\"soft\">{}</p>\n", chart,
          memory_svg(scene) + memory_svg(scene, Sheet::narrow), memory_caption(scene)));
}

std::string uplot_licence() {
  const auto files = embedded_uplot();
  return files.empty() ? "" : "/*\n" + texts_ending_with(files, "LICENSE") + "*/\n";
}

}  // namespace

std::string timeline_page(const StepScene& scene) {
  const auto files = embedded_timeline();
  const auto chart = embedded_uplot();
  return page_text({.mark = "timeline",
      .title = fmt::format("{}: timeline of a step", scene.title),
      .style = texts_ending_with(files, ".css") + memory_svg_style() + texts_ending_with(chart, ".css"),
      .body = timeline_head(scene) + texts_ending_with(files, ".html") +
              html_section("window", "Where the time goes",
                  "<p id=\"window-said\" aria-live=\"polite\">Over the whole step.</p>\n<div id=\"window-table\">" +
                      window_table(scene) + "</div>\n") +
              pipeline_section(scene) + memory_section(scene) + phases_table(scene),
      .data = timeline_data(scene),
      .script = uplot_licence() + texts_ending_with(chart, ".js") + "\n" + texts_ending_with(files, ".js")});
}

}  // namespace stepcast::timeline
