// Files of a gate in a folder that only the running test has.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "tests/studies/run_program.h"

namespace stepcast::gate {

class GateFolder {
 public:
  GateFolder() : path_(testing_program::own_path("gate")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~GateFolder() { std::filesystem::remove_all(path_); }
  GateFolder(const GateFolder&) = delete;
  GateFolder& operator=(const GateFolder&) = delete;

  /// Writes a file and gives its path.
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = in(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  [[nodiscard]] std::string in(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(in(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

/// One case named "c" with these results in seconds and whatever must hold, as text of JSON.
inline std::string one_case(const std::string& values, const std::string& must, const std::string& more = "") {
  return R"({ "history": "h.sqlite", "cases": [ { "name": "c", )" + more +
         R"("result": { "from": "numbers", "unit": "s", "values": [)" + values + R"(] }, "must": )" + must + " } ] }";
}

/// Ten runs around a time, 0.1 % apart.
inline std::string ten_runs(double seconds) {
  std::string text;
  for (int i = 0; i < 10; ++i)
    text += (i == 0 ? "" : ", ") + fmt::format("{:.12g}", seconds * (1 + 0.001 * static_cast<double>(i * 7 % 10)));
  return text;
}

/// "baseline": ten runs of a second, and so much slower at most.
inline std::string held_to_a_second(const std::string& slower_by = "1 %") {
  return R"({ "baseline": { "slower_by": ")" + slower_by +
         R"(", "result": { "from": "numbers", "unit": "s", "values": [)" + ten_runs(1) + "] } } }";
}

}  // namespace stepcast::gate
