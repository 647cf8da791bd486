// The document that all pages share: hostile texts stay texts, nothing may be asked for, an earlier page is known by
// its mark.
#include "studies/print/page/page.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::print {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, TheTitleIsText) {
  const std::string page =
      page_text({.mark = "test", .title = "<b>&\"", .style = "", .body = "", .data = "", .script = ""});
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt;&amp;&quot;</title>"));
}

TEST(Page, NoTextOfTheDataEndsItsElement) {
  // clang-format off
  const std::string page =
      page_text({.mark = "test", .title = "t", .style = "", .body = "",
                 .data = R"json({"name":"</script><script>alert(1)"})json", .script = ""});
  // clang-format on
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(page, HasSubstr(R"json({"name":"\u003c/script>\u003cscript>alert(1)"})json"));
}

TEST(Page, ScriptsStandOnlyWhereThePageHasOne) {
  PageParts parts{.mark = "test", .title = "t", .style = "", .body = "<p>x</p>", .data = "", .script = ""};
  EXPECT_THAT(page_text(parts), Not(HasSubstr("<script")));
  parts.script = "start();";
  EXPECT_THAT(page_text(parts), HasSubstr("start();"));
  EXPECT_THAT(page_text(parts), HasSubstr("const byId"));  // of the shared scripts
}

TEST(Page, TheBrowserRefusesEveryRequest) {
  const std::string page = page_text({.mark = "test", .title = "t", .style = "", .body = "", .data = "", .script = ""});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(Page, APageIsKnownByItsMark) {
  const std::string name = testing_program::own_path("page.html");
  std::ofstream(name) << page_text({.mark = "test", .title = "t", .style = "", .body = "", .data = "", .script = ""});
  EXPECT_TRUE(is_page(name, "test"));
  EXPECT_FALSE(is_page(name, "tes"));
  EXPECT_FALSE(is_page(name, "sweep"));
  EXPECT_FALSE(is_page(name + ".missing", "test"));
}

}  // namespace
}  // namespace stepcast::print
