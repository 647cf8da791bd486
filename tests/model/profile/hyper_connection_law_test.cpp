// Times of hyper-connections by hand, whose law is taken, and a profile that holds them.
#include "model/profile/hyper_connection_law.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

HyperConnectionLaw simple_law(const char* kernels, double t0) {
  HyperConnectionLaw law;
  law.t0 = Seconds(t0), law.per_row_byte = Seconds(1e-10);
  law.near_bytes = Bytes(1e6), law.near_rate = BytesPerSecond(1e13), law.memory = BytesPerSecond(1e12);
  law.softness = 1, law.kernels = kernels, law.source = Source::fitted, law.spread = {0.9, 1.1};
  return law;
}

TEST(HyperConnectionLaw, BytesOfBothParts) {
  // 10 positions of 4 streams of 100 numbers of 2 bytes. pre: twice 800 read, 200 written. post: 800 and 200 read, 800
  // written.
  EXPECT_DOUBLE_EQ(bytes_of({HyperConnectionPart::pre, 10, 4, 100, 2}).value(), 18000);
  EXPECT_DOUBLE_EQ(bytes_of({HyperConnectionPart::post, 10, 4, 100, 2}).value(), 18000);
}

TEST(HyperConnectionLaw, NearBytesGoAtTheirOwnRate) {
  const HyperConnectionLaw law = simple_law("", 5e-6);
  // streams of a position: 800 bytes, 80 ns; 18 kB in 1.8 ns
  EXPECT_NEAR(hyper_connection_time(law, {HyperConnectionPart::pre, 10, 4, 100, 2}).time.value(), 5.0818e-6, 1e-12);
  // 1.8 MB: 1 MB in 0.1 us, 0.8 MB in 0.8 us
  EXPECT_NEAR(hyper_connection_time(law, {HyperConnectionPart::pre, 1000, 4, 100, 2}).time.value(), 5.98e-6, 1e-12);
}

TEST(HyperConnectionLaw, AnEnginesOwnLawComesBeforeNobodys) {
  Profile profile;
  profile.hyper_connections = {simple_law("", 1e-6), simple_law("vllm", 2e-6)};
  const HyperConnectionShape shape{HyperConnectionPart::pre, 1, 4, 100, 2};
  EXPECT_NEAR(hyper_connection_time(profile, shape, "vllm").time.value(), 2.08e-6, 1e-9);
  EXPECT_NEAR(hyper_connection_time(profile, shape, "trtllm").time.value(), 1.08e-6, 1e-9);
  EXPECT_NEAR(hyper_connection_time(profile, shape).time.value(), 1.08e-6, 1e-9);
}

TEST(HyperConnectionLaw, WithoutOneItIsThatOfH100AtTheRateOfTheMemory) {
  Profile slow, fast;
  slow.memory.memory = BytesPerSecond(1e12), fast.memory.memory = BytesPerSecond(2e12);
  const HyperConnectionShape large{HyperConnectionPart::post, 1e6, 4, 4096, 2};
  const KernelTime a = hyper_connection_time(slow, large), b = hyper_connection_time(fast, large);
  EXPECT_EQ(a.source, Source::transferred);
  EXPECT_NEAR(a.time / b.time, 2, 0.05);
}

TEST(HyperConnectionLaw, TheCatalogueHoldsThoseOfEnginesAndOfTraining) {
  for (const char* id : {"h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm", "gb200", "gb300"}) {
    const auto profile = find_row(built_in().profiles, id, "profile");
    ASSERT_TRUE(profile) << id;
    const auto& of_steps = (*profile)->steps().hyper_connections;
    EXPECT_EQ(of_steps.size(), 2U) << id;
    for (const HyperConnectionLaw& law : of_steps) {
      EXPECT_EQ(law.kernels, "") << id;
      EXPECT_EQ(law.source, Source::transferred) << id;
    }
    // of three engines, and those of steps
    EXPECT_EQ((*profile)->whole().hyper_connections.size(), 8U) << id;
  }
}

TEST(HyperConnectionLaw, TheStartIsWhatNoBytesTake) {
  Profile profile;
  profile.hyper_connections = {simple_law("", 1e-6), simple_law("vllm", 2e-6)};
  const HyperConnectionShape shape{HyperConnectionPart::pre, 1, 4, 100, 2};
  EXPECT_NEAR(hyper_connection_start(profile, shape).value(), 1.08e-6, 1e-12);
  EXPECT_NEAR(hyper_connection_start(profile, shape, "vllm").value(), 2.08e-6, 1e-12);
}

/// vLLM's law of a GPU stands in three places by hand: among the kernels of engines, as that of training, and H100's as
/// what is usual. A new fit goes into all of them.
TEST(HyperConnectionLaw, VllmsConstantsAreTheSameWhereverTheyStand) {
  const auto find = [](const Profile& profile, HyperConnectionPart part, const char* kernels) {
    const auto row = std::ranges::find_if(profile.hyper_connections,
        [&](const HyperConnectionLaw& law) { return law.part == part && law.kernels == kernels; });
    EXPECT_NE(row, profile.hyper_connections.end()) << profile.id << " " << to_text(part) << " " << kernels;
    return *row;
  };
  const auto constants = [](const HyperConnectionLaw& law) {
    return std::array{law.t0.value(), law.per_row_byte.value(), law.near_bytes.value(), law.near_rate.value(),
        law.memory.value(), law.softness};
  };
  for (const HyperConnectionPart part : {HyperConnectionPart::pre, HyperConnectionPart::post}) {
    for (const char* id : {"h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm", "gb200", "gb300"}) {
      const auto profile = find_row(built_in().profiles, id, "profile");
      ASSERT_TRUE(profile) << id;
      const Profile& whole = (*profile)->whole();
      EXPECT_EQ(constants(find(whole, part, "vllm")), constants(find(whole, part, ""))) << id << " " << to_text(part);
    }
    const Profile& h100 = (*find_row(built_in().profiles, "h100-sxm", "profile"))->whole();
    Profile other;  // without a law, and with H100's memory
    other.memory = h100.memory;
    for (const double positions : {1.0, 500.0, 2'000.0, 20'000.0, 1e6}) {
      const HyperConnectionShape shape{part, positions, 4, 7168};
      EXPECT_NEAR(hyper_connection_time(other, shape).time / hyper_connection_time(h100, shape, "vllm").time, 1, 1e-9)
          << to_text(part) << " of " << positions;
    }
  }
}

}  // namespace
}  // namespace stepcast
