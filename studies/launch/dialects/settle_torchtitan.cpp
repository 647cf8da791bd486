// torchtitan's Python: torchtitan/distributed/activation_checkpoint.py, torchtitan/components/quantization
#include <algorithm>

#include "model/base/text.h"
#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {
namespace {

Expected<void> check_converters(DialectWords& words) {
  constexpr std::string_view known[] = {"float8linear", "mxfp8linear", "nvfp4linear", "float8groupedexperts",
      "mxfp8groupedexperts", "float8groupedmm", "mxfp8groupedmm"};
  const GivenArgument* converters = words.last("model_spec.converters");
  if (converters == nullptr) return {};
  const std::string text = lower_case(converters->value);
  const auto front = [&](std::size_t at) { return std::string_view(text).substr(0, at); };
  for (std::size_t at = text.find("converter"); at != text.npos; at = text.find("converter", at + 1))
    if (std::none_of(
            std::begin(known), std::end(known), [&](std::string_view word) { return front(at).ends_with(word); }))
      return tl::unexpected(words.limit(*converters, "a conversion of the network that is not forecast"));
  for (std::size_t at = text.find("fqns="); at != text.npos; at = text.find("fqns=", at + 1)) {
    const std::string_view all = "fqns=[\"layers\"]", here = std::string_view(text).substr(at);
    if (!here.starts_with(all) && !front(at).ends_with("filter_"))
      return tl::unexpected(words.limit(*converters, "a conversion of some layers alone is not forecast"));
  }
  return {};
}

/// The function or class that makes the optimizer tells its rule; what it takes of the rest of the configuration says
/// nothing of the run.
void settle_optimizer(DialectWords& words) {
  std::erase_if(words.launch.arguments, [](const GivenArgument& given) {
    constexpr std::string_view section = "optimizer.";
    const std::string_view name = given.name;
    return name.starts_with(section) && !name.starts_with("optimizer.param_groups.") &&
           name.find('.', section.size()) != name.npos;
  });
  GivenArgument* maker = words.last("optimizer.class");
  if (maker == nullptr) return;
  const std::string text = lower_case(maker->value);
  if (text.find("muon") != text.npos) maker->value = "muon";
  else if (text.find("adamw") != text.npos) maker->value = "adamw";
  else if (text.find("optimizerscontainer") != text.npos) maker->value = words.value("optimizer.name", "adamw");
}

/// tyro's "--profiling.no-enable-profiling" turns profiling.enable_profiling off.
void settle_negations(DialectWords& words) {
  for (GivenArgument& given : words.launch.arguments) {
    const std::size_t part = given.name.rfind('.') + 1;
    const ArgumentTable& table = words.launch.framework->table();
    if (given.name.compare(part, 3, "no_") != 0 || given.value != "true" || table.find(given.name) != nullptr) continue;
    std::string name = given.name;
    name.erase(part, 3);
    if (table.find(name) != nullptr) given.name = std::move(name), given.value = "false";
  }
}

}  // namespace

Expected<void> settle_torchtitan(DialectWords& words) {
  settle_negations(words);
  if (GivenArgument* kind = words.last("activation_checkpoint.class")) {
    const std::string word = lower_case(kind->value);
    const bool selective = word.starts_with("selective");
    if (!selective && !word.starts_with("full"))
      return tl::unexpected(words.limit(*kind, "what it recomputes is not known here"));
    kind->value = selective ? "selective" : "full";
    if (selective) words.put("activation_checkpoint.policy", "op", "activation_checkpoint.class");
  }
  settle_optimizer(words);
  const GivenArgument* tokenizer = words.last("tokenizer.class");
  if (tokenizer != nullptr && lower_case(tokenizer->value).find("multimodal") != std::string::npos)
    return tl::unexpected(words.limit(*tokenizer, "networks that see images are not forecast"));
  const GivenArgument* parts = words.last("compile.components");
  if (parts != nullptr && parts->value.find("model") == std::string::npos && words.is_on("compile.enable")) {
    words.put("compile.enable", "false");
    words.note("compiled is only what compile.components names: the network runs operator by operator");
  }
  return check_converters(words);
}

}  // namespace stepcast::launch
