// Files that -o names, several where it is given several times: the ending says in which form each is written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/output_file.h"

namespace stepcast::cli {

struct OutputForm {
  std::string_view ending;  ///< ".html"
  std::string_view doc;     ///< "a page that stands alone"
  IsOwnFile own;            ///< is the file there an earlier one of this form? Others are left alone
};

struct NamedOutput {
  std::size_t form = 0;  ///< index into the forms
  std::string name;
  OutputFile file;
};

/// Opens all of them before the work. Errors: an empty name, one named twice, an ending that no form has (with the
/// list), what OutputFile says.
Expected<std::vector<NamedOutput>> open_outputs(
    const Arguments& arguments, std::string_view flag, std::span<const OutputForm> forms);

}  // namespace stepcast::cli
