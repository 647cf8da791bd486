// A file beside the place that it will take: filled first, then put there by one rename.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "model/base/namespaces.h"

namespace stepcast::cli {

/// Its name is drawn by chance and its file is new, so that nobody can lay a link or a pipe in its way and two writers
/// never share one. It is locked while its writer lives. Calls that answer false have left the reason in errno.
class PartFile {
 public:
  /// For what will stand at `name`, in the same folder. Parts that killed writers left there are removed.
  static std::optional<PartFile> create(const std::string& name);
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile();  ///< removes it if it took no place

  bool write(std::string_view text);
  bool flush_to_disk();
  /// Takes the place of what is at `name`.
  bool put_in_place();
  /// Takes the place only if nothing is there by now (EEXIST). File systems without links cannot tell.
  bool claim_place();

 private:
  PartFile(std::string name, std::string part, int file)
      : name_(std::move(name)), part_(std::move(part)), file_(file) {}
  bool close();
  std::string name_, part_;
  int file_ = -1;
};

/// Writes all of a text; false with the reason in errno.
bool write_all(int file, std::string_view text);

/// Is it a part by its name? What a folder holds besides them is what counts.
bool is_part(const std::filesystem::path& path);

}  // namespace stepcast::cli
