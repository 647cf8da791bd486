// What the program carries: it and its data files are one build, so that a file that does not read is our mistake and
// not the user's.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/base/embedded.h"
#include "model/base/error.h"

namespace stepcast {

/// Says what is wrong with a carried file and ends the program.
[[noreturn]] void end_broken_build(const Error& error);

template <class T> T carried(Expected<T> value) {
  if (!value) end_broken_build(value.error());
  return std::move(*value);
}

/// The rows of all files of a folder, one file after another: read(text, "FOLDER/NAME").
template <class Row>
std::vector<Row> carried_rows(std::span<const EmbeddedFile> files, const std::string& folder,
    Expected<std::vector<Row>> (*read)(const std::string& text, const std::string& where)) {
  std::vector<Row> all;
  for (const EmbeddedFile& file : files)
    for (Row& row : carried(read(std::string(file.text), folder + "/" + std::string(file.name))))
      all.push_back(std::move(row));
  return all;
}

}  // namespace stepcast
