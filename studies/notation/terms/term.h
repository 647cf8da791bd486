// The terms that `stepcast explain` answers: rows of studies/notation/terms/*.json. A term says in both vocabularies
// which loop is split, which tensor moves and how much; where a small program can show it, the row states every
// collective that must follow with its formula, and a test places the program and compares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::notation {

/// One collective of the term's program. The formula's names are axes (their sizes) and tensors (bytes of the whole
/// one; dW, dI: of the gradient, 4 bytes per element for weights).
struct TermVolume {
  std::string pass, collective, tensor, axis, formula;
};

/// A formula with numbers, for terms that no placement shows.
struct TermExample {
  std::string result, formula, unit;
  double value = 0;  ///< a test computes it from the formula
  std::map<std::string, double> values;
};

struct Term {
  std::string id, name, group, file;
  std::vector<std::string> aliases;  ///< other names of the same
  std::vector<std::string> words;    ///< "Megatron: ...": how each field says it
  std::string what, loop, moves, memory, source;
  std::string trap, trap_source;
  std::vector<std::string> program;  ///< lines of the notation, on a mesh or on an architecture
  std::vector<TermVolume> volumes;   ///< all collectives of a mesh program; none = nothing moves
  std::string stationary;            ///< of an architecture program: its name in the Eyeriss taxonomy
  std::vector<TermExample> examples;
};

/// The terms by group, in the order of the files. The rows are part of the program: a wrong one is a broken build.
const std::vector<Term>& terms();

/// Finds a term by id, name or alias, whatever the case and punctuation. Errors name the nearest terms.
Expected<const Term*> find_term(const std::string& word);

/// Lower-case letters and digits only.
std::string normalised_term(const std::string& word);

/// One file's rows. Errors name file and pointer.
Expected<std::vector<Term>> read_terms(const std::string& text, const std::string& where);

}  // namespace stepcast::notation
