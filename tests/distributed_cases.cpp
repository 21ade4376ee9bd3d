#include "distributed_cases.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "support.hpp"
#include "table.hpp"

namespace sortium::test {

namespace {

using distributed::Balance;
using distributed::Communicator;
using Bytes = std::vector<std::byte>;

// Returns where each rank's records begin, and the end.
std::vector<std::uint64_t> divide(std::uint64_t count, unsigned ranks, Division division,
                                  std::uint64_t seed) {
  std::vector<std::uint64_t> begins(ranks + 1, 0);
  begins.back() = count;
  Random random(seed);
  for (unsigned r = 1; r < ranks; ++r) switch (division) {
      case Division::even:
        begins[r] = count * r / ranks;
        break;
      case Division::random:
        begins[r] = random.below(count + 1);
        break;
      case Division::one_has_all:
        break;
      case Division::first_has_most:
        begins[r] = count - std::min<std::uint64_t>(count, ranks - r);
    }
  std::sort(begins.begin(), begins.end());
  return begins;
}

distributed::Part expected_part(const std::vector<std::uint64_t>& begins, unsigned rank,
                                Balance balance) {
  if (balance == Balance::kept) return {begins[rank], begins[rank + 1] - begins[rank]};
  const std::uint64_t ranks = begins.size() - 1, count = begins.back();
  const std::uint64_t longer = count % ranks;
  return {rank * (count / ranks) + std::min<std::uint64_t>(rank, longer),
          count / ranks + (rank < longer ? 1 : 0)};
}

// Elements of `bytes` bytes, each of which tells its index.
Bytes values_of(std::uint64_t count, unsigned bytes) {
  Bytes all(count * bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t value = Random(i).next();
    for (unsigned b = 0; b < bytes; ++b)
      all[i * bytes + b] = static_cast<std::byte>(value >> 8 * (b % 8));
  }
  return all;
}
Bytes bytes_of_keys(const std::vector<std::uint64_t>& keys, unsigned bytes) {
  Bytes all(keys.size() * bytes);
  for (std::uint64_t i = 0; i < keys.size(); ++i)
    std::memcpy(all.data() + i * bytes, &keys[i], bytes);
  return all;
}
Bytes gathered(const Bytes& all, unsigned bytes, std::span<const std::uint64_t> positions) {
  Bytes out(positions.size() * bytes);
  for (std::size_t i = 0; i < positions.size(); ++i)
    std::memcpy(out.data() + i * bytes, all.data() + positions[i] * bytes, bytes);
  return out;
}
Bytes slice(const Bytes& all, unsigned bytes, std::uint64_t begin, std::uint64_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin * bytes),
          all.begin() + static_cast<std::ptrdiff_t>(end * bytes)};
}

// Returns the positions in sorted order, by a stable sort.
template <class Less>
std::vector<std::uint64_t> sorted_positions(std::uint64_t count, const Less& less) {
  std::vector<std::uint64_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), less);
  return positions;
}

std::string compare(const char* what, const Bytes& found, const Bytes& expected) {
  if (found == expected) return {};
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  return fmt::format("{}: {} bytes, {} expected; the first difference is at byte {}", what,
                     found.size(), expected.size(), at.first - found.begin());
}

}  // namespace

namespace {

// Sorts this rank's records; operands are host memory.
using SortRank = std::function<void(const Problem& problem, const HostOperands& operands,
                                    std::uint64_t part_count)>;

std::string run_case_with(Communicator& communicator, const Case& c, Division division,
                          Balance balance, const SortRank& sort) {
  const auto keys = make_keys(c.distribution, c.problem, c.seed);
  const unsigned rank = communicator.rank(), key_bytes = info(c.problem.key).bytes;
  const auto begins = divide(keys.size(), communicator.size(), division, c.seed);
  const auto part = expected_part(begins, rank, balance);
  const bool reads_values = c.problem.payload == Payload::values;
  const bool has_values = c.problem.payload != Payload::none;
  const unsigned value_bytes = has_values ? c.problem.value_bytes : 0;

  std::vector<std::uint64_t> ranks_of_keys(keys.size());
  std::ranges::transform(keys, ranks_of_keys.begin(),
                         [&](auto key) { return rank_of(key, c.problem); });
  const auto positions = sorted_positions(
      keys.size(), [&](auto a, auto b) { return ranks_of_keys[a] < ranks_of_keys[b]; });
  const std::span mine(positions.data() + part.begin, part.count);
  const Bytes all_keys = bytes_of_keys(keys, key_bytes);
  const Bytes all_values = values_of(reads_values ? keys.size() : 0, value_bytes);

  Problem problem = c.problem;
  problem.count = begins[rank + 1] - begins[rank];
  const Bytes keys_in = slice(all_keys, key_bytes, begins[rank], begins[rank + 1]);
  const Bytes values_in =
      reads_values ? slice(all_values, value_bytes, begins[rank], begins[rank + 1]) : Bytes();
  const bool in_place = c.in_place && balance == Balance::kept;
  Bytes keys_out = keys_in, values_out = values_in;
  if (!in_place) keys_out.assign(part.count * key_bytes, std::byte{0xaa});
  if (!in_place || !reads_values) values_out.assign(part.count * value_bytes, std::byte{0xaa});
  Bytes keys_read = keys_in, values_read = values_in;
  sort(problem,
       {in_place && problem.keys_out ? keys_out.data() : keys_read.data(),
        problem.keys_out ? keys_out.data() : nullptr,
        !reads_values ? nullptr
        : in_place    ? values_out.data()
                      : values_read.data(),
        has_values ? values_out.data() : nullptr},
       part.count);

  std::string wrong;
  if (problem.keys_out) wrong += compare("keys", keys_out, gathered(all_keys, key_bytes, mine));
  if (reads_values) wrong += compare("values", values_out, gathered(all_values, value_bytes, mine));
  if (c.problem.payload == Payload::positions)
    wrong +=
        compare("positions", values_out, bytes_of_keys({mine.begin(), mine.end()}, value_bytes));
  if (keys_read != keys_in || values_read != values_in) wrong += "the input has changed";
  if (!wrong.empty())
    wrong = fmt::format("rank {} of {}, division {}, {}: {}: {}", rank, communicator.size(),
                        static_cast<int>(division), balance == Balance::even ? "even" : "kept",
                        describe(c), wrong);
  return wrong;
}

// An array of device memory; none without bytes.
class DeviceArray {
 public:
  DeviceArray(Queue& queue, const void* contents, std::uint64_t bytes) {
    if (bytes == 0) return;
    buffer_ = queue.device().allocate(bytes);
    if (contents != nullptr) queue.write(buffer_->memory(), contents, bytes);
  }
  [[nodiscard]] Memory memory() const { return buffer_ == nullptr ? Memory{} : buffer_->memory(); }

 private:
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace

std::string run_case(Communicator& communicator, const Case& c, Division division, Balance balance,
                     const std::string& device) {
  return run_case_with(
      communicator, c, division, balance,
      [&](const Problem& problem, const HostOperands& operands, std::uint64_t) {
        distributed::sort_host(communicator, problem, operands, {{.device = device}, balance});
      });
}

std::string run_device_case(Communicator& communicator, distributed::DeviceSorter& sorter,
                            Queue& queue, const Case& c, Division division,
                            const distributed::DeviceOptions& options) {
  const auto sort = [&](const Problem& p, const HostOperands& host, std::uint64_t part) {
    const unsigned key = info(p.key).bytes;
    const unsigned value = p.payload == Payload::none ? 0 : p.value_bytes;
    const bool reads = p.payload == Payload::values;
    const bool in_place = host.keys_in == host.keys_out;
    const DeviceArray keys_in(queue, host.keys_in, p.count * key);
    const DeviceArray values_in(queue, host.values_in, reads ? p.count * value : 0);
    const DeviceArray keys_out(queue, nullptr, p.keys_out ? part * key : 0);
    const DeviceArray values_out(queue, nullptr, part * value);
    const Memory keys_to = in_place ? keys_in.memory() : keys_out.memory();
    const Memory values_to = in_place && reads ? values_in.memory() : values_out.memory();
    sorter.sort(queue, p, {keys_in.memory(), keys_to, values_in.memory(), values_to}, options);
    if (keys_to) queue.read(host.keys_out, keys_to, part * key);
    if (values_to) queue.read(host.values_out, values_to, part * value);
    Bytes unchanged(p.count * key);  // run_case_with() compares the host's input only
    if (!in_place && p.count != 0) {
      queue.read(unchanged.data(), keys_in.memory(), unchanged.size());
      if (std::memcmp(unchanged.data(), host.keys_in, unchanged.size()) != 0)
        throw std::runtime_error("the input has changed");
    }
  };
  return run_case_with(communicator, c, division, options.balance, sort);
}

namespace {

struct Particle {
  float mass;
  std::array<unsigned char, 9> name;
  std::int16_t charge;
  std::uint64_t index;
};

std::string run_records(Communicator& communicator, Division division, Balance balance,
                        std::uint64_t count, std::uint64_t seed, const std::string& device) {
  Random random(seed);
  std::vector<Particle> all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    Particle& p = all[i];
    std::memset(static_cast<void*>(&p), 0, sizeof(p));
    p.mass = static_cast<float>(random.below(3)) - 1;
    for (auto& c : p.name) c = static_cast<unsigned char>(random.below(2) * 255);
    p.charge = static_cast<std::int16_t>(random.below(5) - 2);
    p.index = i;
  }
  const auto positions = sorted_positions(count, [&](auto a, auto b) {
    return std::tuple(-all[a].mass, all[a].name, all[a].charge) <
           std::tuple(-all[b].mass, all[b].name, all[b].charge);
  });
  const auto begins = divide(count, communicator.size(), division, seed);
  const auto part = expected_part(begins, communicator.rank(), balance);
  const std::vector<Particle> mine(
      all.begin() + static_cast<std::ptrdiff_t>(begins[communicator.rank()]),
      all.begin() + static_cast<std::ptrdiff_t>(begins[communicator.rank() + 1]));
  const std::vector<Field> key{by(&Particle::mass, Order::descending), by(&Particle::name),
                               by(&Particle::charge)};
  const auto sorted =
      distributed::sort_records(communicator, mine, key, {{.device = device}, balance});
  if (sorted.size() != part.count)
    return fmt::format("records: {} of {}", sorted.size(), part.count);
  for (std::uint64_t i = 0; i < part.count; ++i)
    if (std::memcmp(&sorted[i], &all[positions[part.begin + i]], sizeof(Particle)) != 0)
      return fmt::format("records: rank {}, record {}", communicator.rank(), i);
  return {};
}

// A column in place, one out of place, one that only holds a field, and positions.
std::string run_columns(Communicator& communicator, std::uint64_t count, std::uint64_t seed,
                        const std::string& device) {
  const unsigned rank = communicator.rank();
  const auto begins = divide(count, communicator.size(), Division::random, seed);
  const std::uint64_t begin = begins[rank], length = begins[rank + 1] - begin;
  Random random(seed);
  std::vector<u128> wide(count);
  std::vector<std::int32_t> narrow(count);
  for (auto& w : wide) w = {random.below(2) << 63, random.below(2)};
  for (auto& n : narrow) n = static_cast<std::int32_t>(random.below(3)) - 1;
  const Bytes values = values_of(count, 3);
  const auto order = sorted_positions(count, [&](auto a, auto b) {
    return std::tuple(-narrow[a], wide[a].high, wide[a].low) <
           std::tuple(-narrow[b], wide[b].high, wide[b].low);
  });
  const std::span mine(order.data() + begin, length);

  std::vector<u128> my_wide(wide.begin() + static_cast<std::ptrdiff_t>(begin),
                            wide.begin() + static_cast<std::ptrdiff_t>(begin + length));
  std::vector<std::int32_t> my_narrow(narrow.begin() + static_cast<std::ptrdiff_t>(begin),
                                      narrow.begin() + static_cast<std::ptrdiff_t>(begin + length));
  const Bytes my_values = slice(values, 3, begin, begin + length);
  Bytes values_out(length * 3);
  std::vector<std::uint64_t> positions(length);
  const RecordProblem problem{
      .count = length,
      .columns = {{16, Moved::no}, {4, Moved::in_place}, {3, Moved::out}},
      .key = {{.column = 1, .type = KeyType::i32, .order = Order::descending},
              {.column = 0, .type = FieldType::u128()}},
      .position_bytes = 8};
  const void* const in[] = {my_wide.data(), my_narrow.data(), my_values.data()};
  void* const out[] = {nullptr, nullptr, values_out.data()};
  distributed::sort_records_host(communicator, problem, {in, out, positions.data()},
                                 {{.device = device}});
  for (std::uint64_t i = 0; i < length; ++i)
    if (my_narrow[i] != narrow[mine[i]] || my_wide[i] != wide[begin + i] || positions[i] != mine[i])
      return fmt::format("columns: rank {}, record {}", rank, i);
  return compare("columns", values_out, gathered(values, 3, mine));
}

// The templates, on few keys.
std::string run_few(Communicator& communicator, std::uint64_t count, const std::string& device) {
  const auto begins = divide(count, communicator.size(), Division::even, 0);
  const unsigned rank = communicator.rank();
  const std::uint64_t begin = begins[rank], length = begins[rank + 1] - begin;
  std::vector<double> keys(length);
  for (std::uint64_t i = 0; i < length; ++i) keys[i] = static_cast<double>((begin + i) * 7 % 5);
  std::vector<double> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = static_cast<double>(i * 7 % 5);
  const auto order = sorted_positions(count, [&](auto a, auto b) { return all[a] < all[b]; });
  const std::vector<std::array<char, 5>> values(length, {'a', 'b', 'c', 'd', 'e'});

  const distributed::Options options{{.device = device}, Balance::even};
  const auto part = distributed::part_of(communicator, length, Balance::even);
  const auto sorted = distributed::sort(communicator, keys, options);
  const auto pairs = distributed::sort(communicator, keys, values, options);
  const auto positions = distributed::argsort(communicator, keys, options);
  for (std::uint64_t i = 0; i < part.count; ++i)
    if (const auto from = order[part.begin + i];
        sorted.at(i) != all[from] || pairs.keys.at(i) != all[from] ||
        pairs.values.at(i) != std::array<char, 5>{'a', 'b', 'c', 'd', 'e'} ||
        positions.at(i) != from)
      return fmt::format("few keys: rank {}, record {} of {}", rank, i, count);
  return {};
}

constexpr Division divisions[] = {Division::even, Division::random, Division::one_has_all,
                                  Division::first_has_most};

std::vector<Case> table_for(std::uint64_t seed) {
  return make_table(shapes(Depth::full, static_cast<unsigned>(seed % 97), false),
                    {{0, 1, 3, 1000, 20'000}, {}}, 0)
      .cases;
}

}  // namespace

std::string run_device_cases(Communicator& communicator, Queue& queue, unsigned cases,
                             std::uint64_t seed) {
  Random random(seed);
  const auto table = table_for(seed);
  distributed::DeviceSorter sorter(communicator, queue.device().shared_from_this());
  for (unsigned i = 0; i < cases; ++i) {
    Case c = table[random.below(table.size())];
    c.seed = random.next();
    const auto division = divisions[random.below(4)];
    const auto balance = random.below(2) == 0 ? Balance::kept : Balance::even;
    const auto slices = static_cast<unsigned>(random.below(7));
    if (auto wrong = run_device_case(communicator, sorter, queue, c, division,
                                     {.balance = balance, .slices = slices});
        !wrong.empty())
      return fmt::format("{} slices: {}", slices, wrong);
  }
  return {};
}

std::string run_device_records(Communicator& communicator, distributed::DeviceSorter& sorter,
                               Queue& queue, std::uint64_t count, Division division,
                               const distributed::DeviceOptions& options, std::uint64_t seed) {
  // Records of five words of key: a float, 16 bytes, a number of 128 bits.
  Random random(seed);
  std::vector<Particle> particles(count);
  std::vector<u128> wide(count);
  constexpr float masses[] = {-0.0f, 0.0f, -1, std::numeric_limits<float>::quiet_NaN()};
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memset(static_cast<void*>(&particles[i]), 0, sizeof(Particle));
    particles[i].mass = masses[random.below(4)];
    particles[i].name[random.below(9)] = static_cast<unsigned char>(random.below(3));
    particles[i].index = i;
    wide[i] = {random.below(2) << 63, random.below(3)};
  }
  const auto rank_of_mass = [](float mass) { return std::isnan(mass) ? 2 : mass == 0 ? 0 : 1; };
  const auto order = sorted_positions(count, [&](auto a, auto b) {
    return std::tuple(rank_of_mass(particles[a].mass), particles[b].name, wide[a].high,
                      wide[a].low) < std::tuple(rank_of_mass(particles[b].mass), particles[a].name,
                                                wide[b].high, wide[b].low);
  });
  const unsigned rank = communicator.rank();
  const auto begins = divide(count, communicator.size(), division, seed);
  const auto part = expected_part(begins, rank, options.balance);
  const std::uint64_t begin = begins[rank], mine = begins[rank + 1] - begin;
  const Bytes values = values_of(count, 3);
  const bool in_place = options.balance == Balance::kept;

  const DeviceArray in[] = {{queue, particles.data() + begin, mine * sizeof(Particle)},
                            {queue, wide.data() + begin, mine * 16},
                            {queue, values.data() + begin * 3, mine * 3}};
  const DeviceArray particles_out(queue, nullptr, part.count * sizeof(Particle));
  const DeviceArray values_out(queue, nullptr, in_place ? 0 : part.count * 3);
  const DeviceArray positions(queue, nullptr, part.count * 8);
  const Memory columns_in[] = {in[0].memory(), in[1].memory(), in[2].memory()};
  const Memory columns_out[] = {particles_out.memory(), {}, values_out.memory()};
  const RecordProblem problem{
      .count = mine,
      .columns = {{sizeof(Particle), Moved::out},
                  {16, Moved::no},
                  {3, in_place ? Moved::in_place : Moved::out}},
      .key = {{.column = 0, .type = KeyType::f32, .order = Order::descending},
              {.column = 0,
               .offset = offsetof(Particle, name),
               .type = FieldType::bytes(9),
               .order = Order::descending},
              {.column = 1, .type = FieldType::u128()}},
      .position_bytes = 8};
  sorter.sort_records(queue, problem, {columns_in, columns_out, positions.memory()}, options);

  std::vector<Particle> sorted(part.count);
  std::vector<std::uint64_t> found(part.count);
  Bytes moved(part.count * 3);
  if (part.count != 0) {
    queue.read(sorted.data(), particles_out.memory(), part.count * sizeof(Particle));
    queue.read(found.data(), positions.memory(), part.count * 8);
    queue.read(moved.data(), (in_place ? in[2] : values_out).memory(), moved.size());
  }
  const std::span expected(order.data() + part.begin, part.count);
  for (std::uint64_t i = 0; i < part.count; ++i)
    if (sorted[i].index != expected[i] || found[i] != expected[i])
      return fmt::format("records in device memory: rank {}, record {} of {}", rank, i, part.count);
  return compare("records in device memory", moved, gathered(values, 3, expected));
}

std::string run_cases(Communicator& communicator, unsigned cases, std::uint64_t seed,
                      const std::string& device) {
  Random random(seed);
  const auto table = table_for(seed);
  for (unsigned i = 0; i < cases; ++i) {
    Case c = table[random.below(table.size())];
    if (c.problem.payload == Payload::values && random.below(4) == 0)
      c.problem.value_bytes = static_cast<unsigned>(1 + random.below(20));
    c.seed = random.next();
    const auto division = divisions[random.below(4)];
    const auto balance = random.below(2) == 0 ? Balance::kept : Balance::even;
    if (auto wrong = run_case(communicator, c, division, balance, device); !wrong.empty())
      return wrong;
  }
  for (const auto division : divisions)
    for (const auto balance : {Balance::kept, Balance::even})
      if (auto wrong = run_records(communicator, division, balance, 3000, seed, device);
          !wrong.empty())
        return wrong;
  if (auto wrong = run_columns(communicator, 2000, seed, device); !wrong.empty()) return wrong;
  for (const std::uint64_t count : {0, 1, 2, 5, 40})
    if (auto wrong = run_few(communicator, count, device); !wrong.empty()) return wrong;
  return {};
}

}  // namespace sortium::test
