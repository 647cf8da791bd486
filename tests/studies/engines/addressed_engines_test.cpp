// Benchmarks beside engines: by ports and models, which of them they load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "studies/engines/line/waits.h"
#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string bench =
    "vllm bench serve --dataset-name random --random-input-len 1000 --random-output-len 100 --max-concurrency 16 ";

std::string engine(int gpu, int port, const std::string& model = "Qwen/Qwen3-8B") {
  return "CUDA_VISIBLE_DEVICES=" + std::to_string(gpu) + " vllm serve " + model + " --port " + std::to_string(port) +
         " &\n";
}

std::string replicas(const Read& got) {
  const auto found = got.asked.flags.find("--replicas");
  return found == got.asked.flags.end() ? "1" : found->second;
}

TEST(AddressedEngines, OneOfTwoIsLoaded) {
  const std::string both = engine(0, 8000) + engine(1, 8001);
  for (const char* address : {"--port 8001", "--base-url http://localhost:8001", "--host 127.0.0.1 --port 8001"}) {
    const Read got = read(both + bench + address);
    ASSERT_EQ(got.error, "") << address;
    EXPECT_EQ(replicas(got), "1") << address;
    EXPECT_EQ(got.asked.flags.at("--concurrency"), "16");
    EXPECT_THAT(got.asked.notes, Contains(HasSubstr("the benchmark loads port 8001: of 2 engines")));
  }
  // a router of the script, an address elsewhere, or none: they are loaded together
  for (const std::string& other : {"vllm-router --worker-urls a b &\n" + bench + "--port 8001",
           bench + "--base-url http://router.example:8001", bench + "--port $PORT", bench})
    EXPECT_EQ(replicas(read(both + other)), "2") << other;
}

/// Each of two benchmarks has an engine of its own: one of them is forecast, with its own users.
TEST(AddressedEngines, TwoBenchmarksLoadAnEngineEach) {
  const Read got = read(engine(0, 8000) + engine(1, 8001) + bench + "--port 8000 &\n" + bench + "--port 8001\n");
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(replicas(got), "1");
  EXPECT_EQ(got.asked.flags.at("--concurrency"), "16");
}

/// Two benchmarks that load one engine at once are no load of one of them; one behind the other are.
TEST(AddressedEngines, BenchmarksBesideEachOtherAreDoubted) {
  const std::string first = engine(0, 8000) + bench + "--port 8000";
  EXPECT_THAT(read(first + " &\n" + bench + "--port 8000\n").error, HasSubstr("run beside each other"));
  EXPECT_THAT(read(first + " > a.log 2>&1 &\n" + bench + "--port 8000 &\nwait\n").error,
      HasSubstr("the benchmarks of lines 2 and 3 run beside each other"));
  for (const char* between : {" &\nwait $SERVER\n", " & echo started\n", " &\n# wait\n", " &\necho 'a; wait'\n"})
    EXPECT_THAT(read("sleep 9 & SERVER=$!\n" + first + between + bench + "--port 8000\n").error,
        HasSubstr("run beside each other"))
        << between;
  EXPECT_THAT(read(first + " & " + bench + "--port 8000 & wait\n").error, HasSubstr("run beside each other"));
  for (const char* between : {" & wait\n", " & wait $!; ", " & B=$!; wait $B; ", " & B=$!; wait $B\n",
           " & PIDS+=($!)\nwait \"${PIDS[@]}\"\n", " &\nwait $!\n"})
    EXPECT_EQ(read(first + between + bench + "--port 8000\n").error, "") << between;
  EXPECT_FALSE(waits_at_once("bench & other & wait; bench\n", 1)) << "which of them is meant is not told";
  EXPECT_FALSE(waits_at_once("bench & echo; wait\n", 1));
  EXPECT_EQ(waited_at("for c in 1 2; do\n  bench \\\n --port 1 &\ndone; wait\n", 2), 4U);
  EXPECT_EQ(waited_at("bench &\nA=$!\nother &\nwait $A\n", 3), 0U) << "of another command";
  EXPECT_EQ(waited_at("echo a\n\"vllm\" bench serve &\nwait $!\n", 2), 3U) << "a command in quotes";
  for (const char* keeps : {"local PID=$!", "declare -i PID=$!", "readonly PID=$!", "export PID=$!"})
    EXPECT_EQ(waited_at(std::string("bench &\n") + keeps + "\nwait $PID\n", 1), 3U) << keeps;
  EXPECT_EQ(waited_at("bench &\necho PID=$!\nwait $PID\n", 1), 0U) << "nothing keeps it";
  for (const char* between : {"\n", " &\nwait\n", " &\nPID=$!\nwait $PID\n", " && "})
    EXPECT_EQ(read(first + between + bench + "--port 8000\n").error, "") << between;
  EXPECT_EQ(read(first + " &\n").error, "") << "one alone";
}

/// What a script writes elsewhere is no command of it.
TEST(AddressedEngines, TextsOfAScriptAreNoCommands) {
  for (const char* mark : {"<<EOF", "<< EOF", "<<'EOF'", "<<-EOF", "> a.txt <<\"EOF\""})
    EXPECT_EQ(waited_at(std::string("cat ") + mark + "\nit's one & wait\nEOF\nbench &\nwait\n", 4), 5U) << mark;
  EXPECT_EQ(waited_at("bench &\ncat <<EOF\nwait\nEOF\n", 1), 0U) << "a text does not wait";
  EXPECT_EQ(waited_at("cat <<A <<B\nit's\nA\nit's\nB\nbench &\nwait\n", 6), 7U) << "one text after the other";
  EXPECT_EQ(waited_at("cat <<< \"a\"\nbench &\nwait\n", 2), 3U) << "a text in its line";
  EXPECT_EQ(waited_at("N=$((1<<2))\nbench &\nwait\n", 2), 3U) << "a shift of a number";
}

/// Benchmarks of unlike loads, or of unlike engines: one of them would be forecast without the other.
TEST(AddressedEngines, UnlikeBenchmarksAreDoubted) {
  const std::string other = "vllm bench serve --dataset-name random --random-input-len 1000 --random-output-len 100 "
                            "--max-concurrency 64 --port 8001\n",
                    both = engine(0, 8000) + engine(1, 8001) + bench + "--port 8000 &\n" + other;
  EXPECT_THAT(
      read(both).error, HasSubstr("benchmarks load engines at ports 8000, 8001, and they or the engines differ"));
  // of an iteration no benchmark says anything
  const auto ran = testing_program::run_line("infer --prompt 64 --launch " + written("both.sh", both));
  EXPECT_EQ(ran.code, 0) << ran.err;
}

/// Unlike engines are told apart by the port that is loaded.
TEST(AddressedEngines, UnlikeEnginesAreToldApart) {
  const std::string both = engine(0, 8000) + engine(1, 8001, "Qwen/Qwen3-32B");
  EXPECT_THAT(read(both + bench).error, HasSubstr("they differ"));
  EXPECT_EQ(read(both + bench + "--port 8001").asked.network, "qwen3-32b");
}

TEST(AddressedEngines, OtherPortsAndModelsAreDoubted) {
  EXPECT_THAT(read(engine(0, 8000) + bench + "--port 9000").error,
      AllOf(HasSubstr("launch.sh:2 loads port 9000, and the engine listens at 8000"), HasSubstr("--lenient")));
  EXPECT_EQ(read(engine(0, 8000) + bench + "--port 9000", {}, "", true).error, "");
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B &\n" + bench + "--port 9000").error, HasSubstr("listens at 8000"));
  EXPECT_EQ(
      read("docker run -p 9000:8000 vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B &\n" + bench + "--port 9000").error,
      "");
  EXPECT_THAT(
      read("docker run --network host vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B &\n" + bench + "--port 9000")
          .error,
      HasSubstr("listens at 8000"));
  EXPECT_THAT(read(engine(0, 8000) + bench + "--model Qwen/Qwen3-32B").error,
      AllOf(HasSubstr("launch.sh:2 asks for Qwen/Qwen3-32B"), HasSubstr("launch.sh:1 serves Qwen/Qwen3-8B")));
  EXPECT_EQ(read(engine(0, 8000, "Qwen/Qwen3-8B --served-model-name q") + bench + "--model Qwen/Qwen3-32B").error, "");
  EXPECT_EQ(read(engine(0, 8000) + bench + "--model mine").error, "");
  EXPECT_EQ(read("ssh node1 vllm serve Qwen/Qwen3-8B &\n" + bench + "--port 9000").error, "");
}

/// Who names the command of one engine means every load.
TEST(AddressedEngines, ACommandThatIsNamedIsTaken) {
  const std::string path = written("two.sh", engine(0, 8000) + engine(1, 8001) + bench + "--port 8000");
  const auto launch = read_engine_launch({.file = path + ":2", .words = {}, .defined = {}, .folders = {}});
  ASSERT_TRUE(launch.has_value()) << to_text(launch.error());
  EXPECT_TRUE(launch->bench.has_value());
  EXPECT_TRUE(launch->load_doubts.empty());
}

}  // namespace
}  // namespace stepcast::engines
