#include "model/base/quantity_text.h"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(ParseQuantity, ReadsPrefixesAsThePowersTheyAre) {
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 GB/s", "x")->value(), 400e9);
  EXPECT_EQ(parse_quantity<BytesPerSecond>("400 Gb/s", "x")->value(), 50e9) << "a small b is a bit";
  EXPECT_EQ(parse_quantity<Bytes>("80 GiB", "x")->value(), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(parse_quantity<Bytes>("80 GB", "x")->value(), 80e9);
  EXPECT_EQ(parse_quantity<Hertz>("1.83 GHz", "x")->value(), 1.83e9);
  EXPECT_EQ(parse_quantity<Seconds>("30 us", "x")->value(), 3e-5);
  EXPECT_EQ(parse_quantity<FlopsPerSecond>("312 TFLOP/s", "x")->value(), 312e12);
  EXPECT_EQ(parse_quantity<FlopsPerSecond>("312TFLOPS", "x")->value(), 312e12) << "the space may be missing";
  EXPECT_EQ(parse_quantity<Flops>("2 PFLOP", "x")->value(), 2e15);
}

template <typename Q> std::string error_of(const std::string& text) {
  const auto parsed = parse_quantity<Q>(text, "file:/key");
  return parsed ? "accepted" : to_text(parsed.error());
}

TEST(ParseQuantity, RefusesAMissingUnitAndListsTheUnits) {
  const std::string error = error_of<BytesPerSecond>("400");
  EXPECT_NE(error.find("file:/key: '400' has no unit"), std::string::npos) << error;
  EXPECT_NE(error.find("GB/s"), std::string::npos) << error;
}

TEST(ParseQuantity, NamesTheNearestUnit) {
  EXPECT_NE(error_of<BytesPerSecond>("400 GBs").find("did you mean 'GB/s'?"), std::string::npos);
}

TEST(ParseQuantity, RefusesAnotherDimension) {
  EXPECT_NE(error_of<BytesPerSecond>("80 GiB").find("'80 GiB' is a memory size, not a bandwidth"), std::string::npos);
  EXPECT_NE(error_of<Seconds>("3 GHz").find("is a frequency, not a time"), std::string::npos);
}

TEST(ParseQuantity, RefusesNegativeZeroAbsurdAndNoNumber) {
  EXPECT_NE(error_of<Seconds>("-3 s").find("negative"), std::string::npos);
  EXPECT_NE(error_of<Seconds>("0 s").find("zero"), std::string::npos);
  EXPECT_NE(error_of<Seconds>("1e12 s").find("beyond any real time"), std::string::npos);
  EXPECT_NE(error_of<Seconds>("1e999 s").find("beyond any real value"), std::string::npos);
  for (const char* text : {"", "s", "nan s", "inf s", "fast", "+3 s", "."})
    EXPECT_NE(error_of<Seconds>(text), "accepted") << text;
  EXPECT_NE(error_of<Seconds>("0x10 s"), "accepted") << "no hexadecimal";
  EXPECT_NE(error_of<Seconds>("3 4 s"), "accepted");
}

TEST(ParseQuantity, TakesZeroWhereItIsAllowed) {
  EXPECT_EQ(parse_quantity<Seconds>("0 s", "x", Zero::allowed)->value(), 0);
  EXPECT_TRUE(check_quantity<Seconds>(0, "x", Zero::allowed));
  EXPECT_FALSE(check_quantity<Seconds>(0, "x"));
  EXPECT_FALSE(check_quantity<Seconds>(-1, "x", Zero::allowed));
}

TEST(ParseQuantity, DoesNotEchoAHostileText) { EXPECT_LT(error_of<Seconds>(std::string(1 << 20, '7')).size(), 1000u); }

TEST(ParseFraction, TakesPercentOrAPlainNumber) {
  EXPECT_DOUBLE_EQ(*parse_fraction("19 %", "x"), 0.19);
  EXPECT_DOUBLE_EQ(*parse_fraction("0.19", "x"), 0.19);
  EXPECT_FALSE(parse_fraction("101 %", "x"));
  EXPECT_FALSE(parse_fraction("19 s", "x"));
  EXPECT_FALSE(parse_fraction("-1 %", "x"));
}

TEST(ExactText, IsTheShortestTextThatReadsBackToTheSameValue) {
  EXPECT_EQ(exact_text(Seconds(3e-5)), "30 us");
  EXPECT_EQ(exact_text(Bytes(80.0 * (1 << 30))), "80 GiB");
  EXPECT_EQ(exact_text(BytesPerSecond(2.039e12)), "2039 GB/s");
  EXPECT_EQ(exact_text(Seconds(0)), "0 s");
  for (const double value : {1.0 / 3, 7e-9, 12345.678, 1e-15, 86400.0})
    EXPECT_EQ(parse_quantity<Seconds>(exact_text(Seconds(value)), "x")->value(), value) << exact_text(Seconds(value));
}

TEST(Format, KeepsThreeDigitsAndFitsThePrefix) {
  EXPECT_EQ(format_seconds(Seconds(13.72)), "13.7 s");
  EXPECT_EQ(format_seconds(Seconds(0.412)), "412 ms");
  EXPECT_EQ(format_seconds(Seconds(0.99996)), "1.00 s") << "not 1000 ms";
  EXPECT_EQ(format_seconds(Seconds(37.2e-6)), "37.2 us");
  EXPECT_EQ(format_seconds(Seconds(9000)), "2.50 h");
  EXPECT_EQ(format_seconds(Seconds(910 * 3600.0)), "910 h");
  EXPECT_EQ(format_seconds(Seconds(2400 * 3600.0)), "100 d");
  EXPECT_EQ(format_seconds(Seconds(2000 * 86400.0)), "5.48 years");  // 2000 / 365.25
  EXPECT_EQ(format_bytes(Bytes(1.5 * (1 << 30))), "1.50 GiB");
  EXPECT_EQ(format_bytes_decimal(Bytes(268e6)), "268 MB");
  EXPECT_EQ(format_bytes(Bytes(0)), "0 B");
  EXPECT_EQ(format_bytes(Bytes(-2048)), "-2.00 KiB");
  EXPECT_EQ(format_rate(BytesPerSecond(450e9)), "450 GB/s");
  EXPECT_EQ(format_flops(Flops(1.234e15)), "1.23 PFLOP");
  EXPECT_EQ(format_flops(FlopsPerSecond(412e12)), "412 TFLOP/s");
  EXPECT_EQ(format_percent(0.523), "52.3 %");
}

}  // namespace
}  // namespace stepcast
