#include "studies/roofline/draw/plane.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "studies/print/page/svg_text.h"
#include "studies/print/scale.h"

namespace stepcast::roofline {
namespace {

/// "100 G", "1 T", "10 P"; powers no prefix reaches as they are.
std::string plane_y_tick(int power) {
  constexpr const char* prefixes[] = {"", " k", " M", " G", " T", " P", " E", " Z"};
  const int step = power / 3;
  if (power < 0 || step >= static_cast<int>(std::size(prefixes))) return fmt::format("1e{}", power);
  return fmt::format("1{}{}", std::string(static_cast<std::size_t>(power % 3), '0'), prefixes[step]);
}

/// "0.1", "1", "10", "1,000", "10 M".
std::string plane_x_tick(int power) {
  if (power < 0) return fmt::format("{:.{}f}", std::pow(10.0, power), -power);
  if (power >= 6) return plane_y_tick(power);
  std::string text = "1" + std::string(static_cast<std::size_t>(power), '0');
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

/// Lines at 2 to 9 times every power of ten, as one path.
std::string minor_lines(const Plane& plane) {
  std::string path;
  for (int factor = 2; factor < 10; ++factor) {
    for (int power = plane.frame.x_low; power < plane.frame.x_high; ++power)
      path += fmt::format("M{} {}V{}", svg_number(plane.x(factor * std::pow(10.0, power))), svg_number(plane.bottom()),
          svg_number(plane.top));
    for (int power = plane.frame.y_low; power < plane.frame.y_high; ++power)
      path += fmt::format("M{} {}H{}", svg_number(plane.left), svg_number(plane.y(factor * std::pow(10.0, power))),
          svg_number(plane.right()));
  }
  return "<path class=\"minor\" d=\"" + path + "\"/>\n";
}

std::string x_decades(const Plane& plane) {
  constexpr double least_room = 46;  ///< of a number
  const int every = plane.width / (plane.frame.x_high - plane.frame.x_low) < least_room ? 2 : 1;
  std::string text;
  for (int power = plane.frame.x_low; power <= plane.frame.x_high; ++power) {
    const double x = plane.x(std::pow(10.0, power));
    text += fmt::format(
        "<path class=\"decade\" d=\"M{0} {1}V{2}\"/><text class=\"mid tick\" x=\"{0}\" y=\"{3}\">{4}</text>\n",
        svg_number(x), svg_number(plane.bottom() + 5), svg_number(plane.top), svg_number(plane.bottom() + 19),
        (power - plane.frame.x_low) % every == 0 ? plane_x_tick(power) : "");
  }
  return text;
}

std::string y_decades(const Plane& plane) {
  std::string text;
  for (int power = plane.frame.y_low; power <= plane.frame.y_high; ++power) {
    const double y = plane.y(std::pow(10.0, power));
    text += fmt::format(
        "<path class=\"decade\" d=\"M{0} {1}H{2}\"/><text class=\"end tick\" x=\"{3}\" y=\"{4}\">{5}</text>\n",
        svg_number(plane.left - 5), svg_number(y), svg_number(plane.right()), svg_number(plane.left - 9),
        svg_number(y + 4), plane_y_tick(power));
  }
  return text;
}

}  // namespace

double Plane::x(double flops_per_byte) const {
  return left + width * LogScale{double(frame.x_low), double(frame.x_high)}.share(flops_per_byte);
}

double Plane::y(double flops_per_s) const {
  return top + height * (1 - LogScale{double(frame.y_low), double(frame.y_high)}.share(flops_per_s));
}

std::string plane_attributes(const Plane& plane) {
  const Frame& frame = plane.frame;
  return fmt::format(
      "data-x-low=\"{}\" data-x-high=\"{}\" data-y-low=\"{}\" data-y-high=\"{}\" data-left=\"{}\" data-top=\"{}\" "
      "data-width=\"{}\" data-height=\"{}\"",
      frame.x_low, frame.x_high, frame.y_low, frame.y_high, plane.left, plane.top, plane.width, plane.height);
}

std::string plane_grid(const Plane& plane, const std::string& x_name, const std::string& y_name) {
  const double middle = plane.top + plane.height / 2, name_x = plane.left - 52;
  return "<g class=\"plane\">\n" + minor_lines(plane) + x_decades(plane) + y_decades(plane) +
         fmt::format("<rect class=\"edge\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", svg_number(plane.left),
             svg_number(plane.top), svg_number(plane.width), svg_number(plane.height)) +
         fmt::format("<text class=\"mid axis-name\" x=\"{}\" y=\"{}\">{}</text>\n",
             svg_number(plane.left + plane.width / 2), svg_number(plane.bottom() + 38), svg_escaped(x_name)) +
         fmt::format("<text class=\"mid axis-name\" transform=\"translate({} {}) rotate(-90)\">{}</text>\n</g>\n",
             svg_number(name_x), svg_number(middle), svg_escaped(y_name));
}

}  // namespace stepcast::roofline
