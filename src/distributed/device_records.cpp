// Each rank sorts its records, so that the borders are found by searches. Then it sends them to
// their ranks, and sorts what it received. Records are not partitioned first, as plain keys are:
// their keys may have many words.
#include "device_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sortium/permute.hpp>
#include <sortium/records.hpp>

#include "../core/refuse.hpp"
#include "../sort/host.hpp"
#include "../sort/records.hpp"
#include "../sort/validate.hpp"
#include "agreement.hpp"
#include "borders.hpp"
#include "columns.hpp"
#include "device_arguments.hpp"
#include "exact.hpp"
#include "extent.hpp"

namespace sortium::distributed {

namespace {

using Numbers = std::vector<std::uint64_t>;

// The columns that travel: the problem's and the positions.
std::vector<Column> all_columns(const RecordProblem& p) {
  std::vector<Column> columns = p.columns;
  if (p.position_bytes != 0) columns.push_back({p.position_bytes, Moved::out});
  return columns;
}

std::uint64_t record_bytes(const std::vector<Column>& columns) {
  std::uint64_t bytes = 0;
  for (const auto& c : columns) bytes += c.bytes;
  return bytes;
}

void validate(const RecordProblem& p, const DeviceOptions& options, const Queue& queue,
              Device& device) {
  validate_record_problem(p);
  validate_options(p, options, queue, device);
  if (all_columns(p).size() > max_columns)
    refuse(fmt::format("there are {} columns; positions are one more, and {} are allowed",
                       p.columns.size(), max_columns));
  for (std::size_t c = 0; c < p.columns.size(); ++c)
    if (p.columns[c].moved == Moved::in_place && options.balance != Balance::kept)
      refuse(
          fmt::format("column {} is moved in place, which needs Balance::kept: another part may "
                      "be longer than the input",
                      c));
  if (options.slices > 1) refuse("slices is more than 1; records are exchanged in one slice");
}

void validate_operands_of(const RecordProblem& p, const RecordOperands& o, std::uint64_t part,
                          Space space) {
  const std::size_t columns = p.columns.size();
  const bool moves_out =
      std::ranges::any_of(p.columns, [](const auto& c) { return c.moved == Moved::out; });
  if (o.columns_in.size() != columns || (moves_out && o.columns_out.size() != columns))
    refuse(fmt::format("columns_in has {} entries, columns_out {}; the problem has {} columns",
                       o.columns_in.size(), o.columns_out.size(), columns));
  if (o.scratch || o.offsets)
    refuse("scratch or offsets is given; a DeviceSorter has its own memory");
  std::vector<Operand> all;
  for (std::size_t c = 0; c < columns; ++c) {
    const auto& column = p.columns[c];
    const int index = static_cast<int>(c);
    all.push_back({"columns_in", o.columns_in[c], p.count * column.bytes, unit_of(column.bytes),
                   column.moved == Moved::in_place, index});
    if (column.moved == Moved::out)
      all.push_back({"columns_out", o.columns_out[c], part * column.bytes, unit_of(column.bytes),
                     true, index});
  }
  all.push_back(
      {"positions", o.positions, part * p.position_bytes, std::max(p.position_bytes, 1u), true});
  validate_operands(all, space);
}

// Reads the order keys of sorted records in device memory.
template <class Reader>
class SortedKeys {
 public:
  using Key = typename Reader::Key;

  SortedKeys(std::shared_ptr<Device> device, Queue& queue, const Reader& reader,
             const RecordProblem& problem, std::vector<Memory> columns)
      : device_(std::move(device)),
        queue_(queue),
        reader_(reader),
        problem_(problem),
        columns_(std::move(columns)),
        positions_(*device_),
        elements_(*device_) {}

  std::vector<Key> at(const Numbers& positions) {
    const std::uint64_t count = positions.size();
    if (count == 0) return {};
    const Memory indices = positions_.of(count * sizeof(std::uint64_t));
    queue_.write(indices, positions.data(), indices.bytes);
    return read(count, [&](unsigned bytes, const Memory& column) {
      const Permute gather(
          device_,
          {.count = count, .element_bytes = bytes, .index_bytes = 8, .elements = problem_.count});
      const Memory elements = elements_.of(count * bytes);
      gather.run(queue_, column, indices, elements);
      return elements;
    });
  }

  std::vector<Key> between(std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return {};
    return read(end - begin, [&](unsigned bytes, const Memory& column) {
      return column.slice(begin * bytes, (end - begin) * bytes);
    });
  }

  // Returns, for each key, the position of the first record whose key is not smaller. Every step
  // reads some keys of each range that is left.
  Numbers places(const std::vector<Key>& keys) {
    constexpr std::uint64_t parts = 32;
    Numbers low(keys.size(), 0), high(keys.size(), problem_.count);
    for (;;) {
      Numbers positions;
      for (std::size_t k = 0; k < keys.size(); ++k)
        for (std::uint64_t i = 1; i < parts; ++i)
          if (low[k] < high[k]) positions.push_back(low[k] + (high[k] - low[k]) * i / parts);
      if (positions.empty()) return low;
      const auto found = at(positions);
      std::size_t next = 0;
      for (std::size_t k = 0; k < keys.size(); ++k) {
        if (low[k] == high[k]) continue;
        for (std::uint64_t i = 1; i < parts; ++i, ++next) {
          if (found[next] < keys[k])
            low[k] = std::max(low[k], positions[next] + 1);
          else
            high[k] = std::min(high[k], positions[next]);
        }
      }
    }
  }

 private:
  // Calls elements(bytes, column) for each column with fields of the key, and reads what it
  // returns: `count` elements.
  template <class Elements>
  std::vector<Key> read(std::uint64_t count, const Elements& elements) {
    std::vector<std::vector<std::byte>> host(problem_.columns.size());
    Columns columns(problem_.columns.size());
    for (const auto& field : problem_.key) {
      const unsigned bytes = problem_.columns[field.column].bytes;
      auto& column = host[field.column];
      if (!column.empty()) continue;
      column.resize(count * bytes);
      queue_.read(column.data(), elements(bytes, columns_[field.column]), column.size());
      columns[field.column] = {column.data(), bytes};
    }
    std::vector<Key> keys(count);
    for (std::uint64_t i = 0; i < count; ++i) keys[i] = reader_(columns, i);
    return keys;
  }

  std::shared_ptr<Device> device_;
  Queue& queue_;
  const Reader& reader_;
  const RecordProblem& problem_;
  std::vector<Memory> columns_;
  KeptMemory positions_, elements_;
};

// One call on one rank.
template <class Reader>
class RecordRun {
 public:
  using Key = typename Reader::Key;

  RecordRun(const RecordRank& rank, Queue& queue, const Reader& reader,
            const RecordProblem& problem, const RecordOperands& operands, const Method& method,
            const Extent& extent, Balance balance)
      : r_(rank),
        communicator_(rank.communicator),
        queue_(queue),
        reader_(reader),
        problem_(problem),
        operands_(operands),
        method_(method),
        extent_(extent),
        columns_(all_columns(problem)),
        borders_(extent.targets(balance), extent.total),
        random_(communicator_.rank()) {
    report_.part = extent.part(balance);
    report_.local.device = r_.device->info().name;
  }

  Report run() {
    Stopwatch watch;
    together(communicator_, bytes(), [&] { sort_input(); });
    const Numbers cuts = find_cuts();
    Numbers sent(cuts.size() - 1);
    for (std::size_t r = 0; r < sent.size(); ++r) sent[r] = cuts[r + 1] - cuts[r];
    const Numbers received = exchange_numbers(communicator_, sent);
    together(communicator_, bytes(), [&] { prepare_outputs(); });
    report_.partition_seconds = watch.lap();
    exchange(cuts, sent, received);
    report_.exchange_seconds = watch.lap();
    together(communicator_, bytes(), [&] { sort_part(); });
    report_.sort_seconds = report_.local.sort_seconds = watch.lap();
    return report_;
  }

 private:
  [[nodiscard]] std::uint64_t bytes() const { return problem_.count * record_bytes(columns_); }

  [[nodiscard]] Memory scratch(std::uint64_t scratch_bytes) {
    return r_.memory.scratch.front().of(scratch_bytes);
  }

  // Sorts the rank's records into other memory.
  void sort_input() {
    const std::uint64_t count = problem_.count;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      sorted_.push_back(r_.memory.sorted[c].of(count * columns_[c].bytes));
    if (count == 0) return;
    RecordProblem p = problem_;
    for (auto& column : p.columns) column.moved = Moved::out;
    const RecordPlan plan(r_.device, p, method_);
    const std::span out(sorted_.data(), p.columns.size());
    const Memory positions = p.position_bytes == 0 ? Memory{} : sorted_.back();
    plan.run(queue_, {operands_.columns_in, out, positions, scratch(plan.scratch_bytes())});
    if (p.position_bytes != 0)
      DeviceSteps(r_.device,
                  {.count = count, .payload = Payload::positions, .value_bytes = p.position_bytes})
          .add_to_positions(queue_, positions, extent_.begin_of_input(), count);
    queue_.finish();
  }

  // Returns where the records for each rank begin, and the end.
  Numbers find_cuts() {
    SortedKeys<Reader> keys(r_.device, queue_, reader_, problem_, sorted_);
    std::vector<Key> samples;
    together(communicator_, bytes(), [&] { samples = keys.at(sample_positions()); });
    borders_.set_first_samples(gather_sorted(communicator_, std::move(samples)));
    Numbers begins;
    together(communicator_, bytes(), [&] {
      begins = keys.places(borders_.boundaries());
      begins.insert(begins.begin(), 0);
      begins.push_back(problem_.count);
    });
    Numbers counts(begins.size() - 1);
    for (std::size_t b = 0; b < counts.size(); ++b) counts[b] = begins[b + 1] - begins[b];
    communicator_.all_reduce(counts, Reduction::sum);
    borders_.set_bucket_counts(counts);

    std::vector<Key> candidates;
    Numbers first_candidate;
    together(communicator_, bytes(), [&] {
      for (const auto b : borders_.open_buckets()) {
        first_candidate.push_back(candidates.size());
        const auto more = keys.between(begins[b], begins[b + 1]);
        candidates.insert(candidates.end(), more.begin(), more.end());
      }
    });
    report_.rounds = 1 + refine<Key>(communicator_, borders_, candidates, random_);
    return cuts_of<Key>(communicator_, borders_, candidates, first_candidate, begins);
  }
  // The positions of this rank's share of the samples, at equal distances.
  Numbers sample_positions() {
    const std::uint64_t count = problem_.count;
    const std::uint64_t samples = samples_of(
        count, extent_.total, wanted_samples(extent_.total, communicator_.size()), random_);
    Numbers positions(samples);
    for (std::uint64_t i = 0; i < samples; ++i)
      positions[i] =
          static_cast<std::uint64_t>((static_cast<double>(i) + 0.5) * static_cast<double>(count) /
                                     static_cast<double>(samples));
    return positions;
  }

  // Finds memory for what arrives: the outputs, or memory of its own for a column that only has
  // fields of the key.
  void prepare_outputs() {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c == problem_.columns.size())
        received_.push_back(operands_.positions);
      else if (columns_[c].moved == Moved::in_place)
        received_.push_back(operands_.columns_in[c]);
      else if (columns_[c].moved == Moved::out)
        received_.push_back(operands_.columns_out[c]);
      else
        received_.push_back(r_.memory.received[c].of(report_.part.count * columns_[c].bytes));
    }
  }

  void exchange(const Numbers& cuts, const Numbers& sent, const Numbers& received) try {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const unsigned element = columns_[c].bytes;
      std::vector<Memory> send, receive;
      std::uint64_t to = 0;
      for (std::size_t r = 0; r < sent.size(); ++r) {
        send.push_back(sent[r] == 0 ? Memory{}
                                    : sorted_[c].slice(cuts[r] * element, sent[r] * element));
        receive.push_back(
            received[r] == 0 ? Memory{} : received_[c].slice(to * element, received[r] * element));
        to += received[r];
        if (r != communicator_.rank()) report_.bytes_sent += sent[r] * element;
      }
      communicator_.exchange_on_device(r_.link, send, receive);
    }
  } catch (...) {  // the transport may still access the memory
    for (auto& column : r_.memory.sorted) column.abandon();
    for (auto& column : r_.memory.received) column.abandon();
    throw;
  }

  // Sorts the part in place, stably: the records of lower ranks come first.
  void sort_part() {
    RecordProblem p = problem_;
    p.count = report_.part.count;
    p.columns = columns_;
    p.position_bytes = 0;
    for (auto& column : p.columns)
      if (column.moved == Moved::out) column.moved = Moved::in_place;
    if (p.count < 2) return;
    const RecordPlan plan(r_.device, p, method_);
    report_.local.algorithm = plan.algorithm().name;
    report_.local.parameters = plan.parameters();
    plan.run(queue_, {received_, {}, {}, scratch(plan.scratch_bytes())});
    queue_.finish();
  }

  const RecordRank& r_;
  Communicator& communicator_;
  Queue& queue_;
  const Reader& reader_;
  const RecordProblem& problem_;
  const RecordOperands& operands_;
  const Method& method_;
  const Extent& extent_;
  const std::vector<Column> columns_;
  Borders<Key> borders_;
  Random random_;
  std::vector<Memory> sorted_, received_;  // of each column
  Report report_;
};

// Allocates what the problem needs, and bounds it. Returns the method of the sorts.
Method prepare_memory(const RecordRank& rank, const RecordProblem& p, const DeviceOptions& options,
                      std::uint64_t part) {
  RecordMemory& memory = rank.memory;
  const auto columns = all_columns(p);
  while (memory.sorted.size() < columns.size()) memory.sorted.emplace_back(*rank.device);
  while (memory.received.size() < columns.size()) memory.received.emplace_back(*rank.device);
  if (memory.scratch.empty()) memory.scratch.emplace_back(*rank.device);
  Method method = options.method;
  if (options.max_bytes == 0) return method;
  std::uint64_t kept = 0;
  for (std::size_t c = 0; c < memory.sorted.size(); ++c) {
    const bool is_used = c < columns.size() && rank.communicator.size() > 1;
    const std::uint64_t sorted = is_used ? p.count * columns[c].bytes : 0;
    const bool is_received = is_used && columns[c].moved == Moved::no;
    const std::uint64_t received = is_received ? part * columns[c].bytes : 0;
    memory.sorted[c].keep_at_most(sorted);
    memory.received[c].keep_at_most(received);
    kept += sorted + received;
  }
  if (options.max_bytes <= kept)
    refuse(
        fmt::format("max_bytes is {}; {} are needed for the records, and more for scratch memory",
                    options.max_bytes, kept));
  const std::uint64_t scratch = options.max_bytes - kept;
  method.max_scratch_bytes =
      method.max_scratch_bytes == 0 ? scratch : std::min(scratch, method.max_scratch_bytes);
  memory.scratch.front().keep_at_most(method.max_scratch_bytes);
  return method;
}

// One rank needs no borders.
Report sort_alone(const RecordRank& rank, Queue& queue, const RecordProblem& p,
                  const RecordOperands& o, const Method& method) {
  Stopwatch watch;
  const RecordPlan plan(rank.device, p, method);
  RecordOperands operands = o;
  operands.scratch = rank.memory.scratch.front().of(plan.scratch_bytes());
  plan.run(queue, operands);
  queue.finish();
  Report report{.part = {0, p.count}, .sort_seconds = watch.lap()};
  report.local.device = rank.device->info().name;
  report.local.algorithm = plan.algorithm().name;
  report.local.parameters = plan.parameters();
  report.local.sort_seconds = report.sort_seconds;
  return report;
}

}  // namespace

std::uint64_t RecordMemory::bytes() const {
  std::uint64_t all = 0;
  for (const auto* memories : {&sorted, &received, &scratch})
    for (const auto& memory : *memories) all += memory.bytes();
  return all;
}

Report sort_records_on_device(const RecordRank& rank, Queue& queue, const RecordProblem& p,
                              const RecordOperands& o, const DeviceOptions& options) {
  const std::uint64_t bytes = p.count * record_bytes(all_columns(p));
  agree_on(rank.communicator, bytes, [&] {
    validate(p, options, queue, *rank.device);
    return fmt::format("{} in device memory, {} lengths", describe(p),
                       options.balance == Balance::kept ? "kept" : "even");
  });
  const Extent extent = extent_of(rank.communicator, p.count);
  const std::uint64_t part = extent.part(options.balance).count;
  Method method;
  together(rank.communicator, bytes, [&] {
    validate_operands_of(p, o, part, space_of(rank.device->info().claimed.backend));
    if (p.position_bytes == 4 && extent.total > std::uint64_t{1} << 32)
      refuse(fmt::format("the ranks have {} records; positions of 4 bytes serve up to 2^32",
                         extent.total));
    method = prepare_memory(rank, p, options, part);
  });
  if (extent.total == 0) return {};
  if (rank.communicator.size() == 1) return sort_alone(rank, queue, p, o, method);
  return with_field_reader(p.key, [&](const auto& reader) {
    return RecordRun(rank, queue, reader, p, o, method, extent, options.balance).run();
  });
}

}  // namespace sortium::distributed
