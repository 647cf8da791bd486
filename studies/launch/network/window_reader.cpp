// How far attention looks, and in which layers.
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/launch/facts/expert_pattern.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

class WindowReader {
 public:
  explicit WindowReader(const LaunchSubject& subject) : ask_(subject.answers), spec_(subject.out.network) {}

  /// "(127, 0)": keys before the query and behind it, its own apart; a single number counts its own. Which layers: a
  /// number n for full attention in every n-th, or a 1 for each layer with the window (Megatron-LM
  /// core/transformer/utils.py, is_layer_window_attention).
  void read() {
    const auto text = ask_.text(Asked::window), layers = ask_.text(Asked::window_layers);
    if (!text) return;
    const std::string_view inside = without_brackets(*text);
    const std::size_t comma = inside.find(',');
    const auto before = parsed_number<std::int64_t>(stripped(inside.substr(0, comma)));
    const auto behind = comma == inside.npos ? 0 : parsed_number<std::int64_t>(stripped(inside.substr(comma + 1)));
    constexpr std::int64_t longest = std::int64_t{1} << 30;
    if (is_switched_off(*text) || (before && *before < 0)) return void(spec_.window = {});
    if (!before || !behind || *behind > 0 || *before > longest)
      return ask_.refuse(Asked::window, fmt::format("the window '{:.40}' is none of ours", *text),
          "keys before the query, and none behind it: 4095,0");
    spec_.window = {comma == inside.npos ? *before : *before + 1, "w", false};
    if (layers && spec_.layers > 0) window_layers(*layers);  // without layers the launch is refused anyway
  }

 private:
  void window_layers(const std::string& text) {
    std::string& pattern = spec_.window.pattern;
    if (const auto every = parsed_number<std::int64_t>(text)) {
      if (*every < 1)
        return ask_.refuse(
            Asked::window_layers, fmt::format("full attention in every {}th layer", *every), "1 or more");
      if (*every <= spec_.layers) pattern = std::string(static_cast<std::size_t>(*every - 1), 'w') + "f";
      if (*every == 1) spec_.window = {};
      return;
    }
    const auto list = read_expert_pattern(text);
    if (!list)
      return ask_.refuse(Asked::window_layers, fmt::format("'{:.40}' is no list of layers", text), "[1]*5+[0]");
    pattern.clear();
    for (const int one : *list) pattern += one == 1 ? 'w' : 'f';
    if (static_cast<std::int64_t>(pattern.size()) != spec_.layers)
      return ask_.refuse(Asked::window_layers, fmt::format("{} layers of {}", pattern.size(), spec_.layers),
          "a 1 or 0 for each layer");
    if (pattern.find('w') == pattern.npos) spec_.window = {};
  }

  static std::string_view without_brackets(std::string_view text) {
    text = stripped(text);
    const bool brackets = text.size() > 1 && std::string_view("([").find(text.front()) != std::string_view::npos;
    return brackets ? text.substr(1, text.size() - 2) : text;
  }

  LaunchAnswers& ask_;
  NetworkSpec& spec_;
};

}  // namespace

void read_window(const LaunchSubject& subject) { WindowReader(subject).read(); }

}  // namespace stepcast::launch
