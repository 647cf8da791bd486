// Reading drawings in tests: are they XML, which elements do they hold, with which attributes.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast::roofline::testing_svg {

struct SvgElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< directly inside, entities as written
  [[nodiscard]] std::string at(const std::string& name_of) const {
    const auto found = attributes.find(name_of);
    return found == attributes.end() ? "" : found->second;
  }
  [[nodiscard]] double number(const std::string& name_of) const { return std::strtod(at(name_of).c_str(), nullptr); }
  [[nodiscard]] bool has_class(const std::string& one) const {
    return (" " + at("class") + " ").find(" " + one + " ") != std::string::npos;
  }
};

struct SvgFile {
  std::string wrong;  ///< "" = well-formed XML
  std::vector<SvgElement> elements;
  [[nodiscard]] std::vector<SvgElement> of_class(const std::string& one) const {
    std::vector<SvgElement> found;
    for (const SvgElement& element : elements)
      if (element.has_class(one)) found.push_back(element);
    return found;
  }
};

inline bool are_entities_right(std::string_view text) {
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    bool known = false;
    for (const char* entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
      known = known || text.substr(at).starts_with(entity);
    if (!known) return false;
  }
  for (const char letter : text)
    if (static_cast<unsigned char>(letter) < 0x20 && letter != '\n' && letter != '\t') return false;
  return true;
}

/// The subset of XML that our pictures use: elements, attributes in double quotes, text.
inline SvgFile read_svg(std::string_view text) {
  SvgFile file;
  std::vector<std::size_t> open;
  const auto fail = [&](const std::string& what, std::size_t at) {
    file.wrong = what + " near: " + std::string(text.substr(at, 60));
    return file;
  };
  std::size_t at = text.starts_with("<?xml") ? text.find("?>") + 2 : 0;
  while (at < text.size()) {
    const std::size_t begin = text.find('<', at);
    const std::string_view between = text.substr(at, begin == std::string_view::npos ? text.size() - at : begin - at);
    if (!are_entities_right(between)) return fail("text", at);
    if (!open.empty()) file.elements[open.back()].text += between;
    if (open.empty() && between.find_first_not_of(" \n") != std::string_view::npos) return fail("text outside", at);
    if (begin == std::string_view::npos) break;
    at = begin + 1;
    if (text[at] == '/') {
      const std::size_t end = text.find('>', at);
      if (open.empty() || file.elements[open.back()].name != text.substr(at + 1, end - at - 1))
        return fail("closing tag", at);
      open.pop_back();
      at = end + 1;
      continue;
    }
    SvgElement element;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0)) element.name += text[at++];
    if (element.name.empty() || (open.empty() && !file.elements.empty())) return fail("tag", begin);
    while (at < text.size() && text[at] != '>' && text[at] != '/') {
      if (text[at] == ' ') {
        ++at;
        continue;
      }
      const std::size_t equals = text.find("=\"", at), end = text.find('"', equals + 2);
      if (equals == std::string_view::npos || end == std::string_view::npos) return fail("attribute", at);
      const std::string name(text.substr(at, equals - at)), value(text.substr(equals + 2, end - equals - 2));
      if (name.find_first_of(" <>\"&") != std::string::npos || value.find('<') != std::string::npos ||
          !are_entities_right(value))
        return fail("attribute", at);
      if (!element.attributes.emplace(name, value).second) return fail("twice: " + name, at);
      at = end + 1;
    }
    if (at >= text.size()) return fail("end of file", begin);
    const bool closed = text[at] == '/';
    if (closed && text[at + 1] != '>') return fail("tag", begin);
    at += closed ? 2 : 1;
    file.elements.push_back(element);
    if (!closed) open.push_back(file.elements.size() - 1);
  }
  if (!open.empty()) file.wrong = "not closed: " + file.elements[open.back()].name;
  return file;
}

struct SvgPlace {
  double x = 0, y = 0;
};

/// Of transform="translate(X Y)".
inline SvgPlace translation(const SvgElement& element) {
  const std::string text = element.at("transform");
  const std::size_t begin = text.find("translate(");
  if (begin == std::string::npos) return {};
  char* end = nullptr;
  const double x = std::strtod(text.c_str() + begin + 10, &end);
  return {x, std::strtod(end, nullptr)};
}

/// Sizes that no browser draws: below 0, infinite, not a number.
inline std::string impossible_size(const SvgFile& file) {
  for (const SvgElement& element : file.elements)
    for (const auto& [name, value] : element.attributes) {
      if ((name == "width" || name == "height" || name == "r") && value.starts_with('-'))
        return element.name + " " + name + "=" + value;
      const bool drawn = name == "d" || name == "x" || name == "y" || name == "r" || name == "transform" ||
                         name == "width" || name == "height" || name == "x1" || name == "x2" || name == "y1" ||
                         name == "y2";
      if (drawn && (value.find("nan") != std::string::npos || value.find("inf") != std::string::npos))
        return element.name + " " + name + "=" + value;
    }
  return {};
}

}  // namespace stepcast::roofline::testing_svg
