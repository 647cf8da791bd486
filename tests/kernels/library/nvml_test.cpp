#include "kernels/library/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace stepcast::kernels {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Card = NvmlFunctions::Device;
constexpr int answered = 0, no_such_link = 2, not_supported = 3, not_found = 6, too_small = 7;  // nvmlReturn_t

/// A card that answers with numbers a reader can recognise in the result.
int the_only_card(const char* bus_id, Card* card) {
  static int token = 0;
  if (plain_bus_id(bus_id) != "0000:19:00.0") return not_found;
  *card = reinterpret_cast<Card>(&token);
  return answered;
}

int copy_text(const char* text, char* into, unsigned length) {
  std::strncpy(into, text, length);
  return answered;
}

NvmlFunctions card_that_answers() {
  NvmlFunctions calls;
  calls.init = [] { return answered; };
  calls.handle_by_bus_id = the_only_card;
  calls.driver_version = [](char* into, unsigned length) { return copy_text("580.65.06", into, length); };
  calls.process_name = [](unsigned, char* into, unsigned length) { return copy_text("python", into, length); };
  calls.clock = [](Card, int which, unsigned* mhz) {
    *mhz = which == 1 ? 1980 : which == 2 ? 2619 : 0;
    return answered;
  };
  calls.default_clock = [](Card, int, unsigned* mhz) {
    *mhz = 1755;
    return answered;
  };
  calls.temperature = [](Card, int, unsigned* degrees) {
    *degrees = 41;
    return answered;
  };
  calls.power = [](Card, unsigned* milliwatts) {
    *milliwatts = 123456;
    return answered;
  };
  calls.enforced_limit = [](Card, unsigned* milliwatts) {
    *milliwatts = 650000;
    return answered;
  };
  calls.default_limit = [](Card, unsigned* milliwatts) {
    *milliwatts = 700000;
    return answered;
  };
  calls.persistence = [](Card, unsigned* on) {
    *on = 1;
    return answered;
  };
  calls.ecc = [](Card, unsigned* now, unsigned* later) {
    *now = 1;
    *later = 0;
    return answered;
  };
  calls.mig = [](Card, unsigned* now, unsigned* later) {
    *now = 0;
    *later = 1;
    return answered;
  };
  calls.event_reasons = [](Card, unsigned long long* bits) {
    *bits = 0x4;
    return answered;
  };
  return calls;
}

NvmlGpu card_of(const NvmlFunctions& calls) {
  const auto nvml = Nvml::start(calls);
  return nvml ? nvml->gpu("0000:19:00.0").value_or(NvmlGpu()) : NvmlGpu();
}

TEST(Nvml, StateIsInMegahertzWattsAndDegrees) {
  const GpuState state = card_of(card_that_answers()).state();
  EXPECT_EQ(state.sm_clock_mhz, 1980);
  EXPECT_EQ(state.memory_clock_mhz, 2619);
  EXPECT_DOUBLE_EQ(state.power_w, 123.456);
  NvmlFunctions instant = card_that_answers();
  instant.field_values = [](Card, int count, NvmlFunctions::FieldValue* field) {
    EXPECT_EQ(count, 1);
    EXPECT_EQ(field->id, 186u);
    field->type = 1;
    field->value.number = 654321;
    return answered;
  };
  EXPECT_DOUBLE_EQ(card_of(instant).state().power_w, 654.321);
  instant.field_values = [](Card, int, NvmlFunctions::FieldValue* field) {
    field->status = not_supported;
    return answered;
  };
  EXPECT_DOUBLE_EQ(card_of(instant).state().power_w, 123.456) << "a card without it";
  EXPECT_EQ(state.temperature_c, 41);
  EXPECT_TRUE(state.power_capped);
  EXPECT_FALSE(state.thermally_slowed);
}

TEST(Nvml, ReasonsArePowerOrHeatAndOutside) {
  EXPECT_FALSE(slowdown_reasons(0x1).power) << "idle is no reason";
  EXPECT_FALSE(slowdown_reasons(0x1 | 0x2 | 0x10 | 0x100).thermal_or_external) << "settings are no slow-down";
  EXPECT_TRUE(slowdown_reasons(0x4).power);
  EXPECT_FALSE(slowdown_reasons(0x4).thermal_or_external);
  for (const std::uint64_t bits : {0x8, 0x20, 0x40, 0x80}) {
    EXPECT_TRUE(slowdown_reasons(bits).thermal_or_external) << bits;
    EXPECT_FALSE(slowdown_reasons(bits).power) << bits;
  }
}

TEST(Nvml, SettingsAreThoseOfNow) {
  GpuSettings settings;
  card_of(card_that_answers()).describe(settings);
  EXPECT_EQ(settings.driver, "580.65.06");
  EXPECT_EQ(settings.power_limit_w, 650);
  EXPECT_EQ(settings.default_power_limit_w, 700);
  EXPECT_EQ(settings.default_sm_clock_mhz, 1755);
  EXPECT_TRUE(settings.ecc);
  EXPECT_FALSE(settings.mig) << "it is on after the next restart only";
  EXPECT_TRUE(settings.persistence);
  EXPECT_THAT(settings.other_processes, IsEmpty());
}

TEST(Nvml, WhatACardDoesNotSupportStaysZero) {
  NvmlFunctions calls = card_that_answers();
  calls.power = [](Card, unsigned* milliwatts) {
    *milliwatts = 7;
    return not_supported;
  };
  calls.clock = nullptr;
  calls.event_reasons = nullptr;
  const GpuState state = card_of(calls).state();
  EXPECT_EQ(state.power_w, 0);
  EXPECT_EQ(state.sm_clock_mhz, 0);
  EXPECT_FALSE(state.power_capped);
  EXPECT_EQ(state.temperature_c, 41);
}

TEST(Nvml, WithoutACardNothingIsSaid) {
  const NvmlGpu nothing;
  EXPECT_EQ(nothing.state().sm_clock_mhz, 0);
  GpuSettings settings;
  settings.driver = "as before";
  nothing.describe(settings);
  EXPECT_EQ(settings.driver, "as before");
  EXPECT_EQ(nothing.links().active, 0);
}

TEST(Nvml, OtherProcessesAreListedWithoutThisOne) {
  NvmlFunctions calls = card_that_answers();
  calls.processes = [](Card, unsigned* count, NvmlFunctions::Process* into) {
    *count = 2;
    into[0].pid = static_cast<unsigned>(getpid());
    into[1].pid = 4242;
    return answered;
  };
  GpuSettings settings;
  card_of(calls).describe(settings);
  EXPECT_THAT(settings.other_processes, ElementsAre("4242 python"));
  calls.process_name = nullptr;
  card_of(calls).describe(settings);
  EXPECT_THAT(settings.other_processes, ElementsAre("4242"));
}

TEST(Nvml, MoreProcessesThanExpectedAreAllListed) {
  NvmlFunctions calls = card_that_answers();
  calls.processes = [](Card, unsigned* count, NvmlFunctions::Process* into) {
    const unsigned room = *count;
    *count = 100;
    if (room < 100) return too_small;
    for (unsigned i = 0; i < 100; ++i) into[i].pid = 4000000000u + i;
    return answered;
  };
  GpuSettings settings;
  card_of(calls).describe(settings);
  ASSERT_EQ(settings.other_processes.size(), 100u);
  EXPECT_EQ(settings.other_processes.back(), "4000000099 python");
}

TEST(Nvml, BusIdsOfDriverAndRuntimeAreTheSame) {
  EXPECT_EQ(plain_bus_id("00000000:0F:00.0"), "0000:0f:00.0");
  EXPECT_EQ(plain_bus_id("0000:0F:00.0"), "0000:0f:00.0");
  EXPECT_EQ(plain_bus_id("00010000:0F:00.0"), "10000:0f:00.0");
  EXPECT_EQ(plain_bus_id("1:0f:00.0"), "0001:0f:00.0");
}

/// Links 0 and 1 to a GPU, 2 down, 3 to a switch, 4 to a CPU; there are no more.
NvmlFunctions card_with_links() {
  NvmlFunctions calls = card_that_answers();
  calls.link_state = [](Card, unsigned link, unsigned* active) {
    *active = link == 2 ? 0 : 1;
    return link > 4 ? no_such_link : answered;
  };
  calls.link_remote = [](Card, unsigned link, NvmlFunctions::PciAddress* address) {
    std::strcpy(address->bus_id, link < 2 ? "00000000:19:00.0" : "00000000:C3:00.0");
    return answered;
  };
  return calls;
}

TEST(Nvml, LinksLeadToGpusAndSwitches) {
  NvmlFunctions calls = card_with_links();
  calls.link_remote_type = [](Card, unsigned link, unsigned* type) {
    *type = link < 2 ? 0 : link == 3 ? 2 : 1;
    return answered;
  };
  const NvLinks links = card_of(calls).links();
  EXPECT_EQ(links.active, 4);
  EXPECT_TRUE(links.switched);
  EXPECT_THAT(links.gpus, ElementsAre("0000:19:00.0"));
}

TEST(Nvml, LinksWithoutTheirTypeAreToldByTheAddress) {
  const NvLinks links = card_of(card_with_links()).links();
  EXPECT_THAT(links.gpus, ElementsAre("0000:19:00.0"));
  EXPECT_TRUE(links.switched) << "C3 is no GPU that the driver knows";
}

TEST(Nvml, CardWithoutLinksHasNone) {
  NvmlFunctions calls = card_that_answers();
  calls.link_state = [](Card, unsigned, unsigned*) { return not_supported; };
  const NvLinks links = card_of(calls).links();
  EXPECT_EQ(links.active, 0);
  EXPECT_FALSE(links.switched);
}

TEST(Nvml, LibraryThatDoesNotStartSaysSoInItsOwnWords) {
  NvmlFunctions calls = card_that_answers();
  calls.init = [] { return 9; };
  calls.error_text = [](int) { return "Driver Not Loaded"; };
  const auto nvml = Nvml::start(calls);
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().where, "nvmlInit_v2");
  EXPECT_EQ(nvml.error().what, "Driver Not Loaded");
  calls.error_text = nullptr;
  EXPECT_EQ(Nvml::start(calls).error().what, "error 9");
}

TEST(Nvml, CardThatIsNotThereIsNamed) {
  const auto nvml = Nvml::start(card_that_answers());
  ASSERT_TRUE(nvml);
  EXPECT_EQ(nvml->driver(), "580.65.06");
  const auto gpu = nvml->gpu("0000:99:00.0");
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().what, "0000:99:00.0: error 6");
}

TEST(Nvml, LibraryWithoutItsFirstFunctionsIsRefused) { EXPECT_FALSE(Nvml::start(NvmlFunctions{})); }

}  // namespace
}  // namespace stepcast::kernels
