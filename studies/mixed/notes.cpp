#include "studies/mixed/notes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "studies/print/shared_notes.h"

namespace stepcast::mixed {
namespace {

/// What `of` tells of each kind.
template <class Of> std::vector<SharedNote> over_kinds(const MixedRun& run, const Of& of) {
  std::vector<NotesOf> all;
  for (const MixedKind& kind : run.kinds) {
    const std::string& name = kind.share.machine.row.name;
    all.push_back({name, name, of(kind)});
  }
  return shared_notes(all);
}

std::vector<MixedDefault> defaults_of(const MixedRun& run) {
  std::map<std::string, Assumption> by_text;
  const auto notes = over_kinds(run, [&](const MixedKind& kind) {
    std::vector<std::string> texts;
    for (const Assumption& one : kind.scenario.assumptions) {
      if (one.flag == flag_of(FieldId::profile)) continue;
      texts.push_back(fmt::format("{} {}", one.flag, one.value));
      by_text.emplace(texts.back(), one);
    }
    return texts;
  });
  std::vector<MixedDefault> defaults;
  for (const SharedNote& note : notes) defaults.push_back({by_text.at(note.text), note.of});
  return defaults;
}

void append(std::vector<std::string>& texts, const std::vector<std::string>& more) {
  for (const std::string& text : more)
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

/// Step warnings come last, and of these that of memory (sim/step/step_report.h).
std::ptrdiff_t memory_warnings(const StepReport& step) { return step.memory.fits ? 0 : 1; }

using Texts = std::vector<std::string>;

Texts without_memory(const Texts& warnings, std::size_t first, const StepReport& step) {
  return {warnings.begin() + static_cast<std::ptrdiff_t>(first), warnings.end() - memory_warnings(step)};
}

Texts of_memory(const Texts& warnings, const StepReport& step) {
  return {warnings.end() - memory_warnings(step), warnings.end()};
}

void add_doubts_of_stages(const MixedRun& run, MixedNotes& notes) {
  const Prediction& whole = run.prediction;
  const std::size_t read = run.kinds.front().scenario.warnings.size();  // they stand first, and each kind has its own
  append(notes.warnings, to_texts(over_kinds(run, [](const MixedKind& kind) { return kind.scenario.warnings; })));
  append(notes.warnings, without_memory(whole.warnings, read, whole.step));
  notes.lacking = of_memory(whole.warnings, whole.step);
}

void add_doubts_of_replicas(const MixedRun& run, MixedNotes& notes) {
  notes.warnings =
      to_texts(over_kinds(run, [](const MixedKind& kind) { return without_memory(kind.warnings, 0, *kind.replica); }));
  notes.lacking =
      to_texts(over_kinds(run, [](const MixedKind& kind) { return of_memory(kind.warnings, *kind.replica); }));
}

}  // namespace

std::vector<std::string> prediction_notes(const Prediction& prediction) {
  std::vector<std::string> texts;
  for (const Note& note : prediction.program.notes) texts.push_back(note.text);
  append(texts, prediction.step.notes);
  return texts;
}

MixedNotes notes_of(const MixedRun& run) {
  MixedNotes notes;
  notes.defaults = defaults_of(run);
  for (const MixedKind& kind : run.kinds)
    append(notes.notes,
        {fmt::format("rates of {}: {}", kind.scenario.machine.row.gpu.name, kind.scenario.profile.row.name)});
  append(notes.notes, {run.between});
  append(notes.notes, run.notes);
  append(notes.notes, to_texts(over_kinds(run, [](const MixedKind& kind) { return texts_of(kind.scenario.remarks); })));
  if (run.by_stage) append(notes.notes, prediction_notes(run.prediction));
  else append(notes.notes, to_texts(over_kinds(run, [](const MixedKind& kind) { return kind.notes; })));
  if (run.by_stage) add_doubts_of_stages(run, notes);
  else add_doubts_of_replicas(run, notes);
  return notes;
}

}  // namespace stepcast::mixed
