#include "tests/dataflow/operators/pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tests/dataflow/operators/operator_run.h"

namespace stepcast::dataflow::operators {
namespace {

using X = Pointwise::Operands;

double silu(double x) { return x * logistic(x); }
double silu_slope(double x) { return logistic(x) * (1 + x * (1 - logistic(x))); }

double swiglu(X x) { return silu(x[0]) * x[1]; }
double swiglu_slope(X x, int i) { return i == 1 ? silu(x[0]) : x[1] * silu_slope(x[0]); }

double product(X x) { return x[0] * x[1]; }
double product_slope(X x, int i) { return x[1 - i]; }

double sum(X x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double sum_slope(X, int) { return 1; }

/// x, the sum of its squares, and a scale and an offset where the norm has them.
double norm(X x) { return x[0] * (x.size() > 2 ? x[2] : 1) / std::sqrt(1 + x[1]) + (x.size() > 3 ? x[3] : 0); }
double norm_slope(X x, int i) {
  const double r = 1 / std::sqrt(1 + x[1]), scale = x.size() > 2 ? x[2] : 1;
  return i == 0 ? scale * r : i == 1 ? -0.5 * x[0] * scale * r * r * r : i == 2 ? x[0] * r : 1;
}

const std::array table = {
    Pointwise{"square", [](X x) { return x[0] * x[0]; }, [](X x, int) { return 2 * x[0]; }},
    Pointwise{"rmsnorm", norm, norm_slope},
    Pointwise{"layernorm", norm, norm_slope},
    Pointwise{"sinkhorn", norm, norm_slope},
    Pointwise{"swiglu", swiglu, swiglu_slope},
    Pointwise{"geglu", swiglu, swiglu_slope},
    Pointwise{
        "gelu", [](X x) { return x[0] * logistic(1.702 * x[0]); }, [](X x, int) { return silu_slope(1.702 * x[0]); }},
    Pointwise{"xielu", [](X x) { return x[1] * silu(x[0]); },  // of each number that it learns
        [](X x, int i) { return i == 1 ? silu(x[0]) : x[1] * silu_slope(x[0]); }},
    Pointwise{"silu", [](X x) { return silu(x[0]); }, [](X x, int) { return silu_slope(x[0]); }},
    Pointwise{"sigmoid_gate", [](X x) { return logistic(x[0]) * x[1]; },
        [](X x, int i) { return i == 1 ? logistic(x[0]) : x[1] * logistic(x[0]) * (1 - logistic(x[0])); }},
    Pointwise{"multiply", product, product_slope},
    Pointwise{"merge", product, product_slope},
    Pointwise{
        "spread", [](X x) { return (x[0] + x[1]) * x[2]; }, [](X x, int i) { return i == 2 ? x[0] + x[1] : x[2]; }},
    Pointwise{"modulate", [](X x) { return x[0] * (1 + x[1]) + x[2]; },
        [](X x, int i) { return i == 0   ? 1 + x[1]
                                : i == 1 ? x[0]
                                         : 1; }},
    // smooth, as finite differences want them, and each another function of its input
    Pointwise{"squared_relu", [](X x) { return x[0] * x[0] * logistic(x[0]); },
        [](X x, int) { return 2 * x[0] * logistic(x[0]) + x[0] * x[0] * logistic(x[0]) * (1 - logistic(x[0])); }},
    Pointwise{"relu", [](X x) { return std::log1p(std::exp(x[0])); }, [](X x, int) { return logistic(x[0]); }},
    Pointwise{"softcap", [](X x) { return 3 * std::tanh(x[0] / 3); }, nullptr},  // its gradient reads the output
    Pointwise{"cutoff", [](X x) { return std::log1p(std::exp(x[0] - 0.1 * x[1])); },
        [](X x, int i) { return (i == 0 ? 1 : -0.1) * logistic(x[0] - 0.1 * x[1]); }},
    Pointwise{"scale", [](X x) { return 0.5 * x[0]; }, [](X, int) { return 0.5; }},
    Pointwise{"identity", [](X x) { return x[0]; }, nullptr},
    Pointwise{"sample", [](X x) { return x[0]; }, nullptr},
    Pointwise{"shifted_exp", [](X x) { return std::exp(x[0] - x[1]); }, [](X x, int) { return std::exp(x[0] - x[1]); }},
    Pointwise{"cross_entropy", [](X x) { return std::log(x[0]) + x[1] - x[2]; },
        [](X x, int i) { return i == 0 ? 1 / x[0] : -1; }},
    Pointwise{"add", sum, sum_slope},
    Pointwise{"bias", sum, sum_slope},
};

}  // namespace

const Pointwise* find_pointwise(std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const Pointwise& row) { return row.name == name; });
  return at == table.end() ? nullptr : &*at;
}

}  // namespace stepcast::dataflow::operators
