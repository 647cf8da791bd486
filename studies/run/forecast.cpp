#include "studies/run/forecast.h"

#include "studies/run/balance.h"

namespace stepcast {

Expected<Scenario> complete(const Request& request) {
  auto scenario = resolve(request);
  if (!scenario) return scenario;
  return with_balanced_layers(std::move(*scenario));
}

Expected<Prediction> predict(const Scenario& scenario, bool reasons) {
  if (!scenario.balance) return predict_as_laid(scenario, reasons);
  const auto laid = with_balanced_layers(scenario);
  if (!laid) return tl::unexpected(laid.error());
  return predict_as_laid(*laid, reasons);
}

Expected<Prediction> predict(const Request& request) {
  const auto scenario = complete(request);
  if (!scenario) return tl::unexpected(scenario.error());
  return predict_as_laid(*scenario);
}

}  // namespace stepcast
