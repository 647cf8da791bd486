// Files of timings that are packed, long, damaged or made to fill the memory.
#include <array>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

constexpr std::string_view trace_head =
    R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [)";
/// A product of 8 x 8 matrices that took 10 us.
constexpr std::string_view trace_event =
    R"({"cat": "cpu_op", "name": "aten::mm", "args": {"External id": 1, "Input Dims": [[8, 8], [8, 8]],
"Input type": ["c10::BFloat16", "c10::BFloat16"]}}, {"cat": "kernel", "name": "gemm", "dur": 10, "args":
{"External id": 1}})";

std::string trace_text() { return std::string(trace_head) + std::string(trace_event) + "]}"; }

std::string file_of(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string packed_file(const std::string& name, const std::string& text, std::size_t times = 1) {
  const std::string path = testing::TempDir() + name;
  const gzFile file = gzopen(path.c_str(), "wb9");
  for (std::size_t i = 0; i < times; ++i) gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Error error_of_file(const std::string& path) {
  const auto file = TimingsFile::open(path);
  if (!file) return file.error();
  const auto rows = import_file(*file, "", {});
  return rows ? Error{} : rows.error();
}

TEST(TimingsFile, a_packed_file_reads_as_what_was_packed) {
  for (const std::string& path : {file_of("plain.json", trace_text()), packed_file("packed.json.gz", trace_text())}) {
    const auto file = TimingsFile::open(path);
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(file->head(), trace_text());
    const auto rows = import_file(*file, "", {});
    ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
    ASSERT_EQ(rows->rows.size(), 1u);
    EXPECT_DOUBLE_EQ(rows->rows[0].time.value(), 10e-6);
    EXPECT_EQ(rows->contexts[0].source, path);
  }
}

TEST(TimingsFile, packed_files_that_are_cut_or_damaged_are_refused) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10'007);
  const std::string bytes = bytes_of(packed_file("whole.gz", text));
  const Error cut = error_of_file(file_of("cut.gz", bytes.substr(0, bytes.size() / 2)));
  EXPECT_THAT(cut.where, HasSubstr("cut.gz"));
  EXPECT_THAT(cut.what, HasSubstr("breaks off"));
  EXPECT_FALSE(cut.hint.empty());
  std::string wrong = bytes;
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 64; ++at) wrong[at] = '\xff';
  const Error damaged = error_of_file(file_of("damaged.gz", wrong));
  EXPECT_THAT(damaged.what, testing::AnyOf(HasSubstr("damaged"), HasSubstr("breaks off")));
  EXPECT_FALSE(damaged.hint.empty());
}

TEST(TimingsFile, a_packed_file_that_grows_without_end_is_refused) {
  // 80 MiB of blanks in 80 kB.
  const Error bomb = error_of_file(packed_file("bomb.json.gz", std::string(std::size_t{1} << 20, ' '), 80));
  EXPECT_THAT(bomb.where, HasSubstr("bomb.json.gz"));
  EXPECT_THAT(bomb.what, HasSubstr("unpack to more than"));
  EXPECT_THAT(bomb.hint, HasSubstr("times what is packed"));
}

TEST(TimingsFile, files_that_are_not_there_and_folders_are_refused) {
  const Error none = error_of_file(testing::TempDir() + "no-such-timings.json");
  EXPECT_THAT(none.what, HasSubstr("No such file"));
  EXPECT_FALSE(none.hint.empty());
  EXPECT_THAT(error_of_file(testing::TempDir()).what, HasSubstr("folder"));
}

TEST(TimingsFile, only_traces_may_be_longer_than_the_memory_for_texts) {
  std::string line = "# nccl-tests: algbw busbw ";
  line.resize(1 << 16, '.');
  std::string text;
  while (text.size() <= std::size_t{64} << 20) text += line + "\n";
  const Error error = error_of_file(file_of("long.txt", text));
  EXPECT_THAT(error.what, HasSubstr("more than 64 MiB of the format nccl-tests"));
  EXPECT_THAT(error.hint, HasSubstr("kineto"));
}

/// Gives a head once, and then the same piece for ever, or so many times and then the end of the list.
TimingsStream endless_trace(std::string_view first, std::string_view piece, std::size_t times = SIZE_MAX) {
  return {"endless.json", [=, given = std::size_t{0}]() mutable -> Expected<std::string_view> {
            const std::size_t at = given++;
            return at == 0 ? first : at <= times ? piece : at == times + 1 ? R"({}]})" : "";
          }};
}

TEST(TimingsFile, a_trace_of_many_steps_keeps_one_of_each_event) {
  const std::string event = std::string(trace_event) + ",\n";
  auto stream = endless_trace(trace_head, event, 50'000);
  const auto rows = stream_kineto(stream, {});
  ASSERT_TRUE(rows.has_value()) << to_text(rows.error());
  ASSERT_EQ(rows->rows.size(), 1u);  // one operator, whose kernels add up
  EXPECT_NEAR(rows->rows[0].time.value(), 50'000 * 10e-6, 1e-9);
}

TEST(TimingsFile, a_value_without_end_is_refused_whatever_it_is) {
  for (const std::string_view first : {R"({"traceEvents": ["a)", R"({"traceEvents": [{"cat": "a)", R"({"aaa)"}) {
    auto stream = endless_trace(first, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    const auto rows = stream_kineto(stream, {});
    ASSERT_FALSE(rows.has_value());
    EXPECT_EQ(rows.error().where, "endless.json");
    EXPECT_THAT(rows.error().what, HasSubstr("one value of more than 16 MiB"));
    EXPECT_FALSE(rows.error().hint.empty());
  }
  auto deep = endless_trace(R"({"traceEvents": [)", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
  EXPECT_THAT(stream_kineto(deep, {}).error().what, HasSubstr("nest too deeply"));
}

}  // namespace
}  // namespace stepcast::calibrate
