// Adapters that programs on Hugging Face's Trainer have where they are not told: their rank, and beside which
// projections.
#pragma once

#include <cstdint>
#include <string_view>

#include "studies/launch/dialects/dialect_words.h"

namespace stepcast::launch {

struct ProgramAdapters {
  std::string_view program;   ///< "train_lora.py"
  std::string_view argument;  ///< that the program has and others of its name do not; "" = none is needed
  std::string_view network;   ///< word of the network's name; "" = whichever
  std::int64_t rank;
  std::string_view projections;  ///< as --lora-on takes them
  /// "" or the parts that are trained whole beside them, where the network's name has no such word
  std::string_view trained, unless;
  std::string_view name, source;
};

/// The row of the launch's program and network; null where its program has no defaults of its own here.
const ProgramAdapters* adapters_of_program(DialectWords& words);
/// "" or the network's name in small letters, behind the last slash.
std::string network_word(DialectWords& words);

}  // namespace stepcast::launch
