// Colours and lines of the roofline's pictures, light and dark, and pictures as files.
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "studies/roofline/draw/picture_parts.h"
#include "studies/roofline/draw/pictures.h"

namespace stepcast::roofline {
namespace {

/// What does not depend on the scheme. Names begin with the picture's class, so that a page's own rules stay its own.
constexpr const char* picture_lines = R"css(
.picture text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
.picture .heading{font-size:14px;font-weight:700}
.picture .about{font-size:12px;font-weight:400}
.picture .mid{text-anchor:middle}
.picture .end{text-anchor:end}
.picture .strong{font-weight:700}
.picture .minor{fill:none;stroke-width:.5;stroke-opacity:.45}
.picture .decade{fill:none;stroke-width:.9}
.picture .edge{fill:none;stroke-width:1}
.picture .roof{fill:none;stroke-width:1.6;stroke-linecap:round}
.picture .roof.datasheet,.picture .roof.assumed{stroke-dasharray:7 5}
.picture .roof.assumed{stroke-dasharray:1.5 5}
.picture .roof.main,.picture .roof.memory,.picture .roof.link{stroke-width:2}
.picture .roof.quiet{stroke-width:1;stroke-opacity:.55}
.picture .roof.outside{stroke:none}
.picture .roof-label text,.picture .label,.picture .ridge-label{paint-order:stroke;stroke-width:3.5px;stroke-linejoin:round}
.picture .roof-label.main text{font-weight:700}
.picture .roof-label.quiet .leader{stroke-opacity:.5}
.picture .ground{fill-opacity:.78}
.picture .heap-ground{fill-opacity:.92;stroke-width:.8}
.picture .heap-edge{fill:none;stroke-width:.8;stroke-dasharray:2 3}
.picture .labels{pointer-events:none}
.picture .labels.l2,.picture .in-strip .arrow{display:none}
.picture .waiting{fill-opacity:.035}
.picture .corner{fill-opacity:.65;stroke-width:.8;stroke-dasharray:2 3}
.picture .leader{fill:none;stroke-width:.8}
.picture .ridge circle{stroke-width:1.6}
.picture .ridge .drop{fill:none;stroke-width:1;stroke-dasharray:1.5 4}
.picture .ridge.quiet circle{r:2px;stroke-width:.8}
.picture .ridge.quiet text,.picture .ridge.quiet .drop,.picture .ridge.quiet .leader{display:none}
.picture .mark{stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}
.picture .forecast{fill:currentColor;fill-opacity:.13}
.picture .measured{fill:currentColor;fill-opacity:.6}
.picture .measured .arrow,.picture .point .arrow,.picture .link-point .arrow{fill:currentColor;fill-opacity:1;stroke:none}
.picture .between{stroke:currentColor;stroke-width:1.2}
.picture .joined,.picture .joined-end{fill:none;stroke:currentColor;stroke-width:1;stroke-opacity:.4}
.picture .swatch{fill:currentColor;fill-opacity:.8;stroke:none}
.picture .loose .mark{fill:currentColor;fill-opacity:.35;stroke-width:.8;stroke-opacity:.8}
.picture .loose .arrow{fill:currentColor}
.picture .area-key{fill:none;stroke-width:1.4}
.picture .point,.picture .link-point,.picture .bar,.picture .crossing{cursor:default}
.picture .point:hover .forecast,.picture .link-point:hover .ring{fill-opacity:.35}
.picture .ring{fill:currentColor;fill-opacity:.1;stroke:currentColor;stroke-width:1.2;stroke-dasharray:3 2}
.picture .limits .ring{stroke-width:2;stroke-dasharray:none}
.picture .exposed{fill:currentColor;fill-opacity:.8;stroke:none}
.picture .bent{fill:none;stroke:currentColor;stroke-width:1;stroke-opacity:.6}
.picture .bent.quiet{stroke-opacity:.18}
.picture .bar rect,.picture .legend .bar rect{fill:currentColor}
.picture .bar .step-link{fill:none;stroke-width:.8}
.picture .end-line{fill:none;stroke-width:1.4;stroke-dasharray:2 4}
.picture .utilisation{fill:none;stroke-width:1.4}
.picture .whisker{fill:none;stroke-width:1.4}
.picture .cell{stroke-width:1}
.picture .limits .cell{stroke-width:2.6}
.picture .time-bar{fill:currentColor;fill-opacity:.7}
.picture .time-bar.assumed{fill-opacity:.28}
.picture .compute-tick{fill:none;stroke-width:1.2;stroke-dasharray:2 2}
.picture .small{font-size:11px}
)css";

struct PictureColor {
  const char *selector, *property, *light, *dark;
};

/// The hues are those that Okabe and Ito chose for all kinds of colour vision (Color Universal Design, 2008), their
/// yellow darker on white paper and their blue lighter on black; shapes and labels tell the marks apart without any.
constexpr PictureColor picture_colors[] = {
    {".paper,.picture .ground", "fill", "#fff", "#17181c"},
    {".waiting", "fill", "#000", "#fff"},
    {".corner", "fill", "#f7f8fa", "#1e2025"},
    {".corner,.picture .heap-edge,.picture .heap-ground", "stroke", "#8d929d", "#6b707b"},
    {"text", "fill", "#3c414c", "#bcc1cb"},
    {".heading,.picture .strong,.picture .label,.picture .ridge-label,.picture .main text", "fill", "#16181d",
        "#eceef2"},
    {".about,.picture .soft,.picture .quiet text", "fill", "#565b66", "#a7acb7"},
    {".minor,.picture .decade", "stroke", "#d9dce3", "#33363f"},
    {".edge", "stroke", "#8d929d", "#6b707b"},
    {".roof", "stroke", "#3c414c", "#c9cdd6"},
    {".roof.l2", "stroke", "#7b808b", "#8d929d"},
    {".roof-label text,.picture .label,.picture .ridge-label", "stroke", "#fff", "#17181c"},
    {".leader,.picture .ridge .drop,.picture .step-link,.picture .end-line", "stroke", "#74777f", "#9a9da6"},
    {".utilisation,.picture .whisker,.picture .area-key,.picture .compute-tick", "stroke", "#3c414c", "#c9cdd6"},
    {".ridge circle", "stroke", "#3c414c", "#c9cdd6"},
    {".ridge circle", "fill", "#fff", "#17181c"},
    {".legend,.picture .loose,.picture .point,.picture .link-point", "color", "#565b66", "#a7acb7"},
    {".cell", "stroke", "#d3d6dd", "#3b3e47"},
    {".cell", "fill", "#f7f8fa", "#1e2025"},
    {".limits .cell", "stroke", "#a53c00", "#f2a06b"},
    {".limit-word", "fill", "#a53c00", "#f2a06b"},
    {".time-bar", "color", "#7b808b", "#8d929d"},
    {".kind-attention,.picture .axis-cp,.picture .group-compute", "color", "#0067a8", "#5fb0e8"},
    {".kind-projection,.picture .axis-tp", "color", "#2f9fe0", "#9ad4f7"},
    {".kind-mlp,.picture .axis-dp,.picture .group-network", "color", "#c95300", "#f08a4b"},
    {".kind-experts,.picture .axis-ep,.picture .group-pipeline", "color", "#c98a00", "#f0b840"},
    {".kind-norm,.picture .axis-pp,.picture .axis-stage,.picture .group-memory", "color", "#00845f", "#36c79a"},
    {".kind-embedding,.picture .group-tail", "color", "#b4588f", "#e39cc6"},
    {".kind-loss", "color", "#948600", "#ece25a"},
    {".kind-optimizer,.picture .group-host", "color", "#3c414c", "#d6d9e0"},
    {".kind-other,.picture .axis-other", "color", "#858a95", "#9499a4"},
};

std::string colors_of(bool dark) {
  std::string text;
  for (const PictureColor& color : picture_colors)
    text += fmt::format(".picture {}{{{}:{}}}\n", color.selector, color.property, dark ? color.dark : color.light);
  return text;
}

/// A picture that stands in another one, `y` pixels below its top.
std::string placed(const std::string& svg, double y) {
  return fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", svg_number(y), svg);
}

double height_of(const std::string& svg) {
  constexpr std::string_view name = " height=\"";
  return std::stod(svg.substr(svg.find(name) + name.size(), 12));
}

}  // namespace

const char* picture_style() {
  // Printers get the light colours.
  static const std::string text =
      picture_lines + colors_of(false) + "@media screen and (prefers-color-scheme:dark){\n" + colors_of(true) + "}\n";
  return text.c_str();
}

std::string standalone_svg(const std::string& svg) {
  const std::size_t head = svg.find('>') + 1;
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg.substr(0, head) + "\n<style>" + picture_style() +
         "</style>" + svg.substr(head);
}

std::string roofline_svg(const RooflineReport& report) {
  std::string body;
  double bottom = 10;
  for (const std::string& svg :
      {kernel_roofline_svg(report), network_roofline_svg(report), waterfall_svg(report), boundaries_svg(report)}) {
    body += placed(svg, bottom);
    bottom += height_of(svg) + 24;
  }
  return standalone_svg(picture_element(
      "roofline", Sheet::wide, bottom, "Roofline report of " + report.network + " on " + report.machine, "", body));
}

}  // namespace stepcast::roofline
