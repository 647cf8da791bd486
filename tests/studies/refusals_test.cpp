// Damaged files of every kind that people write or hand in: what is refused says where, what and what would work, in
// our own words and within a bounded length.
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/config/config_text.h"
#include "calibrate/import/importer.h"
#include "calibrate/import/logs/training_log.h"
#include "dataflow/notation/mapping.h"
#include "model/base/embedded.h"
#include "model/catalog.h"
#include "studies/records/embedded_runs.h"
#include "studies/records/run_record.h"
#include "studies/run/forecast.h"
#include "studies/run/nouns.h"
#include "studies/run/scenario_file.h"
#include "studies/sweep/space/space.h"
#include "studies/sweep/space/space_words.h"
#include "tests/trials.h"

namespace stepcast::studies {
namespace {

using Json = nlohmann::json;

/// What a reader answers to a text, but for what it read.
using Refusal = std::function<std::optional<Error>(const std::string& text)>;

template <class Read> Refusal refusal_of(Read read) {
  return [read](const std::string& text) -> std::optional<Error> {
    auto answer = read(text);
    return answer ? std::nullopt : std::optional(answer.error());
  };
}

/// A kind of file with texts that are read.
struct FileKind {
  std::string name;
  std::vector<std::string> texts;
  Refusal refusal;
  bool json = true;
};

std::vector<std::string> catalogue_texts(std::string_view folder) {
  std::vector<std::string> texts;
  for (const EmbeddedFile& file : embedded_catalog())
    if (file.name.starts_with(folder) && file.text.size() < 20'000) texts.emplace_back(file.text);
  return texts;
}

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(STEPCAST_SOURCE_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> file_texts(std::initializer_list<const char*> names) {
  std::vector<std::string> texts;
  for (const char* name : names) texts.push_back(file_text(name));
  return texts;
}

const std::vector<std::string> scenario_texts = {
    R"({"network": "llama3-8b", "machine": "dgx-h100", "gpus": 16, "tp": 2, "pp": 2, "zero": 1, "global_batch": 32,
"sequence": 4096, "recompute": "selective", "micro_batch": 1, "precision": "bf16", "schedule": "1f1b"})",
    R"({"network": "mixtral-8x7b", "machine": "dgx-a100", "stack": "megatron-core", "gpus": 64, "ep": 8, "pp": 2,
"global_batch": 128, "layout": "balanced"})",
    R"({"network": "llama3-8b", "gpus": 8, "mapping": ["mesh tp:8", "use tp, vocab"], "global_batch": 8})"};

std::vector<FileKind> file_kinds() {
  const auto space = [](const std::string& text) -> Expected<sweep::Space> {
    TRY(auto words, sweep::read_space_file(text, "f", std::nullopt));
    return sweep::read_space(std::move(words));
  };
  const auto scenario = [](const std::string& text) -> Expected<Scenario> {
    TRY(const auto request, run::read_scenario(text, "f"));
    return run::complete(request);
  };
  const auto timings = [](const std::string& text) { return calibrate::import_text(text, "f", "", {}); };
  std::vector<std::string> runs;
  for (const EmbeddedFile& file : records::embedded_runs()) runs.emplace_back(file.text.substr(0, 40'000));
  std::erase_if(runs, [](const std::string& text) { return !Json::accept(text); });
  runs.push_back(file_text("examples/measured_runs.json"));
  return {{"network", catalogue_texts("networks/"), refusal_of([](auto& text) { return read_network(text, "f"); })},
      {"gpu", catalogue_texts("gpus/"), refusal_of([](auto& text) { return read_gpu(text, "f"); })},
      {"machine", catalogue_texts("machines/"),
          refusal_of([](auto& text) { return run::read_checked_machine(text, "f"); })},
      {"stack", catalogue_texts("stacks/"), refusal_of([](auto& text) { return read_stack(text, "f"); })},
      {"profile", catalogue_texts("profiles/"), refusal_of([](auto& text) { return read_profile(text, "f"); })},
      {"scenario", scenario_texts, refusal_of(scenario)},
      {"space", file_texts({"examples/spaces/llama3-70b-64.json", "examples/spaces/calculon_overlap.json"}),
          refusal_of(space)},
      {"runs", runs, refusal_of([](auto& text) { return records::read_runs(text, "f"); })},
      {"mapping",
          file_texts({"examples/training_3d.flow", "examples/summa.flow", "examples/os_array.flow",
              "examples/timeloop_ws.yaml"}),
          refusal_of([](auto& text) { return dataflow::parse(text, "f"); }), false},
      {"timings",
          file_texts({"tests/fuzz/import_corpus/nvbench.json", "tests/fuzz/import_corpus/kineto.json",
              "tests/fuzz/import_corpus/google-benchmark.json", "tests/fuzz/import_corpus/measurements.json",
              "tests/fuzz/import_corpus/run.json"}),
          refusal_of(timings)},
      {"tables",
          file_texts({"tests/fuzz/import_corpus/whole-run.txt", "tests/fuzz/import_corpus/gemm.csv",
              "tests/fuzz/import_corpus/nsys.csv", "tests/fuzz/import_corpus/collectives.csv"}),
          refusal_of(timings), false},
      {"configuration",
          {"trainer:\n  devices: 8\nmodel: &m\n  layers: 4\nother:\n  <<: *m\n  lr: 1e-3\n",
              "[training]\nbatch = 8\nnames = [\"a\", 1]\n"},
          refusal_of([](auto& text) { return calibrate::read_config_arguments(text, "f"); }), false},
      {"training log", file_texts({"tests/fuzz/import_corpus/odd.txt"}),
          refusal_of([](auto& text) { return calibrate::read_training_log(text, "f"); }), false}};
}

class Damage {
 public:
  std::size_t below(std::size_t count) { return random_() % count; }

  /// One to three bytes replaced, dropped or doubled, or the end cut off.
  std::string of_bytes(std::string text) {
    for (std::size_t i = 0, times = 1 + below(3); i < times && !text.empty(); ++i) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0: text[at] = static_cast<char>(below(256)); break;
        case 1: text.erase(at, 1 + below(5)); break;
        case 2: text.insert(at, text.substr(at, below(40))); break;
        case 3: text.resize(below(20) == 0 ? at : text.size()); break;
        default: text[at] = "0123456789\"{}[],:-=.|*"[below(22)];
      }
    }
    return text;
  }

  /// Another value, of another type or out of range, a key that is missing, misspelled or too many.
  std::string of_values(const std::string& text) {
    Json json = Json::parse(text);
    Json* at = &json;
    while (at->is_structured() && !at->empty() && (at == &json || below(3) != 0)) {
      Json& parent = *at;
      auto child = parent.begin();
      std::advance(child, below(parent.size()));
      if (below(6) == 0) return change(parent, child), json.dump();
      at = &*child;
    }
    const std::vector<Json> others = {nullptr, true, -1, 0, 3, 1e300, 1.5, "", "seven", "-3 GB/s", "7 parsecs",
        "1e99 s", "llama3-8b", Json::array(), Json::array({1, "a"}), Json::object(), Json::object({{"a", 1}}),
        "Infinity", 1 << 30};
    *at = others[below(others.size())];
    return json.dump();
  }

 private:
  void change(Json& parent, Json::iterator child) {
    if (parent.is_array()) return void(below(2) == 0 ? parent.erase(child) : parent.insert(child, *child));
    const std::string key = child.key();
    const Json value = *child;
    const std::size_t way = below(3);
    if (way != 0) parent.erase(child);
    if (way == 0) parent["surprise"] = 1;
    if (way == 1) parent[key.substr(1) + "x"] = value;
  }

  std::mt19937 random_{7};
};

/// "" or what is wrong with a refusal.
std::string complaint_about(const Error& error) {
  if (error.where.empty()) return "no place";
  if (error.what.empty()) return "no words";
  if (error.hint.empty()) return "no hint";
  if (to_text(error).size() > 4000) return "too long";
  for (const char* raw : {"json.exception", "bad_alloc", "std::", "terminate", "basic_string", "nlohmann"})
    if (to_text(error).find(raw) != std::string::npos) return "words of a library";
  return {};
}

class Refusals : public testing::TestWithParam<std::size_t> {};

TEST_P(Refusals, say_where_what_and_what_would_work) {
  const FileKind kind = file_kinds()[GetParam()];
  ASSERT_FALSE(kind.texts.empty()) << kind.name;
  Damage damage;
  std::size_t refused = 0;
  std::set<std::string> complaints;
  const std::size_t all = trials<std::size_t>(1'000);
  for (std::size_t i = 0; i < all; ++i) {
    const std::string& text = kind.texts[damage.below(kind.texts.size())];
    const std::string wrong = kind.json && damage.below(3) != 0 ? damage.of_values(text) : damage.of_bytes(text);
    const auto error = kind.refusal(wrong);
    if (!error) continue;
    ++refused;
    if (const std::string complaint = complaint_about(*error); !complaint.empty())
      complaints.insert(complaint + ": " + error->where + ": " + error->what);
  }
  EXPECT_THAT(complaints, testing::IsEmpty()) << kind.name;
  EXPECT_GT(refused, all / 20) << kind.name;
}

INSTANTIATE_TEST_SUITE_P(Files, Refusals, testing::Range<std::size_t>(0, 13), [](const auto& info) {
  std::string name = file_kinds()[info.param].name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace stepcast::studies
