// The rates, sizes and delays of a machine and its software that one may ask "what if" about, as rows: each scales one
// of them in a scenario, and with it the fitted laws that forecasts read instead of the datasheet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::whatif {

struct MachineLever {
  std::string id;                                 ///< as --change names it: "nic"
  std::string other_id;                           ///< the machine's own name for it: "cluster"; "" = none
  std::string name;                               ///< "NIC: into the cluster, infiniband"
  const char* unit = "";                          ///< ending of JSON keys: "_bytes_per_s", "" for a share
  bool more_is_faster = true;                     ///< a rate or a size; else a delay
  std::function<double(const Scenario&)> amount;  ///< in base units; 0 = the run has none
  std::function<std::string(double)> text;        ///< of an amount: "50.0 GB/s"
  std::function<void(Scenario&, double)> scale;   ///< times a factor above 0
  /// Why it may leave a step as it is; asked only where it did.
  std::function<std::string(const Scenario&, const Prediction&)> idle;
  bool of_software = false;  ///< of the training software: iterations of an engine have none
};

/// The levers of this scenario's machine, whose levels name the fabrics. Rates come first.
std::vector<MachineLever> machine_levers(const Scenario& scenario);

/// Bandwidth into level `level`, with what was measured there: curves within one instance of level 0 scale but for
/// their latency; those across nodes as the narrowest tier on their way does.
void scale_bandwidth(Scenario& scenario, std::size_t level, double factor);

}  // namespace stepcast::whatif
