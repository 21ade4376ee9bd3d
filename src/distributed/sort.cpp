// Sorts a divided list: finds the exact borders, sends every record to its rank, sorts there.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <sortium/distributed.hpp>
#include <sortium/plan.hpp>
#include <sortium/sort.hpp>
#include <string>

#include "../core/refuse.hpp"
#include "../sort/host.hpp"
#include "../sort/records.hpp"
#include "../sort/validate.hpp"
#include "agreement.hpp"
#include "borders.hpp"
#include "columns.hpp"
#include "exact.hpp"
#include "extent.hpp"
#include "partition.hpp"

namespace sortium::distributed {

namespace {

// A sort of this rank's records. The members differ between plain keys and records.
struct Job {
  std::string call{};  // all ranks must have the same
  Columns columns{};
  std::uint64_t count = 0;
  unsigned position_bytes = 0;  // of the last column, the records' global positions; 0: none
  std::function<void()> validate{};
  // Sorts what this rank received, in place or into the caller's memory.
  std::function<HostReport(const std::vector<std::byte*>& received, std::uint64_t count)> sort{};
  // Copies what `sort` sorted in place into the caller's memory. Does not fail.
  std::function<void(const std::vector<std::byte*>& received, std::uint64_t count)> copy{};

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t record = 0;
    for (const auto& column : columns) record += column.bytes;
    return count * record;
  }
};

// Sorts the candidates on the rank's own device.
template <unsigned words>
void sort_keys(std::vector<OrderKey<words>>& keys, const sortium::Options& options) {
  if constexpr (words == 1) {
    static_assert(sizeof(OrderKey<1>) == sizeof(std::uint64_t));
    auto* const numbers = reinterpret_cast<std::uint64_t*>(keys.data());
    sortium::sort(std::span(numbers, keys.size()), {.device = options.device});
  } else {
    std::ranges::sort(keys);
  }
}

// One call on one rank.
template <class Key>
class RankSort {
 public:
  RankSort(Communicator& communicator, const Keys<Key>& keys, const Job& job, const Extent& extent,
           const Options& options)
      : communicator_(communicator),
        job_(job),
        extent_(extent),
        options_(options),
        borders_(extent.targets(options.balance), extent.total),
        partition_(keys, job.columns, job.count),
        random_(communicator.rank()) {}

  Report run() {
    Stopwatch watch;
    report_.part = extent_.part(options_.balance);
    const auto send_counts = divide();
    report_.partition_seconds = watch.lap();
    exchange(send_counts);
    report_.exchange_seconds = watch.lap();
    std::vector<std::byte*> columns;
    for (const auto& column : received_) columns.push_back(column.data());
    together(communicator_, job_.bytes(),
             [&] { report_.local = job_.sort(columns, report_.part.count); });
    job_.copy(columns, report_.part.count);
    report_.sort_seconds = watch.lap();
    return std::move(report_);  // a copy would need memory, and the records are replaced
  }

 private:
  // Divides the records by rank. Returns the number of records for each rank.
  std::vector<std::uint64_t> divide() {
    std::vector<Key> samples;
    partition_.sample(extent_.total, borders_.first_samples(), random_, samples);
    borders_.set_first_samples(gather_sorted(communicator_, std::move(samples)));
    together(communicator_, job_.bytes(), [&] { partition_.divide(borders_.boundaries()); });
    auto counts = partition_.counts();
    communicator_.all_reduce(counts, Reduction::sum);
    borders_.set_bucket_counts(counts);
    std::vector<Key> candidates;
    together(communicator_, job_.bytes(), [&] {
      candidates = partition_.keys_of(borders_.open_buckets());
      sort_keys(candidates, options_.sort);
    });
    report_.rounds = 1 + refine<Key>(communicator_, borders_, candidates, random_);

    const auto left =
        ties_left<Key>(communicator_, borders_.borders(), candidates, partition_.counts());
    std::vector<std::uint64_t> cuts;
    together(communicator_, job_.bytes(),
             [&] { cuts = partition_.divide_at(borders_.borders(), left); });
    cuts.push_back(job_.count);
    std::adjacent_difference(cuts.begin(), cuts.end(), cuts.begin());
    return cuts;
  }

  // Sends every rank its records, column by column, and frees what was sent.
  void exchange(const std::vector<std::uint64_t>& send_counts) {
    const auto receive_counts = exchange_numbers(communicator_, send_counts);
    // All memory is allocated before the exchange: if that fails, memory must be abandoned.
    std::vector<std::uint64_t> send_bytes, receive_bytes;
    together(communicator_, job_.bytes(), [&] {
      for (const auto& c : job_.columns) received_.emplace_back(report_.part.count * c.bytes);
      send_bytes.resize(send_counts.size());
      receive_bytes.resize(receive_counts.size());
    });
    auto& sent = partition_.divided();
    try {
      for (std::size_t c = 0; c < job_.columns.size(); ++c) {
        const auto bytes = [&](std::uint64_t count) { return count * job_.columns[c].bytes; };
        std::ranges::transform(send_counts, send_bytes.begin(), bytes);
        std::ranges::transform(receive_counts, receive_bytes.begin(), bytes);
        communicator_.exchange({sent[c].data(), send_bytes, received_[c].data(), receive_bytes});
        sent[c] = {};
        report_.bytes_sent +=
            std::accumulate(send_bytes.begin(), send_bytes.end(), std::uint64_t{0}) -
            send_bytes[communicator_.rank()];
      }
    } catch (...) {  // the transport may still access the memory
      for (auto& column : sent) column.abandon();
      for (auto& column : received_) column.abandon();
      throw;
    }
  }

  Communicator& communicator_;
  const Job& job_;
  const Extent& extent_;
  const Options& options_;
  Borders<Key> borders_;
  Partition<Key> partition_;
  Random random_;
  std::vector<Bytes> received_;
  Report report_;
};

// ---------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------

// Checks all that is known before the ranks begin, and that they make the same call.
Extent begin(Communicator& communicator, const Job& job, const Options& options) {
  agree_on(communicator, job.bytes(), [&] {
    validate_enumeration(options.balance, Balance::even, "balance");
    validate_method(options.sort.algorithm);
    job.validate();
    return fmt::format("{}, {} lengths", job.call,
                       options.balance == Balance::kept ? "kept" : "even");
  });
  return extent_of(communicator, job.count);
}

// ---------------------------------------------------------------------------------------------
// Keys
// ---------------------------------------------------------------------------------------------

void validate_keys(const Problem& p, const HostOperands& o, Balance balance) {
  Problem known = p;
  if (p.payload == Payload::values) {
    validate_value_bytes(p.value_bytes);
    known.value_bytes = 4;
  }
  validate_problem(known);
  if (p.segments != 0 || p.limit != 0) refuse("a distributed sort takes no segments and no limit");
  const bool reads_values = p.payload == Payload::values, writes = p.payload != Payload::none;
  if (p.count != 0 && (o.keys_in == nullptr || (reads_values && o.values_in == nullptr)))
    refuse("keys_in or values_in is missing");
  if ((!p.keys_out && o.keys_out != nullptr) || (!writes && o.values_out != nullptr) ||
      (!reads_values && o.values_in != nullptr))
    refuse("keys_out, values_in or values_out is given, which the problem does not use");
  const bool in_place = o.keys_in != nullptr && o.keys_in == o.keys_out;
  if (in_place && balance != Balance::kept)
    refuse("a sort in place needs Balance::kept: another part may be longer than the input");
}

// Copies columns that were sorted in place into the caller's memory.
struct Copy {
  std::size_t column;
  void* to;
  unsigned bytes;
};
std::function<void(const std::vector<std::byte*>&, std::uint64_t)> copier(std::vector<Copy> all) {
  return [all = std::move(all)](const std::vector<std::byte*>& sorted, std::uint64_t count) {
    for (const auto& c : all)
      if (count != 0) std::memcpy(c.to, sorted[c.column], count * c.bytes);
  };
}

Job job_of(const Problem& p, const HostOperands& o, const Options& options) {
  Job job;
  job.call = describe(p);
  job.count = p.count;
  const bool has_second = p.payload != Payload::none;
  job.columns = {{static_cast<const std::byte*>(o.keys_in), info(p.key).bytes}};
  if (p.payload == Payload::values)
    job.columns.push_back({static_cast<const std::byte*>(o.values_in), p.value_bytes});
  if (p.payload == Payload::positions) job.position_bytes = p.value_bytes;
  job.validate = [&] { validate_keys(p, o, options.balance); };

  // Without a separate output for everything, the sort runs in place and its results are copied.
  const bool direct = p.keys_out && o.keys_in != o.keys_out &&
                      (p.payload != Payload::values || o.values_in != o.values_out);
  job.sort = [&, direct, has_second](const std::vector<std::byte*>& received, std::uint64_t count) {
    if (count == 0) return HostReport{};
    Problem local = p;
    local.count = count;
    local.keys_out = true;
    if (has_second) local.payload = Payload::values;
    void* const values = has_second ? received[1] : nullptr;
    return sortium::sort_host(
        local,
        {received[0], direct ? o.keys_out : received[0], values, direct ? o.values_out : values},
        options.sort);
  };
  std::vector<Copy> copies;
  if (!direct && p.keys_out) copies.push_back({0, o.keys_out, info(p.key).bytes});
  if (!direct && has_second) copies.push_back({1, o.values_out, p.value_bytes});
  job.copy = copier(std::move(copies));
  return job;
}

// Adds the column of global positions to the job. The memory must outlive the sort.
Bytes add_positions(Communicator& communicator, Job& job, const Extent& extent) {
  Bytes memory;
  together(communicator, job.bytes(), [&] {
    if (job.position_bytes == 4 && extent.total > std::uint64_t{1} << 32)
      refuse(fmt::format("the ranks have {} records; positions of 4 bytes serve up to 2^32",
                         extent.total));
    memory = Bytes(job.count * job.position_bytes);
    const auto fill = [&](auto* positions) {
      using T = std::remove_pointer_t<decltype(positions)>;
      std::iota(positions, positions + job.count, static_cast<T>(extent.begin_of_input()));
    };
    if (job.position_bytes == 4)
      fill(reinterpret_cast<std::uint32_t*>(memory.data()));
    else
      fill(reinterpret_cast<std::uint64_t*>(memory.data()));
  });
  job.columns.push_back({memory.data(), job.position_bytes});
  return memory;
}

// Calls work(reader) with the reader of the problem's keys.
template <class Work>
Report with_number_reader(const Problem& p, const Work& work) {
  const bool is_integer =
      !info(p.key).is_float && p.begin_bit == 0 && key_bits(p) == info(p.key).bits();
  const auto choose = [&](auto type) {
    using T = decltype(type);
    return is_integer ? work(IntegerReader<T>(p)) : work(NumberReader<T>(p));
  };
  switch (info(p.key).bytes) {
    case 1:
      return choose(std::uint8_t{});
    case 2:
      return choose(std::uint16_t{});
    case 4:
      return choose(std::uint32_t{});
    default:
      return choose(std::uint64_t{});
  }
}

// ---------------------------------------------------------------------------------------------
// Records
// ---------------------------------------------------------------------------------------------

void validate_records(const RecordProblem& p, const RecordHostOperands& o, Balance balance) {
  validate_record_problem(p);
  if (p.segments != 0 || p.limit != 0) refuse("a distributed sort takes no segments and no limit");
  if (p.columns.size() + (p.position_bytes != 0 ? 1 : 0) > max_columns)
    refuse(fmt::format("there are {} columns; positions are one more, and {} are allowed",
                       p.columns.size(), max_columns));
  if (o.columns_in.size() != p.columns.size())
    refuse(fmt::format("columns_in has {} columns, the problem {}", o.columns_in.size(),
                       p.columns.size()));
  for (std::size_t c = 0; c < p.columns.size(); ++c) {
    if (p.columns[c].moved == Moved::in_place && balance != Balance::kept)
      refuse(
          fmt::format("column {} is moved in place, which needs Balance::kept: another part may "
                      "be longer than the input",
                      c));
    if (p.columns[c].moved == Moved::out && o.columns_out.size() != p.columns.size())
      refuse(fmt::format("columns_out has {} columns, the problem {}", o.columns_out.size(),
                         p.columns.size()));
    if (p.count != 0 && o.columns_in[c] == nullptr)
      refuse(fmt::format("columns_in[{}] is missing", c));
  }
}

Job job_of(const RecordProblem& p, const RecordHostOperands& o, const Options& options) {
  Job job;
  job.call = describe(p);
  job.count = p.count;
  job.position_bytes = p.position_bytes;
  job.validate = [&] { validate_records(p, o, options.balance); };
  std::vector<Copy> copies;
  for (std::size_t c = 0; c < std::min(p.columns.size(), o.columns_in.size()); ++c) {
    const auto* const data = static_cast<const std::byte*>(o.columns_in[c]);
    job.columns.push_back({data, p.columns[c].bytes});
    if (p.columns[c].moved == Moved::in_place)
      copies.push_back({c, const_cast<void*>(o.columns_in[c]), p.columns[c].bytes});
  }
  job.copy = copier(std::move(copies));
  job.sort = [&](const std::vector<std::byte*>& received, std::uint64_t count) {
    RecordProblem local{.count = count, .columns = p.columns, .key = p.key};
    std::vector<void*> out(o.columns_out.begin(), o.columns_out.end());
    out.resize(p.columns.size());
    if (p.position_bytes != 0) {  // the last column that was received
      local.columns.push_back({p.position_bytes, Moved::out});
      out.push_back(o.positions);
    }
    const std::vector<const void*> in(received.begin(), received.end());
    return sortium::sort_records_host(local, {in, out}, options.sort);
  };
  return job;
}

template <class WithReader>
Report sort_job(Communicator& communicator, Job job, const Options& options,
                const WithReader& with_reader) {
  const Extent extent = begin(communicator, job, options);
  Bytes positions;
  if (job.position_bytes != 0) positions = add_positions(communicator, job, extent);
  return with_reader([&](const auto& reader) {
    const KeysOf keys(reader);
    return RankSort<typename decltype(keys)::Key>(communicator, keys, job, extent, options).run();
  });
}

}  // namespace

Part part_of(Communicator& communicator, std::uint64_t count, Balance balance) {
  return extent_of(communicator, count).part(balance);
}

Report sort_host(Communicator& communicator, const Problem& problem, const HostOperands& operands,
                 const Options& options) {
  return sort_job(communicator, job_of(problem, operands, options), options,
                  [&](const auto& work) { return with_number_reader(problem, work); });
}

Report sort_records_host(Communicator& communicator, const RecordProblem& problem,
                         const RecordHostOperands& operands, const Options& options) {
  return sort_job(communicator, job_of(problem, operands, options), options,
                  [&](const auto& work) { return with_field_reader(problem.key, work); });
}

}  // namespace sortium::distributed
