#include "studies/serve/sweep/asked.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "model/base/whole_number.h"
#include "model/base/comma_list.h"
#include "studies/engines/positions/context_length.h"
#include "studies/infer/asked.h"

namespace stepcast::serve::sweeping {
namespace {

constexpr std::int64_t largest = 10'000'000;
constexpr std::size_t longest_list = 1000;
constexpr const char* list_hint = "8, 1,2,4, 1..8 or 1..64*2";

/// One item of a list: a number, or a range with a step or a factor.
Expected<void> add_counts(std::vector<std::int64_t>& counts, const std::string& item, const std::string& where) {
  const std::size_t dots = item.find("..");
  if (dots == std::string::npos) {
    TRY(const auto one, parse_count(item, where, 1, largest));
    counts.push_back(one);
    return {};
  }
  const std::size_t star = std::min(item.find('*', dots), item.size());
  TRY(const auto low, parse_count(item.substr(0, dots), where, 1, largest));
  TRY(const auto high, parse_count(item.substr(dots + 2, star - dots - 2), where, 1, largest));
  std::int64_t factor = 1;
  if (star < item.size()) {
    TRY(factor, parse_count(item.substr(star + 1), where, 2, largest));
  }
  if (low > high) return fail(where, fmt::format("'{:.40}' ends before it begins", item), list_hint);
  for (std::int64_t value = low; value <= high && counts.size() <= longest_list;
       value = factor > 1 ? value * factor : value + 1)
    counts.push_back(value);
  return {};
}

Expected<std::vector<double>> read_rates(const std::string& text, const std::string& where) {
  std::vector<double> rates;
  for (const std::string& item : comma_list(text)) {
    const auto rate = parsed_number<double>(item);
    constexpr double least = 1e-6, most = 1e6;
    if (!rate || !(*rate >= least && *rate <= most))
      return fail(where, fmt::format("'{:.40}' is no rate", item), "requests per second from 1e-6 to 1e6: 0.5,1,2,4");
    if (std::ranges::count(rates, *rate) > 0) return fail(where, fmt::format("{} twice", item), "each once");
    rates.push_back(*rate);
  }
  return rates;
}

Expected<std::vector<std::string>> words_of(const Arguments& arguments, const char* flag) {
  if (!arguments.has(flag)) return std::vector<std::string>{""};
  std::vector<std::string> words = comma_list(arguments.value(flag));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) return fail(flag, "an empty name in a list", "names with commas between them");
    if (std::find(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) !=
        words.begin() + static_cast<std::ptrdiff_t>(i))
      return fail(flag, fmt::format("{:.40} twice", words[i]), "each once");
  }
  return words;
}

Expected<std::vector<std::int64_t>> counts_of(
    const Arguments& arguments, const char* flag, std::vector<std::int64_t> absent) {
  return arguments.has(flag) ? read_counts(arguments.value(flag), flag) : absent;
}

Expected<void> read_law(const Arguments& arguments, Asked& asked) {
  for (const char* flag : {"--input", "--output"})
    if (!arguments.has(flag)) return fail(flag, "how long requests are is not said", fmt::format("{} 1024", flag));
  double& shortest = asked.shortest;
  if (arguments.has("--shortest")) {
    TRY(shortest, parse_fraction(arguments.value("--shortest"), "--shortest"));
  }
  asked.law.prompts = sim::lengths_of(std::stoll(arguments.value("--input")), shortest);
  asked.law.outputs = sim::lengths_of(std::stoll(arguments.value("--output")), shortest);
  if (asked.law.outputs.low < 2)
    return fail("--output", "requests of one word, behind which nobody waits for another",
        "2 tokens or more, also of the shortest");
  asked.law.shared = arguments.has("--shared") ? std::stoll(arguments.value("--shared")) : 0;
  if (asked.law.shared >= asked.law.prompts.low)
    return fail("--shared",
        fmt::format("{} of {} positions of a prompt are cached", asked.law.shared, asked.law.prompts.low),
        fmt::format("at most {}", asked.law.prompts.low - 1));
  asked.law.seed = arguments.has("--seed") ? static_cast<std::uint64_t>(std::stoll(arguments.value("--seed"))) : 0;
  return {};
}

Expected<void> read_loads(const Arguments& arguments, Asked& asked) {
  asked.closed = !arguments.has("--rate");
  if (!asked.closed && arguments.has("--concurrency"))
    return fail("--rate", "requests that come in more than one way", "one of --concurrency and --rate");
  if (!asked.closed) {
    TRY(asked.loads, read_rates(arguments.value("--rate"), "--rate"));
    return {};
  }
  TRY(const auto users, counts_of(arguments, "--concurrency", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}));
  asked.loads.assign(users.begin(), users.end());
  return {};
}

/// Splits of the pool of prompts are those of the words where nobody says others.
Expected<void> read_pools(const Arguments& arguments, Asked& asked) {
  const struct {
    const char* flag;
    std::vector<std::int64_t>* counts;
    std::vector<std::int64_t> absent;
  } lists[] = {{"--prefill-tp", &asked.prefill_tp, asked.tp}, {"--prefill-ep", &asked.prefill_ep, asked.ep},
      {"--prefill-dp-attention", &asked.prefill_attention_dp, asked.attention_dp},
      {"--prefill-replicas", &asked.prefill_replicas, {}},
      {"--prefill-most-sequences", &asked.prefill_most_sequences, {0}},
      {"--prefill-most-positions", &asked.prefill_most_positions, {0}}};
  constexpr const char* machine = "--prefill-machine";
  asked.pools = arguments.has("--pools") || arguments.has(machine) || arguments.has("--prefill-node-gpus");
  if (arguments.has(machine)) {
    TRY(asked.prefill_machines, words_of(arguments, machine));
    for (std::string& one : asked.machines) one = machine_name(one);  // nobody's word is the default's name
    if (arguments.has("--profile") && (asked.machines.size() > 1 || asked.prefill_machines != asked.machines))
      return fail("--profile", "one GPU's laws for pools on two kinds of machine", "without it: each has its default");
  }
  for (const auto& list : lists) {
    asked.pools = asked.pools || arguments.has(list.flag);
    TRY(*list.counts, counts_of(arguments, list.flag, list.absent));
  }
  return {};
}

/// Of each machine of either pool.
Expected<void> read_prices_of(const Arguments& arguments, Asked& asked) {
  TRY(asked.prices, read_prices(arguments.value("--price"), "--price"));
  std::vector<std::string> machines = asked.machines;
  machines.insert(machines.end(), asked.prefill_machines.begin(), asked.prefill_machines.end());
  for (const auto& [machine, price] : asked.prices)
    if (!machine.empty() && std::ranges::count(machines, machine) == 0)
      return fail(
          "--price", fmt::format("{:.40} is not asked for", machine), "machines of --machine or --prefill-machine");
  for (const std::string& machine : machines)
    if (!asked.prices.contains(machine) && !asked.prices.contains(""))
      return fail("--price", fmt::format("no price of {:.40}", machine), "one of each machine, or one for all");
  return {};
}

}  // namespace

Expected<std::vector<std::int64_t>> read_counts(const std::string& text, const std::string& where) {
  std::vector<std::int64_t> counts;
  for (const std::string& item : comma_list(text)) TRY(add_counts(counts, item, where));
  if (counts.size() > longest_list) return fail(where, "more than 1,000 values", "fewer");
  std::vector<std::int64_t> sorted = counts;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(where, fmt::format("{} twice", *twice), "each once");
  return counts;
}

Expected<std::map<std::string, double, std::less<>>> read_prices(const std::string& text, const std::string& where) {
  std::map<std::string, double, std::less<>> prices;
  for (const std::string& item : comma_list(text)) {
    const std::size_t sign = item.find('=');
    const std::string machine = sign == std::string::npos ? "" : item.substr(0, sign);
    const auto price = parsed_number<double>(sign == std::string::npos ? item : item.substr(sign + 1));
    if (!price || !std::isfinite(*price) || *price <= 0)
      return fail(where, fmt::format("'{:.40}' is no price", item),
          "US dollars per GPU and hour, 2.5, or of each machine: dgx-h100=2.5,dgx-b200=4");
    if (!prices.emplace(machine, *price).second)
      return fail(where, fmt::format("two prices{}{}", machine.empty() ? "" : " of ", machine), "each once");
  }
  return prices;
}

Expected<Asked> asked_of(const Arguments& arguments) {
  Asked asked;
  asked.network = arguments.words.at(0);
  asked.positions = engines::context_length(asked.network);
  asked.profile = arguments.value("--profile"), asked.products = arguments.value("--products");
  asked.exchange = arguments.value("--exchange");
  TRY(read_law(arguments, asked));
  TRY(read_loads(arguments, asked));
  TRY(asked.machines, words_of(arguments, "--machine"));
  TRY(asked.engines, words_of(arguments, "--engine"));
  TRY(asked.weights, words_of(arguments, "--weights"));
  TRY(asked.caches, words_of(arguments, "--kv"));
  if (!arguments.has("--gpus")) return fail("--gpus", "how many GPUs serve is not said", "--gpus 8");
  TRY(asked.gpus, counts_of(arguments, "--gpus", {}));
  std::vector<std::int64_t> doubling;  // inside a node of eight
  for (std::int64_t ways = 1; ways <= std::min<std::int64_t>(8, std::ranges::max(asked.gpus)); ways *= 2)
    doubling.push_back(ways);
  TRY(asked.tp, counts_of(arguments, "--tp", doubling));
  TRY(asked.pp, counts_of(arguments, "--pp", {1}));
  TRY(asked.ep, counts_of(arguments, "--ep", {1}));
  TRY(asked.attention_dp, counts_of(arguments, "--dp-attention", {1}));
  TRY(asked.replicas, counts_of(arguments, "--replicas", {}));
  TRY(asked.most_sequences, counts_of(arguments, "--most-sequences", {0}));
  TRY(asked.most_positions, counts_of(arguments, "--most-positions", {0}));
  TRY(infer::read_swapping(arguments, asked.batching));
  asked.swap_space = arguments.value("--swap-space");
  TRY(read_pools(arguments, asked));
  if (arguments.has("--node-gpus")) asked.node_gpus = std::stoll(arguments.value("--node-gpus"));
  if (arguments.has("--prefill-node-gpus"))
    asked.prefill_node_gpus = std::stoll(arguments.value("--prefill-node-gpus"));
  if (arguments.has("--slo")) {
    asked.slo = arguments.value("--slo");
    TRY(asked.targets, read_targets(asked.slo, "--slo"));
  }
  if (arguments.has("--price")) {
    TRY(read_prices_of(arguments, asked));
  }
  constexpr std::int64_t usual_simulated = 8, usual_top = 10;
  asked.simulated = arguments.has("--simulate") ? std::stoll(arguments.value("--simulate")) : usual_simulated;
  asked.top = arguments.has("--top") ? std::stoll(arguments.value("--top")) : usual_top;
  return asked;
}

}  // namespace stepcast::serve::sweeping
