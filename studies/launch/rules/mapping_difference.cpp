#include "studies/launch/rules/mapping_difference.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace stepcast::launch {
namespace {

using MappingWords = std::vector<std::string>;

MappingWords mapping_words(const std::string& line) {
  std::istringstream in(line);
  MappingWords words;
  for (std::string word; in >> word;) {
    while (!word.empty() && word.back() == ',') word.pop_back();
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> mapping_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Axes of more than one rank, of the mesh lines.
std::set<std::string> axes_of_mesh(const std::vector<std::string>& lines) {
  std::set<std::string> axes;
  for (const std::string& line : lines) {
    const MappingWords words = mapping_words(line);
    if (words.empty() || words.front() != "mesh") continue;
    for (const std::string& word : words)
      if (const std::size_t colon = word.find(':'); colon != word.npos && word.substr(colon + 1) != "1")
        axes.insert(word.substr(0, colon));
  }
  return axes;
}

/// Is one of the axes of "dp*cp" of more than one rank?
bool any_axis_splits(const std::string& product, const std::set<std::string>& axes) {
  std::istringstream in(product);
  for (std::string axis; std::getline(in, axis, '*');)
    if (axes.contains(axis)) return true;
  return false;
}

/// Does the line split or keep something on axes, all of them of size 1? One with a schedule says how many
/// micro-batches there are.
bool idle_line(const std::string& line, const std::set<std::string>& axes) {
  const MappingWords words = mapping_words(line);
  bool named = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "sched") return false;
    if (words[i] != "on") continue;
    named = true;
    if (any_axis_splits(words[i + 1], axes)) return false;
  }
  return named;
}

std::vector<std::string> speaking_lines(const std::string& text) {
  std::vector<std::string> lines = mapping_lines(text);
  const std::set<std::string> axes = axes_of_mesh(lines);
  std::erase_if(lines, [&](const std::string& line) { return idle_line(line, axes); });
  return lines;
}

void add_missing(std::vector<std::string>& found, const char* sign, const std::vector<std::string>& lines,
    std::vector<std::string> others) {
  for (const std::string& line : lines) {
    const auto same = std::find(others.begin(), others.end(), line);
    if (same != others.end()) others.erase(same);
    else found.push_back(sign + line);
  }
}

}  // namespace

std::vector<std::string> mapping_difference(const std::string& with, const std::string& without) {
  const std::vector<std::string> here = speaking_lines(with), there = speaking_lines(without);
  std::vector<std::string> found;
  add_missing(found, "+ ", here, there);
  add_missing(found, "- ", there, here);
  return found;
}

}  // namespace stepcast::launch
