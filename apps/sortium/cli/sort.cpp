// `sortium sort` and `sortium topk`: read, sort, perhaps verify, write.
#include "cli/sort.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <memory>
#include <sortium/distributed.hpp>
#include <sortium/records.hpp>

#include "../../../src/device/backends.hpp"
#include "bench/run.hpp"
#include "cli/algorithms.hpp"
#include "cli/command.hpp"
#include "cli/common.hpp"
#include "cli/distributed.hpp"
#include "cli/external.hpp"
#include "cli/lines.hpp"
#include "cli/progress.hpp"
#include "cli/records.hpp"
#include "cli/stop.hpp"
#include "io/files.hpp"
#include "io/host_check.hpp"
#include "io/host_sort.hpp"
#include "io/output.hpp"
#include "protocol/distributions.hpp"
#include "protocol/sizes.hpp"

namespace app {

using sortium::HostOperands;
using sortium::HostReport;
using sortium::Payload;
using sortium::Problem;

namespace {

HostReport sort_with_peer(const Peer& peer, const Problem& problem, const HostOperands& operands) {
  Stopwatch watch;
  const auto sorter = make_host_sort(peer, problem, operands);
  sorter->run();
  sorter->store();
  HostReport report;
  report.device = "host";
  report.algorithm = peer.name;
  report.sort_seconds = watch.lap();
  report.stable = peer.stable || problem.payload != Payload::none;
  return report;
}

// Returns the seconds that a quadratic sort will take, measured with few keys: comparisons take
// nearly all of the time. Of a list of devices, each sorts its part.
double expected_seconds(const SortOptions& options, const Problem& problem) {
  const auto devices = sortium::distributed::find_devices(options.device);
  Problem probe;
  probe.key = problem.key;
  probe.count = quadratic_probe;
  const auto bench = make_device_bench(
      devices.size() > 1 ? devices[0] : sortium::find_device(options.device, true));
  const auto keys = [&](std::uint64_t first, std::uint64_t count, void* out) {
    make_keys("uniform", probe.key, probe.count, first, count, out);
  };
  const double known =
      bench->measure(options.algorithm, options.parameters, {probe, keys, 1e-9}).seconds;
  return quadratic_seconds(known, probe.count, problem.count / devices.size());
}

void warn_of_minutes(const SortOptions& options, const Problem& problem) {
  const auto algorithms = sortium::algorithms();
  const auto a = std::ranges::find(algorithms, options.algorithm, &sortium::AlgorithmInfo::name);
  if (a == algorithms.end() || !a->quadratic || problem.count <= quadratic_probe) return;
  if (const double seconds = expected_seconds(options, problem); seconds > 60)
    print_message(fmt::format(
        "warning: {} makes N^2 comparisons and will take about {:.0f} minutes for {} records. "
        "Ctrl-C ends it; the default algorithm takes seconds",
        options.algorithm, seconds / 60, problem.count));
}

void check_algorithm_options(const SortOptions& o) {
  check_algorithm(o.algorithm);
  if (find_peer(o.algorithm) == nullptr) {
    // Throws before any file is read. Without a name, the sort may not need to look for devices.
    if (sortium::backend::names_device(o.device))
      (void)sortium::distributed::find_devices(o.device);
    return;
  }
  if (o.max_scratch_bytes != 0)
    refuse(fmt::format("--max-scratch {}: {} cannot limit its memory", o.max_scratch_bytes,
                       o.algorithm));
  if (o.max_device_bytes != 0)
    refuse(fmt::format("--max-device-bytes {}: {} uses no device memory", o.max_device_bytes,
                       o.algorithm));
  if (!o.parameters.empty())
    refuse(fmt::format("--params {}: {} has no parameters", o.parameters, o.algorithm));
  if (!o.segments.empty() || o.row_length != 0 || o.limit != 0)
    refuse(
        fmt::format("--algorithm {}: it sorts whole files, not segments, rows or the first "
                    "records",
                    o.algorithm));
}

void check_key_usage(const SortOptions& o) {
  if (o.values.empty() != o.values_out.empty())
    refuse(
        "--values and -o2 belong together: the values are read from one file and written to the "
        "other");
  if (o.argsort && !o.values.empty())
    refuse("--argsort and --values exclude each other: --argsort moves the keys' positions");
  if (o.in == "-" && o.values == "-")
    refuse("keys and values cannot both come from standard input");
  if (o.in == "-" && o.segments == "-")
    refuse("keys and offsets of segments cannot both come from standard input");
  if (!o.values.empty() && o.values == o.segments)
    refuse(fmt::format("{} cannot be both --values and --segments", o.values));
  o.check_lists();
  check_algorithm_options(o);
  o.check_bits();
}

bool leaves_runs(const Problem& p, const HostReport& r) {
  return r.run_length != 0 && r.run_length < p.count;
}

std::string summary(const Problem& p, const HostReport& r, unsigned value_bytes, double reading,
                    double writing) {
  std::string line = fmt::format("{} {} keys", p.count, sortium::info(p.key).name);
  if (p.segments != 0)
    line += fmt::format(" in {} {}", p.segments, p.offset_bytes == 0 ? "rows" : "segments");
  if (p.limit != 0)
    line = fmt::format("the first {} of {}{}", p.limit, p.segments != 0 ? "each row: " : "", line);
  if (value_bytes != 0)
    line += fmt::format(" + {}-byte values", value_bytes);
  else if (p.payload == Payload::positions)
    line += fmt::format(" to {}-byte positions", p.value_bytes);
  line += fmt::format(", {}, {}", r.device, r.algorithm);
  if (!r.parameters.empty()) line += fmt::format("({})", r.parameters);
  if (leaves_runs(p, r)) line += fmt::format(", leaving SORTED RUNS of {} records", r.run_length);
  return line + times(r, p.count, reading, writing);
}

void check_gathered(const Column& values, const Column& positions, const Column& gathered) {
  for (std::uint64_t i = 0; i < positions.count; ++i)
    if (const auto from = element(positions.data.data(), positions.width, i);
        std::memcmp(gathered.data.data() + i * values.width,
                    values.data.data() + from * values.width, values.width) != 0)
      throw Failure(exit_wrong,
                    fmt::format("WRONG result, nothing is written: value {} is not the input's "
                                "value {}, which belongs there",
                                i, from));
}

// One call of the command for files of single keys.
class FileSort {
 public:
  explicit FileSort(const SortOptions& options) : o_(options), progress_(!options.quiet) {}

  void run() {
    Stopwatch watch;
    open_outputs();
    read_inputs();
    set_payload();
    make_results();
    reading_ = watch.lap();

    sort();
    if (o_.verify) verify();

    watch.lap();
    write();
    print_summary(watch.lap());
  }

 private:
  // Called first, so that an error shows before a long sort.
  void open_outputs() {
    out_.emplace(o_.out);
    spare_inputs(o_, *out_);
    if (o_.values_out.empty()) return;
    out2_.emplace(o_.values_out);
    spare_inputs(o_, *out2_);
    if (out2_->same_file(*out_))
      refuse(fmt::format("-o {} and -o2 {} are the same file", o_.out, o_.values_out));
  }

  void read_inputs() {
    keys_ = read_keys(o_.in, o_.text, o_.type, progress_);
    if (!o_.argsort) check_npy_can_hold(o_.out, keys_.type);
    problem_ = o_.problem(keys_.type, keys_.count);
    if (o_.row_length != 0) {
      problem_.segments = o_.rows_of(o_.in, keys_.count);
      problem_.offset_bytes = 0;
    }
    if (o_.row_length != 0 && o_.limit > o_.row_length)
      refuse(fmt::format("K {}: a row has {} keys (--row-length)", o_.limit, o_.row_length));
    if (o_.limit > keys_.count)
      refuse(fmt::format("K {}: {} has {} records", o_.limit, o_.in, keys_.count));
    problem_.limit = o_.limit;
    if (!o_.segments.empty())
      offsets_ = read_offsets(o_.segments, o_.offset_bytes, keys_.count, progress_);
    if (offsets_.count > 1) {  // a single offset delimits no segment
      problem_.segments = offsets_.count - 1;
      problem_.offset_bytes = offsets_.width;
    }
    if (o_.values.empty()) return;
    values_ = read_values(o_.values, o_.value_bytes, progress_);
    if (values_.count != keys_.count)
      refuse(fmt::format("--values {} has {} records, {} has {}; the numbers must be equal",
                         o_.values, values_.count, o_.in, keys_.count));
  }

  // Values of 4 and 8 bytes move with the keys. For other sizes, positions are sorted, and the
  // values are gathered by them.
  void set_payload() {
    index_bytes_ = o_.index_bytes;
    gathers_ = !o_.values.empty() && values_.width != 4 && values_.width != 8;
    if (gathers_) index_bytes_ = keys_.count <= std::uint64_t{1} << 32 ? 4 : 8;
    if (gathers_ || o_.argsort) {
      problem_.payload = Payload::positions;
      problem_.value_bytes = index_bytes_;
      problem_.keys_out = !o_.argsort;
    } else if (!o_.values.empty()) {
      problem_.payload = Payload::values;
      problem_.value_bytes = values_.width;
    }
  }

  // Sorts in place, unless a check needs the input or the result is shorter than the input.
  void make_results() {
    apart_ = o_.verify || problem_.limit != 0;
    const std::uint64_t count = records_out(problem_);
    if (apart_ && problem_.keys_out) sorted_keys_ = keys_.empty_copy(count);
    if (gathers_ || (apart_ && moves_values())) sorted_values_ = values_.empty_copy(count);
    if (problem_.payload == Payload::positions)
      positions_ = Column::make(descr_of(index_type()), index_bytes_, count);
    kind_ = kind_of(o_.out, o_.text, o_.in, keys_);
    reserve_column(*out_, kind_, o_.argsort ? positions_ : keys_result());
    if (!out2_) return;
    values_kind_ = kind_of(o_.values_out, false, o_.values, values_);
    reserve_column(*out2_, values_kind_, values_result());
  }

  void sort() {
    operands_.keys_in = keys_.data.data();
    if (problem_.keys_out) operands_.keys_out = keys_result().data.data();
    if (moves_values()) {
      operands_.values_in = values_.data.data();
      operands_.values_out = values_result().data.data();
    } else if (problem_.payload == Payload::positions) {
      operands_.values_out = positions_.data.data();
    }
    if (offsets_.count > 1) operands_.offsets = offsets_.data.data();

    warn_of_minutes(o_, problem_);
    progress_.phase("sorting");
    const Peer* const peer = find_peer(o_.algorithm);
    report_ = peer != nullptr ? sort_with_peer(*peer, problem_, operands_) : sort_with_library();
    if (gathers_) gather();
  }

  [[nodiscard]] HostReport sort_with_library() const {
    const StopOnSignals stops;
    return sortium::sort_host(problem_, operands_,
                              {.order = problem_.order,
                               .begin_bit = problem_.begin_bit,
                               .end_bit = problem_.end_bit,
                               .device = o_.device,
                               .algorithm = o_.algorithm,
                               .parameters = o_.parameters,
                               .max_scratch_bytes = o_.max_scratch_bytes,
                               .max_device_bytes = o_.max_device_bytes,
                               .stop = StopOnSignals::flag()});
  }

  void gather() {
    const sortium::PermuteProblem problem{sortium::Direction::gather, positions_.count,
                                          values_.width, positions_.width, values_.count};
    sortium::permute_host(problem, values_.data.data(), positions_.data.data(),
                          values_result().data.data());
  }

  void verify() {
    progress_.phase("verifying");
    Stopwatch watch;
    if (const auto mistake = find_mistake(problem_, operands_, report_.stable, report_.run_length))
      throw Failure(exit_wrong, fmt::format("WRONG result of {} on {}, nothing is written: {}",
                                            report_.algorithm, report_.device, *mistake));
    if (gathers_) check_gathered(values_, positions_, values_result());
    verifying_ = watch.lap();
  }

  void write() {
    if (o_.argsort)
      write_column(*out_, kind_, positions_, index_type(), progress_);
    else
      write_column(*out_, kind_, keys_result(), keys_.type, progress_);
    if (out2_) write_column(*out2_, values_kind_, values_result(), keys_.type, progress_);
    if (out2_)
      Output::publish(*out_, *out2_);
    else
      out_->publish();
  }

  void print_summary(double writing) {
    progress_.finish();
    if (!o_.quiet) {
      std::string line =
          summary(problem_, report_, o_.values.empty() ? 0 : values_.width, reading_, writing);
      if (o_.verify) line += fmt::format(", verified in {:.3f} s", verifying_);
      print_error(line);
    } else if (leaves_runs(problem_, report_)) {
      print_message(fmt::format("{} is partial: the result has SORTED RUNS of {} records",
                                report_.algorithm, report_.run_length));
    }
  }

  [[nodiscard]] bool moves_values() const { return problem_.payload == Payload::values; }
  [[nodiscard]] sortium::KeyType index_type() const {
    return index_bytes_ == 4 ? sortium::KeyType::u32 : sortium::KeyType::u64;
  }
  [[nodiscard]] Column& keys_result() { return apart_ ? sorted_keys_ : keys_; }
  [[nodiscard]] Column& values_result() { return gathers_ || apart_ ? sorted_values_ : values_; }

  const SortOptions& o_;
  Progress progress_;
  std::optional<Output> out_, out2_;
  Keys keys_;
  Column offsets_, values_;
  Problem problem_;
  unsigned index_bytes_ = 4;
  bool gathers_ = false, apart_ = false;
  Kind kind_{}, values_kind_{};  // formats of the outputs
  Column sorted_keys_, sorted_values_, positions_;
  HostOperands operands_;
  HostReport report_;
  double reading_ = 0, verifying_ = 0;  // seconds
};

int sort(const SortOptions& options) {
  if (options.lines) return sort_lines(options);
  if (options.distributed) return sort_distributed(options);
  if (!options.memory.empty()) return sort_external(options);
  if (options.are_records()) return sort_records(options);
  check_sort_usage(options);
  remove_temporaries_on_signals();
  FileSort(options).run();
  return exit_success;
}

// ---------------------------------------------------------------------------------------------
// The command line
// ---------------------------------------------------------------------------------------------

constexpr const char* sort_footer = R"(Examples:
  sortium sort points.npy -o sorted.npy
  sortium sort keys.bin --type u32 -o keys.bin --verify           in place: replaced at the end
  sortium sort keys.npy -o k.npy --values ids.npy -o2 ids.npy --descending
  sortium sort keys.npy --argsort -o order.npy --index-bytes 8
  du -k /usr/lib/* | cut -f1 | sortium sort - --text --type u32 -o -
  sortium sort keys.npy -o out.npy --device cuda:0 --algorithm radix --params b=4
  sortium sort keys.npy -o out.npy --device 'cuda:*'              on all GPUs
  sortium sort keys.npy -o out.npy --segments offsets.npy         each segment on its own
  sortium sort keys.npy -o out.npy --row-length 100               each row of 100 keys
  sortium sort particles.npy -o out.npy --by mass:desc:nan-first,id
  sortium sort lines.bin -o out.bin --record 100 --key 'bytes[0:10]'
  sortium sort hits.bin -o order.npy --argsort --record 24 --key f32@12:desc,u16@4
  sortium sort access.log -o sorted.log --lines                   lines of text
  sortium sort table.csv -o out.csv --lines --field 3 --separator , --numeric --descending
  sortium sort big.bin --type u64 -o out.bin --memory 8G --temp /disk1,/disk2
  mpirun -n 4 sortium sort keys.npy -o out.npy --distributed      in four processes

Files: a .npy file, recognised by its name or its first bytes, must be 1-D, with integers of 1 to 8
bytes or floats of 2 to 8 bytes, in either byte order, which is kept. Other files are raw binary in
the machine's byte order; with --text, they are text with one number a line. NumPy has no bf16: use
raw binary or text. Floats in text may be nan, inf and -0.0. docs/files.md has the details.

Order: sorts are stable, except with algorithms that 'sortium algorithms' calls not stable. -0.0
and +0.0 are equal, and NaN come last in both orders; --zeros and --nan change that. A field may be
followed by asc, desc, nan-last, nan-first, nan-bits, zeros-tied and zeros-distinct.

An output file is replaced only when the result is complete, also after Ctrl-C. SORTIUM_DEVICE
is the default device. SORTIUM_CACHE_DIR is the directory where compiled kernels are kept.)";

constexpr const char* topk_footer = R"(Examples:
  sortium topk 10 scores.npy --largest -o best.npy
  sortium topk 1000 keys.bin --type u64 -o k.bin --values ids.npy -o2 ids-of-k.npy
  sortium topk 100 scores.npy --largest --argsort -o where.npy
  sortium topk 3 scores.npy --largest --row-length 100 -o best-of-rows.npy
  sortium topk 100 particles.npy -o heaviest.npy --by mass:desc,id
  sortium topk 100 lines.bin -o first.bin --record 100 --key 'bytes[0:10]'

Writes the K smallest keys in ascending order or, with --largest, the K largest in descending
order. Of equal keys, it takes those that come first in the file. Of records, it takes the first K
in the order of their fields. With --row-length, it takes K keys of each row. NaN come after all
numbers in both orders, unless --nan says otherwise. Files are as for 'sortium sort'.)";

void add_file_options(CLI::App& command, SortOptions& s) {
  command.add_option("IN", s.in, "File of keys; - is standard input")->required()->type_name("");
  command
      .add_option("-o,--output", s.out,
                  "File for the sorted keys (with --argsort: positions); - is standard output")
      ->required()
      ->type_name("OUT");
  add_key_options(command, s);
  command
      .add_option("--values", s.values,
                  "Values that move with the keys: .npy with elements of 1 to 256 bytes, or raw")
      ->type_name("FILE");
  command.add_option("--output2", s.values_out, "File for the moved values; short form: -o2")
      ->type_name("FILE");
  command.add_option("--value-bytes", s.value_bytes, "Size of a raw value: 1 to 256 bytes")
      ->check(CLI::Range(1u, 256u).description(""))
      ->type_name("BYTES");
  command.add_flag("--argsort", s.argsort,
                   "Write the positions of the keys in sorted order instead of the keys");
  command.add_option("--index-bytes", s.index_bytes, "Size of a position: 4 (u32) or 8 (u64)")
      ->check(CLI::IsMember({4, 8}))
      ->type_name("BYTES")
      ->capture_default_str();
}

void add_run_options(CLI::App& command, SortOptions& s) {
  command
      .add_option("--device", s.device,
                  "auto, cpu:0, cuda:0, opencl:0, opencl:1:0, or a part of a device's name. 'sort' "
                  "without --memory also takes several: cuda:*, or a list such as cuda:0,cuda:1")
      ->type_name("NAME");
  command.add_option("--algorithm", s.algorithm, "An algorithm that 'sortium algorithms' lists")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--params", s.parameters, "Parameters of the algorithm")->type_name("K=V,...");
  command
      .add_option("--max-scratch", s.max_scratch_bytes,
                  "Limit of scratch memory in bytes. A slower algorithm that needs less may be "
                  "used; if none exists, the error names the least limit that works")
      ->type_name("BYTES")
      ->check(CLI::PositiveNumber.description(""));
  command
      .add_option("--max-device-bytes", s.max_device_bytes,
                  "Limit of device memory in bytes; 7/8 of the free memory if it is not given. A "
                  "list that needs more is sorted in ranges")
      ->type_name("BYTES")
      ->check(CLI::PositiveNumber.description(""));
  command.add_flag("--verify", s.verify, "Check the result on the host before it is written");
  command.add_flag("--quiet", s.quiet, "Print neither progress nor summary");
}

void add_line_options(CLI::App& command, SortOptions& s) {
  auto* const lines = command.add_flag(
      "--lines", s.lines, "Sort lines of text by their bytes, as LC_ALL=C sort -s does");
  auto* const field = command
                          .add_option("--field", s.field,
                                      "Compare only this field of each line, counted from 1. A "
                                      "field begins with the blanks before it")
                          ->needs(lines)
                          ->type_name("N");
  command
      .add_option("--separator", s.separator,
                  "The byte between two fields, instead of blanks; \\t is a tab, \\0 the byte 0")
      ->needs(field)
      ->type_name("C");
  command
      .add_flag("--numeric", s.numeric,
                "Compare the numbers with which lines or fields begin, such as -1.50")
      ->needs(lines);
  command.add_flag("--unique", s.unique, "Of lines with equal keys, write only the first")
      ->needs(lines);
}

void add_external_options(CLI::App& command, SortOptions& s) {
  auto* const memory =
      command
          .add_option(
              "--memory", s.memory,
              "Most memory that the program may use: 500M, 8G, 2^33. A file that needs more "
              "is sorted in runs, which are written to temporary files and merged")
          ->type_name("SIZE");
  command
      .add_option("--temp", s.temporary_directories,
                  "Directories for the temporary files, best on different disks; the output's "
                  "directory if it is not given")
      ->delimiter(',')
      ->needs(memory)
      ->type_name("DIR,...");
  command
      .add_flag("--in-place", s.in_place,
                "For a disk without space for two copies: the output is the input, which gives up "
                "its space while it is sorted. Records are lost if the program is killed, the "
                "machine stops, or the disk fails during the merge")
      ->needs(memory);
}

void add_distributed_options(CLI::App& command, SortOptions& s) {
  auto* const distributed = command.add_flag(
      "--distributed", s.distributed,
      "Sort in all processes that mpirun has started: each reads and writes its part");
  command.add_option("--timeout", s.timeout, "Seconds that a process waits for the others")
      ->check(CLI::PositiveNumber.description(""))
      ->needs(distributed)
      ->type_name("SECONDS")
      ->capture_default_str();
}

}  // namespace

void check_sort_usage(const SortOptions& options) {
  if (options.are_records())
    check_record_usage(options);
  else
    check_key_usage(options);
}

void spare_inputs(const SortOptions& options, const Output& output) {
  if (options.argsort) output.spare(options.in, "to whose records the positions refer");
  if (!options.segments.empty())
    output.spare(options.segments, "which has the offsets of the segments");
}

std::string times(const HostReport& r, std::uint64_t count, double reading, double writing) {
  std::string out = fmt::format(
      ": reading {:.3f} s, preparing {:.3f} s, transfer {:.3f} s, sorting {:.4f} s, writing {:.3f} "
      "s",
      reading, r.plan_seconds, r.transfer_seconds, r.sort_seconds, writing);
  if (r.sort_seconds > 0)
    out += fmt::format(", {:.1f} Mkey/s", static_cast<double>(count) / r.sort_seconds * 1e-6);
  return out;
}

void add_sort(CLI::App& cli, Action& action) {
  const auto o = std::make_shared<SortOptions>();
  auto* const command = cli.add_subcommand("sort", "Sort a file");
  add_file_options(*command, *o);
  add_run_options(*command, *o);
  command->add_flag("--descending", o->descending, "Descending order (NaN still come last)");
  add_record_options(*command, *o);
  add_segment_options(*command, *o);
  add_row_option(*command, *o);
  add_line_options(*command, *o);
  add_external_options(*command, *o);
  add_distributed_options(*command, *o);
  command->footer(sort_footer);
  command->callback([o, &action] { action = [o] { return sort(*o); }; });
}

void add_topk(CLI::App& cli, Action& action) {
  struct Options : SortOptions {
    std::string k;
  };
  const auto o = std::make_shared<Options>();
  auto* const command =
      cli.add_subcommand("topk", "Write the first K records of the sorted order, sorted");
  command->add_option("K", o->k, "Number of records: 10, 2^20")->required()->type_name("");
  add_file_options(*command, *o);
  add_run_options(*command, *o);
  command->add_flag("--largest", o->descending,
                    "Take the largest keys, in descending order, instead of the smallest");
  add_record_options(*command, *o);
  add_row_option(*command, *o);
  command->footer(topk_footer);
  command->callback([o, &action] {
    action = [o] {
      o->limit = parse_size(o->k, "K");
      if (o->limit == 0) refuse("K 0: K must be at least 1");
      return sort(*o);
    };
  });
}

}  // namespace app
