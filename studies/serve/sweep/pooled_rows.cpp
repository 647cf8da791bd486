#include "studies/serve/sweep/pooled_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "sim/serving/steady/pooled_field.h"
#include "studies/infer/pools.h"
#include "studies/serve/sweep/simulated_row.h"
#include "studies/serve/sweep/splits.h"

namespace stepcast::serve::sweeping {
namespace {

/// Of what a pool of prompts reads at most, the part below which it is idle, and that at which it is full.
constexpr double idle_below = 0.5, full_from = 0.95;
constexpr const char* idle = "fewer GPUs read prompts with half of their time to spare";
constexpr const char* full = "fewer users fill the GPUs that read prompts";
/// So many ratios of a pair are all priced; of more, those from one to the next of which a pool changes so much.
constexpr std::int64_t most_ratios = 256;
constexpr double ratio_step = 1.05;
constexpr const char* between = "both pools differ by less than 5 % from those of another ratio";

/// One replica of a pool, or why there is none.
template <class Field> struct Pool {
  Configuration part;
  MadeEngine* engine = nullptr;
  std::optional<Field> field;
  std::string refused;
};
using PromptPoolPart = Pool<sim::PromptReader>;
using WordPoolPart = Pool<sim::WordSpeaker>;

template <class Field>
Pool<Field> pool_of(const Configuration& part, const sim::RequestMeans& means, const Expected<MadeEngine*>& engine,
    const std::function<Expected<sim::Servers>(const MadeEngine&)>& servers_of) {
  Pool<Field> pool{part, nullptr, {}, {}};
  if (!engine) {
    pool.refused = reason_of(engine.error());
    return pool;
  }
  const auto servers = servers_of(**engine);
  if (!servers) {
    pool.refused = reason_of(servers.error());
    return pool;
  }
  pool.engine = *engine;
  pool.field.emplace(means, *servers, (*engine)->timer);
  return pool;
}

bool among(const std::vector<std::int64_t>& asked, std::int64_t replicas) {
  return asked.empty() || std::ranges::count(asked, replicas) > 0;
}

class PoolPairs {
 public:
  PoolPairs(const Asked& asked, const Configuration& kind, Engines& engines, Rows& rows)
      : asked_(asked), means_(sim::means_of(asked.law)), rows_(rows), loads_(asked.loads) {
    std::ranges::sort(loads_);
    for_each_prompt_split(asked, kind.machine, [&](const PromptSplit& split) {
      Configuration part = kind;
      part.prompts = split;
      prompts_.push_back(pool_of<sim::PromptReader>(part, means_, engines.of_prompts(part),
          [&](const MadeEngine& engine) { return engines.prompt_servers(engine, part); }));
    });
    for_each_split(asked, kind, [&](Configuration part) {
      part.prompts.emplace();  // of which its keys come
      words_.push_back(pool_of<sim::WordSpeaker>(
          part, means_, engines.of(part), [&](const MadeEngine& engine) { return engines.servers(engine, part); }));
    });
  }

  void take() {
    for (const PromptPoolPart& prompts : prompts_)
      for (const WordPoolPart& words : words_) take(prompts, words);
  }

 private:
  void take(const PromptPoolPart& prompts, const WordPoolPart& words) {
    infer::CacheTransfer sending;
    std::string apart;  // why keys do not go from one to the other
    if (prompts.engine != nullptr && words.engine != nullptr) {
      const infer::Serving &reads = prompts.engine->serving, &says = words.engine->serving;
      if (const auto joined = infer::check_pools(reads, says); !joined) apart = reason_of(joined.error());
      else sending = infer::transfer_of(reads, says, asked_.law.prompts.mean());
    }
    for (const std::int64_t gpus : asked_.gpus) {
      const auto ratios = ratios_of(asked_, gpus, prompts.part.prompts->replica(), words.part.replica());
      const std::uint64_t rows = std::max<std::size_t>(1, ratios.priced.size()) * loads_.size();
      if (ratios.between > 0) rows_.refuse(between, ratios.between * loads_.size());
      if (ratios.priced.empty()) rows_.refuse("no whole replicas of both pools fill the GPUs", rows);
      else if (!prompts.field) rows_.refuse(prompts.refused, rows);
      else if (!words.field) rows_.refuse(words.refused, rows);
      else if (!apart.empty()) rows_.refuse(apart, rows);
      else take(prompts, words, gpus, ratios.priced, sending);
    }
  }

  void take(const PromptPoolPart& prompts, const WordPoolPart& words, std::int64_t gpus,
      const std::vector<PoolRatio>& ratios, const infer::CacheTransfer& sending) {
    struct Combined {
      Candidate candidate;
      sim::PooledField field;
      bool full = false;
    };
    std::vector<Combined> all;
    sim::PoolCounts counts{1, 1, sending.time.value(), sending.sends / sending.time, sending.receives / sending.time};
    for (const PoolRatio& ratio : ratios) {
      Configuration both = words.part;
      both.prompts = prompts.part.prompts, both.prompts->replicas = ratio.prompts;
      both.replicas = ratio.words, both.gpus = gpus;
      counts.prompts = static_cast<double>(ratio.prompts), counts.words = static_cast<double>(ratio.words);
      all.push_back({{both}, sim::PooledField(*prompts.field, *words.field, counts)});
    }
    for (const double load : loads_) {
      bool found_idle = false;
      for (Combined& one : all) {
        if (one.full || found_idle) {
          rows_.refuse(one.full ? full : idle, 1);
          continue;
        }
        const sim::PooledState state = one.field.of(steady_load(asked_, load));
        one.full = asked_.closed && state.busy >= full_from;
        const bool listed = rows_.take(one.candidate, load, state, state.busy);
        found_idle = listed && state.busy < idle_below;
      }
    }
  }

  const Asked& asked_;
  sim::RequestMeans means_;
  Rows& rows_;
  std::vector<double> loads_;
  std::vector<PromptPoolPart> prompts_;
  std::vector<WordPoolPart> words_;
};

}  // namespace

PoolRatios ratios_of(const Asked& asked, std::int64_t gpus, std::int64_t prompt_replica, std::int64_t word_replica) {
  PoolRatios out;
  const auto take = [&](std::int64_t prompts) {
    const std::int64_t left = gpus - prompts * prompt_replica;
    if (left <= 0 || left % word_replica != 0) return false;
    if (!among(asked.prefill_replicas, prompts) || !among(asked.replicas, left / word_replica)) return false;
    out.priced.push_back({prompts, left / word_replica});
    return true;
  };
  if (!asked.prefill_replicas.empty() || !asked.replicas.empty()) {
    std::vector<std::int64_t> listed = asked.prefill_replicas;
    if (listed.empty())
      for (const std::int64_t words : asked.replicas)
        if (const std::int64_t left = gpus - words * word_replica; left > 0 && left % prompt_replica == 0)
          listed.push_back(left / prompt_replica);
    std::ranges::sort(listed);
    for (const std::int64_t prompts : listed) take(prompts);
    return out;
  }
  // What is left is a whole number of the other replicas each `every` replicas of prompts.
  const std::int64_t every = word_replica / std::gcd(prompt_replica, word_replica), most = (gpus - 1) / prompt_replica;
  std::int64_t first = 1;
  while (first <= std::min(every, most) && !take(first)) ++first;
  if (out.priced.empty()) return out;
  const std::int64_t count = (most - first) / every + 1;
  for (std::int64_t prompts = first;;) {
    std::int64_t steps = 1;
    if (count > most_ratios) {
      const double grown = static_cast<double>(prompts) * (ratio_step - 1),
                   shrunk = static_cast<double>(gpus - prompts * prompt_replica) * (1 - 1 / ratio_step) /
                            static_cast<double>(prompt_replica);
      steps =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(grown, shrunk) / static_cast<double>(every)));
    }
    prompts += steps * every;
    if (prompts > most || !take(prompts)) break;
  }
  out.between = static_cast<std::uint64_t>(count) - out.priced.size();
  return out;
}

Expected<std::uint64_t> pooled_combinations(const Asked& asked, double most) {
  if (!asked.pools) return 0;
  double kinds = 0, all = 0, left_out = 0;
  for_each_kind(asked, [&](const Configuration&) { ++kinds; });
  std::vector<std::int64_t> prompts, words;
  for_each_prompt_split(asked, {}, [&](const PromptSplit& split) { prompts.push_back(split.replica()); });
  for_each_split(asked, {}, [&](const Configuration& part) { words.push_back(part.replica()); });
  const double each = kinds * static_cast<double>(asked.loads.size());
  const auto too_many = [](double count) {
    return fail("serve-sweep", fmt::format("{:.3g} combinations", count), "at most 10,000,000: shorter lists");
  };
  const double pairs = each * static_cast<double>(prompts.size() * words.size() * asked.gpus.size());
  if (pairs > most) return too_many(pairs);
  for (const std::int64_t prompt : prompts)
    for (const std::int64_t word : words)
      for (const std::int64_t gpus : asked.gpus) {
        const PoolRatios ratios = ratios_of(asked, gpus, prompt, word);
        all += each * static_cast<double>(std::max<std::size_t>(1, ratios.priced.size()));
        left_out += each * static_cast<double>(ratios.between);
      }
  if (all > most) return too_many(all);
  return static_cast<std::uint64_t>(all + left_out);
}

void take_pools(const Asked& asked, const Configuration& kind, Engines& engines, Rows& rows) {
  PoolPairs(asked, kind, engines, rows).take();
}

}  // namespace stepcast::serve::sweeping
