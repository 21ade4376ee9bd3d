// `sortium sort`, `sortium topk` and `sortium check` of records with keys of several fields: --by
// and --key.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sortium/records.hpp>

#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/files.hpp"
#include "io/host_sort.hpp"
#include "io/key_fields.hpp"
#include "io/output.hpp"
#include "io/printable.hpp"
#include "io/record_check.hpp"

namespace app {

using sortium::Moved;
using sortium::RecordProblem;

namespace {

struct RecordFile {
  Column records;
  std::vector<KeyField> key;  // in the machine's byte order, as the records are
  [[nodiscard]] const std::byte* record(std::uint64_t i) const {
    return records.data.data() + i * records.width;
  }
  void swap() { swap_fields(key, records.data.data(), records.width, records.count); }
};

RecordFile read(const std::string& path, const KeyOptions& o, Progress& progress) {
  RecordFile file;
  std::vector<NpyField> fields;
  file.records = read_records(path, o.record, fields, progress);
  if (!o.by.empty()) file.key = parse_by(o.by, fields);
  if (!o.key.empty()) file.key = parse_key(o.key, *o.record);
  file.swap();
  return file;
}

std::string key_words(const KeyOptions& o) { return o.by.empty() ? o.key : o.by; }

RecordProblem problem_of(const RecordFile& file, Moved moved, unsigned position_bytes) {
  RecordProblem p;
  p.count = file.records.count;
  p.columns = {{file.records.width, moved}};
  p.key = fields_of(file.key);
  p.position_bytes = position_bytes;
  return p;
}

}  // namespace

void KeyOptions::check_records(std::string_view descends) const {
  const auto refuse = [](const std::string& message) { throw Failure(exit_usage, message); };
  if (!by.empty() && (!key.empty() || record))
    refuse("--by is for .npy files, --record and --key are for raw ones");
  if (!key.empty() && !record)
    refuse(fmt::format("--key {}: --record is needed, the bytes of a raw record", key));
  const std::string option = !by.empty() ? "--by" : "--record";
  for (const auto& [is_set, what] :
       {std::pair{text, "--text"}, {type.has_value(), "--type"}, {!bits.empty(), "--bits"}})
    if (is_set)
      refuse(
          fmt::format("{} and {} exclude each other: the fields of a key have types of their own",
                      option, what));
  for (const auto& [is_set, what] : {std::pair{descending, descends},
                                     {nan.has_value(), "--nan"},
                                     {zeros.has_value(), "--zeros"}})
    if (is_set)
      refuse(fmt::format(
          "{} and {} exclude each other: each field has its own order, as in FIELD:desc:nan-first",
          option, what));
  if (!segments.empty())
    refuse(
        fmt::format("{} and --segments exclude each other: segments are of single keys", option));
  if (!key.empty()) (void)parse_key(key, *record);
}

int sort_records(const SortOptions& options) {
  const auto refuse = [](const std::string& message) { throw Failure(exit_usage, message); };
  options.check_records(options.limit != 0 ? "--largest" : "--descending");
  if (options.key.empty() && options.by.empty())
    refuse(fmt::format("--record {}: --key is needed, the fields to sort by", *options.record));
  if (!options.values.empty() || !options.values_out.empty())
    refuse("--values is for keys alone: with --by and --key the whole records move");
  check_algorithm(options.algorithm);
  if (find_peer(options.algorithm) != nullptr)
    refuse(fmt::format("--algorithm {}: it sorts single keys, not records", options.algorithm));
  (void)sortium::find_device(options.device);
  remove_temporaries_on_signals();
  Progress progress(!options.quiet);
  Stopwatch watch;

  Output out(options.out);
  RecordFile file = read(options.in, options, progress);
  if (options.limit > file.records.count)
    refuse(fmt::format("K {}: {} has {} records", options.limit, options.in, file.records.count));
  // In place, but for what a check of the result needs the input for, and where there is less out
  // than in.
  const bool moves_out = !options.argsort && (options.verify || options.limit != 0);
  RecordProblem problem = problem_of(file,
                                     options.argsort ? Moved::no
                                     : moves_out     ? Moved::out
                                                     : Moved::in_place,
                                     options.argsort ? options.index_bytes : 0);
  problem.limit = options.limit;
  const auto index_type = options.index_bytes == 4 ? sortium::KeyType::u32 : sortium::KeyType::u64;
  Column result;  // what is not in place
  if (options.argsort)
    result = Column::make(descr_of(index_type), options.index_bytes, records_out(problem));
  else if (moves_out)
    result = file.records.empty_copy(records_out(problem));
  const Kind kind = kind_of(options.out, false, options.in, file.records);
  reserve_column(out, kind, options.argsort || moves_out ? result : file.records);
  const double reading = watch.lap();

  progress.phase("sorting");
  const void* const in[] = {file.records.data.data()};
  void* const moved[] = {moves_out ? result.data.data() : nullptr};
  const sortium::RecordHostOperands operands{in, moved,
                                             options.argsort ? result.data.data() : nullptr};
  const auto report = sortium::sort_records_host(problem, operands,
                                                 {.device = options.device,
                                                  .algorithm = options.algorithm,
                                                  .parameters = options.parameters,
                                                  .max_scratch_bytes = options.max_scratch_bytes});
  double verifying = 0;
  if (options.verify) {
    progress.phase("verifying");
    watch.lap();
    if (const auto mistake = find_record_mistake(problem, operands))
      throw Failure(exit_wrong, fmt::format("WRONG result of {} on {}, nothing is written: {}",
                                            report.algorithm, report.device, *mistake));
    verifying = watch.lap();
  }

  watch.lap();
  if (options.argsort) {
    write_column(out, kind, result, index_type, progress);
  } else {
    if (moves_out) file.records = std::move(result);
    file.swap();  // as the file has them
    write_column(out, kind, file.records, index_type, progress);
  }
  out.publish();
  const double writing = watch.lap();
  progress.finish();
  if (options.quiet) return exit_success;
  std::string line =
      fmt::format("{}{} records of {} bytes by {}",
                  problem.limit == 0 ? "" : fmt::format("the first {} of ", problem.limit),
                  problem.count, file.records.width, key_words(options));
  if (options.argsort) line += fmt::format(" to {}-byte positions", options.index_bytes);
  line += fmt::format(", {}, {}", report.device, report.algorithm);
  if (!report.parameters.empty()) line += fmt::format("({})", report.parameters);
  line += times(report, problem.count, reading, writing);
  if (options.verify) line += fmt::format(", verified in {:.3f} s", verifying);
  fmt::print(stderr, "{}\n", line);
  return exit_success;
}

// ---------------------------------------------------------------------------------------------
// check
// ---------------------------------------------------------------------------------------------

namespace {

int check_order(const CheckOptions& o, Progress& progress) {
  const RecordFile file = read(o.files[0], o, progress);
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

// The records' positions, so that equal ones are neighbours.
std::vector<std::uint64_t> by_bytes(const RecordFile& file) {
  std::vector<std::uint64_t> out(file.records.count);
  std::iota(out.begin(), out.end(), std::uint64_t{0});
  fast_sort(out.begin(), out.end(), [&](std::uint64_t a, std::uint64_t b) {
    return std::memcmp(file.record(a), file.record(b), file.records.width) < 0;
  });
  return out;
}

int check_same_records(const CheckOptions& o, Progress& progress) {
  const RecordFile a = read(o.files[0], o, progress), b = read(o.files[1], o, progress);
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
