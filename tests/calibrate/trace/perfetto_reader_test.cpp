// Traces in Perfetto's format, written byte by byte as its .proto files say.
#include "calibrate/trace/perfetto_reader.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/trace/trace_file.h"

namespace stepcast::calibrate::perfetto_reader_test {
namespace {

using testing::HasSubstr;

std::string varint_bytes(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number_field(std::uint32_t field, std::uint64_t value) {
  return varint_bytes(std::uint64_t{field} << 3) + varint_bytes(value);
}
std::string bytes_field(std::uint32_t field, const std::string& bytes) {
  return varint_bytes((std::uint64_t{field} << 3) | 2) + varint_bytes(bytes.size()) + bytes;
}
std::string packet(const std::string& fields) { return bytes_field(1, fields); }
std::string named_text(std::uint64_t iid, const std::string& text) {
  return number_field(1, iid) + bytes_field(2, text);
}

/// Clocks of sequence 3: 6 is what all know, at 1,000,000 ns; 64 counts microseconds on from the packet before.
std::string first_packet() {
  const std::string known = number_field(1, 6) + number_field(2, 1'000'000),
                    own = number_field(1, 64) + number_field(2, 1'000) + number_field(3, 1) + number_field(4, 1'000);
  return packet(number_field(10, 3) + number_field(41, 1) +
                bytes_field(59, number_field(58, 64) + bytes_field(11, number_field(11, 77))) +
                bytes_field(6, bytes_field(1, known) + bytes_field(1, own)));
}
std::string track_packet(std::uint64_t uuid, const std::string& name) {
  return packet(bytes_field(60, number_field(1, uuid) + bytes_field(2, name)) + number_field(10, 3));
}
/// `after`: microseconds behind the packet before it.
std::string begin_packet(std::uint64_t after, const std::string& event, const std::string& interned = "") {
  return packet(number_field(8, after) + number_field(10, 3) + bytes_field(12, interned) +
                bytes_field(11, number_field(9, 1) + event));
}
std::string end_packet(std::uint64_t after, std::uint64_t track) {
  return packet(
      number_field(8, after) + number_field(10, 3) + bytes_field(11, number_field(9, 2) + number_field(11, track)));
}

/// A launch on the thread's track (77, by default), then its kernel on a stream, with texts by number and in full.
std::string recording() {
  const std::string correlation = bytes_field(4, number_field(1, 5) + number_field(3, 42));
  return first_packet() + track_packet(9, "COMPUTE AGENT [4] STREAM [2] (GPU)") +
         begin_packet(10, number_field(3, 1) + number_field(10, 2) + correlation,
             bytes_field(1, named_text(1, "hip_api")) + bytes_field(2, named_text(2, "hipLaunchKernel")) +
                 bytes_field(3, named_text(5, "corr_id"))) +
         end_packet(4, 77) +
         begin_packet(6, number_field(11, 9) + bytes_field(22, "kernel_dispatch") + bytes_field(23, "Cijk_Alik") +
                             bytes_field(4, bytes_field(10, "corr_id") + number_field(4, 42))) +
         end_packet(100, 9);
}

std::string file_of(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "stepcast_perfetto_" + name + ".pftrace";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
std::string error_of(const std::string& name, const std::string& bytes) {
  const auto traces = read_trace_file(file_of(name, bytes));
  return traces ? "" : to_text(traces.error());
}

TEST(PerfettoTrace, HoldsKernelsAndTheirLaunches) {
  const auto traces = read_trace_file(file_of("whole", recording()));
  ASSERT_TRUE(traces) << to_text(traces.error());
  ASSERT_EQ(traces->size(), 1U);
  const RankTrace& trace = traces->front();
  EXPECT_EQ(trace.tool, "Perfetto");
  EXPECT_EQ(trace.device, 4);
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.names[0], "Cijk_Alik");
  EXPECT_EQ(trace.events[0].kind, WorkKind::gemm);
  EXPECT_EQ(trace.events[0].stream, 2);
  // From the first slice's begin: the launch is over at 4 us, the kernel runs from 10 to 110.
  EXPECT_DOUBLE_EQ(trace.launched_at(trace.events[0]), 4);
  EXPECT_DOUBLE_EQ(trace.events[0].start, 10);
  EXPECT_DOUBLE_EQ(trace.events[0].end, 110);
}

TEST(PerfettoTrace, RefusesWhatItCannotKnow) {
  const std::string whole = recording();
  EXPECT_THAT(error_of("cut", whole.substr(0, whole.size() - 3)), HasSubstr("breaks off or is damaged behind byte"));
  // A tag, a length of two bytes, then 203 bytes: a tag of one, a length of two, 200 bytes of text.
  const std::string long_packet = packet(bytes_field(1, std::string(200, 'x')));
  EXPECT_THAT(error_of("long", long_packet + first_packet().substr(0, 9)), HasSubstr("behind byte 206 ("));
  EXPECT_THAT(error_of("open", whole.substr(0, whole.size() - end_packet(100, 9).size())), HasSubstr("never ends"));
  EXPECT_THAT(error_of("packed", whole + packet(bytes_field(50, "x"))), HasSubstr("decompress_packets"));
  EXPECT_THAT(error_of("lost", whole + begin_packet(1, number_field(10, 99))), HasSubstr("packets were lost"));
  EXPECT_THAT(error_of("clock",
                  whole + packet(number_field(8, 1) + number_field(58, 70) + bytes_field(11, number_field(9, 1)))),
      HasSubstr("clock 70, which no packet explains"));
  EXPECT_THAT(error_of("damaged", first_packet() + packet("\x5A\x7F")), HasSubstr("packet 2 is damaged"));
  EXPECT_THAT(error_of("other", first_packet()), HasSubstr("none of them is of a GPU"));
}

TEST(PerfettoTrace, TextsAreNone) {
  EXPECT_FALSE(is_perfetto("\n{\"traceEvents\": []}"));
  EXPECT_TRUE(is_perfetto(first_packet()));
}

}  // namespace
}  // namespace stepcast::calibrate::perfetto_reader_test
