// stepcast collective: single questions and tables of them, and what is refused.
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::ask {
namespace {

TEST(CollectiveCommand, one_question_within_a_node) {
  const auto run = testing_program::run_line(std::vector<std::string>{
      "collective", "all_reduce", "--machine", "dgx-h100", "--bytes", "256 MiB", "--gpus", "8", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(answer["source"], "measured");
  EXPECT_EQ(answer["bound"], "bandwidth");
  const double time = answer["time_s"];
  EXPECT_GT(time, 0.5e-3);  // 445 GB/s of bus bandwidth are 1.06 ms (ai-dynamo/aiconfigurator 095f58a at 512 MiB)
  EXPECT_LT(time, 1.6e-3);
  EXPECT_LT(answer["interval_s"][0], time);
  EXPECT_GT(answer["interval_s"][1], time);
  // busbw of all_reduce on 8 ranks = 1.75 of algbw.
  EXPECT_NEAR(answer["busbw_bytes_per_s"].get<double>() / answer["algbw_bytes_per_s"].get<double>(), 1.75, 1e-9);
}

TEST(CollectiveCommand, small_buffers_are_bound_by_latency) {
  const auto run = testing_program::run_line(std::vector<std::string>{
      "collective", "all_gather", "--machine", "h100-sxm", "--bytes", "8192", "--gpus", "8", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["bound"], "latency");
}

/// A machine file whose latencies or reductions are edited hears that no price reads them, and what is read.
TEST(CollectiveCommand, what_a_machine_file_says_of_latency_is_not_passed_over) {
  const auto shown = testing_program::run_line(std::vector<std::string>{"show", "machine", "dgx-h100", "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const std::string path = testing_program::own_path("edited_latency.json");
  const auto said = [&](auto edit) {
    auto machine = nlohmann::json::parse(shown.out);
    edit(machine["levels"]);
    std::ofstream(path) << machine.dump();
    const auto run = testing_program::run_line(std::vector<std::string>{
        "collective", "all_reduce", "--machine", path, "--bytes", "1 KiB", "--gpus", "16", "--nodes", "2", "--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    return run.code == 0 ? nlohmann::json::parse(run.out)["notes"].dump() : "";
  };
  EXPECT_EQ(said([](auto&) {}), "[]");
  EXPECT_NE(said([](auto& levels) { levels[1]["latency"] = "500 us"; })
                .find("latency 500 us of the cluster changes no price: the law of its transport speaks, 22.4 us and "
                      "27.4 us per doubling of nodes"),
      std::string::npos);
  const std::string inside = said([](auto& levels) {
    levels[0]["latency"] = "34 us";
    levels[0]["in_network_reduction"] = !levels[0].value("in_network_reduction", false);
  });
  EXPECT_NE(inside.find("latency 34.0 us and in_network_reduction"), std::string::npos) << inside;
  EXPECT_NE(inside.find("change no price: the profile's curves speak"), std::string::npos) << inside;
}

TEST(CollectiveCommand, other_names_of_a_kind) {
  for (const char* name : {"alltoall", "all-to-all", "AllToAll"})
    EXPECT_EQ(testing_program::run_line(std::vector<std::string>{"collective", name, "--machine", "dgx-h100", "--bytes",
                                            "1 MiB", "--gpus", "8"})
                  .code,
        0)
        << name;
}

TEST(CollectiveCommand, a_table_of_several_kinds_in_its_own_order) {
  const std::string path = testing_program::own_path("collectives.csv");
  std::ofstream(path)
      << "kind,bytes,gpus,nodes\nall_reduce,1048576,8,1\nalltoall,1048576,4,1\nall_gather,1073741824,32,4\n";
  const auto run = testing_program::run_line(
      std::vector<std::string>{"collective", "--csv", path, "--machine", "azure-nd-h100", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto rows = nlohmann::json::parse(run.out)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1]["gpus"], 4);
  EXPECT_EQ(rows[2]["nodes"], 4);
  // One GiB into 32 ranks through 8 ports of 50 GB/s: at least 2.6 ms.
  EXPECT_GT(rows[2]["time_s"], 2.6e-3);
  for (const auto& row : rows) {
    EXPECT_TRUE(row.contains("interval_s") && row.contains("bound") && row.contains("source")) << row;
  }
}

TEST(CollectiveCommand, the_trays_of_a_rack_are_one_domain) {
  const auto run = testing_program::run_line(std::vector<std::string>{"collective", "all_reduce", "--machine",
      "gb200-nvl72", "--bytes", "1 GiB", "--gpus", "8", "--nodes", "2", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_LT(nlohmann::json::parse(run.out)["time_s"], 4e-3);  // 2 ports of 50 GB/s alone would take 19 ms
}

TEST(CollectiveCommand, wrong_input) {
  const auto error_of = [](std::vector<std::string> words) {
    words.insert(words.begin(), "collective");
    const auto run = testing_program::run_line(words);
    EXPECT_NE(run.code, 0);
    return run.err;
  };
  EXPECT_NE(error_of({}).find("which one?"), std::string::npos);
  EXPECT_NE(error_of({"all_redcue", "--bytes", "1 MiB", "--gpus", "8"}).find("all_reduce"), std::string::npos);
  EXPECT_NE(error_of({"all_reduce", "--gpus", "8"}).find("bytes is missing"), std::string::npos);
  EXPECT_NE(error_of({"all_reduce", "--bytes", "1 MiB", "--gpus", "1"}).find("one GPU"), std::string::npos);
  EXPECT_NE(error_of({"all_reduce", "--bytes", "1 MiB", "--gpus", "9", "--nodes", "2"}).find("equal parts"),
      std::string::npos);
  EXPECT_NE(error_of({"all_reduce", "--bytes", "1 MiB", "--gpus", "16"}).find("--nodes 2"), std::string::npos);
  EXPECT_NE(error_of({"all_reduce", "--bytes", "1 MiB", "--gpus", "8", "--nodes", "2", "--machine", "rtx-4090-box"})
                .find("more than it holds"),
      std::string::npos);
}

TEST(CollectiveCommand, rows_say_their_kind_and_a_word_beside_the_column_is_refused) {
  const std::string path = testing_program::own_path("kinds.csv");
  std::ofstream(path) << "kind,bytes,gpus\nall_reduce,64 MiB,8\nall_gather,64 MiB,8\n";
  const auto report = nlohmann::json::parse(testing_program::run_line({"collective", "--csv", path, "--json"}).out);
  EXPECT_EQ(report.at("rows")[0].at("kind"), "all_reduce");
  EXPECT_EQ(report.at("rows")[1].at("kind"), "all_gather");
  const auto both = testing_program::run_line({"collective", "all_gather", "--csv", path});
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("a column kind beside the word all_gather"), std::string::npos) << both.err;
}

TEST(CollectiveCommand, columns_and_rows_of_a_table_that_are_wrong_are_named) {
  const std::string path = testing_program::own_path("wrong_collectives.csv");
  const auto error_of = [&](const std::string& text) {
    std::ofstream(path) << text;
    const auto run = testing_program::run_line({"collective", "--csv", path});
    EXPECT_EQ(run.code, 2) << text;
    return run.err;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string column = error_of("kind,bytes,gpus,node\nall_reduce,64 MiB,16,2\n");
  has(column, "wrong_collectives.csv:1: unknown column 'node'");
  has(column, "did you mean 'nodes'?");
  has(error_of("kind,bytes,gpus\nall_reduce,64 MiB,8\nall_reduce,64 MiB,2000\n"),
      "wrong_collectives.csv:3: dgx-h100: ");
}

nlohmann::json exchange_answer(const std::string& question) {
  const auto run = testing_program::run_line("collective " + question + " --json");
  EXPECT_EQ(run.code, 0) << question << "\n" << run.err;
  return run.code == 0 ? nlohmann::json::parse(run.out) : nlohmann::json::object();
}

TEST(CollectiveCommand, all_reduce_by_an_engine) {
  const auto vllm = exchange_answer("all_reduce --machine dgx-h100 --bytes 128KiB --gpus 8 --engine vllm");
  EXPECT_NEAR(vllm.at("time_s").get<double>(), 7.9e-6, 0.1e-6);  // ai-dynamo/aiconfigurator 095f58a, vllm 0.24.0
  EXPECT_EQ(vllm.at("source"), "measured");
  const auto host = exchange_answer("all_reduce --machine dgx-h100 --bytes 128KiB --gpus 8 --engine vllm --graph off");
  EXPECT_GT(host.at("time_s"), vllm.at("time_s"));
  const auto nccl = exchange_answer("all_reduce --machine dgx-h100 --bytes 128KiB --gpus 8");
  EXPECT_GT(nccl.at("time_s"), vllm.at("time_s"));
}

TEST(CollectiveCommand, exchanges_of_experts) {
  const std::string rows = " --tokens 128 --hidden 7168 --topk 8 --experts 256";
  const auto dispatch = exchange_answer("dispatch --machine dgx-h100 --gpus 8 --dtype fp8" + rows);
  EXPECT_NEAR(dispatch.at("time_s").get<double>(), 37e-6, 4e-6);
  EXPECT_EQ(dispatch.at("sent_bytes"), 128 * 7 * 7168);
  EXPECT_GT(dispatch.at("held_out_samples"), 0);
  EXPECT_FALSE(dispatch.at("extrapolated"));
  const auto wide = exchange_answer("dispatch --machine dgx-h100 --gpus 64 --dtype fp8" + rows);
  EXPECT_NEAR(wide.at("time_s").get<double>(), 173e-6, 12e-6);  // DeepEP's page
  EXPECT_EQ(wide.at("source"), "transferred");
  EXPECT_TRUE(
      exchange_answer("combine --machine dgx-h100 --gpus 512" + std::string(" --tokens 128 --hidden 7168 --topk 8 "
                                                                            "--experts 512"))
          .at("extrapolated"));
  const auto rack = exchange_answer("combine --machine gb200-nvl72 --gpus 16 --kernel nvlink_two_sided" + rows);
  EXPECT_LT(rack.at("time_s"), 100e-6);
  // A table names ranks and choices as engines do.
  const std::string path = testing_program::own_path("exchanges.csv");
  std::ofstream(path) << "ranks,tokens,hidden,choices,experts,kernel\n8,128,7168,8,256,low_latency\n"
                         "8,8192,7168,8,256,normal\n";
  EXPECT_EQ(exchange_answer("combine --machine dgx-h100 --csv " + path).at("rows").size(), 2u);
}

TEST(CollectiveCommand, wrong_questions_to_engines) {
  const auto refused = [](const std::string& question, const std::string& what) {
    const auto run = testing_program::run_line("collective " + question);
    EXPECT_EQ(run.code, 2) << question;
    EXPECT_NE(run.err.find(what), std::string::npos) << question << "\n" << run.err;
  };
  const std::string engine = " --machine dgx-h100 --bytes 1MiB --gpus 8 ", rows = " --tokens 128 --hidden 7168 ";
  refused("all_gather" + engine + "--engine vllm", "leave all_gather to NCCL");
  refused("all_reduce" + engine + "--engine vllm --nodes 2", "across nodes are NCCL's");
  refused("all_reduce" + engine + "--engine vllm --graph maybe", "on, off or any");
  refused("all_reduce" + engine + "--engine vlm", "one of: trtllm");
  refused("dispatch --machine dgx-h100 --gpus 8" + rows + "--topk 8", "experts is missing");
  refused("dispatch --machine dgx-h100 --gpus 8" + rows + "--topk 8 --experts 257", "equal parts");
  refused("dispatch --machine dgx-h100 --gpus 8" + rows + "--topk 9 --experts 8", "as many or fewer");
  refused("dispatch --machine dgx-h100 --gpus 1" + rows + "--topk 1 --experts 8", "nobody to talk to");
  refused("dispatch --machine dgx-h100 --gpus 12" + rows + "--topk 8 --experts 252", "a multiple of 8");
  refused("dispatch --machine dgx-h100 --gpus 8" + rows + "--topk 8 --experts 256 --dtype fp32", "were not timed");
  refused("dispatch --machine dgx-h100 --gpus 8" + rows + "--topk 8 --experts 256 --kernel slow", "low_latency");
  refused("dispatch --machine dgx-h100 --gpus 8" + rows + "--topk 8 --experts 256 --bytes 1MiB", "does not go with");
  refused("prepare --machine dgx-h100 --gpus 8" + rows + "--topk 8 --experts 256", "nobody timed prepare");
  refused("dispatch --machine dgx-b200 --gpus 16" + rows + "--topk 8 --experts 256", "across nodes");
}

}  // namespace
}  // namespace stepcast::ask
