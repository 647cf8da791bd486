// What a text of the notation becomes, or where and how it is refused.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {

inline MappingProgram read_program(const std::string& text) {
  Expected<MappingProgram> program = parse(text, "plan.flow");
  if (!program) ADD_FAILURE() << text << "\n" << to_text(program.error());
  return program ? *program : MappingProgram{};
}

/// The only statement of `text`.
template <typename Body> Body only_statement(const std::string& text) {
  const MappingProgram program = read_program(text);
  if (program.body.size() != 1) return ADD_FAILURE() << text, Body{};
  return std::get<Body>(std::get<Statement>(program.body[0]).body);
}

inline Error refusal_of(const std::string& text) {
  const Expected<MappingProgram> program = parse(text, "plan.flow");
  EXPECT_FALSE(program) << text << " was accepted";
  return program ? Error{} : program.error();
}

/// One wrong text, where it is reported and a part of what is said.
struct Refusal {
  std::string text, where, said;
};

inline void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    const Error error = refusal_of(refusal.text);
    EXPECT_EQ(error.where, refusal.where) << refusal.text;
    EXPECT_NE(to_text(error).find(refusal.said), std::string::npos) << refusal.text << "\n" << to_text(error);
  }
}

using NameList = std::vector<std::string>;

inline WrittenAccess plain_access(const std::string& tensor, const NameList& loops) {
  WrittenAccess access{tensor, {}};
  for (const std::string& loop : loops) access.indices.push_back({{{loop, 1}}});
  return access;
}

}  // namespace stepcast::dataflow
