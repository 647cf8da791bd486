#include "model/catalog.h"

#include <set>

#include <gtest/gtest.h>

#include "model/base/row_text.h"

namespace stepcast {
namespace {

/// Ids and aliases of one kind are a single name space, and each row says where it comes from.
template <typename Rows> void check_names(const Rows& rows, bool sourced) {
  EXPECT_TRUE(!rows.empty() || !sourced);
  std::set<std::string> seen;
  for (const auto& row : rows) {
    EXPECT_TRUE(is_row_id(row.id)) << row.id;
    EXPECT_FALSE(row.name.empty()) << row.id;
    EXPECT_TRUE(seen.insert(row.id).second) << row.id;
    for (const std::string& alias : row.aliases) EXPECT_TRUE(seen.insert(alias).second) << row.id << " alias " << alias;
    if constexpr (requires { row.source; }) {
      if (sourced) {
        EXPECT_GT(row.source.size(), 40u) << row.id;
      }
    }
  }
}

TEST(Catalog, NamesAreUniqueAndEveryRowHasASource) {
  check_names(built_in().networks, true);
  check_names(built_in().gpus, true);
  check_names(built_in().machines, true);
  check_names(built_in().stacks, true);
  check_names(built_in().profiles, false);
}

/// What is known of a row before it is read is what the row says.
template <typename Row> void check_lookup(const LazyRows<Row>& rows, const char* kind) {
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Row& row = rows[at];
    EXPECT_EQ(rows.id(at), row.id);
    EXPECT_EQ(rows.aliases(at), row.aliases) << row.id;
    EXPECT_EQ(find_row(rows, row.id, kind), &row);
    for (const std::string& alias : row.aliases) EXPECT_EQ(find_row(rows, alias, kind), &row) << alias;
  }
  EXPECT_NE(to_text(find_row(rows, rows.front().id + "x", kind).error()).find(rows.front().id), std::string::npos);
}

TEST(Catalog, RowsAreFoundByTheirNamesBeforeTheyAreRead) {
  check_lookup(built_in().networks, "network");
  check_lookup(built_in().machines, "machine");
  check_lookup(built_in().stacks, "stack");
  check_lookup(built_in().engines, "engine");
}

TEST(Catalog, EveryRowReadsBackAsItWasWritten) {
  const auto same = [](const std::string& id, const std::string& text, const auto& read, const auto& write) {
    const auto again = read(text, id);
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(write(*again), text) << id;
  };
  for (const NetworkSpec& row : built_in().networks) same(row.id, write_network(row), read_network, write_network);
  for (const Gpu& row : built_in().gpus) same(row.id, write_gpu(row), read_gpu, write_gpu);
  for (const Stack& row : built_in().stacks) same(row.id, write_stack(row), read_stack, write_stack);
  for (const ProfileRow& row : built_in().profiles)
    same(row.id, write_profile(row.whole()), read_profile, write_profile);
  const auto read_alone = [](const std::string& text, const std::string& where) {
    return read_machine(text, where, {});
  };
  for (const Machine& row : built_in().machines) same(row.id, write_machine(row), read_alone, write_machine);
}

TEST(Catalog, KeepsKnownFigures) {
  const Machine& a100 = **find_row(built_in().machines, "dgx-a100", "machine");
  EXPECT_EQ(a100.gpu.peak[static_cast<int>(Precision::fp16)].value(), 312e12);
  EXPECT_EQ(a100.gpu.memory.value(), 80.0 * (1 << 30));
  EXPECT_EQ(a100.levels[0].bandwidth_per_gpu.value(), 300e9);
  EXPECT_EQ(a100.levels[1].bandwidth_per_gpu.value(), 25e9) << "200 Gb/s per GPU";
  const Machine& rack = **find_row(built_in().machines, "gb200-nvl72", "machine");
  EXPECT_EQ(rack.levels[0].gpus, 72);
}

TEST(FindRow, TakesIdsAndAliasesInAnyCase) {
  EXPECT_EQ((*find_row(built_in().networks, "LLAMA3-70B", "network"))->id, "llama3-70b");
  EXPECT_EQ((*find_row(built_in().networks, "meta-llama/Meta-Llama-3-70B", "network"))->id, "llama3-70b");
  EXPECT_EQ((*find_row(built_in().machines, "hgx-h100", "machine"))->id, "dgx-h100");
}

TEST(FindRow, SuggestsTheNearestOrListsAll) {
  EXPECT_EQ(to_text(find_row(built_in().networks, "lama3-70b", "network").error()),
      "network: unknown network 'lama3-70b' (did you mean 'llama3-70b'?)");
  const std::string all = to_text(find_row(built_in().machines, "tpu", "machine").error());
  EXPECT_NE(all.find("one of: "), std::string::npos) << all;
  EXPECT_NE(all.find("dgx-h100"), std::string::npos) << all;
}

}  // namespace
}  // namespace stepcast
