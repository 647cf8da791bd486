#include "studies/engines/pools/pools_load.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/engines/pools/recipe_variants.h"

namespace stepcast::engines {
namespace {

/// Keys of a section. `kind` is the key whose value must be `of_kind`. Lengths are uniform from a share of the nominal
/// one to the whole, and of each user there are so many requests.
struct LoadForm {
  std::string_view kind, of_kind;
  std::string_view input, output, users, rate;
  std::string_view shortest;
  double usual_shortest;
  std::string_view rounds;
  std::int64_t usual_rounds;
};
constexpr LoadForm load_forms[] = {
    // NVIDIA/srt-slurm@024aa2dc6d: src/srtctl/benchmarks/scripts/sa-bench/bench.sh
    {"benchmark.type", "sa-bench", "benchmark.isl", "benchmark.osl", "benchmark.concurrencies", "benchmark.req_rate",
        "benchmark.random_range_ratio", 0.8, "benchmark.num_prompts_mult", 10},
    // NVIDIA/TensorRT-LLM@03dd8e4d8c: examples/disaggregated/slurm/benchmark, config.yaml and run_benchmark_nv_sa.sh
    {"benchmark.use_nv_sa_benchmark", "true", "benchmark.input_length", "benchmark.output_length",
        "benchmark.concurrency_list", "", "benchmark.benchmark_ratio", 0.8, "benchmark.multi_round", 8}};

/// The most that --requests takes.
constexpr std::int64_t most_requests = 10'000'000;

class LoadReader {
 public:
  LoadReader(const LoadForm& form, const std::vector<GivenArgument>& all, const std::string& where)
      : form_(form), all_(all), where_(where) {}

  BenchLoad read() {
    const auto input = count(form_.input), output = count(form_.output);
    const auto shortest = number(form_.shortest, form_.usual_shortest);
    const auto rounds = number(form_.rounds, static_cast<double>(form_.usual_rounds));
    const std::string rate = lower_case(stripped(value(form_.rate)));
    if (!rate.empty() && rate != "inf" && rate != "null")
      doubt(form_.rate, "requests at a rate, and no more than so many at once");
    if (!shortest || *shortest > 1) doubt(form_.shortest, "no share of the nominal length");
    if (!rounds || *rounds < 1 || *rounds > most_requests || *rounds != std::floor(*rounds))
      doubt(form_.rounds, "no number of requests of each user");
    if (!doubted_.empty()) {
      load_ = {};
      load_.notes.push_back("the load is not read: " + doubted_);
      return std::move(load_);
    }
    load_.flags["--input"] = std::to_string(*input), load_.flags["--output"] = std::to_string(*output);
    if (*shortest < 1) load_.flags["--shortest"] = fmt::format("{:.6g}", *shortest);
    put_users(static_cast<std::int64_t>(*rounds));
    return std::move(load_);
  }

 private:
  [[nodiscard]] std::string value(std::string_view name) const {
    const auto found = std::ranges::find(all_, name, &GivenArgument::name);
    return name.empty() || found == all_.end() ? "" : found->value;
  }
  void doubt(std::string_view name, const std::string& why) {
    if (doubted_.empty()) doubted_ = fmt::format("{} {} '{:.40}': {}", where_, name, value(name), why);
  }
  std::optional<std::int64_t> count(std::string_view name) {
    const auto parsed = parsed_number<std::int64_t>(stripped(value(name)));
    if (!parsed || *parsed < 1) doubt(name, "no number of positions");
    return parsed;
  }
  [[nodiscard]] std::optional<double> number(std::string_view name, double usual) const {
    const std::string text(stripped(value(name)));
    if (text.empty() || text == "null") return usual;
    const auto parsed = parsed_number<double>(text);
    return parsed && *parsed > 0 ? parsed : std::nullopt;
  }

  /// "64x128", "[64, 128]", "64 128", or a list below each other: each is a benchmark of its own.
  void put_users(std::int64_t rounds) {
    std::vector<std::int64_t> users;
    std::string digits;
    bool other = false;
    for (const char c : value(form_.users) + ' ') {
      if (c >= '0' && c <= '9') {
        digits += c;
        continue;
      }
      other = other || std::string_view("x[], \"'\n-").find(c) == std::string_view::npos;
      if (!digits.empty()) users.push_back(parsed_number<std::int64_t>(digits).value_or(0));
      digits.clear();
    }
    if (!other && users.size() == 1 && users.front() > 0 && users.front() <= most_requests / rounds) {
      load_.flags["--concurrency"] = std::to_string(users.front());
      load_.flags["--requests"] = std::to_string(rounds * users.front());
      return;
    }
    load_.notes.push_back(users.size() > 1 && !other
                              ? fmt::format("{} {} are loads one after the other: --concurrency says which is meant",
                                    form_.users, fmt::join(users, ", "))
                              : fmt::format("how many requests come at once is not read of {} '{:.40}': --concurrency "
                                            "says it",
                                    form_.users, value(form_.users)));
  }

  const LoadForm& form_;
  const std::vector<GivenArgument>& all_;
  const std::string& where_;
  BenchLoad load_;
  std::string doubted_;  ///< the first of what is not understood
};

}  // namespace

Expected<std::optional<BenchLoad>> load_of_pools_file(
    const std::string& text, const std::string& where, std::string_view variant) {
  TRY(const auto all, recipe_arguments(text, where, variant));
  const auto has = [&](std::string_view key, std::string_view value) {
    return std::ranges::any_of(
        all, [&](const GivenArgument& one) { return one.name == key && lower_case(stripped(one.value)) == value; });
  };
  for (const LoadForm& form : load_forms)
    if (has(form.kind, form.of_kind)) return LoadReader(form, all, where).read();
  const auto section =
      std::ranges::find_if(all, [](const GivenArgument& one) { return one.name.starts_with("benchmark."); });
  if (section == all.end()) return std::nullopt;
  BenchLoad load;
  load.notes.push_back(
      fmt::format("the load of {} benchmark is not read: --input, --output and --concurrency or --rate say it", where));
  return load;
}

}  // namespace stepcast::engines
