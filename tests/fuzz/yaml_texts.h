// Texts that look like YAML and go wrong: random bytes, aliases of aliases, endless tags, brackets without end.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace stepcast::testing_fuzz {

/// Pieces of YAML in random order, with other bytes in between.
inline std::string random_yaml(std::mt19937& random) {
  constexpr std::string_view pieces[] = {"a: ", "b:\n", "- ", "  ", "\n", "\n", "&x ", "*x", "&y [", "]", "{", "}",
      ", ", "<<: ", "!tag ", "!!int ", "!!binary |\n", "? ", ": ", "|\n", ">-\n", "\"", "'", "#", "---\n", "...\n",
      "%YAML 1.2\n", "%TAG ! ", "\t", "\\x", "\\u12", "~", "null", "1e999", "0x", "${a}", "@", "`", "architecture:\n",
      "problem:\n", "mapping:\n", "- target: ", "instance: ", "  version: 0.4\n", "\r\n", "\xEF\xBB\xBF", "\xFF",
      "\xC3"};
  std::string text;
  for (std::size_t i = 0, count = random() % 60; i < count; ++i) {
    if (random() % 12 == 0) text += static_cast<char>(random() % 256);
    else text += pieces[random() % std::size(pieces)];
  }
  return text;
}

/// Short texts that stand for very much, or that a reader may follow too deep.
inline std::string hostile_yaml(std::size_t which) {
  const auto repeated = [](std::string_view piece, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += piece;
    return all;
  };
  constexpr std::size_t deep = 20'000;
  switch (which) {
    case 0: {  // a billion of "lol"
      std::string text = "a0: &a0 [lol, lol]\n";
      for (int i = 1; i < 40; ++i)
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
                repeated("*a" + std::to_string(i - 1) + ", ", 9) + "x]\n";
      return text;
    }
    case 1: {  // the same by merge keys
      std::string text = "m0: &m0 {k: v}\n";
      for (int i = 1; i < 40; ++i)
        text += "m" + std::to_string(i) + ": &m" + std::to_string(i) + "\n  <<: [*m" + std::to_string(i - 1) + ", *m" +
                std::to_string(i - 1) + "]\n  k" + std::to_string(i) + ": *m" + std::to_string(i - 1) + "\n";
      return text;
    }
    case 2: return "a: &a [*a, *a]\n";
    case 3: return "a: &a {b: *a}\n";
    case 4: return "a: &a {<<: *a}\n";
    case 5: return "a: " + repeated("[", deep);
    case 6: return "a: " + repeated("{b: ", deep);
    case 7: return repeated("- ", deep);
    case 8: return repeated("? ", deep);
    case 9: return "a: !" + std::string(1 << 20, 't') + " 1\n";
    case 10: return "a: &" + std::string(1 << 20, 'n') + " 1\n";
    case 11: return repeated("---\n", deep);
    case 12: return "%TAG ! tag:" + repeated("x,", deep) + "\n---\n!a b\n";
    case 13: return "a: \"" + repeated("\\x", deep);
    case 14: return repeated("a:\n ", deep);
    case 15: return "x: &x " + std::string(1 << 20, 'b') + "\ny: [" + repeated("*x, ", 100) + "*x]\n";
    case 16: return repeated("&a ", deep);
    case 17: return repeated("!t ", deep);
    case 18: return repeated(",a: 1\n", deep);
    default: return repeated("*x: *x\n", deep);
  }
}
constexpr std::size_t hostile_yamls = 20;

}  // namespace stepcast::testing_fuzz
