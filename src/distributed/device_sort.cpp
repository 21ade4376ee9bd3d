// Sorts device memory that is divided among ranks: partitions by boundaries of buckets, makes the
// borders between ranks exact, exchanges slices, and sorts each slice while the next one arrives.
// If each rank has a slice without borders, these are exchanged while the borders are made exact.
// (Short lists: short_lists.hpp.)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <sortium/distributed.hpp>
#include <string>

#include "../core/refuse.hpp"
#include "../sort/host.hpp"
#include "../sort/out_of_memory.hpp"
#include "agreement.hpp"
#include "borders.hpp"
#include "device_arguments.hpp"
#include "device_bound.hpp"
#include "device_plans.hpp"
#include "device_records.hpp"
#include "device_steps.hpp"
#include "exact.hpp"
#include "extent.hpp"
#include "inner_slices.hpp"
#include "short_lists.hpp"
#include "slices.hpp"
#include "turn.hpp"

namespace sortium::distributed {

namespace {

using Key = OrderKey<1>;
using Numbers = std::vector<std::uint64_t>;

}  // namespace

struct DeviceSorter::State {
  State(Communicator& c, std::shared_ptr<Device> d)
      : communicator(c),
        device(std::move(d)),
        link(device->make_urgent_queue()),
        copies(device->make_urgent_queue()),
        keys(*device),
        values(*device),
        scratch(*device),
        unwanted_keys(*device) {}

  Communicator& communicator;
  std::shared_ptr<Device> device;
  std::unique_ptr<Queue> link;    // the exchanges' queue
  std::unique_ptr<Queue> copies;  // copies what stays on the device
  KeptMemory keys, values;        // the partitioned records
  KeptMemory scratch;
  std::uint64_t max_scratch_bytes = ~std::uint64_t{0};
  KeptMemory unwanted_keys;  // the part's keys, if the problem does not write them
  RecordMemory records;
  std::string planned;  // what `plans` are for
  std::optional<Plans> plans;
};

// One call on one rank.
class DeviceSorter::Run {
 public:
  Run(State& state, Queue& queue, const Problem& problem, const Operands& operands,
      const DeviceOptions& options, const Extent& extent)
      : s_(state),
        communicator_(state.communicator),
        plans_(*state.plans),
        queue_(queue),
        problem_(problem),
        operands_(operands),
        extent_(extent),
        targets_(extent.targets(options.balance)),
        key_bytes_(info(problem.key).bytes),
        value_bytes_(problem.payload == Payload::none ? 0 : problem.value_bytes),
        slices_(slices_of(options, extent.total, key_bytes_, value_bytes_, communicator_)),
        borders_(targets_, extent.total),
        random_(communicator_.rank()) {
    report_.part = extent.part(options.balance);
    report_.local.device = s_.device->info().name;
  }

  Report run() {
    Stopwatch watch;
    choose_boundaries();
    on_all([&] { count(); });
    count_buckets();
    find_inner_slices();
    on_all([&] {
      divide();
      queue_.finish();  // the exchanges have a queue of their own
    });
    try {
      if (starts_early_) start_exchange(first_turn());
      if (!borders_.exact()) decide();
      cuts_ = cuts_of<Key>(communicator_, borders_, candidates_, first_candidate_, begins_);
      sent_ = slice_counts();
      received_ = exchange_numbers(communicator_, sent_);
      report_.partition_seconds = watch.lap();
      on_all([&] { plan_slices(); });
      report_.local.plan_seconds = watch.lap();
      report_.partition_seconds += report_.local.plan_seconds;
      for (unsigned turn = 0; turn < slices_; ++turn) exchange_and_sort(turn);
      on_all([&] { queue_.finish(); });
    } catch (...) {
      if (exchanging_) give_up_exchange();
      end_of(queue_);  // slices may still be sorted
      throw;
    }
    report_.sort_seconds = watch.lap() - report_.exchange_seconds;
    report_.local.sort_seconds = report_.sort_seconds;
    return report_;
  }

 private:
  // Does the rank's own work. If it fails on one rank, all ranks throw.
  template <class Work>
  void on_all(const Work& work) try {
    together(communicator_, operand_bytes(problem_), work);
  } catch (const Error&) {
    all_know_ = true;
    throw;
  }

  // Samples the keys. Sets the borders' first boundaries, and the splitters between slices.
  void choose_boundaries() {
    const std::uint64_t count = problem_.count, ranks = communicator_.size();
    const std::uint64_t wanted = wanted_samples(extent_.total, ranks);
    std::vector<Key> mine;
    on_all([&] {
      const std::uint64_t samples = samples_of(count, extent_.total, wanted, random_);
      Numbers positions(samples);
      for (std::uint64_t i = 0; i < samples; ++i)
        positions[i] = samples == count ? i : stratum(i, samples, count, random_);
      for (const auto rank : plans_.steps().ranks_at(queue_, operands_.keys_in, positions))
        mine.push_back({{rank}});
    });
    const auto samples = gather_sorted(communicator_, std::move(mine));
    for (std::uint64_t rank = 0; rank < ranks; ++rank) add_splitters(samples, rank);
    borders_.set_first_samples(samples);
    borders_.add_boundaries(splitters_);
  }

  // Adds a rank's splitters: they divide its part into slices that are equal by the samples. Of
  // equal ones the second becomes the next key, so that a frequent key has a slice of its own.
  void add_splitters(const std::vector<Key>& samples, std::uint64_t rank) {
    const std::uint64_t begin = rank == 0 ? 0 : targets_[rank - 1];
    const std::uint64_t end = rank == targets_.size() ? extent_.total : targets_[rank];
    const double of_record =
        static_cast<double>(samples.size()) / static_cast<double>(extent_.total);
    for (unsigned slice = 1; slice < slices_; ++slice) {
      const double place = static_cast<double>(begin) +
                           static_cast<double>(end - begin) * slice / static_cast<double>(slices_);
      const auto sample = static_cast<std::uint64_t>(place * of_record);
      Key key = samples[std::min<std::uint64_t>(sample, samples.size() - 1)];
      if (slice > 1 && key <= splitters_.back()) {
        key = splitters_.back();
        if (!key.increment()) key = splitters_.back();
      }
      splitters_.push_back(key);
    }
  }

  // Finds where each bucket begins. A device without kernels for the partition sorts its records.
  void count() {
    const std::uint64_t count = problem_.count;
    keys_ = s_.keys.of(count * key_bytes_);
    values_ = s_.values.of(count * value_bytes_);
    boundaries_ = ranks_of_boundaries();
    begins_.assign(boundaries_.size() + 2, 0);
    begins_.back() = count;
    if (count == 0) return;
    if (s_.device->info().claimed.backend != Backend::host && !boundaries_.empty() &&
        boundaries_.size() <= BoundaryPartition::max_boundaries)
      division_ = &plans_.division(problem_.count, boundaries_.size());
    if (division_ != nullptr && division_->scratch_bytes > s_.max_scratch_bytes)
      division_ = nullptr;
    if (division_ == nullptr)
      sort_input();
    else
      begins_ = division_->partition.count(queue_, division_operands(), boundaries_);
  }
  [[nodiscard]] Operands division_operands() {
    return {operands_.keys_in, keys_, operands_.values_in, values_,
            s_.scratch.of(division_->scratch_bytes)};
  }
  // Divides the records by the boundaries, in other memory. Those of this rank's inner slices go
  // to their places in the output, unless that is the input.
  void divide() {
    keys_out_ = problem_.keys_out ? operands_.keys_out
                                  : s_.unwanted_keys.of(report_.part.count * key_bytes_);
    if (division_ == nullptr) return;
    if (needs_no_division()) {
      queue_.copy(keys_, operands_.keys_in, problem_.count * key_bytes_);
      if (problem_.payload == Payload::values)
        queue_.copy(values_, operands_.values_in, problem_.count * value_bytes_);
      return;
    }
    BoundaryPartition::Apart apart{keys_out_, operands_.values_out, {}};
    Numbers places;
    if (!overwrites_input() && division_->partition.reaches(report_.part.count)) {
      places.assign(boundaries_.size() + 1, BoundaryPartition::nowhere);
      for (const auto& slice : inner_.of(communicator_.rank())) {
        stays_[slice.number] = true;
        std::uint64_t to = inner_.begin(slice) - report_.part.begin;
        for (unsigned rank = 0; rank < communicator_.rank(); ++rank)
          to += inner_.records(slice, rank);
        for (std::uint64_t b = slice.first_bucket; b < slice.end_bucket; ++b)
          places[b] = to + begins_[b] - begins_[slice.first_bucket];
      }
      apart.places = places;
    }
    division_->partition.scatter(queue_, division_operands(), boundaries_, begins_,
                                 extent_.begin_of_input(), apart);
  }
  // True if all of this rank's keys are one number, whose bucket has no other.
  [[nodiscard]] bool needs_no_division() const {
    if (problem_.payload == Payload::positions) return false;  // the partition makes them
    for (std::uint64_t b = 0; b + 1 < begins_.size(); ++b)
      if (bucket_count(b) == problem_.count) return borders_.has_one_value(b);
    return false;
  }
  [[nodiscard]] bool overwrites_input() const {
    const Memory &in = operands_.values_in, &out = operands_.values_out;
    return operands_.in_place() || (in && in.handle == out.handle && in.offset == out.offset);
  }
  // A sorted list is divided by any boundaries. Devices without kernels do it so, and lists with
  // more buckets than a partition has.
  void sort_input() {
    const Plan& plan = plans_.out_of_place(problem_.count);
    plan.run(queue_, {operands_.keys_in, keys_, operands_.values_in, values_,
                      s_.scratch.of(plan.scratch_bytes())});
    if (problem_.payload == Payload::positions)
      plans_.steps().add_to_positions(queue_, values_, extent_.begin_of_input(), problem_.count);
    std::vector<RankSearch> searches;
    for (const auto rank : boundaries_) searches.push_back({rank, 0, problem_.count});
    const auto places = plans_.steps().places(queue_, keys_, searches);
    std::ranges::copy(places, begins_.begin() + 1);
  }

  [[nodiscard]] Numbers ranks_of_boundaries() const {
    Numbers ranks;
    for (const auto& key : borders_.boundaries()) ranks.push_back(key.word[0]);
    return ranks;
  }
  [[nodiscard]] std::uint64_t bucket_count(std::uint64_t bucket) const {
    return begins_[bucket + 1] - begins_[bucket];
  }

  void count_buckets() {
    all_counts_.resize(borders_.buckets());
    for (std::uint64_t b = 0; b < all_counts_.size(); ++b) all_counts_[b] = bucket_count(b);
    communicator_.all_reduce(all_counts_, Reduction::sum);
    borders_.set_bucket_counts(all_counts_);
    report_.rounds += 1;
  }

  // Makes the borders exact. First, the buckets with borders are sorted; regular samples of sorted
  // buckets narrow them to a few thousand records. Then these are candidates in host memory.
  void decide() {
    std::vector<Key> samples;
    on_all([&] {
      if (division_ != nullptr)
        for (const auto b : borders_.open_buckets()) sort_bucket(b);
      samples = regular_samples();
    });
    // A regular sample's place among all samples is known to one sample for each rank.
    borders_.add_brackets(gather_sorted(communicator_, std::move(samples)), all_counts_,
                          communicator_.size() + 2);
    on_all([&] { divide_again(); });
    count_buckets();
    on_all([&] { read_candidates(); });
    report_.rounds += refine<Key>(communicator_, borders_, candidates_, random_);
  }
  void sort_bucket(std::uint64_t bucket) {
    const std::uint64_t count = bucket_count(bucket);
    if (count < 2) return;
    sort_in_place(elements(keys_, begins_[bucket], count, key_bytes_),
                  elements(values_, begins_[bucket], count, value_bytes_), count);
  }
  void sort_in_place(const Memory& keys, const Memory& values, std::uint64_t count) {
    const Plan& plan = plans_.in_place(count);
    plan.run(queue_, {keys, keys, values, values, s_.scratch.of(plan.scratch_bytes())});
  }
  [[nodiscard]] std::vector<Key> regular_samples() {
    const auto& open = borders_.open_buckets();
    const std::uint64_t ranks = communicator_.size();
    const std::uint64_t wanted =
        std::max(wanted_samples(extent_.total, ranks) / open.size(), 16 * ranks);
    Numbers positions;
    for (const auto b : open) {
      const std::uint64_t count = bucket_count(b);
      const double share = static_cast<double>(count) / static_cast<double>(all_counts_[b]);
      const auto samples = std::min(
          count, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(wanted))));
      for (std::uint64_t i = 0; i < samples; ++i)
        positions.push_back(begins_[b] + static_cast<std::uint64_t>((static_cast<double>(i) + 0.5) *
                                                                    static_cast<double>(count) /
                                                                    static_cast<double>(samples)));
    }
    std::vector<Key> samples;
    for (const auto rank : plans_.steps().ranks_at(queue_, keys_, positions))
      samples.push_back({{rank}});
    return samples;
  }
  // Finds where the buckets between the new boundaries begin. Each new boundary is inside a bucket
  // that is sorted. Keys of inner slices may be missing, as divide() puts them into the output.
  void divide_again() {
    const Numbers old = std::exchange(boundaries_, ranks_of_boundaries());
    const Numbers old_begins = std::exchange(begins_, {0});
    std::vector<RankSearch> searches;
    for (const auto rank : boundaries_) {
      const auto bucket =
          static_cast<std::size_t>(std::ranges::upper_bound(old, rank) - old.begin());
      begins_.push_back(old_begins[bucket]);
      if (bucket == 0 || old[bucket - 1] != rank)
        searches.push_back({rank, old_begins[bucket], old_begins[bucket + 1]});
    }
    const auto places = plans_.steps().places(queue_, keys_, searches);
    for (std::size_t i = 0; i < places.size(); ++i)
      begins_[bucket_of(searches[i].rank)] = places[i];
    begins_.push_back(problem_.count);
  }
  void read_candidates() {
    for (const auto b : borders_.open_buckets()) {
      const std::uint64_t count = bucket_count(b);
      first_candidate_.push_back(candidates_.size());
      for (const auto rank :
           plans_.steps().read_ranks(queue_, elements(keys_, begins_[b], count, key_bytes_), count))
        candidates_.push_back({{rank}});
    }
  }

  void find_inner_slices() {
    if (slices_ == 1) return;  // each slice has a border
    Numbers counts(all_counts_.size());
    for (std::uint64_t b = 0; b < counts.size(); ++b) counts[b] = bucket_count(b);
    inner_ = InnerSlices(gather<std::uint64_t>(communicator_, counts), all_counts_, targets_,
                         slices_, [&](std::uint64_t rank, unsigned slice) {
                           return bucket_of(splitter(rank, slice - 1).word[0]);
                         });
    starts_early_ = inner_.has_one_of_each();
  }
  // The slice of `rank` that is exchanged in this turn. The first one needs no exact borders, if
  // each rank has such a slice.
  [[nodiscard]] unsigned slice_of_turn(unsigned rank, unsigned turn) const {
    const unsigned first = starts_early_ ? inner_.of(rank).front().number : 0;
    return turn == 0 ? first : turn <= first ? turn - 1 : turn;
  }

  // Returns the number of this rank's records in each slice of each rank's part.
  Numbers slice_counts() {
    Numbers counts;
    for (std::uint64_t rank = 0; rank < communicator_.size(); ++rank) {
      std::uint64_t at = cuts_[rank];
      for (unsigned slice = 0; slice < slices_; ++slice) {
        std::uint64_t end = cuts_[rank + 1];
        if (slice + 1 < slices_)
          end = std::clamp(begins_[bucket_of(splitter(rank, slice).word[0])], at, end);
        counts.push_back(end - at);
        at = end;
      }
    }
    return counts;
  }
  [[nodiscard]] const Key& splitter(std::uint64_t rank, unsigned slice) const {
    return splitters_[rank * (slices_ - 1) + slice];
  }
  // The bucket that begins with this boundary: its lowest rank is the boundary.
  [[nodiscard]] std::size_t bucket_of(std::uint64_t boundary) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(boundaries_, boundary) -
                                    boundaries_.begin());
  }
  // Returns true if the buckets' boundaries show that `count` records from record `begin` of this
  // rank's sorted part on have the same key.
  [[nodiscard]] bool has_one_key(std::uint64_t begin, std::uint64_t count) const {
    begin += report_.part.begin;
    std::uint64_t bucket = 0, end = all_counts_[0];
    while (end <= begin) end += all_counts_[++bucket];
    return begin + count <= end && borders_.has_one_value(bucket);
  }

  // The first turn, before the borders are exact: each rank's first inner slice.
  [[nodiscard]] Turn first_turn() const {
    const auto& mine = inner_.of(communicator_.rank()).front();
    Turn t{.to = inner_.begin(mine) - report_.part.begin, .stays = stays_[mine.number]};
    for (unsigned rank = 0; rank < communicator_.size(); ++rank) {
      const auto& theirs = inner_.of(rank).front();
      t.from.push_back(begins_[theirs.first_bucket]);
      t.out.push_back(inner_.records(theirs, communicator_.rank()));
      t.in.push_back(inner_.records(mine, rank));
    }
    return t;
  }
  [[nodiscard]] Turn turn_of(unsigned turn) const {
    const unsigned mine = slice_of_turn(communicator_.rank(), turn);
    Turn t{.stays = stays_[mine]};
    for (unsigned rank = 0; rank < communicator_.size(); ++rank) {
      const unsigned theirs = slice_of_turn(rank, turn);
      const auto sent = sent_.begin() + rank * slices_, in = received_.begin() + rank * slices_;
      t.from.push_back(std::accumulate(sent, sent + theirs, cuts_[rank]));
      t.out.push_back(sent[theirs]);
      t.in.push_back(in[mine]);
      t.to = std::accumulate(in, in + mine, t.to);
    }
    return t;
  }

  void plan_slices() {
    std::uint64_t scratch = 0;
    for (unsigned number = 0; number < slices_; ++number) {
      const Turn turn = turn_of(number);
      if (!needs_sort(turn)) continue;
      const Plan& plan = plans_.in_place(turn.received());
      scratch = std::max(scratch, plan.scratch_bytes());
      report_.local.algorithm = plan.algorithm().name;
      report_.local.parameters = plan.parameters();
    }
    (void)s_.scratch.of(scratch);
  }
  [[nodiscard]] bool needs_sort(const Turn& turn) const {
    const std::uint64_t count = turn.received();
    return count > 1 && !has_one_key(turn.to, count);
  }

  // Exchanges a slice. The device sorts it while the next one arrives.
  void exchange_and_sort(unsigned number) {
    const Turn turn = turn_of(number);
    Stopwatch watch;
    if (number != 0 || !starts_early_) start_exchange(turn);
    finish_exchange();
    report_.exchange_seconds += watch.lap();
    if (!needs_sort(turn)) return;
    const std::uint64_t count = turn.received();
    sort_in_place(elements(keys_out_, turn.to, count, key_bytes_),
                  elements(operands_.values_out, turn.to, count, value_bytes_), count);
    queue_.flush();
  }
  void start_exchange(const Turn& turn) try {
    exchanging_ = true;
    const auto start = [&](const Memory& divided, const Memory& output, unsigned bytes) {
      report_.bytes_sent += turn.start(communicator_, *s_.link, *s_.copies, divided, output, bytes);
    };
    start(keys_, keys_out_, key_bytes_);
    if (value_bytes_ != 0) start(values_, operands_.values_out, value_bytes_);
  } catch (...) {
    abandon();
    throw;
  }
  void finish_exchange() try {
    communicator_.finish_exchanges_on_device(*s_.link);
    s_.copies->finish();
    exchanging_ = false;
  } catch (...) {
    abandon();
    throw;
  }
  // After an error between start and finish. If all ranks know of it, all finish the exchange.
  void give_up_exchange() noexcept try {
    if (all_know_)
      finish_exchange();
    else
      abandon();
  } catch (...) {  // the first error counts
  }
  // Keeps memory for ever that the other ranks may still read or write after an error.
  void abandon() noexcept {
    exchanging_ = false;
    end_of(queue_);
    end_of(*s_.link);
    end_of(*s_.copies);
    s_.keys.abandon();
    s_.values.abandon();
    s_.unwanted_keys.abandon();
  }

  State& s_;
  Communicator& communicator_;
  Plans& plans_;
  Queue& queue_;
  const Problem& problem_;
  const Operands& operands_;
  const Extent& extent_;
  const Numbers targets_;
  const unsigned key_bytes_, value_bytes_, slices_;
  Borders<Key> borders_;
  Random random_;
  std::vector<Key> splitters_;          // slices_ - 1 for each rank's part
  Memory keys_, values_;                // the records, divided
  const Division* division_ = nullptr;  // none if the records are sorted instead, or there are none
  // The boundaries' ranks; where each bucket begins in keys_, and the end; the buckets' counts on
  // all ranks.
  Numbers boundaries_, begins_, all_counts_;
  InnerSlices inner_;                                     // if there are several slices
  std::vector<bool> stays_ = std::vector<bool>(slices_);  // of this rank's slices, see Turn
  bool starts_early_ = false;  // the first turn begins before the borders are exact
  bool exchanging_ = false;    // an exchange has been started and not finished
  bool all_know_ = false;      // all ranks know of an error
  std::vector<Key> candidates_;
  Numbers first_candidate_;  // of each open bucket
  Numbers cuts_;             // where the records for each rank begin in keys_, and the end
  // sent_: this rank's records in each slice of rank 0, of rank 1 ... received_: the records of
  // rank 0, of rank 1 ... in each slice of this rank.
  Numbers sent_, received_;
  Memory keys_out_;
  Report report_;
};

namespace {

// One rank needs no partition.
template <class State>
Report sort_alone(State& s, Queue& queue, const Problem& problem, const Operands& operands,
                  const Method& method) {
  Stopwatch watch;
  Report report{.part = {0, problem.count}};
  const Plan plan(s.device, problem, method);
  Operands all = operands;
  all.scratch = s.scratch.of(plan.scratch_bytes());
  report.partition_seconds = watch.lap();
  plan.run(queue, all);
  queue.finish();
  report.sort_seconds = report.local.sort_seconds = watch.lap();
  report.local.device = s.device->info().name;
  report.local.algorithm = plan.algorithm().name;
  report.local.parameters = plan.parameters();
  return report;
}

}  // namespace

DeviceSorter::DeviceSorter(Communicator& communicator, std::shared_ptr<Device> device)
    : state_(std::make_unique<State>(communicator, std::move(device))) {}
DeviceSorter::DeviceSorter(DeviceSorter&&) noexcept = default;
DeviceSorter& DeviceSorter::operator=(DeviceSorter&&) noexcept = default;
DeviceSorter::~DeviceSorter() = default;

std::uint64_t DeviceSorter::memory_bytes() const {
  return state_->keys.bytes() + state_->values.bytes() + state_->scratch.bytes() +
         state_->unwanted_keys.bytes() + state_->records.bytes();
}

Report DeviceSorter::sort_records(Queue& queue, const RecordProblem& problem,
                                  const RecordOperands& operands, const DeviceOptions& options) {
  State& s = *state_;
  return sort_records_on_device({s.communicator, s.device, *s.link, s.records}, queue, problem,
                                operands, options);
}

Report DeviceSorter::sort(Queue& queue, const Problem& problem, const Operands& operands,
                          const DeviceOptions& options) {
  State& s = *state_;
  const std::uint64_t bytes = operand_bytes(problem);
  agree_on(s.communicator, bytes, [&] {
    validate(problem, options, queue, *s.device);
    return fmt::format("{} in device memory, {} lengths, {} slices, {}", describe(problem),
                       options.balance == Balance::kept ? "kept" : "even", options.slices,
                       options.max_bytes == 0 ? "any memory" : "bounded memory");
  });
  std::uint64_t short_bytes = most_short_bytes(*s.device, s.communicator);
  const Extent extent = extent_of(s.communicator, problem.count, &short_bytes);
  Method method;
  together(s.communicator, bytes, [&] {
    validate_operands_of(problem, operands, extent.part(options.balance).count, options.balance,
                         space_of(s.device->info().claimed.backend));
    if (problem.payload == Payload::positions && problem.value_bytes == 4 &&
        extent.total > std::uint64_t{1} << 32)
      refuse(fmt::format("the ranks have {} records; positions of 4 bytes serve up to 2^32",
                         extent.total));
    method = bound_memory(s, problem, options, extent.part(options.balance).count);
    const std::string planned = fmt::format("{}, {} {}, {}", describe(problem), method.algorithm,
                                            method.parameters, method.max_scratch_bytes);
    if (!s.plans || s.planned != planned) {
      s.plans.emplace(s.device, problem, method);
      s.planned = planned;
    }
    s.plans->trim();
  });
  if (extent.total == 0) return {};
  if (s.communicator.size() == 1) return sort_alone(s, queue, problem, operands, method);
  const bool is_short = options.slices == 0 && options.max_bytes == 0 &&
                        extent.total <= short_bytes / record_bytes(problem);
  if (is_short)
    return sort_short(
        {s.communicator, *s.plans, queue, *s.link, *s.copies, s.keys, s.values, s.scratch}, problem,
        operands, extent, extent.part(options.balance));
  return Run(s, queue, problem, operands, options, extent).run();
}

}  // namespace sortium::distributed
