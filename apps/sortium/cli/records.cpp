#include "cli/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sortium/distributed.hpp>
#include <sortium/records.hpp>

#include "cli/algorithms.hpp"
#include "cli/check.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "cli/sort.hpp"
#include "cli/stop.hpp"
#include "io/host_sort.hpp"
#include "io/output.hpp"
#include "io/printable.hpp"
#include "io/record_check.hpp"

namespace app {

using sortium::Moved;
using sortium::RecordProblem;

namespace {

std::string key_words(const KeyOptions& o) { return o.by.empty() ? o.key : o.by; }

RecordProblem problem_of(const RecordFile& file, Moved moved, unsigned position_bytes) {
  RecordProblem p;
  p.count = file.records.count;
  p.columns = {{file.records.width, moved}};
  p.key = fields_of(file.key);
  p.position_bytes = position_bytes;
  return p;
}

// One call of `sortium sort` or `sortium topk` for a file of records.
class RecordSort {
 public:
  explicit RecordSort(const SortOptions& options)
      : o_(options), progress_(!options.quiet), out_(options.out) {}

  void run() {
    Stopwatch watch;
    spare_inputs(o_, out_);
    file_ = read_record_file(o_.in, o_, progress_);
    set_problem();
    make_result();
    reading_ = watch.lap();

    sort();

    watch.lap();
    write();
    const double writing = watch.lap();
    progress_.finish();
    if (!o_.quiet) print_error(summary(writing));
  }

 private:
  // Sorts in place, unless a check needs the input or the result is shorter than the input.
  void set_problem() {
    if (o_.limit > file_.records.count)
      refuse(fmt::format("K {}: {} has {} records", o_.limit, o_.in, file_.records.count));
    moves_out_ = !o_.argsort && (o_.verify || o_.limit != 0);
    const Moved moved = o_.argsort ? Moved::no : moves_out_ ? Moved::out : Moved::in_place;
    problem_ = problem_of(file_, moved, o_.argsort ? o_.index_bytes : 0);
    problem_.limit = o_.limit;
  }

  void make_result() {
    if (o_.argsort)
      result_ = Column::make(descr_of(index_type()), o_.index_bytes, records_out(problem_));
    else if (moves_out_)
      result_ = file_.records.empty_copy(records_out(problem_));
    kind_ = kind_of(o_.out, false, o_.in, file_.records);
    reserve_column(out_, kind_, o_.argsort || moves_out_ ? result_ : file_.records);
  }

  [[nodiscard]] sortium::HostReport sort_with_library(
      const sortium::RecordHostOperands& operands) const {
    const StopOnSignals stops;
    return sortium::sort_records_host(problem_, operands,
                                      {.device = o_.device,
                                       .algorithm = o_.algorithm,
                                       .parameters = o_.parameters,
                                       .max_scratch_bytes = o_.max_scratch_bytes,
                                       .max_device_bytes = o_.max_device_bytes,
                                       .stop = StopOnSignals::flag()});
  }

  void sort() {
    progress_.phase("sorting");
    const void* const in[] = {file_.records.data.data()};
    void* const moved[] = {moves_out_ ? result_.data.data() : nullptr};
    const sortium::RecordHostOperands operands{in, moved,
                                               o_.argsort ? result_.data.data() : nullptr};
    report_ = sort_with_library(operands);
    if (!o_.verify) return;
    progress_.phase("verifying");
    Stopwatch watch;
    if (const auto mistake = find_record_mistake(problem_, operands))
      throw Failure(exit_wrong, fmt::format("WRONG result of {} on {}, nothing is written: {}",
                                            report_.algorithm, report_.device, *mistake));
    verifying_ = watch.lap();
  }

  void write() {
    if (o_.argsort) {
      write_column(out_, kind_, result_, index_type(), progress_);
    } else {
      if (moves_out_) file_.records = std::move(result_);
      file_.swap();  // back to the file's byte order
      write_column(out_, kind_, file_.records, index_type(), progress_);
    }
    out_.publish();
  }

  [[nodiscard]] std::string summary(double writing) const {
    std::string line =
        fmt::format("{}{} records of {} bytes by {}",
                    problem_.limit == 0 ? "" : fmt::format("the first {} of ", problem_.limit),
                    problem_.count, file_.records.width, key_words(o_));
    if (o_.argsort) line += fmt::format(" to {}-byte positions", o_.index_bytes);
    line += fmt::format(", {}, {}", report_.device, report_.algorithm);
    if (!report_.parameters.empty()) line += fmt::format("({})", report_.parameters);
    line += times(report_, problem_.count, reading_, writing);
    if (o_.verify) line += fmt::format(", verified in {:.3f} s", verifying_);
    return line;
  }

  [[nodiscard]] sortium::KeyType index_type() const {
    return o_.index_bytes == 4 ? sortium::KeyType::u32 : sortium::KeyType::u64;
  }

  const SortOptions& o_;
  Progress progress_;
  Output out_;  // opened first, so that an error shows before the sorting
  RecordFile file_;
  RecordProblem problem_;
  bool moves_out_ = false;
  Column result_;  // empty if the sort is in place
  Kind kind_{};    // format of the output
  sortium::HostReport report_;
  double reading_ = 0, verifying_ = 0;  // seconds
};

}  // namespace

RecordFile read_record_file(const std::string& path, const KeyOptions& o, Progress& progress,
                            const Share& share) {
  RecordFile file;
  std::vector<NpyField> fields;
  file.records = read_records(path, o.record, fields, progress, share);
  if (!o.by.empty()) file.key = parse_by(o.by, fields);
  if (!o.key.empty()) file.key = parse_key(o.key, *o.record);
  file.swap();
  return file;
}

void check_record_usage(const SortOptions& o) {
  o.check_records(o.limit != 0 ? "--largest" : "--descending");
  if (o.key.empty() && o.by.empty())
    refuse(fmt::format("--record {}: --key is needed, the fields to sort by", *o.record));
  if (!o.values.empty() || !o.values_out.empty())
    refuse("--values is for single keys: with --by and --key the whole records move");
  check_algorithm(o.algorithm);
  if (find_peer(o.algorithm) != nullptr)
    refuse(fmt::format("--algorithm {}: it sorts single keys, not records", o.algorithm));
  (void)sortium::distributed::find_devices(o.device);  // throws before any file is read
}

int sort_records(const SortOptions& options) {
  check_record_usage(options);
  remove_temporaries_on_signals();
  RecordSort(options).run();
  return exit_success;
}

// ---------------------------------------------------------------------------------------------
// check
// ---------------------------------------------------------------------------------------------

namespace {

int check_order(const CheckOptions& o, Progress& progress) {
  const RecordFile file = read_record_file(o.files[0], o, progress);
  const void* const columns[] = {file.records.data.data()};
  const RecordOrder order(problem_of(file, Moved::no, 0), columns);
  progress.phase("checking", file.records.count);
  for (std::uint64_t i = 1; i < file.records.count; ++i) {
    if (order.compare(i - 1, i) > 0) {
      progress.finish();
      if (!o.quiet)
        fmt::print("{}: not in the order of {}: record {} has {}, after {}\n",
                   printable(o.files[0]), printable(key_words(o)), i,
                   describe(file.key, file.record(i)), describe(file.key, file.record(i - 1)));
      return exit_wrong;
    }
    if (i % (1 << 20) == 0) progress.advance(1 << 20);
  }
  progress.finish();
  if (!o.quiet)
    fmt::print("{}: {} records of {} bytes in the order of {}\n", printable(o.files[0]),
               file.records.count, file.records.width, printable(key_words(o)));
  return exit_success;
}

// Returns the records' positions, sorted by the records' bytes, so that equal records are
// neighbours.
std::vector<std::uint64_t> by_bytes(const RecordFile& file) {
  std::vector<std::uint64_t> out(file.records.count);
  std::iota(out.begin(), out.end(), std::uint64_t{0});
  fast_sort(out.begin(), out.end(), [&](std::uint64_t a, std::uint64_t b) {
    return std::memcmp(file.record(a), file.record(b), file.records.width) < 0;
  });
  return out;
}

int check_same_records(const CheckOptions& o, Progress& progress) {
  const RecordFile a = read_record_file(o.files[0], o, progress),
                   b = read_record_file(o.files[1], o, progress);
  if (a.records.width != b.records.width || a.records.descr != b.records.descr)
    throw Failure(
        exit_usage,
        fmt::format("{} has records of {} and {} has records of {}; they must be of one type",
                    o.files[0], a.records.descr, o.files[1], b.records.descr));
  progress.phase("comparing");
  const auto first = by_bytes(a), second = by_bytes(b);
  const unsigned width = a.records.width;
  auto i = first.begin();
  auto j = second.begin();
  while (i != first.end() || j != second.end()) {
    const bool of_second = i == first.end() || (j != second.end() &&
                                                std::memcmp(b.record(*j), a.record(*i), width) < 0);
    const std::byte* const record = of_second ? b.record(*j) : a.record(*i);
    const auto run = [&](const RecordFile& file, auto from, auto end) {
      return std::find_if(
          from, end, [&](auto at) { return std::memcmp(file.record(at), record, width) != 0; });
    };
    const auto i_end = run(a, i, first.end());
    const auto j_end = run(b, j, second.end());
    if (i_end - i != j_end - j) {
      progress.finish();
      if (!o.quiet)
        fmt::print(
            "{} ({} records) is not a permutation of {} ({} records): record {} of {}{} is {} "
            "times in {} and {} times in {}\n",
            printable(o.files[0]), first.size(), printable(o.files[1]), second.size(),
            of_second ? *j : *i, printable(o.files[of_second ? 1 : 0]),
            a.key.empty() ? "" : fmt::format(" ({})", describe(a.key, record)), i_end - i,
            printable(o.files[0]), j_end - j, printable(o.files[1]));
      return exit_wrong;
    }
    i = i_end;
    j = j_end;
  }
  progress.finish();
  if (!o.quiet)
    fmt::print("{} is a permutation of {}: {} records of {} bytes\n", printable(o.files[0]),
               printable(o.files[1]), first.size(), width);
  return exit_success;
}

}  // namespace

int check_records(const CheckOptions& options, Progress& progress) {
  options.check_records();
  if (options.files.size() == 2) return check_same_records(options, progress);
  if (options.key.empty() && options.by.empty())
    throw Failure(
        exit_usage,
        fmt::format("--record {}: --key is needed, the fields whose order it is", *options.record));
  return check_order(options, progress);
}

}  // namespace app
