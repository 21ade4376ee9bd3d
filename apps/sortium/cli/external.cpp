#include "cli/external.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sortium/file.hpp>
#include <system_error>

#include "cli/memory.hpp"
#include "cli/records.hpp"
#include "cli/sort.hpp"
#include "cli/stop.hpp"
#include "io/column_reader.hpp"
#include "io/host_sort.hpp"
#include "io/output.hpp"
#include "io/text.hpp"

namespace app {

using sortium::FileProgress;
using sortium::FileReport;
using sortium::StreamColumn;

namespace {

bool replaces(const std::string& out, const std::string& in) {
  std::error_code absent;
  return std::filesystem::equivalent(out, in, absent);
}

void check_in_place_usage(const SortOptions& o) {
  if (o.argsort) refuse("--argsort and --in-place exclude each other: the output is not the input");
  if (o.text) refuse("--text and --in-place exclude each other");
  const std::pair<const std::string*, const std::string*> files[] = {{&o.in, &o.out},
                                                                     {&o.values, &o.values_out}};
  for (const auto& [in, out] : files) {
    if (in->empty()) continue;
    if (*in == "-" || !std::filesystem::is_regular_file(*in))
      refuse(fmt::format("--in-place: {} is not a regular file", *in));
    if (!replaces(*out, *in))
      refuse(fmt::format("--in-place: the output {} is not the input {}", *out, *in));
  }
}

void check_external_usage(const SortOptions& o) {
  check_sort_usage(o);
  const std::pair<bool, const char*> excluded[] = {{!o.segments.empty(), "--segments"},
                                                   {o.row_length != 0, "--row-length"},
                                                   {o.verify, "--verify"},
                                                   {o.max_scratch_bytes != 0, "--max-scratch"},
                                                   {o.max_device_bytes != 0, "--max-device-bytes"}};
  for (const auto& [is_set, name] : excluded)
    if (is_set)
      refuse(fmt::format("{} and --memory exclude each other{}", name,
                         o.verify ? ": check the output with 'sortium check'" : ""));
  if (find_peer(o.algorithm) != nullptr)
    refuse(fmt::format("--algorithm {}: it sorts only in memory", o.algorithm));
  if (o.in_place) check_in_place_usage(o);
}

// One output file, which receives its records part by part.
class ColumnWriter {
 public:
  // `like` is the column that is written: its type, and the number of its records when the first
  // ones arrive. `key` is that of a file of records.
  ColumnWriter(const std::string& path, bool text, const std::string& in, const Keys& like,
               std::vector<KeyField> key = {})
      : output_(path), like_(like), key_(std::move(key)), kind_(kind_of(path, text, in, like)) {
    std::erase_if(key_, [](const KeyField& field) { return !field.swapped; });
    output_.bypass_cache();
  }

  [[nodiscard]] Output& output() { return output_; }
  void reserve(std::uint64_t count) {
    if (kind_ == Kind::text) return;
    Column column = header_column();
    column.total = count;
    output_.reserve(header_of(kind_, column).size() + count * column.width);
  }
  void write(const void* from, std::uint64_t bytes) {
    write_header();
    for_parts_of_file(from, bytes,
                      [&](const void* part, std::uint64_t n) { output_.write(part, n); });
  }
  // Calls put(from, bytes) with what the file has for these records.
  template <class Put>
  void for_parts_of_file(const void* from, std::uint64_t bytes, const Put& put) {
    if (!is_changed()) {
      put(from, bytes);
      return;
    }
    const std::uint64_t step = part_bytes / like_.width * like_.width;
    for (std::uint64_t done = 0; done < bytes; done += step)
      put_part(static_cast<const std::byte*>(from) + done, std::min(step, bytes - done), put);
  }
  // For a file without records too.
  void write_header() {
    if (begun_) return;
    begun_ = true;
    const std::string header = header_of(kind_, header_column());
    output_.write(header.data(), header.size());
  }

 private:
  static constexpr std::uint64_t part_bytes = std::uint64_t{1} << 20;

  [[nodiscard]] Column header_column() const {
    Column column;
    column.descr = like_.descr;
    column.width = like_.width;
    column.total = like_.total;
    return column;
  }
  // Raw files have the machine's byte order.
  [[nodiscard]] bool swaps() const { return like_.swapped && kind_ == Kind::npy; }
  // Returns true if the file has other bytes than the records in memory.
  [[nodiscard]] bool is_changed() const { return kind_ == Kind::text || swaps() || !key_.empty(); }
  template <class Put>
  void put_part(const std::byte* from, std::uint64_t bytes, const Put& put) {
    const std::uint64_t count = bytes / like_.width;
    if (kind_ == Kind::text) {
      text_.clear();
      format_text(text_, from, count, like_.type);
      put(text_.data(), text_.size());
      return;
    }
    part_.assign(from, from + bytes);
    if (swaps()) swap_bytes(from, part_.data(), like_.width, count);
    swap_fields(key_, part_.data(), like_.width, count);
    put(part_.data(), bytes);
  }

  Output output_;
  const Keys& like_;
  std::vector<KeyField> key_;  // the fields that the file has in the other byte order
  Kind kind_;
  bool begun_ = false;
  std::string text_;
  std::vector<std::byte> part_;
};

class ExternalSort {
 public:
  explicit ExternalSort(const SortOptions& options)
      : o_(options), memory_(parse_memory(options.memory)), progress_(!options.quiet) {}

  void run() try {
    // Opened first, so that an error shows before a long sort.
    if (o_.are_records())
      open_records();
    else
      open_keys();
    set_expected();
    FileReport report;
    {
      const StopOnSignals stops(o_.in_place);
      report = sort();
      publish();  // until then, a file that gave up its space is nowhere
    }
    progress_.finish();
    if (!o_.quiet) print_error(summary(report));
  } catch (const DiskFull& full) {
    throw DiskFull(full.what() + advice());
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_space_on_device) throw;
    throw DiskFull(error.what() + advice());
  }

 private:
  // What helps if a disk is full.
  [[nodiscard]] std::string advice() const {
    if (o_.in_place || !replaces(o_.out, o_.in)) return {};
    return "; --in-place would need little space, but a crash would then lose records";
  }

  void open_keys() {
    keys_ = ColumnReader::of_keys(o_.in, o_.text, o_.type, progress_);
    const auto type = keys_->column().type;
    if (!o_.argsort) check_npy_can_hold(o_.out, type);
    const auto p = o_.problem(type, 0);
    key_ = {{.type = type,
             .order = p.order,
             .nan = p.nan,
             .zeros = p.zeros,
             .begin_bit = p.begin_bit,
             .end_bit = p.end_bit}};
    open_output(keys_->column(), {});
    if (o_.values.empty()) return;
    values_ = ColumnReader::of_values(o_.values, o_.value_bytes, progress_);
    const auto a = keys_->known_count(), b = values_->known_count();
    if (a && b && *a != *b)
      refuse(fmt::format("--values {} has {} records, {} has {}; the numbers must be equal",
                         o_.values, *b, o_.in, *a));
    values_out_.emplace(o_.values_out, false, o_.values, values_->column());
    if (values_out_->output().same_file(out_->output()))
      refuse(fmt::format("-o {} and -o2 {} are the same file", o_.out, o_.values_out));
    columns_.push_back(reading(*values_));
    columns_.back().write = writing(*values_out_);
    if (o_.in_place) sort_in_place(columns_.back(), *values_, *values_out_);
  }

  void open_records() {
    std::vector<NpyField> fields;
    keys_ = ColumnReader::of_records(o_.in, o_.record, fields, progress_);
    auto key = o_.by.empty() ? parse_key(o_.key, *o_.record) : parse_by(o_.by, fields);
    key_ = fields_of(key);
    open_output(keys_->column(), key);
    columns_[0].read = [this, key](void* to, std::uint64_t bytes) {
      const std::uint64_t n = keys_->read(to, bytes);
      swap_fields(key, static_cast<std::byte*>(to), columns_[0].bytes, n / columns_[0].bytes);
      return n;
    };
  }

  // Opens the output for what was read, or for the positions.
  void open_output(const Keys& column, std::vector<KeyField> key) {
    columns_.push_back(reading(*keys_));
    if (!o_.argsort) {
      out_.emplace(o_.out, o_.text, o_.in, column, std::move(key));
      columns_.back().write = writing(*out_);
      if (o_.in_place) sort_in_place(columns_.back(), *keys_, *out_);
      return;
    }
    positions_.type = o_.index_bytes == 4 ? sortium::KeyType::u32 : sortium::KeyType::u64;
    positions_.descr = descr_of(positions_.type);
    positions_.width = o_.index_bytes;
    out_.emplace(o_.out, o_.text, "-", positions_);
    spare_inputs(o_, out_->output());
    columns_.push_back({o_.index_bytes, {}, writing(*out_)});
  }

  static StreamColumn reading(ColumnReader& reader) {
    return {reader.column().width,
            [&reader](void* to, std::uint64_t bytes) { return reader.read(to, bytes); },
            {}};
  }
  std::function<void(const void*, std::uint64_t)> writing(ColumnWriter& writer) {
    return [this, &writer](const void* from, std::uint64_t bytes) {
      positions_.total = keys_->column().total;
      writer.write(from, bytes);
    };
  }

  // Lets the file of a column give up its space.
  static void sort_in_place(StreamColumn& column, const ColumnReader& reader,
                            ColumnWriter& writer) {
    const auto file = std::make_shared<sortium::files::InPlaceFile>(reader.in_place());
    column.release = [file](std::uint64_t bytes) { file->release(bytes); };
    column.restore = [file, &writer](const void* from, std::uint64_t bytes) {
      writer.for_parts_of_file(from, bytes,
                               [&](const void* part, std::uint64_t n) { file->restore(part, n); });
    };
  }

  void set_expected() {
    const auto count = keys_->known_count();
    if (!count) return;
    expected_ = *count;
    if (o_.in_place) return;
    out_->reserve(expected_);
    if (values_out_) values_out_->reserve(expected_);
  }

  FileReport sort() {
    return with_memory_option(o_, [&] { return sortium::sort_stream(columns_, key_, options()); });
  }

  sortium::FileOptions options() {
    progress_.phase("sorting runs", expected_);
    return {.memory_bytes = memory_,
            .temporary_directories = temporary_directories(o_, out_->output()),
            .device = o_.device,
            .algorithm = o_.algorithm,
            .parameters = o_.parameters,
            .expected_count = expected_,
            .progress = [this](const FileProgress& p) { show(p); },
            .stop = StopOnSignals::flag()};
  }

  void show(const FileProgress& p) {
    if (p.phase != phase_) progress_.phase("merging", keys_->column().total);
    if (p.phase != phase_) done_ = 0;
    phase_ = p.phase;
    progress_.advance(p.done - done_);
    done_ = p.done;
  }

  void publish() {
    positions_.total = keys_->column().total;
    out_->write_header();
    if (values_out_) {
      values_out_->write_header();
      if (o_.in_place) {
        out_->output().accept_changes();
        values_out_->output().accept_changes();
      }
      Output::publish(out_->output(), values_out_->output());
    } else {
      out_->output().publish();
    }
  }

  [[nodiscard]] std::string summary(const FileReport& r) const {
    std::string line =
        o_.are_records()
            ? fmt::format("{} records of {} bytes by {}", r.count, keys_->column().width,
                          o_.by.empty() ? o_.key : o_.by)
            : fmt::format("{} {} keys", r.count, sortium::info(keys_->column().type).name);
    if (values_) line += fmt::format(" + {}-byte values", values_->column().width);
    if (o_.argsort) line += fmt::format(" to {}-byte positions", o_.index_bytes);
    line += fmt::format(", {}, {}", r.device, r.algorithm);
    if (!r.parameters.empty()) line += fmt::format("({})", r.parameters);
    line += fmt::format(": {} run{}, {} of temporary files; runs {:.3f} s, merge {:.3f} s", r.runs,
                        r.runs == 1 ? "" : "s", human_bytes(r.temporary_bytes), r.run_seconds,
                        r.merge_seconds);
    return line;
  }

  const SortOptions& o_;
  std::uint64_t memory_;
  Progress progress_;
  std::unique_ptr<ColumnReader> keys_, values_;
  Keys positions_;
  std::optional<ColumnWriter> out_, values_out_;
  std::vector<StreamColumn> columns_;
  std::vector<sortium::Field> key_;
  std::uint64_t expected_ = 0;
  FileProgress::Phase phase_ = FileProgress::Phase::runs;
  std::uint64_t done_ = 0;
};

}  // namespace

int sort_external(const SortOptions& options) {
  check_external_usage(options);
  remove_temporaries_on_signals();
  ExternalSort(options).run();
  return exit_success;
}

}  // namespace app
