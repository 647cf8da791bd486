#include "calibrate/fit/numeric/robust_fit.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Eigen/Dense>

namespace stepcast::calibrate {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

double huber(double error, double knee) {
  const double size = std::abs(error);
  return size <= knee ? 0.5 * size * size : knee * (size - 0.5 * knee);
}

struct Problem {
  const std::function<void(std::span<const double>, std::span<double>)>& model;
  VectorXd log_measured, low, high;
  double knee;

  [[nodiscard]] VectorXd clamped(const VectorXd& x) const { return x.cwiseMax(low).cwiseMin(high); }

  [[nodiscard]] VectorXd errors(const VectorXd& x) const {
    std::vector<double> values(x.size()), predicted(log_measured.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) values[i] = std::exp(x[i]);
    model(values, predicted);
    return Eigen::Map<VectorXd>(predicted.data(), log_measured.size()).array().log().matrix() - log_measured;
  }

  [[nodiscard]] double loss(const VectorXd& error) const {
    double sum = 0;
    for (const double e : error) sum += huber(e, knee);
    return sum / static_cast<double>(error.size());
  }

  [[nodiscard]] MatrixXd jacobian(const VectorXd& x, const VectorXd& error) const {
    constexpr double step = 1e-5;
    MatrixXd slopes(error.size(), x.size());
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      VectorXd moved = x;
      const double h = x[j] + step <= high[j] ? step : -step;
      moved[j] += h;
      slopes.col(j) = (errors(moved) - error) / h;
    }
    return slopes;
  }
};

/// One damped Gauss-Newton step on the weighted errors (weights make the Huber loss a sequence of least squares).
/// Parameters at a bound that would leave it stand still, so that the others do not follow a step that cannot be made.
VectorXd damped_step(
    const Problem& problem, const VectorXd& x, MatrixXd slopes, const VectorXd& error, double damping) {
  const VectorXd weights =
      error.unaryExpr([&](double e) { return std::abs(e) <= problem.knee ? 1.0 : problem.knee / std::abs(e); });
  const VectorXd uphill = slopes.transpose() * weights.asDiagonal() * error;
  for (Eigen::Index j = 0; j < x.size(); ++j)
    if ((x[j] <= problem.low[j] && uphill[j] > 0) || (x[j] >= problem.high[j] && uphill[j] < 0))
      slopes.col(j).setZero();
  MatrixXd normal = slopes.transpose() * weights.asDiagonal() * slopes;
  normal.diagonal() *= 1 + damping;
  normal.diagonal().array() += 1e-12;
  return normal.ldlt().solve(-(slopes.transpose() * weights.asDiagonal() * error));
}

}  // namespace

double log_error_loss(std::span<const double> predicted, std::span<const double> measured, double knee) {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) sum += huber(std::log(predicted[i] / measured[i]), knee);
  return sum / static_cast<double>(measured.size());
}

Fit fit_log_error(const std::function<void(std::span<const double>, std::span<double>)>& model,
    std::span<const double> measured, std::span<const FitParameter> parameters, double knee, double tolerance) {
  assert(!measured.empty() && !parameters.empty());
  const auto count = static_cast<Eigen::Index>(parameters.size());
  Problem problem{model, VectorXd(measured.size()), VectorXd(count), VectorXd(count), knee};
  for (std::size_t i = 0; i < measured.size(); ++i) problem.log_measured[i] = std::log(measured[i]);
  VectorXd x(count);
  for (Eigen::Index j = 0; j < count; ++j) {
    x[j] = std::log(parameters[j].start);
    problem.low[j] = std::log(parameters[j].low);
    problem.high[j] = std::log(parameters[j].high);
  }
  x = problem.clamped(x);

  VectorXd error = problem.errors(x);
  double loss = problem.loss(error), damping = 1e-2;
  constexpr int most_iterations = 200;
  const double most_damping = std::min(1e10, 10 / tolerance);  // shorter steps could not gain more
  for (int iteration = 0; iteration < most_iterations && damping < most_damping; ++iteration) {
    const MatrixXd slopes = problem.jacobian(x, error);
    bool improved = false;
    double gain = 0;
    while (!improved && damping < most_damping) {
      const VectorXd next = problem.clamped(x + damped_step(problem, x, slopes, error, damping));
      const VectorXd next_error = problem.errors(next);
      const double next_loss = problem.loss(next_error);
      improved = std::isfinite(next_loss) && next_loss < loss;
      damping = improved ? std::max(1e-9, damping / 5) : damping * 5;
      if (improved) gain = loss - next_loss, x = next, error = next_error, loss = next_loss;
    }
    if (!improved || gain < tolerance * loss) break;
  }
  Fit fit{{}, loss};
  for (const double value : x) fit.parameters.push_back(std::exp(value));
  return fit;
}

}  // namespace stepcast::calibrate
