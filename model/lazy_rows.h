// Rows of the catalogue that are read when somebody looks at them: a command asks for few of them, and reading all
// takes longer than most forecasts. Which ids there are, the files' names say.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/embedded.h"

namespace stepcast {

/// Other names of the row in a file of the catalogue, from its head: all keys before `"source"`.
std::vector<std::string> aliases_in(const EmbeddedFile& file);

/// As a vector of rows, for readers: several threads may look at once.
template <typename Row> class LazyRows {
 public:
  using Read = std::function<Row(const EmbeddedFile&)>;
  class Iterator;

  LazyRows() = default;
  /// Of the files named FOLDER/ID.json, which live as long as the program.
  LazyRows(std::string_view folder, Read read) : folder_(folder), read_(std::move(read)) {
    std::vector<const EmbeddedFile*> files;
    for (const EmbeddedFile& file : embedded_catalog())
      if (file.name.starts_with(folder_)) files.push_back(&file);
    places_ = std::vector<Place>(files.size());
    for (std::size_t at = 0; at < files.size(); ++at) places_[at].file = files[at];
  }

  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] const Row& operator[](std::size_t at) const {
    const Place& place = places_[at];
    std::call_once(place.once, [&] { place.row.emplace(read_(*place.file)); });
    return *place.row;
  }
  [[nodiscard]] const Row& front() const { return (*this)[0]; }
  [[nodiscard]] const Row& back() const { return (*this)[size() - 1]; }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

  /// Without reading the row.
  [[nodiscard]] std::string_view id(std::size_t at) const {
    std::string_view name = places_[at].file->name;
    name.remove_prefix(folder_.size());
    return name.substr(0, name.rfind('.'));
  }
  [[nodiscard]] std::vector<std::string> aliases(std::size_t at) const { return aliases_in(*places_[at].file); }

 private:
  struct Place {
    const EmbeddedFile* file = nullptr;
    mutable std::once_flag once;
    mutable std::optional<Row> row;
  };

  std::string_view folder_;
  Read read_;
  std::vector<Place> places_;
};

template <typename Row> class LazyRows<Row>::Iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Row;
  using difference_type = std::ptrdiff_t;
  using pointer = const Row*;
  using reference = const Row&;

  Iterator() = default;
  Iterator(const LazyRows* rows, std::size_t at) : rows_(rows), at_(at) {}
  reference operator*() const { return (*rows_)[at_]; }
  pointer operator->() const { return &(*rows_)[at_]; }
  Iterator& operator++() { return ++at_, *this; }
  Iterator operator++(int) { return {rows_, at_++}; }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const LazyRows* rows_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace stepcast
