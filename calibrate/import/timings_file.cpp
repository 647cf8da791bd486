#include "calibrate/import/timings_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

namespace stepcast::calibrate {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t most_head = 64 * mib;
/// A profiler's event has some hundred bytes.
constexpr std::size_t most_unmarked = 16 * mib;
/// What a trace may hold unpacked. Traces shrink to a tenth or less, but only texts made for it to a thousandth.
constexpr std::size_t most_unpacked = 16'384 * mib;
constexpr std::size_t most_growth = 400;

/// Unpacks what is packed and hands on what is not: zlib looks at the first bytes.
class PackedFile {
 public:
  static Expected<PackedFile> open(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) return fail(path, "is a folder", "name a file");
    errno = 0;
    PackedFile file(path, gzopen(path.c_str(), "rb"));
    if (!file.file_)
      return fail(path, fmt::format("cannot be read: {}", std::strerror(errno != 0 ? errno : ENOMEM)),
          "a file that is there and that you may read");
    return file;
  }

  /// The next bytes; "" at the end.
  Expected<std::string_view> next() {
    const int count = gzread(file_.get(), piece_->data(), static_cast<unsigned>(piece_->size()));
    int code = Z_OK;
    gzerror(file_.get(), &code);
    if (code == Z_BUF_ERROR)
      return fail(
          path_, fmt::format("the packed file breaks off after {} unpacked bytes", unpacked_), "the whole file");
    if (code == Z_DATA_ERROR)
      return fail(path_, fmt::format("the packed file is damaged after {} unpacked bytes", unpacked_),
          "a file that gunzip --test takes");
    if (count < 0) return fail(path_, "reading it failed half-way", "a file on a disk that answers");
    unpacked_ += static_cast<std::size_t>(count);
    const auto packed = static_cast<std::size_t>(std::max<z_off_t>(gzoffset(file_.get()), 1));
    if (unpacked_ > most_unpacked || (unpacked_ > most_head && unpacked_ / packed > most_growth))
      return fail(path_, fmt::format("{} packed bytes unpack to more than {}", packed, unpacked_),
          fmt::format("at most {} GiB, and {} times what is packed; a trace of fewer steps", most_unpacked / mib / 1024,
              most_growth));
    return std::string_view(piece_->data(), static_cast<std::size_t>(count));
  }

 private:
  PackedFile(std::string path, gzFile file) : path_(std::move(path)), file_(file, gzclose_r) {}

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::unique_ptr<std::array<char, 1 << 16>> piece_ = std::make_unique<std::array<char, 1 << 16>>();
  std::size_t unpacked_ = 0;
};

}  // namespace

TimingsStream::TimingsStream(std::string where, std::string_view text)
    : TimingsStream(
          std::move(where), [text]() mutable { return Expected<std::string_view>(std::exchange(text, {})); }) {}

TimingsStream::int_type TimingsStream::underflow() {
  if (error_) return traits_type::eof();
  const auto piece = next_();
  if (!piece) error_ = piece.error();
  else if (unmarked_ > most_unmarked)
    error_ = Error{where_, fmt::format("one value of more than {} MiB", most_unmarked / mib), "a list of short events"};
  if (error_ || piece->empty()) return traits_type::eof();
  unmarked_ += piece->size();
  char* begin = const_cast<char*>(piece->data());  // a buffer to read from is never written to
  setg(begin, begin, begin + piece->size());
  return traits_type::to_int_type(*begin);
}

Expected<TimingsFile> TimingsFile::open(const std::string& path) {
  TRY(auto packed, PackedFile::open(path));
  TimingsFile file;
  file.path_ = path;
  while (file.head_.size() <= most_head) {
    TRY(const auto piece, packed.next());
    if (piece.empty()) return file;
    file.head_ += piece;
  }
  file.whole_ = false;
  return file;
}

Expected<std::unique_ptr<TimingsStream>> TimingsFile::stream() const {
  TRY(auto packed, PackedFile::open(path_));
  auto file = std::make_shared<PackedFile>(std::move(packed));
  return std::make_unique<TimingsStream>(path_, [file] { return file->next(); });
}

}  // namespace stepcast::calibrate
