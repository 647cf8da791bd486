// Rows that no GPU can have made bend no law.
#include "calibrate/fit/beyond_roof.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/calibrate/measure/known_rows.h"

namespace stepcast::calibrate {
namespace {

bool names_rows_left_out(const FittedProfile& fitted) {
  return std::any_of(fitted.notes.begin(), fitted.notes.end(), [](const std::string& note) {
    return note.find("faster than the datasheet allows and were left out") != std::string::npos;
  });
}

TEST(BeyondRoof, ImpossibleRowsOfAnyKindChangeNothing) {
  KnownRows known;
  known.add_campaign();
  const FittedProfile sound = known.fitted();
  EXPECT_FALSE(names_rows_left_out(sound));
  int bent = 0;
  const std::vector<Measurement> rows = known.rows.rows;
  for (std::size_t i = 0; i < rows.size(); i += 7) {
    Measurement row = rows[i];
    row.time = row.time / 1e4;
    if (!is_beyond_roof(row, known_gpu())) continue;
    known.rows.rows.push_back(row);
    ++bent;
  }
  ASSERT_GT(bent, 5);
  const FittedProfile again = known.fitted();
  EXPECT_EQ(write_profile(again.profile), write_profile(sound.profile));
  EXPECT_TRUE(names_rows_left_out(again));
}

TEST(BeyondRoof, NoRowOfAGpuAtItsRatesIsTakenForOne) {
  KnownRows known;
  known.add_campaign();
  for (const Measurement& row : known.rows.rows) EXPECT_FALSE(is_beyond_roof(row, known_gpu()));
}

TEST(BeyondRoof, ALawBeyondThePeakIsRefused) {
  KnownRows known;
  known.add_campaign();
  Profile profile = known.fitted().profile;
  EXPECT_TRUE(check_below_roofs(profile, known_gpu()));
  profile.gemm.front().compute = profile.gemm.front().compute * 10;
  const auto refused = check_below_roofs(profile, known_gpu());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("beyond the"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::calibrate
