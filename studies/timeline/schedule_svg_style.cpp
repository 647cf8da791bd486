#include "studies/timeline/schedule_svg_style.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "studies/timeline/schedule_report.h"

namespace stepcast::timeline {
namespace {

using Rgb = std::array<int, 3>;

/// By ActionKind: shades run from the first to the last. Blue, vermilion, yellow and bluish green are hues that Okabe
/// and Ito chose for all kinds of colour vision (Color Universal Design, 2008); any two of these eight are at least 16
/// apart (CIE 1976 L*a*b*) as people without one of the three cones see them (Machado et al., IEEE TVCG 15(6), 2009).
struct KindColors {
  const char* name;
  Rgb first, last;
};
constexpr KindColors kind_colors[] = {{"forward", {143, 197, 240}, {20, 90, 190}},
    {"backward", {226, 120, 70}, {165, 60, 0}}, {"input gradient", {252, 238, 140}, {236, 196, 40}},
    {"weight gradient", {60, 170, 130}, {0, 105, 75}}};

Rgb shade(const KindColors& colors, int index, int count) {
  Rgb mixed{};
  const double share = count > 1 ? static_cast<double>(index) / (count - 1) : 0;
  for (std::size_t i = 0; i < mixed.size(); ++i)
    mixed[i] = static_cast<int>(std::lround(colors.first[i] + share * (colors.last[i] - colors.first[i])));
  return mixed;
}

/// Weights of red, green and blue in what the eye takes for brightness (ITU-R BT.709).
bool is_dark(const Rgb& color) { return 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2] < 125; }

constexpr const char* page_style =
    "rect{stroke:#fff;stroke-width:0.5}text{font:11px sans-serif;fill:#222}"
    ".title{font-size:15px;font-weight:bold}.end{text-anchor:end}.mid{text-anchor:middle}"
    ".strong{font-weight:bold}.paper{fill:#fff}.idle{fill:#e9e9ec}.held{fill:#8d8d99}"
    ".grid{stroke:#c4c4cc;stroke-width:0.6;fill:none}\n";
constexpr const char* dark_style =
    "@media (prefers-color-scheme:dark){rect{stroke:#17181c}text{fill:#ddd}.paper{fill:#17181c}"
    ".idle{fill:#2b2d34}.held{fill:#80828f}.grid{stroke:#474a55}}\n";

}  // namespace

const char* svg_kind_name(ActionKind kind) { return kind_colors[static_cast<int>(kind)].name; }

std::string svg_style(int shades) {
  std::string text = "<style>\n" + std::string(page_style) + dark_style;
  for (int kind = 0; kind < 4; ++kind) {
    const char letter = letter_of(static_cast<ActionKind>(kind));
    for (int i = 0; i < shades; ++i) {
      const Rgb color = shade(kind_colors[kind], i, shades);
      text += fmt::format(".{0}{1}{{fill:#{2:02x}{3:02x}{4:02x}}}"
                          ".t{0}{1}{{font-size:10px;text-anchor:middle;fill:{5}}}\n",
          letter, i, color[0], color[1], color[2], is_dark(color) ? "#fff" : "#111");
    }
  }
  return text + "</style>\n";
}

}  // namespace stepcast::timeline
