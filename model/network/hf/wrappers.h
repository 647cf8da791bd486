// Classes that hold a text network of any family beside images or sound: where their files keep its config.
#pragma once

#include <string>
#include <vector>

#include "model/base/json_reader.h"

namespace stepcast::detail {

struct HfWrapper {
  const char* id;  ///< of its rows in the tables of known keys and of image encoders
  std::vector<const char*> architectures;
  const char* outer;          ///< key of the object that holds all parts; "": the file does
  const char* text;           ///< key of the text's config in it; "": the text's keys stand there themselves
  bool others_apart = false;  ///< keys around the text are those of its other parts, which are not counted
  const char* family = "";    ///< of the text; "": the text says it
};

/// The row whose class this is; nullptr: none.
const HfWrapper* wrapper_of(const std::string& architecture);

/// The family of a text config: by its architecture where that is known, else by its model_type. "": neither is known.
std::string family_of_text(JsonObject& text);

/// All their classes.
std::vector<std::string> wrapper_architectures();

/// Model types that family_of_text knows.
std::vector<std::string> known_text_types();

}  // namespace stepcast::detail
