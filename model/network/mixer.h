// A mixer: what mixes positions in a layer in place of attention (state-space models, linear attention, short
// convolutions). Each is a file of operators over named dims (model/network/mixers/*.json, or a part of a user's
// network file), so that a new one is data. No code here or above names any of them.
//
//   {"id": "mamba2", "name": "Mamba-2", "source": "arXiv 2405.21060",
//    "sizes": ["heads", "head_dim", "groups", "state", "taps", "chunk"],
//    "dims": {"u": "groups", "m": "heads / groups", "p": "head_dim", "n": "state", "w": "taps"},
//    "chunk": "chunk",
//    "operators": [
//      {"make": "dt b s u m", "by": "product", "from": ["x", "W.dt h u m"], "part": "in"},
//      {"make": "y", "by": "product", "from": ["O", "W.out u m p h"], "part": "out"}]}
//
// `sizes` are the numbers that a network states; dims are products and quotients of them. Dims b (sequences), s
// (positions) and h (hidden) are the network's. u counts the groups of heads that ranks share out (tp), m the heads of
// a group. Operators read `x` [b s h], the normed stream, and add to `y` [b s h]. A name with dims behind it that no
// operator makes is a weight. `part` groups operators: "in" is the tag mixer.in; neighbours of one part other than
// products run as one kernel.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "model/network/operator.h"

namespace stepcast {

/// A tensor as an operator of a form names it: "W.dt h u m".
struct MixerTensor {
  std::string name;
  std::vector<std::string> dims;
};

struct MixerOperator {
  MixerTensor output;
  std::string function;              ///< "product", or a row of the function table of operators
  std::vector<MixerTensor> inputs;   ///< dims are given for weights, and filled in for what was made before
  std::vector<std::string> whole{};  ///< loops that may not be split
  std::string part;                  ///< "in", "conv", "scan", "norm", "out"
};

/// What a mixer is, before anyone says how large.
struct MixerForm {
  std::string id, name, source;
  std::vector<std::string> sizes;
  std::vector<std::pair<std::string, std::string>> dims;  ///< name, formula: "heads / groups"
  std::string chunk;                                      ///< the size that says how long a chunk is; "": none
  std::vector<std::string> recompute;  ///< parts whose results backward makes again in place of keeping them
  std::vector<MixerOperator> operators;
};

/// A form with its sizes, as a network has it.
struct Mixer {
  std::shared_ptr<const MixerForm> form;  ///< none: the network has only attention
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  bool own = false;  ///< the form stands in the network's file

  explicit operator bool() const { return form != nullptr; }
  [[nodiscard]] std::int64_t size(const std::string& name) const;  ///< 0 where it has none of that name
  /// Extent of one of the form's dims; 0 where it has none of that name.
  [[nodiscard]] std::int64_t extent(const std::string& dim) const;
  [[nodiscard]] std::int64_t chunk() const;
};

/// The forms that ship with the program, by id.
Expected<std::shared_ptr<const MixerForm>> find_mixer_form(const std::string& id, const std::string& where);
std::vector<std::string> mixer_form_ids();

/// Checks a form as far as it can be without sizes: names, dims, operators in the order of the data.
std::shared_ptr<const MixerForm> read_mixer_form(JsonObject& file);

/// {"kind": "mamba2", "heads": 128, ...}, or {"form": {...}, ...} for one of the user's own.
Mixer read_mixer(JsonObject& file);
/// The same object under the key "mixer".
void write_mixer(JsonWriter& json, const Mixer& mixer);

/// A mixer of a form of the program with these sizes; the sizes must be the form's.
Mixer make_mixer(const std::string& id, std::vector<std::pair<std::string, std::int64_t>> sizes);

/// One number per weight tensor and head: elements of all weights, and of those that matrix products read.
struct MixerCounts {
  std::int64_t parameters = 0;
  double flops_per_token = 0;  ///< forward, of products and scans
};
/// Weights and FLOPs of one layer of a network so wide.
MixerCounts count_mixer(const Mixer& mixer, std::int64_t hidden);

}  // namespace stepcast
