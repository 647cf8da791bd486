// The gate's findings for CI systems: Markdown, JUnit XML, GitHub's workflow commands.
#include <fmt/format.h>

#include "studies/gate/report.h"

namespace stepcast::gate {
namespace {

/// What a table's cell cannot hold.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return out;
}

/// XML 1.0: five characters are written as entities, and control characters cannot be written at all.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

/// GitHub reads %, CR and LF of a command's text as escapes, in properties also : and ,.
std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c))) : std::string(1, c);
  }
  return out;
}

std::string details(const JudgedMust& must, const JudgedCase& of) {
  std::string text = of.seconds.empty() ? "no result" : shift_words(must);
  const std::string words = must_words(must, of);
  return text + (text.empty() || words.empty() ? "" : "; ") + words;
}

}  // namespace

std::string gate_markdown(const GateReport& report) {
  std::string text =
      fmt::format("### stepcast gate: {} slower, {} faster, {} equal, {} undecided\n\n", report.count(Finding::slower),
          report.count(Finding::faster), report.count(Finding::equal), report.count(Finding::undecided));
  text += "| case | runs | median | must hold | finding | shift and bounds |\n|---|--:|--:|---|---|---|\n";
  for (const JudgedCase& one : report.cases)
    for (const JudgedMust& must : one.musts) {
      const std::string word(to_text(must.judgement.finding));
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell(one.name), one.seconds.size(),
          one.seconds.empty() ? "" : shown_result(one.median, one.unit), cell(must.name),
          must.judgement.finding == Finding::slower ? "**" + word + "**" : word, cell(details(must, one)));
    }
  bool first = true;
  for (const JudgedCase& one : report.cases)
    for (const JudgedChange& change : one.changes) {
      text += fmt::format("{}- {}: {}\n", first ? "\nChanges of level in the history:\n\n" : "", cell(one.name),
          cell(change_words(change)));
      first = false;
    }
  return text;
}

std::string gate_junit(const GateReport& report) {
  std::size_t tests = 0, failures = 0, skipped = 0;
  std::string cases;
  for (const JudgedCase& one : report.cases)
    for (const JudgedMust& must : one.musts) {
      ++tests;
      const Finding finding = must.judgement.finding;
      const std::string words = xml(fmt::format("{}: {}", must.name, details(must, one)));
      cases += fmt::format("    <testcase classname=\"stepcast.gate.{}\" name=\"{}\"", xml(one.name), xml(must.name));
      if (!one.seconds.empty()) cases += fmt::format(" time=\"{:.9g}\"", one.median);
      if (finding == Finding::slower)
        ++failures, cases += fmt::format(">\n      <failure message=\"slower\">{}</failure>\n    </testcase>\n", words);
      else if (finding == Finding::undecided)
        ++skipped, cases += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", words);
      else cases += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", words);
    }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\"", tests, failures, skipped);
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stepcast gate\" {0}>\n"
                     "  <testsuite name=\"{1}\" {0}>\n{2}  </testsuite>\n</testsuites>\n",
      counts, xml(report.file), cases);
}

std::string gate_github(const GateReport& report) {
  std::string text;
  const auto add = [&](const char* kind, const std::string& title, const std::string& message) {
    text += fmt::format(
        "::{} file={},title={}::{}\n", kind, escaped(report.file, true), escaped(title, true), escaped(message, false));
  };
  for (const JudgedCase& one : report.cases) {
    for (const JudgedMust& must : one.musts) {
      const Finding finding = must.judgement.finding;
      if (finding == Finding::equal) continue;
      const char* kind = finding == Finding::slower ? "error" : finding == Finding::undecided ? "warning" : "notice";
      add(kind, fmt::format("{} {}", one.name, to_text(finding)), fmt::format("{}: {}", must.name, details(must, one)));
    }
    for (const JudgedChange& change : one.changes)
      if (change.change > 0 && change.checks_ago < 2) add("warning", one.name + " level", change_words(change));
  }
  return text;
}

}  // namespace stepcast::gate
