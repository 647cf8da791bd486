// Published errors of other tools: read strictly, and held against our errors on the same records.
#include "studies/validation/peers.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "studies/records/embedded_runs.h"
#include "studies/records/name_pattern.h"

namespace stepcast::validation {
namespace {

std::string peers_error(const std::string& row) {
  const auto peers = read_peers("{\"peers\": [" + row + "]}", "p.json");
  return peers ? "" : to_text(peers.error());
}

TEST(Peers, PercentBecomeFractions) {
  const auto peers =
      read_peers(R"({"peers": [{"tool": "T", "judged_on": "s", "n": 8, "mape_percent": 3.65, "worst_percent": -8.9,
                                    "claim": "authors, rerun", "source": "r"}]})",
          "p.json");
  ASSERT_TRUE(peers.has_value()) << to_text(peers.error());
  const PeerError& peer = peers->front();
  EXPECT_NEAR(*peer.mape, 0.0365, 1e-12);
  EXPECT_NEAR(*peer.worst, -0.089, 1e-12);
  EXPECT_EQ(peer.n, 8);
  EXPECT_EQ(peer.claim, PeerClaim::authors_rerun);
  EXPECT_STREQ(to_text(peer.claim), "authors, rerun");
  EXPECT_FALSE(peer.bias.has_value());
  EXPECT_FALSE(peer.of_memory);
}

TEST(Peers, ErrorsNameThePlace) {
  EXPECT_EQ(
      peers_error(R"({"tool": "T", "judged_on": "s", "at_most_percent": 3, "claim": "rerun", "source": "r"})"), "");
  EXPECT_NE(peers_error(R"({"tool": "T", "judged_on": "s", "claim": "rerun", "source": "r"})").find("no figure"),
      std::string::npos);
  EXPECT_NE(peers_error(R"({"tool": "T", "judged_on": "s", "mape_percent": 3, "claim": "they", "source": "r"})")
                .find("/peers/0/claim"),
      std::string::npos);
  EXPECT_NE(peers_error(R"({"tool": "T", "judged_on": "s", "mape_percent": -3, "claim": "rerun", "source": "r"})")
                .find("mape_percent"),
      std::string::npos);
  EXPECT_NE(peers_error(R"({"tool": "T", "judged_on": "s", "mape": 3, "claim": "rerun", "source": "r"})").find("mape"),
      std::string::npos);
}

TEST(Peers, EveryPatternSpeaksOfACarriedRecord) {
  std::vector<std::string> ids;
  for (const EmbeddedFile& file : embedded_runs()) {
    const auto runs = read_runs(std::string(file.text), std::string(file.name));
    ASSERT_TRUE(runs.has_value());
    for (const auto& run : *runs) ids.push_back(run.id);
  }
  ASSERT_FALSE(peer_errors().empty());
  for (const PeerError& peer : peer_errors())
    for (const std::string& pattern : peer.cases) {
      const bool found =
          std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return fits_pattern(id, pattern); });
      EXPECT_TRUE(found) << peer.tool << ", " << peer.judged_on << ": " << pattern;
    }
}

TEST(Peers, OursAreOfTheSameCasesOnly) {
  std::vector<ValidatedCase> cases(3);
  cases[0].id = "a-1", cases[0].measured_s = 10, cases[0].error = 0.2, cases[0].held_out_s = 11;
  cases[1].id = "a-2", cases[1].measured_s = 10, cases[1].error = -0.1;
  cases[2].id = "b-1", cases[2].measured_s = 10, cases[2].error = 9;
  cases[1].measured_memory = 100, cases[1].predicted_memory = 98;
  PeerError peer;
  peer.cases = {"a-*", "a-1"};  // a record named twice counts once
  const OursOnPeer ours = ours_on(peer, cases);
  EXPECT_EQ(ours.fitted.n, 2U);
  EXPECT_NEAR(ours.fitted.mape, 0.15, 1e-12);
  EXPECT_EQ(ours.held_out.n, 1U);
  EXPECT_NEAR(ours.held_out.mape, 0.1, 1e-12);
  EXPECT_EQ(ours.memory.n, 1U);
  EXPECT_NEAR(ours.memory.mape, 0.02, 1e-12);
  EXPECT_EQ(ours_on(PeerError{}, cases).fitted.n, 0U);
}

}  // namespace
}  // namespace stepcast::validation
