#include "studies/print/shared_notes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::print {
namespace {

bool says(const NotesOf& one, const std::string& text) { return std::ranges::find(one.texts, text) != one.texts.end(); }

bool whole_group_says(const std::vector<NotesOf>& all, const std::string& group, const std::string& text) {
  return std::ranges::all_of(all, [&](const NotesOf& one) { return one.group != group || says(one, text); });
}

std::string who_says(const std::vector<NotesOf>& all, const std::string& text) {
  if (std::ranges::all_of(all, [&](const NotesOf& one) { return says(one, text); })) return "";
  std::vector<std::string> names;
  for (const NotesOf& one : all) {
    if (!says(one, text)) continue;
    const std::string& name = whole_group_says(all, one.group, text) ? one.group : one.name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<SharedNote> shared_notes(const std::vector<NotesOf>& all) {
  std::vector<SharedNote> notes;
  for (const NotesOf& one : all)
    for (const std::string& text : one.texts)
      if (std::ranges::find(notes, text, &SharedNote::text) == notes.end())
        notes.push_back({who_says(all, text), text});
  return notes;
}

std::string to_text(const SharedNote& note) {
  return note.of.empty() ? note.text : fmt::format("{}: {}", note.of, note.text);
}

std::vector<std::string> to_texts(const std::vector<SharedNote>& notes) {
  std::vector<std::string> texts;
  for (const SharedNote& note : notes) texts.push_back(to_text(note));
  return texts;
}

}  // namespace stepcast::print
