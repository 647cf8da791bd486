// The table of values by which charts, operators and Ray tell an engine's settings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepcast::engines {

/// What becomes of a value.
enum class Means : std::uint8_t {
  value,      ///< --option VALUE
  yes_no,     ///< --option or --no-option
  yes_else,   ///< the same, and --no-option where nothing is said
  if_true,    ///< --option where it is true
  words,      ///< words of a command as they are, a list or one text
  options,    ///< each entry is an option of its own: tensor_parallel_size: 2
  variable,   ///< of the environment: option=VALUE
  zero_if_1,  ///< of the environment: option=0 where it is "1"
  variables,  ///< of the environment, by names and values
  store,      ///< keys and values go to a store of caches where it is true
  copies,
  scaled,         ///< copies from one number to another, where `option` is "" or a key that is true
  scaled_unless,  ///< the same without an end that is not told, or `replicas` where `option` is a key that is true
  one,            ///< copies are workers of one engine
  starts,         ///< nothing is started where it is false
  gpus,           ///< the kind of GPU
  held,           ///< how many of them its pod has
  several,        ///< its ranks may lie on more pods than one
  image,
  tag,
  refused,  ///< what is not followed, for the reason that `option` is
  nothing,
};
struct ValueRow {
  std::string_view path;  ///< "vllmConfig/maxModelLen", of the engine's part
  Means means = Means::nothing;
  std::string_view option = "";
};
struct ValuesForm {
  std::string_view mark;    ///< path whose value tells the model
  std::string_view other;   ///< one that tells it better; "": none
  std::string_view strict;  ///< parts whose entries are all known, parted by blanks; "." is the engine's part
  std::vector<ValueRow> rows;
  std::string_view container = "";           ///< that runs the engine: its path, or that of a list with one called main
  std::string_view needs = "", needed = "";  ///< a path and the value that it has in such a part; "": any
  std::string_view program = "vllm serve";   ///< that it starts
  std::string_view may_name = "";            ///< words that may name the model in place of `mark`; "": none do
};

const std::vector<ValuesForm>& value_forms();

}  // namespace stepcast::engines
