#include "studies/serve/sweep/explored.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "studies/run/nouns.h"
#include "studies/serve/sweep/engines.h"
#include "studies/serve/sweep/pooled_rows.h"
#include "studies/serve/sweep/simulated_row.h"
#include "studies/serve/sweep/splits.h"

namespace stepcast::serve::sweeping {
namespace {

constexpr double most_combinations = 1e7;

class Exploration {
 public:
  explicit Exploration(const Asked& asked)
      : asked_(asked), means_(sim::means_of(asked.law)), engines_(asked), found_(asked) {}

  Expected<Explored> go() {
    TRY(check_size());
    TRY(check_nouns());
    for_each_kind(asked_, [this](Configuration kind) {
      kind.gpu = gpus_[kind.machine];
      take(kind);
      if (asked_.pools) take_pools(asked_, kind, engines_, found_);
    });
    assume();
    choose();
    for (const auto& [reason, count] : found_.refused) out_.refused.push_back({reason, count});
    std::ranges::stable_sort(out_.refused, std::ranges::greater{}, &Refused::count);
    out_.configurations = std::move(found_.configurations), out_.rows = std::move(found_.rows);
    return std::move(out_);
  }

 private:
  Expected<void> check_size() {
    double all = 1;
    for (const std::size_t size :
        {asked_.machines.size(), asked_.engines.size(), asked_.weights.size(), asked_.caches.size(), asked_.gpus.size(),
            asked_.tp.size(), asked_.pp.size(), asked_.ep.size(), asked_.attention_dp.size(),
            asked_.most_sequences.size(), asked_.most_positions.size(), asked_.loads.size()})
      all *= static_cast<double>(size);
    if (all > most_combinations)
      return fail("serve-sweep", fmt::format("{:.3g} combinations", all), "at most 10,000,000: shorter lists");
    TRY(const auto pooled, pooled_combinations(asked_, most_combinations));
    out_.combinations = static_cast<std::uint64_t>(all) + pooled;
    return {};
  }

  /// Names that nobody knows are errors, and no combinations that are counted.
  Expected<void> check_nouns() {
    TRY(const auto network, run::choose_network(asked_.network, "network"));
    out_.network = network.row.name;
    for (const std::string& machine : asked_.machines) {
      TRY(const auto chosen, run::choose_machine(machine_name(machine), "--machine"));
      gpus_[machine] = chosen.row.gpu.name;
    }
    out_.gpu = gpus_.size() == 1 ? gpus_.begin()->second : "";
    for (const std::string& machine : asked_.prefill_machines) TRY(run::choose_machine(machine, "--prefill-machine"));
    for (const std::string& engine : asked_.engines)
      if (!engine.empty()) TRY(run::choose_engine(engine, "--engine"));
    return {};
  }

  /// One pool that reads and says.
  void take(const Configuration& kind) {
    for (const std::int64_t gpus : asked_.gpus)
      for_each_split(asked_, kind, [&](Configuration one) {
        one.gpus = gpus;
        take_one(one);
      });
  }

  /// Its rows, or why there are none.
  void take_one(Configuration configuration) {
    const auto loads = static_cast<std::uint64_t>(asked_.loads.size());
    if (configuration.gpus % configuration.replica() != 0)
      return found_.refuse("GPUs do not divide by tp x pp x dp-attention", loads);
    configuration.replicas = configuration.gpus / configuration.replica();
    if (!asked_.replicas.empty() && std::ranges::count(asked_.replicas, configuration.replicas) == 0)
      return found_.refuse("not so many replicas were asked for", loads);
    const auto engine = engines_.of(configuration);
    if (!engine) return found_.refuse(reason_of(engine.error()), loads);
    const auto servers = engines_.servers(**engine, configuration);
    if (!servers) return found_.refuse(reason_of(servers.error()), loads);
    const sim::MeanField field(means_, *servers, (*engine)->timer);
    Candidate candidate{configuration};
    for (const double load : asked_.loads) found_.take(candidate, load, field.of(steady_load(asked_, load)));
  }

  /// Those of the first engine that has a row.
  void assume() {
    if (!found_.configurations.empty())
      out_.assumptions = (*engines_.of(found_.configurations.front()))->serving.assumptions;
  }

  [[nodiscard]] bool better(const Row& a, const Row& b) const {
    if (a.cost && b.cost && *a.cost != *b.cost) return *a.cost < *b.cost;
    return a.figures().words_per_gpu > b.figures().words_per_gpu;
  }

  /// The front, and the best of each configuration; of what the mean field is not sure of only what was simulated, but
  /// for `doubtful`.
  void list(bool doubtful) {
    std::ranges::stable_sort(found_.rows, [this](const Row& a, const Row& b) { return better(a, b); });
    const auto listed = [&](const Row& row) { return doubtful || row.sure(); };
    out_.front = front_of(found_.rows, listed);
    out_.best.clear();
    std::vector<bool> seen(found_.configurations.size(), false);
    for (std::size_t i = 0; i < found_.rows.size() && static_cast<std::int64_t>(out_.best.size()) < asked_.top; ++i) {
      if (!listed(found_.rows[i]) || seen[found_.rows[i].configuration]) continue;
      seen[found_.rows[i].configuration] = true;
      out_.best.push_back(i);
    }
  }

  [[nodiscard]] bool can_simulate(const Row& row) const {
    return sweeping::can_simulate(asked_, found_.configurations[row.configuration], row.load);
  }

  /// Of what is listed the first that is to be simulated: the best of each configuration, then the front.
  [[nodiscard]] std::optional<std::size_t> next_of_list(bool doubtful) const {
    for (const auto* places : {&out_.best, &out_.front})
      for (const std::size_t i : *places)
        if (const Row& row = found_.rows[i]; !row.simulated && row.sure() != doubtful && can_simulate(row)) return i;
    return std::nullopt;
  }

  /// Half of the simulations go to the doubtful rows that would be listed, if there are so many; the rest to what is
  /// listed then. What a simulation moves outside the targets is taken out.
  void choose() {
    std::int64_t left = asked_.simulated;
    for (const bool doubtful : {true, false}) {
      const std::int64_t keeps = doubtful ? left / 2 : 0;
      for (list(doubtful); left > keeps; list(doubtful), --left) {
        const auto next = next_of_list(doubtful);
        if (!next) break;
        Row& row = found_.rows[*next];
        const auto stays = simulate(row, asked_, engines_, found_.configurations[row.configuration]);
        found_.price(row);
        if (stays && !found_.misses(row)) continue;
        found_.refuse(stays ? "outside the targets" : reason_of(stays.error()), 1);
        found_.rows.erase(found_.rows.begin() + static_cast<std::ptrdiff_t>(*next));
      }
    }
    list(false);
    for (const Row& row : found_.rows) out_.too_many += row.simulated || can_simulate(row) ? 0 : 1;
    for (const std::size_t i : out_.front) found_.rows[i].on_front = true;
    for (const auto* places : {&out_.front, &out_.best})
      for (const std::size_t i : *places) set_spread(found_.rows[i]);
  }

  /// Of an iteration of words with as many sequences as run.
  void set_spread(Row& row) {
    const Configuration& configuration = found_.configurations[row.configuration];
    MadeEngine& engine = **engines_.of(configuration);
    const double groups = static_cast<double>(configuration.replicas * engine.serving.attention_groups());
    sim::Batch batch;
    batch.words = std::max(1.0, std::round(row.state.running / groups));
    batch.contexts = batch.words * means_.context();
    row.spread = engine.times->whole(batch).spread;
  }

  const Asked& asked_;
  sim::RequestMeans means_;
  Engines engines_;
  Rows found_;
  Explored out_;
  std::map<std::string, std::string> gpus_;
};

}  // namespace

std::vector<std::size_t> front_of(const std::vector<Row>& rows, const std::function<bool(const Row&)>& among) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (among(rows[i])) order.push_back(i);
  const auto of = [&](std::size_t i) -> const RowFigures& { return rows[i].figures(); };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (of(a).words_per_user != of(b).words_per_user) return of(a).words_per_user > of(b).words_per_user;
    return of(a).words_per_gpu > of(b).words_per_gpu;
  });
  std::vector<std::size_t> front;
  double most = 0;
  for (const std::size_t i : order)
    if (of(i).words_per_gpu > most) front.push_back(i), most = of(i).words_per_gpu;
  return front;
}

Expected<Explored> explore(const Asked& asked) { return Exploration(asked).go(); }

}  // namespace stepcast::serve::sweeping
