// The explorer's page: alone, well formed, escaped whatever the names hold, and with the figures of the result.
#include "studies/sweep/write/explorer.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/sweep/write/exports.h"
#include "studies/sweep/write/explorer_parts.h"
#include "tests/studies/sweep/synthetic_results.h"

namespace stepcast::sweep {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
namespace synthetic = testing_sweep;

const std::string data_begin = "<script id=\"data\" type=\"application/json\">";

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// What the browser takes for the data: all up to the first end of a script.
std::string data_text(const std::string& page) {
  const std::size_t begin = page.find(data_begin) + data_begin.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

json data_of(const SweepResult& result) { return json::parse(data_text(explorer_page(result))); }

/// Without scripts and styles: the elements that the browser builds.
std::string markup_of(std::string page) {
  for (const char* element : {"script", "style"})
    for (std::size_t at = page.find("<" + std::string(element)); at != std::string::npos;
         at = page.find("<" + std::string(element))) {
      const std::string end = "</" + std::string(element) + ">";
      page.erase(at, page.find(end, at) + end.size() - at);
    }
  return page;
}

/// "" or the first tag that closes nothing, stays open or has an odd number of quotes.
std::string first_imbalance(const std::string& markup) {
  const std::set<std::string> single = {"!DOCTYPE", "meta", "link", "input"};
  std::vector<std::string> open;
  for (std::size_t at = markup.find('<'); at != std::string::npos; at = markup.find('<', at + 1)) {
    const std::string tag = markup.substr(at + 1, markup.find('>', at) - at - 1),
                      name = tag.substr(0, tag.find_first_of(" /", 1));
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != std::string::npos) return tag;
    if (single.contains(name)) continue;
    if (name.front() != '/') open.push_back(name);
    else if (open.empty() || "/" + open.back() != name) return tag;
    else open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

std::set<std::uint64_t> indices_of(const SweepResult& result) {
  std::set<std::uint64_t> all;
  for (const auto* list : {&result.top, &result.pareto})
    for (const SweepRow& row : *list) all.insert(row.index);
  return all;
}

TEST(SweepExplorer, StandsAloneAndAsksForNothing) {
  const std::string page = explorer_page(synthetic::result(synthetic::question()));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "));
  for (const char* word : {"http:", "https:", "url(", "@import", "<img", "<iframe", " src=", "fetch(", "XMLHttpRequest",
           "import(", "WebSocket"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_EQ(occurrences(page, "<link"), 1U);
  EXPECT_THAT(page, HasSubstr("<link rel=\"icon\" href=\"data:,\">"));
  EXPECT_EQ(first_imbalance(markup_of(page)), "");
  EXPECT_EQ(first_imbalance("<p><b></p>"), "/p") << "the check finds nothing";
}

TEST(SweepExplorer, CarriesItsScriptsWhole) {
  const std::string page = explorer_page(synthetic::result(synthetic::question()));
  std::size_t scripts = 0;
  for (const EmbeddedFile& file : embedded_explorer()) {
    EXPECT_THAT(page, HasSubstr(std::string(file.text))) << file.name;
    EXPECT_EQ(file.text.find("</script"), std::string_view::npos) << file.name;
    EXPECT_EQ(file.text.find("innerHTML"), std::string_view::npos) << file.name << " makes markup of texts";
    scripts += file.name.ends_with(".js") ? 1 : 0;
  }
  EXPECT_GT(scripts, 10U);
  EXPECT_EQ(occurrences(page, "</script>"), 2U);
}

/// Scripts look elements up by their ids: each must be in the page, once.
TEST(SweepExplorer, HasEveryElementThatScriptsLookUp) {
  const std::string page = explorer_page(synthetic::result(synthetic::question())), markup = markup_of(page);
  const std::string call = "byId(\"";
  std::size_t found = 0;
  for (std::size_t at = page.find(call); at != std::string::npos; at = page.find(call, at + 1)) {
    const std::string id = page.substr(at + call.size(), page.find('"', at + call.size()) - at - call.size());
    if (id == "data" || id.ends_with('-')) continue;  // the latter are put together: scatter-x
    EXPECT_EQ(occurrences(markup, " id=\"" + id + "\""), 1U) << id;
    ++found;
  }
  EXPECT_GT(found, 8U);
  for (const char* id : {"scatter-x", "scatter-y", "scatter-x-log", "scatter-y-log"})
    EXPECT_EQ(occurrences(markup, " id=\"" + std::string(id) + "\""), 1U) << id;
}

TEST(SweepExplorer, HoldsEachRowOnceWithEveryDigit) {
  const SweepResult result = synthetic::result(synthetic::question(40, 30));
  const json data = data_of(result), rows = data["rows"];
  ASSERT_EQ(rows["index"].size(), indices_of(result).size());
  ASSERT_LT(rows["index"].size(), result.top.size() + result.pareto.size()) << "no row is in both lists";
  std::map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < rows["index"].size(); ++i) place[std::stoull(rows["index"][i].get<std::string>())] = i;
  ASSERT_EQ(place.size(), rows["index"].size());
  const auto holds = [&](const SweepRow& row) {
    const std::size_t at = place.at(row.index);
    for (std::size_t axis = 0; axis < row.choices.size(); ++axis)
      EXPECT_EQ(data["axes"][axis]["values"][rows["choices"][axis][at].get<std::size_t>()], row.choices[axis]);
    for (std::size_t figure = 0; figure < figure_count; ++figure)
      EXPECT_EQ(rows["figures"][figure][at].get<double>(), row.figures[figure]) << figure;
  };
  for (std::size_t i = 0; i < result.top.size(); ++i) {
    holds(result.top[i]);
    EXPECT_EQ(rows["rank"][place.at(result.top[i].index)], i + 1);
  }
  for (const SweepRow& row : result.pareto) {
    holds(row);
    EXPECT_EQ(rows["front"][place.at(row.index)], 1);
  }
  EXPECT_EQ(std::count(rows["front"].begin(), rows["front"].end(), json(1)),
      static_cast<std::ptrdiff_t>(result.pareto.size()));
}

TEST(SweepExplorer, PutsTheBestFirst) {
  SweepQuestion q = synthetic::question(40, 30);
  q.objective = "tokens_per_s_per_gpu";  // more is better
  SweepResult result = synthetic::result(q);
  const json rows = data_of(result)["rows"];
  EXPECT_EQ(rows["index"][0], std::to_string(result.top[0].index));
  const json& tokens = rows["figures"][static_cast<std::size_t>(Figure::tokens_per_s_per_gpu)];
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end(), std::greater<>()));
  EXPECT_NE(tokens.front(), tokens.back());
}

TEST(SweepExplorer, SaysWhichEndOfAFigureIsBest) {
  const json data = data_of(synthetic::result(synthetic::question()));
  ASSERT_EQ(data["figures"].size(), figure_count);
  for (const FigureRow& row : figure_rows()) {
    const json& figure = data["figures"][static_cast<std::size_t>(row.figure)];
    EXPECT_EQ(figure["name"], row.name);
    EXPECT_EQ(figure["more"], row.more_is_better);
  }
  EXPECT_EQ(data["figures"][static_cast<std::size_t>(Figure::memory_peak)]["unit"], "bytes");
  EXPECT_EQ(data["figures"][static_cast<std::size_t>(Figure::step_time)]["unit"], "seconds");
  EXPECT_EQ(data["figures"][static_cast<std::size_t>(Figure::cost)]["unit"], "dollars");
}

/// Words in double quotes between `begin` and `end`, wherever `begin` stands.
std::set<std::string> quoted_after(const std::string& text, const std::string& begin, const std::string& end) {
  std::set<std::string> words;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::size_t from = at + begin.size(), stop = text.find(end, from);
    for (std::size_t open = text.find('"', from); open < stop; open = text.find('"', text.find('"', open + 1) + 1)) {
      const std::string word = text.substr(open + 1, text.find('"', open + 1) - open - 1);
      if (!word.starts_with('#')) words.insert(word);  // a colour
    }
  }
  return words;
}

/// A figure that is renamed would leave the scripts without it.
TEST(SweepExplorer, ScriptsKnowFiguresByTheirNames) {
  std::string scripts;
  for (const EmbeddedFile& file : embedded_explorer())
    if (file.name.ends_with(".js")) scripts += file.text;
  const auto all_known = [](const std::set<std::string>& names) {
    for (const std::string& name : names) EXPECT_EQ(row_of(find_figure(name, "page").value()).name, name);
    return names.size();
  };
  EXPECT_GE(all_known(quoted_after(scripts, "figure(", ")")), 3U);
  EXPECT_GT(all_known(quoted_after(scripts, "_FIGURES = [", "];")), 8U);
  EXPECT_EQ(all_known(quoted_after(scripts, "const MEMORY_PARTS = [", "];")), 4U);
  std::set<std::string> phases;
  for (const Figure figure :
      {Figure::forward, Figure::backward, Figure::pipeline_bubble, Figure::exposed_communication, Figure::gradient_sync,
          Figure::clip, Figure::optimizer, Figure::parameter_gather, Figure::host, Figure::other})
    phases.insert(std::string(row_of(figure).name));
  EXPECT_EQ(quoted_after(scripts, "const PHASES = [", "];"), phases);
}

TEST(SweepExplorer, UnknownFiguresAreNull) {
  SweepResult result = synthetic::result(synthetic::question());
  result.top[0].figures[static_cast<std::size_t>(Figure::cost)] = std::numeric_limits<double>::quiet_NaN();
  result.top[0].figures[static_cast<std::size_t>(Figure::energy)] = std::numeric_limits<double>::infinity();
  result.pareto.clear();
  const json figures = data_of(result)["rows"]["figures"];
  EXPECT_TRUE(figures[static_cast<std::size_t>(Figure::cost)][0].is_null());
  EXPECT_TRUE(figures[static_cast<std::size_t>(Figure::energy)][0].is_null());
  EXPECT_FALSE(figures[static_cast<std::size_t>(Figure::cost)][1].is_null());
}

TEST(SweepExplorer, WithoutAPriceThereIsNoCost) {
  SweepResult result = synthetic::result(synthetic::question());
  result.question.price_per_gpu_hour = 0;
  const json data = data_of(result);  // a temporary would be gone in the loop
  for (const json& cost : data["rows"]["figures"][static_cast<std::size_t>(Figure::cost)]) EXPECT_TRUE(cost.is_null());
}

TEST(SweepExplorer, AxesHaveTheValuesOfTheRowsAndTheNumberOffered) {
  SweepResult result = synthetic::result(synthetic::question());
  result.top.resize(2), result.pareto.clear();
  result.top[0].choices[1] = "odd \"name\", with comma", result.top[1].choices[1] = "1f1b";
  const json axis = data_of(result)["axes"][1];
  EXPECT_EQ(axis["offered"], 3);
  EXPECT_EQ(axis["values"], json({"1f1b", "odd \"name\", with comma"})) << "in the order of the question";
}

TEST(SweepExplorer, SaysWhatWasAsked) {
  SweepQuestion q = synthetic::question();
  q.axes.push_back({"gpus", {"64", "128"}});
  q.axes.push_back({"precision", {"bf16"}});
  const std::string asked = explorer_asked(q);
  for (const char* cell :
      {">network</th><td class=\"t\">Llama 3 8B (llama3-8b)<", ">machine</th><td class=\"t\">DGX H100 (dgx-h100)<",
          ">GPUs</th><td class=\"t\">64, 128<", ">global-batch</th><td class=\"t\">256<",
          ">software</th><td class=\"t\">megatron-core<", ">constraint</th><td class=\"t\">tp &lt;= 8<",
          ">Pareto front of</th><td class=\"t\">step time, peak memory, ",
          ">schedule</th><td class=\"n\">3</td><td class=\"t\">1f1b, gpipe, odd &quot;name&quot;, with comma<",
          "One value: precision bf16<", ">price</th><td class=\"t\">$ 2.1 per GPU and hour<"})
    EXPECT_THAT(asked, HasSubstr(cell));
  EXPECT_EQ(first_imbalance(asked), "");
}

TEST(SweepExplorer, LongAxesAreShownInPart) {
  const std::string asked = explorer_asked(synthetic::question(5000));
  EXPECT_THAT(asked, HasSubstr(">5,000</td><td class=\"t\">1, 2, 3,"));
  EXPECT_THAT(asked, HasSubstr(", 40 and 4960 more<"));
}

TEST(SweepExplorer, CountsWhatWasDismissed) {
  SweepResult result = synthetic::result(synthetic::question());
  result.tally.enumerated = 1234567, result.tally.does_not_fit = 83112, result.tally.excluded = 5;
  result.tally.illegal = {{"few", 3}, {"many", 70000}};
  result.tally.smallest_overflow_bytes = 3.1 * 1024 * 1024 * 1024;
  result.tally.smallest_overflow_index = 21 + 7 + 3;  // tp 2 (of 21 each), gpipe (of 7 each), micro_batch 4
  const std::string counted = explorer_counted(result);
  EXPECT_THAT(counted, HasSubstr(">enumerated</th><td class=\"n\">1,234,567<"));
  EXPECT_THAT(counted, HasSubstr(">illegal</th><td class=\"n\">70,003<"));
  EXPECT_LT(counted.find(">70,000</td><td class=\"t\">many<"), counted.find(">3</td><td class=\"t\">few<"));
  EXPECT_THAT(counted,
      HasSubstr(
          ">do not fit</th><td class=\"n\">83,112</td><td class=\"t\">smallest overflow 3.10 GiB at tp 2, schedule "
          "gpipe, micro-batch 4<"));
  EXPECT_THAT(counted, HasSubstr(">excluded</th><td class=\"n\">5<"));
  EXPECT_THAT(counted, HasSubstr(">can run</th><td class=\"n\">1,081,452<"));  // 1,234,567 - 70,003 - 83,112
  EXPECT_EQ(first_imbalance(counted), "");
}

TEST(SweepExplorer, UnfinishedAndPartialResultsSaySo) {
  EXPECT_THAT(explorer_head(synthetic::result(synthetic::question())), Not(HasSubstr("class=\"notice\"")));
  EXPECT_THAT(explorer_head(synthetic::result(synthetic::question(), {}, 3)),
      HasSubstr("Unfinished: 39 of 42 configurations were looked at."));
  const std::string part = explorer_head(synthetic::result(synthetic::question(), Shard{2, 6}, 3));
  EXPECT_THAT(part, HasSubstr("This is part 2 of 6, counted from 0. Unfinished: 4 of 7 configurations"));
}

TEST(SweepExplorer, HostileNamesAreText) {
  const std::string hostile = "</script><script>alert(\"x\")</script><!--&'\\\n" + std::string(5000, 'W');
  SweepQuestion q = synthetic::question();
  q.network = q.machine = q.stack = q.profile = q.where = hostile;
  q.fixed = {{hostile, hostile}};
  q.axes[1] = {hostile, {"1f1b", hostile, "x"}};
  SweepResult result = synthetic::result(q);
  result.tally.illegal[hostile] = 1;
  const std::string page = explorer_page(result);
  EXPECT_EQ(occurrences(page, "<script"), 2U);
  EXPECT_EQ(occurrences(page, "</script"), 2U);
  EXPECT_EQ(occurrences(page, "<!--"), 0U);
  EXPECT_EQ(first_imbalance(markup_of(page)), "");
  const json data = json::parse(data_text(page));
  EXPECT_EQ(data["network"], hostile);
  EXPECT_EQ(data["axes"][1]["key"], hostile);
  EXPECT_EQ(data_text(page).find('<'), std::string::npos);
}

TEST(SweepExplorer, NothingAndOneRowArePagesToo) {
  for (const std::size_t last : {0, 1}) {
    const SweepResult result = synthetic::result(synthetic::question(last));
    const std::string page = explorer_page(result);
    EXPECT_EQ(first_imbalance(markup_of(page)), "");
    EXPECT_EQ(json::parse(data_text(page))["rows"]["index"].size(), indices_of(result).size());
  }
  SweepResult broken = synthetic::result(synthetic::question());
  broken.top[0].choices.clear();
  EXPECT_NO_FATAL_FAILURE(data_of(broken));
}

/// Real rows have figures of every length; these have random ones, which are the longest.
TEST(SweepExplorer, TwoThousandRowsStayUnderTwoMegabytes) {
  SweepResult result;
  result.question = synthetic::question(2000, 2000);
  for (std::size_t axis = 0; axis < 20; ++axis)
    result.question.axes.push_back({fmt::format("axis_{}", axis), {"some word", "other"}});
  for (std::uint64_t i = 0; i < 2000; ++i) result.top.push_back(synthetic::row(result.question, i * 977));
  const std::string page = explorer_page(result);
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_EQ(json::parse(data_text(page))["rows"]["index"].size(), 2000U);
}

TEST(SweepExplorer, IsAnExportByTheEnding) {
  const SweepResult result = synthetic::result(synthetic::question());
  const auto kind = find_export("some/R.HTML", "-o");
  ASSERT_TRUE(kind);
  EXPECT_EQ((*kind)->text(result).value(), explorer_page(result));
  EXPECT_FALSE(is_resumable(**kind));
}

}  // namespace
}  // namespace stepcast::sweep
