// What the pages of a report folder share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/report/folder.h"

namespace stepcast::report {

/// A figure of the page's head: a large number and what it is.
struct HeadFigure {
  std::string value, what;
};
/// The first of them where the run does not fit in memory; none elsewhere.
std::vector<HeadFigure> fit_figures(const MemoryReport& memory);
std::string head_figures(const std::vector<HeadFigure>& figures);

/// Title, split, links; escaped.
std::string page_head(const Dossier& dossier, std::string_view title, std::string_view current);
/// A page without script, in the styles of all pages and their pictures.
std::string static_page(
    const Dossier& dossier, std::string_view title, std::string_view current, const std::string& body);

/// A cell with a bar of `share` behind its text.
std::string bar_cell(double share, const std::string& text);

/// "Llama 3 70B on 512 x NVIDIA H100-SXM5-80GB".
std::string run_title(const Dossier& dossier);

}  // namespace stepcast::report
