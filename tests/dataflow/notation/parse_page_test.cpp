// docs/notation.md against the parser: its programs parse, and its grammar shows every word that the parser knows.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {
namespace {

/// The fenced blocks of the page, in order.
std::vector<std::string> blocks_of_page() {
  std::ifstream file(std::string(STEPCAST_SOURCE_DIR) + "/docs/notation.md");
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

bool is_grammar(const std::string& block) { return block.find(":=") != std::string::npos; }

TEST(ParsePage, EveryProgramOfThePageParses) {
  int programs = 0;
  for (const std::string& block : blocks_of_page()) {
    if (is_grammar(block)) continue;
    const Expected<MappingProgram> program = parse(block, "page");
    EXPECT_TRUE(program) << block << (program ? "" : to_text(program.error()));
    ++programs;
  }
  EXPECT_GE(programs, 5);
}

TEST(ParsePage, TheGrammarShowsEveryKeyword) {
  std::string grammar;
  for (const std::string& block : blocks_of_page())
    if (is_grammar(block)) grammar += block;
  for (const std::string& word : notation_keywords())
    EXPECT_NE(grammar.find('"' + word + '"'), std::string::npos) << word << " is missing in docs/notation.md";
}

/// A production that is named on the right is defined on the left.
TEST(ParsePage, TheGrammarDefinesWhatItNames) {
  std::string grammar;
  for (const std::string& block : blocks_of_page())
    if (is_grammar(block)) grammar += block;
  for (const Token& token : tokenize(grammar)) {
    const std::string name(token.text);
    const bool lower = token.kind == TokenKind::name && name[0] >= 'a' && name[0] <= 'z';
    const std::size_t at = static_cast<std::size_t>(token.text.data() - grammar.data());
    const bool quoted = at > 0 && grammar[at - 1] == '"';
    if (!lower || quoted) continue;
    EXPECT_NE(("\n" + grammar).find("\n" + name + " "), std::string::npos) << name << " is never defined";
  }
}

}  // namespace
}  // namespace stepcast::dataflow
