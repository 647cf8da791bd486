// How many documents a text of YAML has, before the library reads them. For the few files that include that library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace stepcast {

/// Where documents begin. The library hands out empty ones without end at a sign that begins no value (",a: 1"), so
/// they are counted before they are kept.
class YamlDocuments : public YAML::EventHandler {
 public:
  static constexpr int most = 16;
  /// The line of one too many; 0 where they end before. Throws what the library throws.
  static std::size_t too_many(const std::string& text) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    YamlDocuments documents;
    while (documents.count_ <= most && parser.HandleNextDocument(documents)) {
    }
    return documents.count_ > most ? documents.line_ : 0;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count_, line_ = static_cast<std::size_t>(std::max(0, mark.line)) + 1;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int count_ = 0;
  std::size_t line_ = 0;
};

}  // namespace stepcast
