// Internal to hf: which number type the words of a file mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/network/hf/modules/left_wide.h"
#include "model/network/hf/modules/part_modules.h"

namespace stepcast::detail {

/// What a file says of its weights, method by method in its own words.
struct Said {
  std::string method;          ///< quant_method or quant_algo in lower case
  std::string kind;            ///< "int", "float" of compressed-tensors; "": not said
  std::int64_t bits = 0;       ///< 0: not said
  std::int64_t group = 0;      ///< numbers that share a scale; 0: a whole row or tensor
  std::int64_t scaled = 0;     ///< the same of AWQ and GPTQ, whose forms do not hang on it
  bool blocks = false;         ///< scales of blocks with two sides
  std::int64_t run = 0;        ///< numbers of a row that share a scale, said as a block of one row; 0: none are
  std::string experts_in;      ///< the number type of experts, where the file says another; "": as all
  bool narrow_inputs = false;  ///< products multiply what is as narrow
  bool several = false;        ///< groups of layers that differ
  bool sparse = false;         ///< two of four weights are left out
  bool head = false;           ///< the LM head is narrow, too
  std::int64_t layers = 0;     ///< of the network; 0: not said
  WideModules wide;
  HeldWeights held;      ///< by the same modules
  bool zeros = false;    ///< integers have a zero point beside each scale
  bool experts = false;  ///< the network has some
};

/// As --weights takes it; "": the words are those of no type of ours.
std::string_view stored_type(const Said& said);
/// Of experts alone: attention is wide by the type's name.
bool of_experts(std::string_view type);
/// Of an integer with its scale and zero point; 0: of other types.
double integer_bytes(const Said& said, std::string_view type);
/// "fp8 in blocks".
std::string in_words(const Said& said);

}  // namespace stepcast::detail
