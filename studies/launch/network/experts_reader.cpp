// Experts of a launch: how many there are, how wide they are, and which layers have them.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "studies/launch/facts/expert_pattern.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

class ExpertsReader {
 public:
  ExpertsReader(const LaunchSubject& subject, const NetworkSpec* from)
      : subject_(subject), ask_(subject.answers), spec_(subject.out.network), from_(from) {}

  void read() {
    const std::int64_t count = ask_.count(Asked::experts, 0);
    const auto top_k = ask_.count(Asked::top_k), width = ask_.count(Asked::expert_ffn),
               shared = ask_.count(Asked::shared_ffn), mtp = ask_.count(Asked::mtp_layers);
    const auto layers = from_ == nullptr ? ask_.text_or_default(Asked::expert_layers) : ask_.text(Asked::expert_layers);
    const auto capacity = from_ == nullptr ? ask_.number_or_default(Asked::capacity) : std::nullopt;
    const bool drops = !subject_.is_on("disable_moe_token_dropping");
    const auto gate = ask_.flag(Asked::shared_gate), bias = ask_.flag(Asked::router_bias);
    spec_.mtp_layers = mtp.value_or(spec_.mtp_layers);
    Experts& experts = spec_.experts;
    if (count <= 1 && experts.count == 0) return;
    if (ask_.is_given(Asked::capacity)) experts.capacity_factor = rows_of_experts();
    // Megatron-DeepSpeed cuts to its capacity unless told
    else if (capacity && drops && count > 1) experts.capacity_factor = *capacity;
    if (count <= 1) return;
    experts.count = count;
    experts.top_k = top_k.value_or(experts.top_k > 0 ? experts.top_k : subject_.framework.top_k);
    experts.ffn_hidden = width.value_or(experts.ffn_hidden > 0 ? experts.ffn_hidden : spec_.ffn_hidden);
    experts.shared_ffn_hidden = shared.value_or(experts.shared_ffn_hidden);
    experts.shared_gate = gate.value_or(experts.shared_gate);
    experts.router_bias = bias.value_or(experts.router_bias);
    experts.latent = ask_.count(Asked::expert_latent).value_or(experts.latent);
    experts.groups = ask_.count(Asked::expert_groups).value_or(experts.groups);
    // one group is no choice among groups
    experts.top_groups = ask_.count(Asked::top_groups).value_or(experts.groups == 1 ? 1 : experts.top_groups);
    if (layers) expert_layers(*layers);
  }

 private:
  /// Over the mean. Megatron drops what is beyond the capacity and leaves fewer rows as they are, unless it pads them
  /// (core/transformer/moe/moe_utils.py, topk_softmax_with_capacity); other programs have as many places as they say.
  double rows_of_experts() {
    const double factor = ask_.number_or_default(Asked::capacity).value_or(0);
    const bool drops_alone = ask_.name(Asked::capacity) == "moe_expert_capacity_factor" &&
                             !subject_.is_on("moe_pad_expert_input_to_capacity");
    if (!drops_alone || factor < 1) return factor;
    subject_.note(fmt::format(
        "experts take up to {} times their mean of rows, and balanced ones have the mean: nothing is padded", factor));
    return 0;
  }

  /// A number n for every n-th layer, or a pattern. Megatron's n-th are the first of their group and ours the last,
  /// which only tells where the number of layers is no multiple.
  void expert_layers(const std::string& text) {
    Experts& experts = spec_.experts;
    const bool number = std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    experts.dense_layers = 0;
    if (number) return void(experts.every = std::max<std::int64_t>(1, std::atoll(text.c_str())));
    const auto pattern = read_expert_pattern(text);
    const auto layers = pattern ? expert_layers_of(*pattern) : std::nullopt;
    if (layers) {
      experts.dense_layers = layers->dense, experts.every = layers->every;
      return;
    }
    const auto first = pattern ? std::find(pattern->begin(), pattern->end(), 1) - pattern->begin() : 0;
    experts.dense_layers = first, experts.every = 1;
    subject_.note(fmt::format(
        "layers with experts '{:.40}' are not {}: forecast as {} dense layers and experts in all behind them", text,
        "dense ones in front and then every n-th", first));
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  NetworkSpec& spec_;
  const NetworkSpec* from_;
};

}  // namespace

void read_experts(const LaunchSubject& subject, const NetworkSpec* from) { ExpertsReader(subject, from).read(); }

}  // namespace stepcast::launch
