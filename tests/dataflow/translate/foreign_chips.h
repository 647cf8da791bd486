// Other tools' files as counted chips, for tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataflow/chip/account/account.h"
#include "dataflow/chip/count/count.h"
#include "dataflow/translate/foreign.h"

namespace stepcast::dataflow {

struct CountedChip {
  ChipProgram chip;
  Counts counts;
  double cycles = 0;

  /// The counts of one tensor at one level; a failed test where there is no such thing.
  [[nodiscard]] const TensorCount& at(const std::string& level, const std::string& tensor) const {
    static const TensorCount none;
    for (std::size_t l = 0; l < chip.levels.size(); ++l)
      for (std::size_t t = 0; t < chip.tensors.size(); ++t)
        if (chip.levels[l].name == level && chip.tensors[t].name == tensor) return counts.at[l][t];
    ADD_FAILURE() << "no " << tensor << " at " << level;
    return none;
  }
};

inline CountedChip counted_chip(const ChipProgram& chip, Windows windows = Windows::exact) {
  CountedChip counted{chip, {}, 0};
  const auto nest = nest_of(chip, windows);
  EXPECT_TRUE(nest) << to_text(nest.error());
  if (!nest) return counted;
  count(*nest, counted.counts);
  counted.cycles = account(chip, counted.counts).cycles;
  return counted;
}

/// The files by a reader, then one operator counted.
inline CountedChip imported_chip(
    const std::string& format, const std::vector<SourceFile>& files, const std::string& op = "") {
  const auto imported = import_foreign(format, files);
  EXPECT_TRUE(imported) << to_text(imported.error());
  if (!imported) return {};
  const auto chip = chip_program(imported->program, op);
  EXPECT_TRUE(chip) << to_text(chip.error());
  return chip ? counted_chip(*chip, imported->windows) : CountedChip{};
}

/// "where: what (hint)" of a refused import, "" where it succeeds.
inline std::string import_error(const std::string& format, const std::vector<SourceFile>& files) {
  const auto imported = import_foreign(format, files);
  return imported ? "" : to_text(imported.error());
}

/// What a writer makes of a chip, read again; a failed test where one of them refuses.
inline ChipProgram there_and_back(
    const std::string& format, Expected<Exported> (*write)(const ChipProgram&), const ChipProgram& chip) {
  const auto out = write(chip);
  EXPECT_TRUE(out) << to_text(out.error());
  if (!out) return {};
  const auto files = out->files.empty() ? std::vector<SourceFile>{{"written", out->text}} : out->files;
  const auto back = import_foreign(format, files);
  EXPECT_TRUE(back) << to_text(back.error()) << "\n" << out->text;
  if (!back) return {};
  const auto again = chip_program(back->program, "");
  EXPECT_TRUE(again) << to_text(again.error()) << "\n" << out->text;
  return again ? *again : ChipProgram{};
}

}  // namespace stepcast::dataflow
