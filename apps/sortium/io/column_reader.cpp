#include "io/column_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/identify.hpp"
#include "io/text.hpp"

namespace app {

using sortium::KeyType;

namespace {

constexpr std::uint64_t text_step = std::uint64_t{8} << 20;  // bytes of text read at a time

}  // namespace

ColumnReader::ColumnReader(const std::string& path) : path_(path), input_(path) {
  input_.bypass_cache();
}

sortium::files::InPlaceFile ColumnReader::in_place() const {
  return {path_, input_.name(), input_.position()};
}

void ColumnReader::identified_as(Keys column) {
  column_ = std::move(column);
  if (column_.kind == Kind::npy) known_ = column_.total;
  if (column_.kind != Kind::text && input_.is_regular()) {
    check_length(input_.left());
    known_ = input_.left() / column_.width;
  }
  column_.count = column_.total = 0;
}

void ColumnReader::check_length(std::uint64_t bytes) const {
  if (column_.kind != Kind::text) app::check_length(input_, column_, known_.value_or(0), bytes);
}

std::unique_ptr<ColumnReader> ColumnReader::of_keys(const std::string& path, bool text,
                                                    std::optional<KeyType> type,
                                                    Progress& progress) {
  auto reader = std::make_unique<ColumnReader>(path);
  reader->identified_as(identify_keys(reader->input_, text, type, progress));
  return reader;
}

std::unique_ptr<ColumnReader> ColumnReader::of_values(const std::string& path,
                                                      std::optional<unsigned> bytes,
                                                      Progress& progress) {
  auto reader = std::make_unique<ColumnReader>(path);
  reader->identified_as({identify_values(reader->input_, bytes, progress)});
  return reader;
}

std::unique_ptr<ColumnReader> ColumnReader::of_records(const std::string& path,
                                                       std::optional<unsigned> bytes,
                                                       std::vector<NpyField>& fields,
                                                       Progress& progress) {
  auto reader = std::make_unique<ColumnReader>(path);
  reader->identified_as({identify_records(reader->input_, bytes, fields, progress)});
  return reader;
}

std::uint64_t ColumnReader::read(void* to, std::uint64_t bytes) {
  const std::uint64_t wanted =
      known_ ? std::min(bytes, (*known_ - column_.count) * column_.width) : bytes;
  const std::uint64_t done =
      column_.kind == Kind::text ? read_text(to, wanted) : input_.read(to, wanted);
  if (done < wanted) check_end(done);
  column_.count += done / column_.width;
  column_.total = column_.count;
  if (known_ && column_.count == *known_ && bytes != 0) check_nothing_follows();
  auto* const records = static_cast<std::byte*>(to);
  if (column_.swapped) swap_bytes(records, records, column_.width, done / column_.width);
  return done;
}

// The input has ended after `bytes` more bytes.
void ColumnReader::check_end(std::uint64_t bytes) const {
  if (input_.is_regular() && known_) refuse(input_, file_became_shorter);
  check_length(column_.count * column_.width + bytes);
}

void ColumnReader::check_nothing_follows() {
  std::byte next;
  if (input_.read(&next, 1) == 0) return;
  refuse(input_, input_.is_regular() ? file_became_longer
                                     : fmt::format("more bytes follow its {} records", *known_));
}

// Parses whole lines. Lines without numbers may only be the last ones, so they wait for what
// follows.
std::uint64_t ColumnReader::read_text(void* to, std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes) {
    if (taken_ == numbers_.size() && !parse_more()) break;
    const std::uint64_t n = std::min(bytes - done, numbers_.size() - taken_);
    std::memcpy(static_cast<std::byte*>(to) + done, numbers_.data() + taken_, n);
    taken_ += n;
    done += n;
  }
  return done;
}

bool ColumnReader::parse_more() {
  Progress silent(false);
  taken_ = 0;
  numbers_ = Bytes();
  while (numbers_.size() == 0) {
    const std::size_t before = lines_.size();
    lines_.resize(before + text_step);
    lines_.resize(before + input_.read(lines_.data() + before, text_step));
    const bool ended = lines_.size() < before + text_step;
    if (ended && lines_.empty()) return false;
    const std::size_t last = lines_.find_last_not_of(" \t\r\n");
    const std::size_t newline = last == lines_.npos ? lines_.npos : lines_.rfind('\n', last);
    const std::size_t end = ended ? lines_.size() : newline == lines_.npos ? 0 : newline + 1;
    try {
      numbers_ =
          parse_text(std::string_view(lines_).substr(0, end), column_.type, silent, lines_before_);
    } catch (const Failure& failure) {
      refuse(input_, failure.what());
    }
    lines_before_ += numbers_.size() / column_.width;
    lines_.erase(0, end);
    if (ended && numbers_.size() == 0) return false;
  }
  return true;
}

}  // namespace app
