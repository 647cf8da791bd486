// Rows of launches/sources.json: a launch from somebody's documentation, restated, with what is known of it.
#pragma once

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch::testing_launch {

struct RestatedLaunch {
  std::string file, repository, path, at;       ///< ours; whose, where in it, tag or commit
  std::string flag, framework, release;         ///< what reads it; what it is; "" = newest
  std::map<std::string, std::string> defined;   ///< --define
  std::vector<std::string> words;               ///< behind --
  std::int64_t gpus = 0;                        ///< beside it, where it does not say so
  std::string network;                          ///< likewise
  std::map<std::string, std::string> beside;    ///< other flags
  std::map<std::string, std::string> expected;  ///< by key of a scenario file
  /// catalogue network of the same sizes, where it is not quite that one
  std::string like;
  std::string refused, not_covered;  ///< part of the error; why there is no forecast
  std::string notes;                 ///< part of a note that must be there
  bool lenient = false;              ///< refused unless --lenient says otherwise
};

inline void PrintTo(const RestatedLaunch& row, std::ostream* out) { *out << row.file; }

inline std::string launches_folder() { return std::string(STEPCAST_SOURCE_DIR) + "/tests/studies/launch/launches/"; }

inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::vector<RestatedLaunch> restated_launches(const std::string& sources = "sources.json") {
  const auto table = nlohmann::json::parse(text_of_file(launches_folder() + sources));
  std::vector<RestatedLaunch> rows;
  for (const auto& row : table.at("launches")) {
    RestatedLaunch out;
    out.file = row.at("file"), out.repository = row.at("repository"), out.path = row.at("path"), out.at = row.at("at");
    out.flag = row.at("flag"), out.framework = row.at("framework"), out.release = row.value("release", "");
    using Words = std::map<std::string, std::string>;
    out.defined = row.value("define", Words{}), out.beside = row.value("beside", Words{}),
    out.expected = row.value("expect", Words{});
    out.words = row.value("words", std::vector<std::string>{});
    out.gpus = row.value("gpus", std::int64_t{0});
    out.network = row.value("network", ""), out.like = row.value("like", "");
    out.refused = row.value("refused", ""), out.not_covered = row.value("not_covered", "");
    out.notes = row.value("notes", ""), out.lenient = row.value("lenient", false);
    rows.push_back(std::move(out));
  }
  return rows;
}

/// "megatron_sc21_table1_sh_530B": names of tests hold letters, digits and underscores.
inline std::string case_name(const RestatedLaunch& row) {
  std::string name = row.file;
  for (const auto& [variable, value] : row.defined) name += "_" + value;
  for (const std::string& word : row.words) name += "_" + word;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

inline Expected<Launch> read_restated(const RestatedLaunch& row) {
  LaunchSource source;
  const auto flags = launch_flags();
  source.flag =
      &*std::find_if(flags.begin(), flags.end(), [&](const LaunchFlag& flag) { return flag.flag == row.flag; });
  source.file = launches_folder() + row.file;
  source.words = row.words;
  source.defined = row.defined;
  source.words = row.words;
  source.release = row.release;
  for (const auto& [key, value] : row.beside)
    if (const RunField* field = find_field(key)) source.told.insert(field->id);
  return read_launch(source);
}

inline Expected<LaunchReading> restated_meaning(const RestatedLaunch& row, const Launch& launch) {
  LaunchHints hints;
  hints.gpus = row.gpus;
  if (const auto micro = row.beside.find("micro_batch"); micro != row.beside.end())
    hints.micro_batch = std::stoll(micro->second);
  for (const auto& [key, value] : row.beside)
    if (const RunField* field = find_field(key)) hints.told.insert(field->id);
  if (!row.network.empty()) {
    auto network = choose_network(row.network, "");
    if (!network) return tl::unexpected(network.error());
    hints.network = std::move(*network);
    hints.must_agree = false;
  }
  if (row.lenient) EXPECT_FALSE(read_meaning(launch, hints)) << row.file;
  hints.lenient = row.lenient;
  auto reading = read_meaning(launch, hints);
  if (!reading) return reading;
  for (const auto& [key, value] : row.beside) EXPECT_TRUE(reading->request.say(key, value, "--" + key));
  return reading;
}

}  // namespace stepcast::launch::testing_launch
