#include "studies/serve/sweep/explored.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "studies/run/nouns.h"
#include "studies/serve/sweep/engines.h"
#include "studies/serve/sweep/simulated_row.h"

namespace stepcast::serve::sweeping {
namespace {

constexpr std::uint64_t most_combinations = 10'000'000;
/// As a request of mean lengths sees it, for targets.
sim::Served mean_request(const RowFigures& figures, double output) {
  sim::Served request;
  request.output = std::max<std::int64_t>(1, std::llround(output));
  request.first = figures.first_word.value_or(Seconds(0));
  request.last = request.first + figures.per_word * static_cast<double>(request.output - 1);
  return request;
}

class Exploration {
 public:
  explicit Exploration(const Asked& asked) : asked_(asked), means_(sim::means_of(asked.law)), engines_(asked) {}

  Expected<Explored> go() {
    TRY(check_size());
    TRY(check_nouns());
    for_each_configuration([this](const Configuration& one) { take(one); });
    choose();
    for (const auto& [reason, count] : refused_) out_.refused.push_back({reason, count});
    std::ranges::stable_sort(out_.refused, std::ranges::greater{}, &Refused::count);
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
    if (all > static_cast<double>(most_combinations))
      return fail("serve-sweep", fmt::format("{:.3g} combinations", all), "at most 10,000,000: shorter lists");
    out_.combinations = static_cast<std::uint64_t>(all);
    return {};
  }

  /// Names that nobody knows are errors, and no combinations that are counted.
  Expected<void> check_nouns() {
    TRY(const auto network, run::choose_network(asked_.network, "network"));
    out_.network = network.row.name;
    for (const std::string& machine : asked_.machines) {
      TRY(const auto chosen, run::choose_machine(machine.empty() ? "dgx-h100" : machine, "--machine"));
      gpus_[machine] = chosen.row.gpu.name;
    }
    for (const std::string& engine : asked_.engines)
      if (!engine.empty()) TRY(run::choose_engine(engine, "--engine"));
    out_.gpu = gpus_.size() == 1 ? gpus_.begin()->second : "";
    return {};
  }

  template <class Take> void for_each_configuration(const Take& take) {
    Configuration c;
    for (const std::string& machine : asked_.machines)
      for (const std::string& engine : asked_.engines)
        for (const std::string& weights : asked_.weights)
          for (const std::string& cache : asked_.caches)
            for (const std::int64_t gpus : asked_.gpus)
              for (const std::int64_t tp : asked_.tp)
                for (const std::int64_t pp : asked_.pp)
                  for (const std::int64_t dp : asked_.attention_dp)
                    for (const std::int64_t ep : asked_.ep)
                      for (const std::int64_t sequences : asked_.most_sequences)
                        for (const std::int64_t positions : asked_.most_positions) {
                          c = {machine, engine, weights, cache, gpus_[machine], gpus, tp, pp, ep, dp, 1, sequences,
                              positions};
                          take(c);
                        }
  }

  void refuse(const std::string& reason, std::uint64_t count) { refused_[reason] += count; }

  /// Its rows, or why there are none.
  void take(Configuration configuration) {
    const auto loads = static_cast<std::uint64_t>(asked_.loads.size());
    const std::int64_t replica = configuration.tp * configuration.pp * configuration.attention_dp;
    if (configuration.gpus % replica != 0) return refuse("GPUs do not divide by tp x pp x dp-attention", loads);
    configuration.replicas = configuration.gpus / replica;
    if (!asked_.replicas.empty() && std::ranges::count(asked_.replicas, configuration.replicas) == 0)
      return refuse("not so many replicas were asked for", loads);
    const auto engine = engines_.of(configuration);
    if (!engine) return refuse(fmt::format("{}: {}", engine.error().where, engine.error().what), loads);
    const auto servers = engines_.servers(**engine, configuration);
    if (!servers) return refuse(short_reason(servers.error()), loads);
    if (out_.rows.empty()) out_.assumptions = (*engine)->serving.assumptions;
    const sim::MeanField field(means_, *servers, (*engine)->timer);
    std::optional<std::size_t> number;
    for (const double load : asked_.loads) {
      auto row = row_of(configuration, field, load);
      if (!row) continue;
      if (!number) number = out_.configurations.size(), out_.configurations.push_back(configuration);
      row->configuration = *number;
      out_.rows.push_back(std::move(*row));
    }
  }

  /// Without the numbers, which differ from one to the next.
  static std::string short_reason(const Error& error) {
    if (error.where == "--gpus") return "a request is longer than the cache beside the weights";
    return error.where == "--tp" ? error.what : fmt::format("{}: {}", error.where, error.what);
  }

  /// nullopt: there is none, for a reason that is counted.
  std::optional<Row> row_of(const Configuration& configuration, const sim::MeanField& field, double load) {
    sim::SteadyLoad steady;
    if (asked_.closed) steady.users = load, steady.rounds = rounds_of(asked_, static_cast<std::int64_t>(load));
    else steady.rate = load;
    Row row;
    row.state = field.of(steady);
    if (row.state.doubt == sim::MeanFieldDoubt::never_fits ||
        row.state.doubt == sim::MeanFieldDoubt::beyond_saturation) {
      refuse(sim::to_text(row.state.doubt), 1);
      return std::nullopt;
    }
    const auto gpus = static_cast<double>(configuration.gpus);
    row.load = load;
    row.mean = {
        row.state.words_per_second / gpus, 1 / row.state.per_word.value(), row.state.per_word, row.state.first_word};
    row.target_open = !row.mean.first_word && std::ranges::any_of(asked_.targets, needs_first_word);
    price(row, configuration);
    if (row.sure() && misses(row)) {
      refuse("outside the targets", 1);
      return std::nullopt;
    }
    return row;
  }

  static bool needs_first_word(const Target& target) { return target.name != "tpot"; }

  void price(Row& row, const Configuration& configuration) const {
    auto found = asked_.prices.find(configuration.machine);
    if (found == asked_.prices.end()) found = asked_.prices.find("");
    if (found == asked_.prices.end()) return;
    constexpr double hour = 3600, million = 1e6;
    row.cost = found->second / hour / row.figures().words_per_gpu * million;
  }

  [[nodiscard]] bool misses(const Row& row) const {
    const RowFigures& figures = row.figures();
    const sim::Served request = mean_request(figures, means_.output);
    return std::ranges::any_of(asked_.targets, [&](const Target& target) {
      const bool known = figures.first_word.has_value() || !needs_first_word(target);
      return known && target.of(request) >= target.most;
    });
  }

  [[nodiscard]] bool better(const Row& a, const Row& b) const {
    if (a.cost && b.cost && *a.cost != *b.cost) return *a.cost < *b.cost;
    return a.figures().words_per_gpu > b.figures().words_per_gpu;
  }

  /// The front, and the best of each configuration; of what the mean field is not sure of only what was simulated, but
  /// for `doubtful`.
  void list(bool doubtful) {
    std::ranges::stable_sort(out_.rows, [this](const Row& a, const Row& b) { return better(a, b); });
    const auto listed = [&](const Row& row) { return doubtful || row.sure(); };
    out_.front = front_of(out_.rows, listed);
    out_.best.clear();
    std::vector<bool> seen(out_.configurations.size(), false);
    for (std::size_t i = 0; i < out_.rows.size() && static_cast<std::int64_t>(out_.best.size()) < asked_.top; ++i) {
      if (!listed(out_.rows[i]) || seen[out_.rows[i].configuration]) continue;
      seen[out_.rows[i].configuration] = true;
      out_.best.push_back(i);
    }
  }

  /// Of what is listed the first that is to be simulated: the best of each configuration, then the front.
  [[nodiscard]] std::optional<std::size_t> next_of_list(bool doubtful) const {
    for (const auto* places : {&out_.best, &out_.front})
      for (const std::size_t i : *places)
        if (!out_.rows[i].simulated && out_.rows[i].sure() != doubtful) return i;
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
        Row& row = out_.rows[*next];
        simulate(row, asked_, engines_, out_.configurations[row.configuration]);
        price(row, out_.configurations[row.configuration]);
        if (!misses(row)) continue;
        refuse("outside the targets", 1);
        out_.rows.erase(out_.rows.begin() + static_cast<std::ptrdiff_t>(*next));
      }
    }
    list(false);
    for (const std::size_t i : out_.front) out_.rows[i].on_front = true;
    for (const auto* places : {&out_.front, &out_.best})
      for (const std::size_t i : *places) set_spread(out_.rows[i]);
  }

  /// Of an iteration of words with as many sequences as run.
  void set_spread(Row& row) {
    const Configuration& configuration = out_.configurations[row.configuration];
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
  Explored out_;
  std::map<std::string, std::string> gpus_;
  std::map<std::string, std::uint64_t> refused_;
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
