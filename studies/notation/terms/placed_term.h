// Places a term's own program by the same rules as any other: it says what moves and where tensors lie.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/notation/terms/term.h"

namespace stepcast::notation {

struct TermMove {
  std::string pass, collective, tensor, axis;
  double bytes = 0;  ///< received per rank
};

struct PlacedTerm {
  bool on_mesh = false;             ///< else on an architecture, or without a program
  std::vector<TermMove> moves;      ///< in order; local slices and masks left out
  std::string placements;           ///< in DTensor's words, "" for an architecture
  std::string names;                ///< what the program is called
  std::string stationary;           ///< of an architecture: its name in the Eyeriss taxonomy
  std::vector<std::string> counts;  ///< of an architecture: a line per level, cycles
};

/// The lines of a text without their ends.
std::vector<std::string> split_lines(const std::string& text);

/// Errors are those of the program: a test keeps the shipped terms free of them.
Expected<PlacedTerm> place_term(const Term& term);

}  // namespace stepcast::notation
