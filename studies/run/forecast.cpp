#include "studies/run/forecast.h"

#include "studies/run/balance.h"

namespace stepcast::run {

Expected<Scenario> complete(const Request& request) {
  TRY(auto scenario, resolve(request));
  return with_balanced_layers(std::move(scenario));
}

Expected<Prediction> predict(const Scenario& scenario, bool reasons) {
  if (!scenario.balance) return predict_as_laid(scenario, reasons);
  TRY(const auto laid, with_balanced_layers(scenario));
  return predict_as_laid(laid, reasons);
}

Expected<Prediction> predict(const Request& request) {
  TRY(const auto scenario, complete(request));
  return predict_as_laid(scenario);
}

}  // namespace stepcast::run
