#include "cli/distributed.hpp"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <sortium/distributed.hpp>
#include <vector>

#include "cli/errors.hpp"
#include "cli/ranks.hpp"
#include "cli/records.hpp"
#include "cli/sort.hpp"
#include "io/files.hpp"
#include "io/host_sort.hpp"
#include "io/output.hpp"

namespace app {

namespace distributed = sortium::distributed;
using sortium::Payload;

namespace {

void check_distributed_usage(const SortOptions& o) {
  check_sort_usage(o);
  const std::pair<bool, const char*> excluded[] = {{o.text, "--text"},
                                                   {!o.segments.empty(), "--segments"},
                                                   {o.row_length != 0, "--row-length"},
                                                   {o.verify, "--verify"}};
  for (const auto& [is_set, name] : excluded)
    if (is_set)
      refuse(fmt::format("{} and --distributed exclude each other{}", name,
                         o.verify ? ": check the output with 'sortium check'" : ""));
  if (find_peer(o.algorithm) != nullptr)
    refuse(fmt::format("--algorithm {}: it sorts in one process", o.algorithm));
  if (std::isnan(o.timeout)) refuse("--timeout nan: it must be a number of seconds");
  for (const auto* file : {&o.in, &o.out, &o.values, &o.values_out})
    if (*file == "-") refuse("--distributed reads and writes regular files, not -");
}

// A column of the output: this process's part of it.
struct Result {
  Kind kind;
  const Column& column;
};

// What is sorted: keys or records.
class Job {
 public:
  virtual ~Job() = default;
  virtual void read(const Share& share, Progress& progress) = 0;
  virtual distributed::Report sort(distributed::Communicator& communicator,
                                   const distributed::Options& options) = 0;
  [[nodiscard]] virtual std::vector<Result> results() = 0;
  // The numbers of records of the whole input files, which all processes must see alike.
  [[nodiscard]] virtual std::vector<std::uint64_t> totals() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
};

class KeyJob final : public Job {
 public:
  explicit KeyJob(const SortOptions& options) : o_(options) {}

  void read(const Share& share, Progress& progress) override {
    keys_ = read_keys(o_.in, false, o_.type, progress, share);
    if (!o_.argsort) check_npy_can_hold(o_.out, keys_.type);
    problem_ = o_.problem(keys_.type, keys_.count);
    if (o_.argsort) {
      problem_.payload = Payload::positions;
      problem_.value_bytes = o_.index_bytes;
      problem_.keys_out = false;
      positions_ = make_positions(o_, keys_);
    }
    if (o_.values.empty()) return;
    values_ = read_values(o_.values, o_.value_bytes, progress, share);
    if (values_.total != keys_.total)
      refuse(fmt::format("--values {} has {} records, {} has {}; the numbers must be equal",
                         o_.values, values_.total, o_.in, keys_.total));
    problem_.payload = Payload::values;
    problem_.value_bytes = values_.width;
  }

  distributed::Report sort(distributed::Communicator& communicator,
                           const distributed::Options& options) override {
    auto own = options;
    own.sort.order = problem_.order;
    sortium::HostOperands operands{.keys_in = keys_.data.data()};
    if (problem_.keys_out) operands.keys_out = keys_.data.data();
    if (problem_.payload == Payload::values)
      operands.values_in = operands.values_out = values_.data.data();
    if (o_.argsort) operands.values_out = positions_.data.data();
    return distributed::sort_host(communicator, problem_, operands, own);
  }

  [[nodiscard]] std::vector<Result> results() override {
    std::vector<Result> all;
    all.push_back({kind_of(o_.out, false, o_.in, keys_), o_.argsort ? positions_ : keys_});
    if (!o_.values.empty())
      all.push_back({kind_of(o_.values_out, false, o_.values, values_), values_});
    return all;
  }
  [[nodiscard]] std::vector<std::uint64_t> totals() const override {
    return {keys_.total, values_.total};
  }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} {} keys{}", keys_.total, sortium::info(keys_.type).name,
                       o_.values.empty() ? "" : fmt::format(" + {}-byte values", values_.width));
  }

  static Column make_positions(const SortOptions& o, const Column& records) {
    const auto type = o.index_bytes == 4 ? sortium::KeyType::u32 : sortium::KeyType::u64;
    Column positions = Column::make(descr_of(type), o.index_bytes, records.count);
    positions.total = records.total;
    return positions;
  }

 private:
  const SortOptions& o_;
  Keys keys_;
  Column values_, positions_;
  sortium::Problem problem_;
};

class RecordJob final : public Job {
 public:
  explicit RecordJob(const SortOptions& options) : o_(options) {}

  void read(const Share& share, Progress& progress) override {
    file_ = read_record_file(o_.in, o_, progress, share);
    if (o_.argsort) positions_ = KeyJob::make_positions(o_, file_.records);
  }

  distributed::Report sort(distributed::Communicator& communicator,
                           const distributed::Options& options) override {
    const sortium::RecordProblem problem{
        .count = file_.records.count,
        .columns = {{file_.records.width,
                     o_.argsort ? sortium::Moved::no : sortium::Moved::in_place}},
        .key = fields_of(file_.key),
        .position_bytes = o_.argsort ? o_.index_bytes : 0};
    const void* const in[] = {file_.records.data.data()};
    void* const positions = o_.argsort ? positions_.data.data() : nullptr;
    const auto report =
        distributed::sort_records_host(communicator, problem, {in, {}, positions}, options);
    file_.swap();  // back to the file's byte order
    return report;
  }

  [[nodiscard]] std::vector<Result> results() override {
    return {
        {kind_of(o_.out, false, o_.in, file_.records), o_.argsort ? positions_ : file_.records}};
  }
  [[nodiscard]] std::vector<std::uint64_t> totals() const override { return {file_.records.total}; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("{} records of {} bytes by {}", file_.records.total, file_.records.width,
                       o_.by.empty() ? o_.key : o_.by);
  }

 private:
  const SortOptions& o_;
  RecordFile file_;
  Column positions_;
};

// One call of the command on one process.
class DistributedSort {
 public:
  DistributedSort(const SortOptions& options, Ranks& ranks)
      : o_(options), ranks_(ranks), progress_(!options.quiet && ranks.rank() == 0) {}

  void run() {
    Stopwatch watch;
    ranks_.together([&] { check(); });
    open_outputs();
    ranks_.together([&] { job_->read({ranks_.rank(), ranks_.size()}, progress_); });
    ranks_.together([&] { check_totals(); });
    ranks_.together([&] { reserve(); });
    reading_ = watch.lap();

    progress_.phase("sorting");
    ranks_.together([&] { report_ = job_->sort(ranks_.communicator(), {.sort = sort_options()}); });

    watch.lap();
    ranks_.together([&] { write(); });
    ranks_.together([&] {
      if (ranks_.rank() == 0) publish();
    });
    progress_.finish();
    if (!o_.quiet && ranks_.rank() == 0) print_error(summary(watch.lap()));
  }

 private:
  void check() {
    check_distributed_usage(o_);
    if (o_.are_records())
      job_ = std::make_unique<RecordJob>(o_);
    else
      job_ = std::make_unique<KeyJob>(o_);
  }

  // The first process makes the temporary files, and all open them. The others learn their names
  // without a phase in between: if a process is killed, those that remain remove the files.
  void open_outputs() {
    std::exception_ptr failure;
    try {
      if (ranks_.rank() == 0) make_temporaries();
    } catch (...) {
      failure = std::current_exception();
      outputs_.clear();
    }
    const std::string* const names[] = {&o_.out, &o_.values_out};
    const std::size_t count = o_.values_out.empty() ? 1 : 2;
    std::vector<std::string> temporaries;
    for (std::size_t i = 0; i < count; ++i)
      temporaries.push_back(
          ranks_.from_first(outputs_.empty() ? "" : outputs_[i]->temporary().string()));
    ranks_.together([&] {
      if (failure) std::rethrow_exception(failure);
      for (std::size_t i = 0; i < count && !temporaries[i].empty(); ++i)
        parts_.push_back(std::make_unique<OutputPart>(temporaries[i], *names[i]));
    });
  }

  // Only the first process finishes what an earlier run has begun.
  void make_temporaries() {
    (void)Input(o_.in);
    outputs_.push_back(std::make_unique<Output>(o_.out));
    if (!o_.values_out.empty()) outputs_.push_back(std::make_unique<Output>(o_.values_out));
    for (const auto& output : outputs_) {
      if (output->temporary().empty())
        refuse(fmt::format("--distributed writes regular files, and {} is none", output->name()));
      spare_inputs(o_, *output);
    }
    if (outputs_.size() == 2 && outputs_[0]->same_file(*outputs_[1]))
      refuse(fmt::format("-o {} and -o2 {} are the same file", o_.out, o_.values_out));
  }

  // Throws if this process sees another input than the first one.
  void check_totals() {
    auto numbers = job_->totals();
    const auto mine = numbers;
    ranks_.communicator().all_reduce(numbers, distributed::Reduction::max);
    if (mine != numbers)
      throw Failure(exit_runtime, fmt::format("it reads {} records from {}, another process {}",
                                              mine[0], o_.in, numbers[0]));
  }

  // Reserves the space of the outputs.
  void reserve() {
    const auto results = job_->results();
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      reserve_column(*outputs_[i], results[i].kind, results[i].column);
  }

  [[nodiscard]] sortium::Options sort_options() const {
    sortium::Options options{.device = o_.device,
                             .algorithm = o_.algorithm,
                             .parameters = o_.parameters,
                             .max_scratch_bytes = o_.max_scratch_bytes,
                             .max_device_bytes = o_.max_device_bytes};
    if (const auto devices = distributed::find_devices(o_.device); devices.size() > 1)
      options.device = devices[ranks_.local_rank() % devices.size()]->info().id;
    return options;
  }

  void write() {
    const auto results = job_->results();
    const Share share{ranks_.rank(), ranks_.size()};
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto& [kind, column] = results[i];
      const auto header = header_of(kind, column);
      if (share.rank == 0) parts_[i]->write(header.data(), header.size());
      parts_[i]->seek(header.size() + share.begin(column.total) * column.width);
      // Text is refused, so that the type of its numbers does not matter.
      write_records(*parts_[i], kind, column, sortium::KeyType::u8, progress_);
      parts_[i]->sync();
    }
  }

  void publish() {
    if (outputs_.size() == 2)
      Output::publish(*outputs_[0], *outputs_[1]);
    else
      outputs_[0]->publish();
  }

  [[nodiscard]] std::string summary(double writing) const {
    const auto& local = report_.local;
    std::string line = fmt::format("{}, {} process{}, {}, {}", job_->description(), ranks_.size(),
                                   ranks_.size() == 1 ? "" : "es", local.device, local.algorithm);
    if (o_.argsort) line += fmt::format(" to {}-byte positions", o_.index_bytes);
    return line + fmt::format(
                      ": reading {:.3f} s, partition {:.3f} s, exchange {:.3f} s, sorting "
                      "{:.4f} s, writing {:.3f} s",
                      reading_, report_.partition_seconds, report_.exchange_seconds,
                      report_.sort_seconds, writing);
  }

  const SortOptions& o_;
  Ranks& ranks_;
  Progress progress_;
  std::unique_ptr<Job> job_;
  std::vector<std::unique_ptr<Output>> outputs_;  // of the first process
  std::vector<std::unique_ptr<OutputPart>> parts_;
  distributed::Report report_;
  double reading_ = 0;  // seconds
};

}  // namespace

int sort_distributed(const SortOptions& options) {
  remove_temporaries_on_signals();
  Ranks ranks(options.timeout);
  try {
    DistributedSort(options, ranks).run();
  } catch (const CommonFailure& failure) {
    // The message comes before the end, for which all wait: when a process has failed, mpirun kills
    // the others.
    const int code = ranks.rank() == 0 ? report_current_exception() : failure.code();
    ranks.end();
    return code;
  } catch (...) {  // the others do not know
    ranks.abort(static_cast<Exit>(report_current_exception()));
  }
  ranks.end();
  return exit_success;
}

}  // namespace app
