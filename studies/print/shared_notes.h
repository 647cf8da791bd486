// Sentences that several forecasts say, each once, with the names of those that say it where others do not.
#pragma once

#include <string>
#include <vector>

namespace stepcast::print {

/// What one of them says.
struct NotesOf {
  std::string name, group;  ///< "8 x dgx-h100" of the group "dgx-h100"
  std::vector<std::string> texts;
};

struct SharedNote {
  std::string of;  ///< "" = all say it; a group's name stands for all of its members: "dgx-h100, 8 x dgx-a100"
  std::string text;
};
/// In the order in which they come first.
std::vector<SharedNote> shared_notes(const std::vector<NotesOf>& all);

/// "text", or "dgx-h100: text".
std::string to_text(const SharedNote& note);
std::vector<std::string> to_texts(const std::vector<SharedNote>& notes);

}  // namespace stepcast::print
