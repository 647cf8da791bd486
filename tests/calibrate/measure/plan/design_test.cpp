// Shapes that tell most: far apart, the user's own counted as taken.
#include "calibrate/measure/plan/design.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

double doublings_apart(const Shape& a, const Shape& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += std::pow(std::log2(a[i] / b[i]), 2);
  return std::sqrt(sum);
}

double nearest_pair(const std::vector<Shape>& shapes) {
  double least = INFINITY;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) least = std::min(least, doublings_apart(shapes[i], shapes[j]));
  return least;
}

// One size only varies: 1, 2, 4, 8, 16. The middle is 4; then both ends are 2 doublings off, the first is taken first.
TEST(Design, by_hand_on_a_line) {
  const std::vector<Shape> line{{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {8, 1, 1}, {16, 1, 1}};
  const std::vector<Shape> expected{{4, 1, 1}, {1, 1, 1}, {16, 1, 1}};
  EXPECT_EQ(farthest_points(line, {}, 3), expected);
}

TEST(Design, what_is_taken_keeps_its_distance) {
  const std::vector<Shape> line{{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {8, 1, 1}, {16, 1, 1}};
  const std::vector<Shape> taken{{1, 1, 1}};
  const std::vector<Shape> expected{{16, 1, 1}, {4, 1, 1}};
  EXPECT_EQ(farthest_points(line, taken, 2), expected);
}

TEST(Design, a_prefix_is_a_design) {
  const std::vector<Shape> all = training_candidates();
  const std::vector<Shape> taken{{2048, 4608, 12288}, {4096, 6144, 4096}};
  const std::vector<Shape> long_one = farthest_points(all, taken, 48);
  ASSERT_EQ(long_one.size(), 48u);
  for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{24}}) {
    const std::vector<Shape> short_one = farthest_points(all, taken, count);
    ASSERT_EQ(short_one.size(), count);
    EXPECT_TRUE(std::equal(short_one.begin(), short_one.end(), long_one.begin()));
  }
}

TEST(Design, shapes_stand_farther_apart_than_the_candidates) {
  const std::vector<Shape> all = training_candidates();
  // 48 of 1573 in a box of 6 x 5 x 5 doublings: one for every 3 cubic doublings.
  EXPECT_GT(nearest_pair(farthest_points(all, {}, 48)), 1.4);
  EXPECT_LT(nearest_pair({all.begin(), all.begin() + 48}), 0.6);
}

TEST(Design, no_shape_twice_and_no_more_than_there_are) {
  const std::vector<Shape> few{{256, 512, 512}, {512, 512, 512}, {256, 512, 512}};
  EXPECT_EQ(farthest_points(few, {}, 10).size(), 2u);
  EXPECT_TRUE(farthest_points({}, {}, 3).empty());
  EXPECT_TRUE(farthest_points(few, {}, 0).empty());
}

TEST(Design, candidates_lie_within_their_bounds) {
  // 256 to 16384: seven powers of two and six halves between; 512 to 16384: six and five.
  EXPECT_EQ(training_candidates().size(), 13u * 11 * 11);
  for (const Shape& shape : training_candidates()) {
    EXPECT_TRUE(shape[0] >= 256 && shape[0] <= 16384);
    EXPECT_TRUE(shape[1] >= 512 && shape[1] <= 16384 && shape[2] >= 512 && shape[2] <= 16384);
  }
  for (const Shape& shape : skinny_candidates()) EXPECT_TRUE(shape[0] >= 1 && shape[0] <= 256);
}

TEST(Design, edges_are_what_no_tile_divides) {
  const std::vector<Shape> edges = edge_shapes();
  EXPECT_EQ(edges.size(), 20u);
  EXPECT_EQ(std::set<Shape>(edges.begin(), edges.end()).size(), 20u);
  for (const Shape& shape : edges)
    EXPECT_TRUE(std::any_of(shape.begin(), shape.end(), [](double size) { return std::fmod(size, 256) != 0; }) ||
                std::fmod(shape[1], 4096) != 0);
}

}  // namespace
}  // namespace stepcast::calibrate
