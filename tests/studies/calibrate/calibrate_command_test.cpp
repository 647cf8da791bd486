// stepcast calibrate as a user types it: files in, a profile out, and an error with a hint for whatever does not fit.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::calibration {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::Ran;
using testing_program::run_line;

/// A folder of one test's files.
class CalibrateCommand : public testing::Test {
 protected:
  CalibrateCommand() {
    folder_ = testing_program::own_path("calibrate/");
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CalibrateCommand() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_ + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  static std::string shipped(const char* name) { return std::string(STEPCAST_SOURCE_DIR) + "/examples/" + name; }

  /// 24 products that take 3 us plus their flops at `rate`.
  static std::string products(double rate, const std::string& more_header = "", const std::string& more = "") {
    std::string text = "m,n,k,time_us" + more_header + "\n";
    for (int m = 512; m <= 16384; m *= 2)
      for (const int n : {1024, 2048, 4096, 8192})
        text += fmt::format("{},{},4096,{:.4f}{}\n", m, n, 3 + 2.0 * m * n * 4096 / rate * 1e6, more);
    return text;
  }
  static Ran fails(const std::string& line, const std::string& what) {
    Ran ran = run_line(line);
    EXPECT_EQ(ran.code, 2) << line << ran.out;
    EXPECT_EQ(ran.out, "") << line;
    EXPECT_THAT(ran.err, HasSubstr(what)) << line;
    return ran;
  }
  std::string folder_;
};

double rate_of(const json& report, const std::string& law) {
  for (const json& row : report.at("laws"))
    if (row.at("law") == law) return row.at("parameters").at("rate_flops_per_s");
  ADD_FAILURE() << "no law " << law;
  return 0;
}

TEST_F(CalibrateCommand, ImportJoinsFilesAndSaysWhatItRead) {
  const std::string out = file("m.json");
  const Ran ran = run_line(
      "calibrate import " + shipped("gemm_times.csv") + " " + shipped("all_reduce.txt") + " --gpu h100-sxm -o " + out);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("24 rows"));
  EXPECT_THAT(ran.out, HasSubstr("gemm bf16"));
  EXPECT_THAT(ran.out, HasSubstr("all_reduce x8"));
  EXPECT_THAT(ran.out, HasSubstr("35 rows in " + out));
  EXPECT_TRUE(std::filesystem::exists(out));
  EXPECT_FALSE(std::filesystem::exists(out + ".part"));
}

TEST_F(CalibrateCommand, ImportAsJsonCountsRowsPerKind) {
  const Ran ran =
      run_line("calibrate import " + shipped("gemm_times.csv") + " --gpu h100-sxm --json --output " + file("m.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report.at("rows"), 24);
  ASSERT_EQ(report.at("kinds").size(), 1U);
  EXPECT_EQ(report.at("kinds")[0].at("kind"), "gemm bf16");
  EXPECT_EQ(report.at("kinds")[0].at("gpu"), "h100-sxm");
}

TEST_F(CalibrateCommand, WithoutAnElementTypeProductsAreBf16AndANoteSaysSo) {
  const std::string table = write("t.csv", products(500e12));
  const Ran ran = run_line("calibrate import " + table + " --gpu h100-sxm -o " + file("m.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("gemm bf16"));
  EXPECT_THAT(ran.out, HasSubstr("taken as"));
  const Ran said = run_line("calibrate import " + table + " --gpu h100-sxm --dtype fp16 -o " + file("m.json"));
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("gemm fp16"));
  EXPECT_THAT(said.out, testing::Not(HasSubstr("taken as")));
}

TEST_F(CalibrateCommand, ColumnsOfAnyNameByOneFlagOrSeveral) {
  const std::string table = write("t.csv", "M,N,depth,runtime,type\n1024,1024,1024,10,bf16\n2048,1024,1024,20,bf16\n");
  for (const char* flags : {"--columns k=depth,time_us=runtime,dtype=type",
           "--column k=depth --column time_us=runtime --column dtype=type"}) {
    const Ran ran = run_line("calibrate import " + table + " --gpu h100-sxm " + flags + " -o " + file("m.json"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("2 rows in"));
  }
}

TEST_F(CalibrateCommand, FitRecoversTheRateThatMadeTheTimes) {
  const std::string table = write("t.csv", products(500e12));
  const Ran ran = run_line("calibrate fit " + table + " --gpu h100-sxm --dtype bf16 --json -o " + file("p.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_EQ(report.at("measurements"), 24);
  EXPECT_NEAR(rate_of(report, "gemm bf16"), 500e12, 25e12);
  const json& law = report.at("laws")[0];
  EXPECT_EQ(law.at("held_out").at("samples"), 24);
  EXPECT_LT(law.at("held_out").at("mape"), 0.05);
  EXPECT_EQ(law.at("held_out_training_size").at("samples"), 24);
  EXPECT_EQ(report.at("start"), "h100-sxm");
}

TEST_F(CalibrateCommand, FitSaysWhatItKeptAndThatSamplesAreFew) {
  const Ran ran = run_line(
      "calibrate fit " + shipped("gemm_times.csv") + " --gpu h100-sxm -o " + file("p.json") + " --hold-out 0.25");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Held out"));
  EXPECT_THAT(ran.out, HasSubstr("kept from h100-sxm"));
  EXPECT_THAT(ran.out, HasSubstr("24 samples give the parameters"));
}

TEST_F(CalibrateCommand, LawsThatNobodyMeasuredStayAsTheyWere) {
  ASSERT_EQ(run_line("calibrate fit " + shipped("gemm_times.csv") + " --gpu h100-sxm -o " + file("p.json")).code, 0);
  for (const char* question : {"kernel attention --seq 4096 --heads 32", "kernel norm --rows 8192 --columns 4096",
           "kernel moe --tokens 1024 --hidden 4096 --inter 14336 --topk 2 --experts 8",
           "kernel gemm --m 4096 --n 4096 --k 4096 --dtype fp8"}) {
    const Ran before = run_line(std::string(question) + " --json"),
              after = run_line(std::string(question) + " --json --profile " + file("p.json"));
    if (before.code != 0) continue;  // the catalogue's profile may lack a law
    ASSERT_EQ(after.code, 0) << after.err;
    EXPECT_DOUBLE_EQ(json::parse(after.out).at("time_s"), json::parse(before.out).at("time_s")) << question;
  }
}

TEST_F(CalibrateCommand, TheFittedProfileAnswersForItsGpuAndItsRelatives) {
  const std::string table = write("t.csv", products(500e12));
  ASSERT_EQ(run_line("calibrate fit " + table + " --gpu h100-sxm -o " + file("p.json")).code, 0);
  const std::string asked = "kernel gemm --m 8192 --n 8192 --k 8192 --json --profile " + file("p.json");
  const json own = json::parse(run_line(asked).out), other = json::parse(run_line(asked + " --machine h200-sxm").out);
  EXPECT_NEAR(own.at("time_s").get<double>(), 2 * std::pow(8192.0, 3) / 500e12, 0.1e-3);
  EXPECT_EQ(own.at("source"), "fitted");
  EXPECT_EQ(other.at("source"), "transferred");
  EXPECT_NEAR(other.at("time_s").get<double>() / own.at("time_s").get<double>(), 1, 0.02);
}

TEST_F(CalibrateCommand, SeveralGpusNeedAChoice) {
  const std::string table = write("t.csv", products(500e12, ",gpu", ",h100-sxm"));
  std::string other = products(200e12, ",gpu", ",a100-80gb");
  other.erase(0, other.find('\n') + 1);
  std::ofstream(table, std::ios::app) << other;
  const Ran ran = fails("calibrate fit " + table + " --dtype bf16 -o " + file("p.json"), "several GPUs");
  EXPECT_THAT(ran.err, HasSubstr("h100-sxm (24 rows)"));
  EXPECT_FALSE(std::filesystem::exists(file("p.json")));
  const Ran chosen = run_line("calibrate fit " + table + " --dtype bf16 --gpu a100-80gb --json -o " + file("p.json"));
  ASSERT_EQ(chosen.code, 0) << chosen.err;
  EXPECT_NEAR(rate_of(json::parse(chosen.out), "gemm bf16"), 200e12, 10e12);
  EXPECT_THAT(chosen.out, HasSubstr("24 rows are of other GPUs (h100-sxm)"));
}

TEST_F(CalibrateCommand, SustainedTimesGiveTheSlowDownOfBursts) {
  const std::string burst = write("burst.csv", products(500e12, ",dtype", ",bf16"));
  const std::string sustained = write("long.csv", products(400e12, ",dtype", ",bf16"));
  ASSERT_EQ(
      run_line("calibrate import " + sustained + " --gpu h100-sxm --regime sustained -o " + file("s.json")).code, 0);
  const Ran ran =
      run_line("calibrate fit " + burst + " " + file("s.json") + " --gpu h100-sxm --json -o " + file("p.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NEAR(json::parse(ran.out).at("sustained_slowdown"), 1.25, 0.02);
  EXPECT_THAT(ran.out, HasSubstr("was measured sustained"));
}

TEST_F(CalibrateCommand, ShowHasRoofsLawsCollectivesAndAPlot) {
  const Ran ran = run_line("calibrate show h100-sxm");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part :
      {"Roofs", "989 TFLOP/s", "Laws", "attention", "Bus bandwidth", "all_reduce", "Across nodes", "n = k = 4096"})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_NE(ran.out.find("Measured steps"), std::string::npos);
  const json figures = json::parse(run_line("calibrate show h100-sxm --json").out);
  ASSERT_FALSE(figures.at("steps").empty());
  for (const auto& fit : figures.at("steps")) EXPECT_LE(fit.at("parameters").size(), 3u);
  EXPECT_EQ(figures.at("profile"), "h100-sxm");
  EXPECT_EQ(figures.at("products_over_m").at("rate_flops_per_s").size(), 16U);
  for (const json& point : figures.at("products_over_m").at("rate_flops_per_s")) EXPECT_LT(point[1], 989e12);
  for (const json& row : figures.at("collectives")) EXPECT_EQ(row.at("bus_bytes_per_s").size(), 3U);
}

TEST_F(CalibrateCommand, ShowDrawsWithLettersWhereThereIsNoUnicode) {
  std::ostringstream out, err;
  Console console{out, err, false, false};
  ASSERT_EQ(run_program({"calibrate", "show", "a100-sxm-80"}, console), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("***"));
  for (const char c : out.str()) ASSERT_TRUE(static_cast<unsigned char>(c) < 128) << "not ASCII";
}

TEST_F(CalibrateCommand, AProfileComparedWithItselfIsTheSame) {
  const json report = json::parse(run_line("calibrate compare h100-sxm h100-sxm --json").out);
  EXPECT_TRUE(report.at("conditions").empty());
  EXPECT_TRUE(report.at("only_a").empty());
  for (const json& law : report.at("laws")) {
    EXPECT_DOUBLE_EQ(law.at("median"), 1) << law.at("law");
    EXPECT_TRUE(law.at("within_own_errors")) << law.at("law");
  }
}

TEST_F(CalibrateCommand, TwiceTheRateHalvesTheTimesOfLargeProducts) {
  const std::string slow = write("slow.csv", products(300e12)), fast = write("fast.csv", products(600e12));
  ASSERT_EQ(run_line("calibrate fit " + slow + " --gpu h100-sxm --cuda 12.1 -o " + file("a.json")).code, 0);
  ASSERT_EQ(run_line("calibrate fit " + fast + " --gpu h100-sxm --cuda 12.4 -o " + file("b.json")).code, 0);
  const json report =
      json::parse(run_line("calibrate compare " + file("a.json") + " " + file("b.json") + " --json").out);
  for (const json& law : report.at("laws")) {
    if (law.at("law") != "gemm bf16") continue;
    EXPECT_NEAR(law.at("p10"), 0.5, 0.05);
    EXPECT_FALSE(law.at("within_own_errors"));
  }
  EXPECT_EQ(report.at("conditions")[0].at("name"), "cuda");
  const Ran text = run_line("calibrate compare " + file("a.json") + " " + file("b.json"));
  EXPECT_THAT(text.out, HasSubstr("12.4"));
  EXPECT_THAT(text.out, HasSubstr("faster"));
}

TEST_F(CalibrateCommand, WrongWordsAndFlags) {
  fails("calibrate", "something is missing");
  fails("calibrate imprt x.csv", "did you mean 'import'?");
  fails("calibrate import -o " + file("m.json"), "something is missing");
  fails("calibrate import x.csv", "-o M.json");
  fails("calibrate fit x.csv", "-o PROFILE.json");
  fails("calibrate show h100-sxm --hold-out 0.2", "does not go with calibrate show");
  fails("calibrate import x.csv --start h100-sxm -o " + file("m.json"), "does not go with calibrate import");
  fails("calibrate show", "something is missing");
  fails("calibrate show h100-sxm a100-80gb", "unexpected argument");
  fails("calibrate compare h100-sxm", "something is missing");
  fails("calibrate show h100-smx", "did you mean");
  fails("calibrate compare h100-sxm nothing.json", "nothing.json");
  fails("calibrate import x.csv -o a -o b", "given 2 times");
  fails("calibrate import x.csv -o", "needs a value");
}

TEST_F(CalibrateCommand, WrongValuesOfFlags) {
  const std::string table = write("t.csv", products(500e12)), out = " -o " + file("m.json");
  const auto refuses = [&](const std::string& word, const std::string& flags, const std::string& what) {
    fails("calibrate " + word + " " + table + " " + flags + out, what);
    EXPECT_FALSE(std::filesystem::exists(file("m.json"))) << flags;
    EXPECT_FALSE(std::filesystem::exists(file("m.json.part"))) << flags;
  };
  refuses("import", "--gpu h100-smx", "did you mean 'h100-sxm'?");
  refuses("import", "--gpu h100-sxm --dtype bf17", "unknown element type");
  refuses("import", "--gpu h100-sxm --kind gem", "did you mean 'gemm'?");
  refuses("import", "--gpu h100-sxm --regime busrt", "burst or sustained");
  refuses("import", "--gpu h100-sxm --fabric nvlink", "unknown fabric");
  refuses("import", "--gpu h100-sxm --columns m", "is no pair");
  refuses("import", "--gpu h100-sxm --columns m=n,m=k", "given twice");
  refuses("import", "--gpu h100-sxm --columns m=Q", "no column 'Q'");
  refuses("import", "--gpu h100-sxm --only shape=big", "shape");
  refuses("import", "--gpu h100-sxm --power-limit lots", "--power-limit");
  refuses("import", "--gpu h100-sxm --sm-clock -5", "out of range");
  refuses("import", "--gpu h100-sxm --port 400", "--port");
  refuses("import", "--gpu h100-sxm --ports 0", "out of range");
  refuses("import", "--gpu h100-sxm --ranks 1", "out of range");
  refuses("import", "--gpu h100-sxm --format xml", "unknown format");
  refuses("import", "", "--gpu");
  refuses("fit", "", "--gpu");
  refuses("fit", "--gpu h100-sxm --hold-out 0.9", "out of range");
  refuses("fit", "--gpu h100-sxm --hold-out none", "--hold-out");
  refuses("fit", "--gpu h100-sxm --id a/b", "is no id");
  refuses("fit", "--gpu h100-sxm --start h100-smx", "did you mean");
}

TEST_F(CalibrateCommand, WrongFiles) {
  const std::string out = " -o " + file("m.json");
  fails("calibrate import " + file("absent.csv") + " --gpu h100-sxm" + out, "absent.csv");
  fails("calibrate import " + folder_ + " --gpu h100-sxm" + out, "is a folder");
  fails("calibrate import " + write("empty.csv", "") + " --gpu h100-sxm" + out, "empty");
  fails("calibrate import " + write("words.txt", "no timings here\n") + " --gpu h100-sxm" + out, "no importer knows");
  fails("calibrate import " + write("bad.csv", "m,n,k,dtype,time_us\n1,2,x,bf16,3\n") + " --gpu h100-sxm" + out,
      "bad.csv:2");
  fails("calibrate import " + write("zero.csv", "m,n,k,dtype,time_us\n1,2,3,bf16,0\n") + " --gpu h100-sxm" + out,
      "zero.csv:2");
  fails("calibrate import " + write("none.csv", "m,n,k,dtype,time_us\n") + " --gpu h100-sxm" + out, "none.csv");
  fails("calibrate fit " + write("few.csv", "m,n,k,dtype,time_us\n1024,1024,1024,bf16,9\n") + " --gpu h100-sxm" + out,
      "h100-sxm");
  fails("calibrate import " + shipped("gemm_times.csv") + " --gpu h100-sxm -o " + folder_ + "no/such/m.json",
      "cannot be written");
  fails("calibrate import " + shipped("gemm_times.csv") + " --gpu h100-sxm -o " + folder_, "is a folder");
  fails("calibrate show " + write("p.json", "{\"id\": 3}"), "p.json");
  EXPECT_FALSE(std::filesystem::exists(file("m.json")));
}

TEST_F(CalibrateCommand, WhatStoodThereStaysWhenTheWorkFails) {
  const std::string out = write("m.json", "precious");
  fails("calibrate import " + file("absent.csv") + " --gpu h100-sxm --force -o " + out, "absent.csv");
  std::ifstream kept(out);
  std::string text;
  kept >> text;
  EXPECT_EQ(text, "precious");
}

}  // namespace
}  // namespace stepcast::calibration
