#include "studies/report/page_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/print/page/page.h"
#include "studies/roofline/draw/pictures.h"
#include "studies/timeline/memory_svg.h"

namespace stepcast::report {
namespace {

constexpr std::string_view dossier_style = R"css(
.share{position:relative;display:block;padding:0 .25rem}
.share i{position:absolute;left:0;top:0;bottom:0;background:var(--band);border-radius:2px}
.share span{position:relative}
pre{overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid var(--line);border-radius:6px;padding:.6rem;font-size:.85rem}
.warn{border-left:4px solid var(--out);padding:.1rem .8rem;margin:.8rem 0}
div.wide svg.wide{min-width:560px}
div.wide{overflow-x:auto}
@media print{div.wide{overflow:visible}div.wide svg.wide{min-width:0}}
)css";

}  // namespace

std::vector<HeadFigure> fit_figures(const MemoryReport& memory) {
  if (memory.fits) return {};
  return {{"does NOT fit", fmt::format("in memory: {} of {} on the fullest rank", format_bytes(memory.peak),
                               format_bytes(memory.capacity))}};
}

std::string head_figures(const std::vector<HeadFigure>& figures) {
  std::string text = "<div class=\"figures\">\n";
  for (const HeadFigure& figure : figures)
    text += fmt::format("<div><b>{}</b><span>{}</span></div>\n", html_escaped(figure.value), html_escaped(figure.what));
  return text + "</div>\n";
}

std::string run_title(const Dossier& dossier) {
  const RooflineReport& run = dossier.roofline;
  return fmt::format("{} on {} x {}", run.network, run.gpus, run.gpu);
}

std::string dossier_links(const Dossier& dossier, std::string_view current) {
  constexpr std::string_view front = "index.html", ending = ".html";
  std::string first, others;
  for (const DossierFile& file : dossier_files()) {
    if (!file.name.ends_with(ending) || (file.has != nullptr && !file.has(dossier))) continue;
    const bool is_front = file.name == front;
    const std::string_view shown = is_front ? "forecast" : file.name.substr(0, file.name.size() - ending.size());
    (is_front ? first : others) += file.name == current ? fmt::format("<a aria-current=\"page\"><b>{}</b></a>\n", shown)
                                                        : fmt::format("<a href=\"{}\">{}</a>\n", file.name, shown);
  }
  return "<nav aria-label=\"Report\">\n" + first + others + "</nav>\n";
}

std::string page_head(const Dossier& dossier, std::string_view title, std::string_view current) {
  return fmt::format("<header>\n{}<h1>{}</h1>\n<p>{}<br><span class=\"soft\">{}, {}</span></p>\n</header>\n",
      dossier_links(dossier, current), html_escaped(title), html_escaped(run_title(dossier)),
      html_escaped(in_words(dossier.scenario)), to_text(dossier.roofline.precision));
}

std::string static_page(
    const Dossier& dossier, std::string_view title, std::string_view current, const std::string& body) {
  return page_text({.mark = "report",
      .title = fmt::format("{}: {}", run_title(dossier), title),
      .style = std::string(picture_style()) + memory_svg_style() + std::string(dossier_style),
      .body = page_head(dossier, title, current) + body,
      .data = "",
      .script = ""});
}

std::string bar_cell(double share, const std::string& text) {
  return fmt::format("<span class=\"share\"><i style=\"width:{:.1f}%\"></i><span>{}</span></span>",
      100 * std::clamp(share, 0.0, 1.0), html_escaped(text));
}

}  // namespace stepcast::report
