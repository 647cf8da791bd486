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
  std::string_view ending;                 ///< ".html"
  std::string_view doc;                    ///< "a page that stands alone"
  bool (*wrote)(const std::string& name);  ///< is the file there an earlier one of this form? Others are left alone
};

/// Begins as a file of ours does: what OutputForm::wrote asks of text files. At most the first 4 KiB are looked at.
bool file_holds(const std::string& name, std::string_view text);

struct NamedOutput {
  std::size_t form = 0;  ///< index into the forms
  std::string name;
  OutputFile file;
};

/// Opens all of them before the work. What stands at a name is replaced only if it is empty or an earlier one of its
/// form. Errors: an empty name, one named twice, an ending that no form has (with the list), somebody else's file, what
/// OutputFile says.
Expected<std::vector<NamedOutput>> open_outputs(
    const Arguments& arguments, std::string_view flag, std::span<const OutputForm> forms);

}  // namespace stepcast::cli
