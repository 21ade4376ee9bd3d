#include "stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../core/refuse.hpp"
#include "../distributed/devices.hpp"
#include "../sort/host.hpp"
#include "../sort/records.hpp"
#include "../sort/validate.hpp"
#include "key_bytes.hpp"

namespace sortium::files {

namespace {

constexpr std::uint64_t least_memory = std::uint64_t{16} << 20;
constexpr std::uint64_t grain_bytes = std::uint64_t{64} << 10;

void check_columns(const std::vector<StreamColumn>& columns) {
  bool is_read = false, is_written = false;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto& column = columns[c];
    is_read |= static_cast<bool>(column.read);
    is_written |= static_cast<bool>(column.write);
    if (!column.read && column.bytes != 4 && column.bytes != 8)
      refuse(fmt::format("columns[{}].bytes is {}; positions have 4 or 8 bytes", c, column.bytes));
    if (bool(column.release) != bool(column.restore) || (column.release && !column.read))
      refuse(
          fmt::format("columns[{}] needs `read`, `release` and `restore` for a sort in place", c));
  }
  if (!is_read) refuse("no column has a function `read`; the columns of the key need one");
  if (!is_written) refuse("no column has a function `write`; one that is to be sorted needs one");
}

}  // namespace

Records::Records(const std::vector<unsigned>& widths, std::uint64_t capacity)
    : memory_(bytes_for(widths, capacity)), widths_(widths) {
  std::uint64_t at = 0;
  for (const unsigned width : widths) {
    columns_.push_back(reinterpret_cast<std::byte*>(memory_.data()) + at);
    at += aligned_up(capacity * width);
  }
}

std::uint64_t Records::bytes_for(const std::vector<unsigned>& widths, std::uint64_t capacity) {
  std::uint64_t bytes = 0;
  for (const unsigned width : widths) bytes += aligned_up(capacity * width);
  return bytes;
}

// ---------------------------------------------------------------------------------------------
// Stream
// ---------------------------------------------------------------------------------------------

Stream::Stream(const std::vector<StreamColumn>& columns, const std::vector<Field>& key,
               const FileOptions& options)
    : columns_(columns), key_(key), options_(options) {
  for (const auto& column : columns) widths_.push_back(column.bytes);
  validate_record_problem(problem(0, false));
  check_columns(columns);
  for (const auto& field : key)
    if (!columns[field.column].read)
      refuse(fmt::format("columns[{}] holds a field of the key, but has no function `read`",
                         field.column));
  if (distributed::is_device_list(options.device))
    refuse(fmt::format("device {}: a stream is sorted on one device", options.device));
  record_bytes_ = std::accumulate(widths_.begin(), widths_.end(), 0u);
  if (options.expected_count > max_records)
    refuse(fmt::format("expected_count is {}; up to 2^40 is allowed", options.expected_count));
  device_ = device_within(options.memory_bytes, options.device, options.algorithm, record_bytes_);
  (void)scratch_bytes(1, false);  // throws if there is no such method
  memory_ = usable_memory(options.memory_bytes, least_memory);
}

RecordProblem Stream::problem(std::uint64_t count, bool last) const {
  RecordProblem p{.count = count, .key = key_};
  p.columns.reserve(columns_.size());
  for (const auto& column : columns_)
    p.columns.push_back({column.bytes, last && !column.write ? Moved::no : Moved::in_place});
  return p;
}

HostReport Stream::sort(Records& records, bool last) const {
  const std::vector<const void*> columns(records.columns().begin(), records.columns().end());
  auto report = sort_records_host(problem(records.count, last), {columns},
                                  {.device = device_,
                                   .algorithm = options_.algorithm,
                                   .parameters = options_.parameters,
                                   .stop = last && releases() ? nullptr : options_.stop});
  return_free_memory();
  return report;
}

std::uint64_t Stream::scratch_bytes(std::uint64_t count, bool last) const {
  const auto device = backend::device_near(device_);
  const std::uint64_t bytes = RecordPlan::scratch_bytes_for(
      problem(count, last), capabilities(*device), {options_.algorithm, options_.parameters, 0});
  return device->info().claimed.kind == DeviceKind::cpu ? bytes : 0;
}

void Stream::write(const Records& records) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].write && records.count != 0)
      columns_[c].write(records.columns()[c], records.count * columns_[c].bytes);
}

bool Stream::releases() const {
  return std::ranges::any_of(columns_, [](const auto& c) { return bool(c.release); });
}

void Stream::release(std::uint64_t count) const {
  for (const auto& column : columns_)
    if (column.release) column.release(count * column.bytes);
}

void Stream::restore(const Records& records) const {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].restore)
      columns_[c].restore(records.columns()[c], records.count * columns_[c].bytes);
}

void Stream::report_progress(FileProgress::Phase phase, std::uint64_t done) const {
  if (options_.progress) options_.progress({phase, done, options_.expected_count});
}

void Stream::check_stop() const { sortium::check_stop({.stop = options_.stop}); }

// ---------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------

Runs::Runs(const Stream& stream, RunStore& store)
    : stream_(stream),
      store_(store),
      key_(std::make_shared<const KeyBytes>(stream.key(), stream.widths())),
      grain_(grain(stream.widths())) {}

// The arrays of a grain's columns must be multiples of `alignment`.
std::uint64_t Runs::grain(const std::vector<unsigned>& widths) {
  std::uint64_t records = 1, bytes = 0;
  for (const unsigned width : widths) {
    records = std::lcm(records, alignment / std::gcd<std::uint64_t>(alignment, width));
    bytes += width;
  }
  return std::max<std::uint64_t>(1, grain_bytes / (records * bytes)) * records;
}

void Runs::add(Records& sorted) {
  Run run{bytes_, sorted.count};
  std::vector<RunStore::Transfer> transfers;
  for (std::size_t c = 0; c < stream_.widths().size(); ++c) {
    const std::uint64_t bytes = sorted.count * stream_.widths()[c], padded = aligned_up(bytes);
    std::memset(sorted.columns()[c] + bytes, 0, padded - bytes);
    transfers.push_back({bytes_, sorted.columns()[c], padded});
    bytes_ += padded;
  }
  for (std::uint64_t i = 0; i < sorted.count; i += grain_) {
    run.keys.resize(run.keys.size() + key_->size());
    key_->encode(sorted.columns().data(), i, run.keys.data() + run.keys.size() - key_->size());
  }
  store_.write(transfers);
  records_ += sorted.count;
  runs_.push_back(std::move(run));
}

void Runs::append_reads(std::size_t run, std::uint64_t first, std::uint64_t count,
                        const Records& to, std::vector<RunStore::Transfer>& transfers) const {
  std::uint64_t begin = runs_[run].begin;
  for (std::size_t c = 0; c < stream_.widths().size(); ++c) {
    const std::uint64_t width = stream_.widths()[c];
    transfers.push_back({begin + first * width, to.columns()[c], aligned_up(count * width)});
    begin += aligned_up(runs_[run].records * width);
  }
}

const std::byte* Runs::first_key(std::size_t run, std::uint64_t grain) const {
  return runs_[run].keys.data() + grain * key_->size();
}

}  // namespace sortium::files
