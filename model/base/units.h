// Physical quantities as types: seconds, bytes, FLOPs and their ratios. Base units in storage (s, B, FLOP);
// prefixes only when text is read or printed (quantity_text.h). A ratio of equals decays to double.
#pragma once

#include <compare>
#include <type_traits>

namespace stepcast {

/// A value with dimension s^S * B^B * FLOP^F, stored in base units.
template <int S, int B, int F> class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }

  // Written out, not defaulted: with these std::max of two quantities compiles to one maxsd on g++ 12.
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.value_ >= b.value_; }
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.value_ == b.value_; }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value_); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  constexpr Quantity& operator+=(Quantity b) {
    value_ += b.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value_ -= b.value_;
    return *this;
  }

 private:
  double value_ = 0;
};

namespace detail {
template <int S, int B, int F> struct QuantityOf { using type = Quantity<S, B, F>; };
template <> struct QuantityOf<0, 0, 0> { using type = double; };
template <int S, int B, int F> constexpr auto make(double v) { return typename QuantityOf<S, B, F>::type(v); }
}  // namespace detail

template <int S, int B, int F, int S2, int B2, int F2>
constexpr auto operator*(Quantity<S, B, F> a, Quantity<S2, B2, F2> b) {
  return detail::make<S + S2, B + B2, F + F2>(a.value() * b.value());
}
template <int S, int B, int F, int S2, int B2, int F2>
constexpr auto operator/(Quantity<S, B, F> a, Quantity<S2, B2, F2> b) {
  return detail::make<S - S2, B - B2, F - F2>(a.value() / b.value());
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;
using FlopsPerByte = Quantity<0, -1, 1>;

}  // namespace stepcast
