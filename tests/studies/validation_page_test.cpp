// The page of `stepcast validate --html`: well formed, alone, escaped, complete, and its figures are those of the
// validation.
#include "studies/validation/html_page.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/version.h"
#include "studies/records/embedded_runs.h"
#include "studies/print/page/html_text.h"
#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

ValidatedCase page_case(const std::string& id, double measured, double fitted, double held_out) {
  ValidatedCase row;
  row.id = id, row.gpu = "A100", row.precision = "fp16", row.kind = "dense", row.stack = "s", row.source = "paper",
  row.group = "g";
  row.measured_s = measured, row.predicted_s = fitted, row.error = fitted / measured - 1;
  row.low_s = 0.95 * fitted, row.high_s = 1.05 * fitted;
  row.held_out_s = held_out, row.held_out_low_s = 0.9 * held_out, row.held_out_high_s = 1.1 * held_out;
  row.gpus = 8, row.model_flops = 1;
  return row;
}

/// Fitted errors +10, -20, +30 %; held out +5, -40, +60 %.
Validation page_validation(bool hold_out = true) {
  Validation made;
  made.cases = {page_case("a", 10, 11, hold_out ? 10.5 : 0), page_case("b", 10, 8, hold_out ? 6 : 0),
      page_case("c", 10, 13, hold_out ? 16 : 0)};
  made.all = {3, 0.2, 0.2 / 3, 0.28, 0.3};
  made.coverage = 0;
  made.skipped = {{"d", "no layers"}, {"e", "no layers"}};
  return made;
}

constexpr JudgedClass page_class{"A100 dense", "A100 V100", "", "dense", "", "", Leave::model, 0.3, 0.2};

JudgedRow page_row(bool hold_out = true) {
  JudgedRow row;
  row.judged = &page_class;
  row.fitted = {3, 0.2, 0.0667, 0.28, 0.3};
  if (hold_out) row.held_out = row.with_doubts = {3, 0.35, 0.0833, 0.56, 0.6};
  if (hold_out) row.left_out = "model";
  row.coverage = 1.0 / 3, row.spearman = 0.5, row.groups = 1, row.regret = 0.02, row.baseline_mape = 0.4;
  return row;
}

/// Tags in order, without what stands inside <style>.
std::vector<std::string> tags_of(const std::string& page) {
  std::vector<std::string> tags;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return {"unclosed"};
    tags.push_back(page.substr(at + 1, end - at - 1));
    at = end;
    if (tags.back() == "style") at = page.find("</style>", at);
  }
  return tags;
}

std::string name_of_tag(const std::string& tag) {
  return tag.substr(0, tag.find_first_of(" /", tag.front() == '/' ? 1 : 0));
}

/// "" or what is wrong first. Attribute values must be quoted and hold no quote.
std::string imbalance(const std::string& page) {
  std::vector<std::string> open;
  for (const std::string& tag : tags_of(page)) {
    const std::string name = name_of_tag(tag);
    if (name == "!DOCTYPE" || name == "meta" || tag.back() == '/') continue;
    if (tag.find('<') != std::string::npos) return "< inside " + tag;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes in " + tag;
    if (name.front() != '/') {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name.substr(1))
        return name + " closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

/// Addresses only where a reader may follow them.
std::string foreign_reference(const std::string& page) {
  for (const char* word : {"url(", "@import", "<script", "<link", "<iframe", "<img", "srcset", "javascript:"})
    if (page.find(word) != std::string::npos) return word;
  for (const std::string& tag : tags_of(page)) {
    if (tag.find(" src=") != std::string::npos) return tag;
    const std::size_t link = tag.find("href=\"");
    if (link == std::string::npos) continue;
    const std::string target = tag.substr(link + 6, 8);
    if (name_of_tag(tag) != "a" || (target.front() != '#' && target != "https://")) return tag;
  }
  return "";
}

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// The row of a table that begins with this heading, from the section on.
std::string table_row(const std::string& page, const std::string& section, const std::string& heading) {
  const std::size_t from = page.find("<section id=\"" + section + "\"");
  const std::size_t at = page.find(">" + heading + "</th>", from);
  EXPECT_NE(at, std::string::npos) << heading;
  return at == std::string::npos ? "" : page.substr(at, page.find("</tr>", at) - at);
}

TEST(ValidationPage, ClassRowHasTheFiguresOfTheClass) {
  const std::string page = validation_html(page_validation(), {page_row()});
  const std::string row = table_row(page, "classes", "A100 dense");
  for (const char* cell :
      {">3<", "<b>35.0 %</b>", ">model<", "&#10007; misses 30.0 % by 5.0 points", ">20.0 %<", ">+8.3 %<", ">56.0 %<",
          ">+60.0 %<", ">33.3 %<", ">0.50<", ">2.0 % (1 group)<", ">40.0 %<", ">20.0 %, better<"})
    EXPECT_NE(row.find(cell), std::string::npos) << cell << " in " << row;
  EXPECT_EQ(times(page, "No hold-out was made"), 0U);
}

TEST(ValidationPage, HeadCountsWitnessesOnly) {
  Validation made = page_validation();
  made.cases[2].doubt = "batch is wrong";
  const std::string page = validation_html(made, {page_row()});
  EXPECT_NE(page.find("<b>22.5 %</b><span>MAPE, held out: 2 runs"), std::string::npos);  // (5 + 40) / 2
  EXPECT_NE(page.find("<b>50.0 %</b><span>of them inside"), std::string::npos);          // 9.45 to 11.55 holds 10
  EXPECT_NE(page.find("<b>15.0 %</b><span>MAPE, everything fitted, 2 runs"), std::string::npos);  // (10 + 20) / 2
  EXPECT_NE(page.find("<b>20.0 %</b><span>MAPE, everything fitted, all 3 runs"), std::string::npos);
  EXPECT_NE(page.find("<b>3 measured runs</b>"), std::string::npos);
  EXPECT_NE(table_row(page, "doubts", "batch is wrong").find(">c<"), std::string::npos);
  EXPECT_NE(page.find("stepcast " + std::string(version())), std::string::npos);
}

TEST(ValidationPage, TheHeadShowsFiguresThatWereMade) {
  for (const bool hold_out : {true, false}) {
    const std::string page = validation_html(page_validation(hold_out), {page_row(hold_out)}),
                      head = page.substr(0, page.find("</header>"));
    const std::string first =
        hold_out ? "<b>35.0 %</b><span>MAPE, held out" : "<b>20.0 %</b><span>MAPE, everything fitted";
    EXPECT_NE(head.find("<div class=\"figures\">\n<div>" + first), std::string::npos);
    EXPECT_EQ(head.find("not made"), std::string::npos);
  }
}

TEST(ValidationPage, WithoutHoldOutItSaysSo) {
  const std::string page = validation_html(page_validation(false), {page_row(false)});
  EXPECT_NE(page.find("No hold-out was made"), std::string::npos);
  EXPECT_NE(page.find("--hold-out"), std::string::npos);
  EXPECT_EQ(page.find("&#10007;"), std::string::npos);
  EXPECT_EQ(page.find("held out)"), std::string::npos);
  const std::string row = table_row(page, "classes", "A100 dense");
  EXPECT_NE(row.find("30.0 %; no hold-out was made"), std::string::npos);
  EXPECT_EQ(row.find("better"), std::string::npos);  // a held-out rival is not ahead of a fitted figure
}

TEST(ValidationPage, GoalsAreSaidInWords) {
  JudgedRow row = page_row();
  row.held_out.mape = 0.3;
  EXPECT_EQ(goal_verdict(row), "&#10003; within 30.0 %");
  row.held_out.mape = 0.3004;
  EXPECT_EQ(goal_verdict(row), "&#10007; misses 30.0 % by 0.040 points");
  JudgedClass aimless = page_class;
  aimless.goal = 0;
  row.judged = &aimless;
  EXPECT_EQ(goal_verdict(row), "none set");
}

TEST(ValidationPage, PanelsHoldEveryRun) {
  Validation made = page_validation();
  made.cases[0].gpu = "A100-80GB";  // fits by its beginning
  made.cases[1].gpu = "A1";
  made.cases[2].gpu = "V100";
  const auto panels = case_panels(made, {page_row(), page_row()});  // two classes of the same runs are drawn once
  ASSERT_EQ(panels.size(), 2U);
  EXPECT_EQ(panels[0].name, "A100 dense");
  EXPECT_EQ(panels[0].cases, (CaseList{&made.cases[0], &made.cases[2]}));
  EXPECT_EQ(panels[1].name, "In no judged class");
  EXPECT_EQ(panels[1].cases, CaseList{&made.cases[1]});
  EXPECT_EQ(case_panels(made, {}).front().cases.size(), 3U);
}

TEST(ValidationPage, ShownIsHeldOutWhereMade) {
  const ShownForecast fitted = shown_forecast(page_case("x", 10, 9.6, 0)),
                      out = shown_forecast(page_case("x", 10, 9.6, 12));
  EXPECT_FALSE(fitted.held_out);
  EXPECT_NEAR(fitted.error, -0.04, 1e-12);
  EXPECT_TRUE(fitted.inside);  // 9.12 to 10.08
  EXPECT_TRUE(out.held_out);
  EXPECT_NEAR(out.error, 0.2, 1e-12);
  EXPECT_FALSE(out.inside);  // 10.8 to 13.2
}

TEST(ValidationPage, RightForecastsLieOnTheDiagonal) {
  const ValidatedCase low = page_case("low", 1, 1, 0), high = page_case("high", 100, 100, 0);
  const std::string plot = time_scatter({&low, &high});
  // The frame is 214 wide from 38 and 220 high from 8; 0.06 of the two decades stay free on either side.
  EXPECT_NE(plot.find("cx=\"49.5\" cy=\"216.2\""), std::string::npos)
      << plot;  // 38 + 214 x 0.12 / 2.24, 8 + 220 x 2.12 / 2.24
  EXPECT_NE(plot.find("cx=\"240.5\" cy=\"19.8\""), std::string::npos) << plot;
  EXPECT_NE(plot.find("<title>low: measured 1.000 s, forecast 1.000 s (fitted), +0.0 %</title>"), std::string::npos);
  EXPECT_EQ(time_scatter({}), "");
}

TEST(ValidationPage, MarksTellInsideOutsideAndDoubt) {
  ValidatedCase inside = page_case("i", 10, 10, 0), outside = page_case("o", 10, 14, 0),
                doubtful = page_case("d", 10, 14, 0);
  doubtful.doubt = "why";
  const std::string strip = error_strip({&inside, &outside, &doubtful});
  EXPECT_EQ(times(strip, "<circle class=\"in\" cx=\"50.00%\""), 1U);
  EXPECT_EQ(times(strip, "<circle class=\"out\" cx=\"88.40%\""), 1U);  // 2 + 96 x 0.9
  EXPECT_EQ(times(strip, "<text class=\"doubt\" x=\"88.40%\""), 1U);
  EXPECT_NE(strip.find("doubtful: why"), std::string::npos);
  const ValidatedCase far = page_case("f", 10, 30, 0);
  EXPECT_NE(error_strip({&far}).find("cx=\"98.00%\""), std::string::npos);  // at the end, with its error in the title
}

TEST(ValidationPage, MemoryIsDrawnInGB) {
  ValidatedCase row = page_case("m", 10, 10, 0);
  row.measured_memory = 50e9, row.predicted_memory = 49e9;
  EXPECT_NE(memory_scatter({&row}).find("m: measured 50.00 GB, forecast 49.00 GB, -2.0 %"), std::string::npos);
}

TEST(ValidationPage, HostileNamesAreText) {
  const std::string hostile = "<script>alert(\"x\")</script>&'";
  Validation made = page_validation();
  for (ValidatedCase& row : made.cases)
    row.id = row.doubt = row.source = row.gpu = row.precision = row.stack = row.group = row.kind = hostile;
  made.cases[0].assumptions = {hostile};
  made.cases[0].measured_memory = made.cases[0].predicted_memory = 1e9;
  made.skipped = {{hostile, hostile}};
  made.groups = {{hostile, hostile, 4, 1, 0}};
  for (const std::string& name :
      {hostile, hostile, std::string("javascript:alert(1)"), std::string("https://a.b/\"><script>")})
    made.classes.emplace_back().name = name;
  for (std::size_t i = 1; i < made.classes.size(); ++i) made.classes[i].by_source = true;
  made.classes[0].memory = {1, 0.1, 0.1, 0.1, 0.1};
  stepcast::Run run;
  run.id = hostile, run.date = "<b>2024";
  const std::string page = validation_html(made, {page_row()}, {run});
  EXPECT_EQ(imbalance(page), "");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<b>2024"), std::string::npos);
  EXPECT_EQ(page.find("alert(\"x\")"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;"), std::string::npos);
  EXPECT_EQ(page.find("href=\"javascript"), std::string::npos);
}

TEST(ValidationPage, NothingToShowIsAPageToo) {
  const std::string page = validation_html({}, {});
  EXPECT_EQ(imbalance(page), "");
  EXPECT_NE(page.find("No run could be forecast"), std::string::npos);
  EXPECT_EQ(page.find(">nan<"), std::string::npos);
  EXPECT_EQ(page.find("MAPE, everything fitted"), std::string::npos);
  EXPECT_EQ(page.find("id=\"scatter\""), std::string::npos);
}

TEST(ValidationPage, TheParserHereFindsMistakes) {
  EXPECT_NE(imbalance("<p><b></p>"), "");
  EXPECT_NE(imbalance("<p>"), "");
  EXPECT_NE(imbalance("<p title=\"a>b</p>"), "");
  EXPECT_EQ(imbalance("<p title=\"a\">b<meta charset=\"x\"></p>"), "");
  EXPECT_NE(foreign_reference("<img src=\"x\">"), "");
  EXPECT_NE(foreign_reference("<use href=\"https://a\">"), "");
  EXPECT_EQ(foreign_reference("<a href=\"#x\">x</a>"), "");
}

TEST(ValidationPage, NumbersAreForPeople) {
  EXPECT_EQ(html_seconds(0.94514), "0.9451");
  EXPECT_EQ(html_seconds(27.2284), "27.23");
  EXPECT_EQ(html_seconds(299.707), "299.7");
  EXPECT_EQ(html_seconds(12345.6), "12346");
  EXPECT_EQ(html_seconds(0), "0");
  EXPECT_EQ(html_count(999), "999");
  EXPECT_EQ(html_count(1440), "1,440");
  EXPECT_EQ(html_count(1234567), "1,234,567");
  EXPECT_EQ(html_plural(1, "run", "runs"), "1 run");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ValidationPage, CommandWritesEveryCarriedRun) {
  const std::string path = testing_program::own_path("page.html");
  const auto ran = testing_program::run_line({"validate", "--json", "--html", path});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto document = nlohmann::json::parse(ran.out);
  const std::string page = text_of(path);
  EXPECT_EQ(imbalance(page), "");
  EXPECT_EQ(foreign_reference(page), "");
  const std::string runs = page.substr(page.find("<section id=\"runs\""));
  for (const auto& row : document["cases"]) {
    const std::string id = html_escaped(row["id"].get<std::string>());
    EXPECT_GE(times(runs, ">" + id + "</th>"), 1U) << id;
    EXPECT_GE(times(page, "<title>" + id + ": measured "), 2U) << id;  // in its scatter and in its strip
  }
  EXPECT_NE(page.find("2020-09 to 2026-08"), std::string::npos);
  EXPECT_NE(page.find("Calculon"), std::string::npos);
  EXPECT_NE(page.find("<b>" + html_percent(document["all"]["mape"].get<double>()) + "</b>"), std::string::npos);
  EXPECT_EQ(std::remove((path + ".part").c_str()), -1);  // nothing is left beside it
  std::remove(path.c_str());
}

TEST(ValidationPage, PlacesThatCannotBeWrittenAreRefusedAtOnce) {
  const auto ran = testing_program::run_line({"validate", "--html", testing_program::own_path("none") + "/page.html"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("--html"), std::string::npos);
}

TEST(ValidationPage, WrongRecordsLeaveNoFile) {
  const std::string path = testing_program::own_path("page.html");
  EXPECT_EQ(testing_program::run_line({"validate", "/no/such/runs.json", "--html", path}).code, 2);
  EXPECT_NE(std::remove(path.c_str()), 0);
  EXPECT_NE(std::remove((path + ".part").c_str()), 0);
}

}  // namespace
}  // namespace stepcast::studies
