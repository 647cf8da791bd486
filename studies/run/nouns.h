// Nouns by name: a catalogue id or alias, or a JSON file of the user's own; for networks also a Hugging Face
// config.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/catalog.h"
#include "model/base/error.h"

namespace stepcast::run {

/// A catalogue row, or the user's own; `id` is empty for the latter.
template <typename Row> struct Chosen {
  Row row;
  std::string id;
  std::vector<std::string> notes = {};     ///< what a file of another program left open, and how it was read
  std::vector<NetworkPart> parts = {};     ///< of a network: what it has beside what the row describes
  std::vector<std::string> readings = {};  ///< what of the file is not forecast: stands above all figures
  std::vector<std::string> missing = {};   ///< layers of a network that are not forecast: `parts` is all of it
  std::vector<LayerCount> layers = {};     ///< and its layers
  std::optional<NetworkSpec> sound = {};   ///< of a network: the other encoder that may stand in front of its text
  std::string unseen = {};                 ///< why the encoder of images of its file is not in the row; "": it is
  std::string unheard = {};                ///< the same of its encoder of sound
};

/// What a network that was read has, part by part: "language" ("encoder" and "decoder"), "vision", ...,
/// "multi_token_prediction".
std::vector<NetworkPart> parts_of_network(const Chosen<NetworkSpec>& network);
/// All that a network has but modules for multi-token prediction: what `show` and forecasts print as its parameters.
std::int64_t parameters_of(const Chosen<NetworkSpec>& network);
/// Those of them that a token meets; nullopt: layers are missing, so that it is not known.
std::optional<std::int64_t> active_parameters_of(const Chosen<NetworkSpec>& network);

/// Whether a name on the command line means a file: it ends in ".json" or has the look of a path.
bool names_a_file(const std::string& name);

/// Whether a text is what `show network FILE --json` prints: a network with counts and notes around it. It stands for
/// the network.
bool is_shown_network(const std::string& text);

/// The catalogue's network with the same layers, whatever it is called; null: there is none.
const NetworkSpec* same_in_catalog(const NetworkSpec& network);

// `where` is the flag or key that named it, for errors about the name; errors in a file point into the file.
Expected<Chosen<NetworkSpec>> choose_network(const std::string& name, const std::string& where);
/// `as` names the family to read a Hugging Face config as ("llama"); "" goes by the config itself.
Expected<Chosen<NetworkSpec>> choose_network_as(
    const std::string& name, const std::string& where, const std::string& as);
/// The same for a look: also where layers are missing, which the others refuse.
Expected<Chosen<NetworkSpec>> look_at_network(const std::string& name, const std::string& where, const std::string& as);
Expected<Chosen<Machine>> choose_machine(const std::string& name, const std::string& where);
Expected<Chosen<Stack>> choose_stack(const std::string& name, const std::string& where);
Expected<Chosen<Engine>> choose_engine(const std::string& name, const std::string& where);
/// What forecasts of steps read of it; all of a file.
Expected<Chosen<Profile>> choose_profile(const std::string& name, const std::string& where);
/// With the laws and corrections of single kernels.
Expected<Chosen<Profile>> choose_kernel_profile(const std::string& name, const std::string& where);

/// What a machine of the user's own says that no price reads, and what is read instead: the profile has measured what
/// latencies and reductions in switches do. Empty where all of it is as the catalogue's machine of this id says.
std::vector<std::string> unpriced_words(const Machine& machine, const Profile& profile);

/// A machine as read, its fabric checked as a graph.
Expected<Machine> read_checked_machine(const std::string& text, const std::string& where);

}  // namespace stepcast::run
