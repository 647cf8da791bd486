// The pictures of a roofline report as SVG: inside a page they take its styles, as files of their own they carry them.
//
// Marks that scripts and tests go by, the same inside and outside of a page:
//   <svg id="kernel-roofline" ...plane_attributes>, "network-roofline", "waterfall", "boundaries"; on narrow sheets
//   "kernel-roofline-narrow"
// <line|path class="roof compute|memory|link datasheet|burst|sustained|fitted|assumed" data-roof="N"> N: index in the
// JSON's list
// <g class="ridge" data-ridge="N"> <g class="point kind-mlp pass-backward [outside]" data-point="N"
// transform="translate(X Y)">
// holding <path class="mark forecast"> (hollow) and, where something was timed, <g class="mark measured"> (filled),
// which has a
// transform of its own; a point without FLOPs or beyond the frame stands at the frame's edge with an arrow, class
// "outside", those without FLOPs in the strip below the plane, class "in-strip";
//   <g class="labels" data-level="hbm|l2"> names by the bytes of a level: <g class="mark-label" data-points="N M">,
//   <g class="heap" data-points="N M"> a list of marks that lie on one another
//     "joined" lines lead from a point to its place by L2 bytes: <line class="joined" data-point="N">
// <g class="loose" data-loose="N"> <g class="link-point [limits]" data-link="N"> its area is its time, the filled part
// what is exposed
//   <path class="bent" data-link="N">      the link's roof with the latency of this collective's calls
//   <g class="bar group-network" data-bar="N">
//   <g class="crossing" data-operator="N" data-boundary="M">
#pragma once

#include <string>

#include "studies/print/page/svg_text.h"
#include "studies/roofline/draw/plane.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

Plane kernel_plane(const RooflineReport& report, Sheet sheet = Sheet::wide);
Plane network_plane(const RooflineReport& report, Sheet sheet = Sheet::wide);

std::string kernel_roofline_svg(const RooflineReport& report, Sheet sheet = Sheet::wide);
std::string network_roofline_svg(const RooflineReport& report, Sheet sheet = Sheet::wide);
std::string waterfall_svg(const RooflineReport& report, Sheet sheet = Sheet::wide);
/// The heaviest operators, one row each, a column per boundary.
std::string boundaries_svg(const RooflineReport& report, Sheet sheet = Sheet::wide);

/// A picture for wide screens and for phones.
template <typename Draw> std::string on_both_sheets(const Draw& draw, const RooflineReport& report) {
  return draw(report, Sheet::wide) + draw(report, Sheet::narrow);
}

/// Radius in pixels: area by share of the step, not below what can be pointed at.
double mark_radius(double share);

/// Style rules of all pictures, light and dark: in a page once, in a file of its own inside it.
const char* picture_style();
/// `svg` as a file: XML head, picture_style() inside.
std::string standalone_svg(const std::string& svg);
/// All four below each other, as one file.
std::string roofline_svg(const RooflineReport& report);

}  // namespace stepcast::roofline
