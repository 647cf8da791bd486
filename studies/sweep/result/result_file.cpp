#include "studies/sweep/result/result_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "studies/cli/part_file.h"
#include "studies/print/digits.h"
#include "studies/run/forecast.h"

namespace stepcast::sweep {
namespace {

enum class Standing : std::uint8_t { nothing, file, folder, device };

/// An empty file is as good as none: mktemp makes them.
Standing standing_at(const std::string& name) {
  std::error_code unknown;
  const auto status = std::filesystem::status(name, unknown);
  if (!std::filesystem::exists(status)) return Standing::nothing;
  if (std::filesystem::is_directory(status)) return Standing::folder;
  if (!std::filesystem::is_regular_file(status)) return Standing::device;
  return std::filesystem::file_size(name, unknown) == 0 ? Standing::nothing : Standing::file;
}

std::string progress_of(const SweepResult& result) {
  const IndexRange all = range_of(result.shard, result.question.size());
  std::uint64_t done = 0;
  for (const IndexRange& range : result.done) done += range.size();
  return fmt::format("{} of {} configurations are done", grouped_digits(static_cast<double>(done)),
      grouped_digits(static_cast<double>(all.size())));
}

/// A part with the text, on the disk when it returns, or errno says why not.
std::optional<PartFile> written_part(const std::string& name, const std::string& text) {
  auto part = PartFile::create(name);
  if (!part || !part->write(text) || !part->flush_to_disk()) return std::nullopt;
  return part;
}

/// Gives the part the name unless somebody has it by now.
bool claim(PartFile& part, const std::string& name) {
  std::error_code unknown;
  if (std::filesystem::exists(name, unknown)) return part.put_in_place();  // the empty file
  return part.claim_place();
}

/// What to go on from, or the reason why not.
Expected<SweepResult> read_earlier(const std::string& name, const std::string& flag, const SweepResult& mine) {
  auto earlier = read_result_file(name);
  if (!earlier) {
    return fail(earlier.error().where, earlier.error().what + "; nothing was changed in it",
        "it cannot be resumed: name another file, or remove it to begin anew");
  }
  if (const std::string differs = question_difference(earlier->question, mine.question); !differs.empty())
    return fail(flag, fmt::format("{} holds the result of another question: {}", name, differs),
        "name another file, or ask the same");
  const Shard &found = earlier->shard, &wanted = mine.shard;
  if (found != wanted)
    return fail(flag,
        fmt::format("{} holds shard {}/{}, this is {}/{}", name, found.index, found.count, wanted.index, wanted.count),
        "a file of its own for each shard");
  return earlier;
}

/// Refused. `mine` is the sweep that wants the name, if it is one that could go on from there.
tl::unexpected<Error> unfinished(
    const std::string& name, const std::string& flag, const SweepResult& found, const SweepResult* mine) {
  const std::string state = progress_of(found);
  const char* survives = "name another file, so that it survives";
  if (mine == nullptr) return fail(flag, fmt::format("{} holds an unfinished result: {}", name, state), survives);
  if (const std::string differs = question_difference(found.question, mine->question); !differs.empty())
    return fail(flag, fmt::format("{} holds an unfinished result of another question ({}): {}", name, differs, state),
        survives);
  if (found.shard != mine->shard)
    return fail(flag,
        fmt::format("{} holds an unfinished shard {}/{}: {}", name, found.shard.index, found.shard.count, state),
        "a file of its own for each shard");
  return fail(flag, fmt::format("{} holds an unfinished result of this sweep: {}", name, state),
      std::string("--resume goes on from it, unless it is still at work; or ") + survives);
}

/// A name is claimed by a link of its own, which a symbolic link to nothing stands in the way of.
Expected<void> check_link(const std::string& name, const std::string& flag) {
  std::error_code unknown;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(name, unknown)) ||
      std::filesystem::exists(name, unknown))
    return {};
  const std::string target = std::filesystem::read_symlink(name, unknown).string();
  return fail(flag, fmt::format("{} is a symbolic link to {}, which is not there", name, target),
      "remove the link, or name the file itself");
}

Expected<void> may_replace(const std::string& name, const std::string& flag, const SweepResult* mine, bool force) {
  const Standing standing = standing_at(name);
  if (standing == Standing::folder) return fail(flag, fmt::format("{} is a folder", name), "name a file");
  if (standing == Standing::nothing) return check_link(name, flag);
  if (standing != Standing::file) return {};
  const auto found = read_result_file(name);
  if (!found && force) return {};
  if (!found)
    return fail(flag, fmt::format("{} is there and is no whole result of a sweep: {}", name, found.error().what),
        "name another file, remove this one, or --force to write over it");
  if (!found->complete()) return unfinished(name, flag, *found, mine);
  return {};
}

tl::unexpected<Error> not_writable(const std::string& name, const std::string& flag, int reason) {
  if (reason == EEXIST)
    return fail(
        flag, fmt::format("another process has just begun to write {}", name), "a file of its own for each shard");
  return fail(
      flag, fmt::format("{} cannot be written: {}", name, std::strerror(reason)), "name a file in a folder of yours");
}

}  // namespace

Expected<SweepResult> read_result_file(const std::string& name) {
  constexpr std::uintmax_t most = std::uintmax_t{1} << 30;
  std::error_code unknown;
  if (std::filesystem::is_directory(name, unknown)) return fail(name, "is a folder", "name a file");
  std::ifstream file(name, std::ios::binary);
  if (!file)
    return fail(
        name, fmt::format("cannot be read: {}", std::strerror(errno)), "a file that is there and that you may read");
  std::string text;
  auto chunk = std::make_unique<std::array<char, 1 << 16>>();
  while (text.size() <= most && (file.read(chunk->data(), chunk->size()), file.gcount() > 0))
    text.append(chunk->data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return fail(name, "reading it failed half-way", "a file on a disk that answers");
  if (text.size() > most) return fail(name, "the file is too large", "at most 1 GiB");
  return read_result(text, name);
}

Expected<void> check_replaceable(const std::string& name, const std::string& flag, bool force) {
  return may_replace(name, flag, nullptr, force);
}

Expected<ResultFile> ResultFile::open(const std::string& name, const std::string& flag, ResultFileChoice choice,
    const SweepQuestion& question, const Shard& shard) {
  const Standing standing = standing_at(name);
  if (standing == Standing::device)
    return fail(
        flag, fmt::format("{} is no regular file: what is done so far could not be kept in it", name), "name a file");
  SweepResult nothing;
  nothing.question = question;
  nothing.shard = shard;
  ResultFile file;
  file.name_ = name;
  if (auto lock = FileLock::take(name)) file.lock_.emplace(std::move(*lock));
  else if (errno == EWOULDBLOCK)
    return fail(
        flag, fmt::format("another process works on {}", name), "wait for it, or a file of its own for each shard");
  if (choice.resume && standing == Standing::file) {
    TRY(file.earlier_, read_earlier(name, flag, nothing));
  } else TRY(may_replace(name, flag, &nothing, choice.force));
  auto part = written_part(name, write_result(nothing));
  if (!part) return not_writable(name, flag, errno);
  if (standing == Standing::file) return file;
  if (!claim(*part, name)) return not_writable(name, flag, errno);
  file.claimed_ = true;
  return file;
}

ResultFile::ResultFile(ResultFile&& other) noexcept
    : name_(std::move(other.name_)), earlier_(std::move(other.earlier_)),
      claimed_(std::exchange(other.claimed_, false)), lock_(std::move(other.lock_)) {}

ResultFile::~ResultFile() {
  if (claimed_) std::remove(name_.c_str());
}

Expected<void> ResultFile::save(const SweepResult& result) {
  auto part = written_part(name_, write_result(result));
  if (part && part->put_in_place()) {
    claimed_ = false;
    return {};
  }
  const std::string reason = std::strerror(errno);
  if (claimed_) return fail(name_, fmt::format("could not be written: {}", reason), "is there room for it?");
  return fail(name_, fmt::format("could not be written: {}; it still holds what was saved before", reason),
      "make room, then --resume goes on from there");
}

}  // namespace stepcast::sweep
