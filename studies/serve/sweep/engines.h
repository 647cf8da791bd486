// The engines of a sweep, each made once, with the times of its iterations.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "studies/infer/served_load.h"
#include "studies/serve/sweep/configuration.h"

namespace stepcast::serve::sweeping {

struct MadeEngine {
  infer::Serving serving;
  std::unique_ptr<infer::ServedTimes> times;
  sim::BatchTimer timer;
};

class Engines {
 public:
  explicit Engines(const Asked& asked) : asked_(&asked) {}
  /// The engine of one replica. Errors: what it cannot be, as stepcast serve says it.
  Expected<MadeEngine*> of(const Configuration& configuration);
  /// What is said of the batching of those that say words.
  [[nodiscard]] infer::BatchingWishes wishes(const Configuration& configuration) const;
  /// All replicas. Errors: no room for the cache, or for the longest request, without numbers, which differ from one
  /// configuration to the next.
  Expected<sim::Servers> servers(const MadeEngine& engine, const Configuration& configuration) const;
  /// The same of its pool of prompts, which it must have. Errors name that pool's flags.
  Expected<MadeEngine*> of_prompts(const Configuration& configuration);
  Expected<sim::Servers> prompt_servers(const MadeEngine& engine, const Configuration& configuration) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::int64_t, std::int64_t, std::int64_t,
      std::int64_t, std::int64_t>;
  Expected<MadeEngine*> of(const Key& key);
  [[nodiscard]] Expected<sim::Servers> servers(const MadeEngine& engine, double length,
      const infer::BatchingWishes& wishes, const sim::ServingRequest& longest, bool prompts) const;
  [[nodiscard]] sim::ServingRequest longest() const;
  [[nodiscard]] double usual_length() const;  ///< of a sequence in the middle of its words

  const Asked* asked_;
  std::map<Key, Expected<std::unique_ptr<MadeEngine>>> made_;
};

}  // namespace stepcast::serve::sweeping
