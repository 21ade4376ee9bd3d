// Random sorts of host memory against a reference sort: problems, layouts, sizes, devices, methods.
//
//   api_fuzz [SECONDS [SEED [DEVICE]]]
//
// DEVICE is cpu:0 by default. A device that runs kernels builds some for nearly every case, which
// takes seconds: let it run for hours.
//
// Prints the seed and, at the first wrong result, the problem; then the exit status is 1. Arrays
// have exactly the size that the problem needs, so that AddressSanitizer finds each access past
// their ends.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <sortium/sortium.hpp>
#include <span>
#include <vector>

#include "../support.hpp"

namespace sortium::test {
namespace {

using Bytes = std::vector<std::byte>;

struct Case {
  Problem problem;
  Options options;
  bool in_place = false;
  std::vector<std::uint64_t> keys, offsets;  // keys: raw bits
  Bytes values;

  [[nodiscard]] std::string text() const {
    const Problem& p = problem;
    return fmt::format(
        "device {} algorithm {} max_scratch_bytes {}: {} count {} payload {} of {} bytes keys_out "
        "{} order {} bits {}:{} nan {} zeros {} segments {} of {} limit {} in_place {}",
        options.device, options.algorithm, options.max_scratch_bytes, info(p.key).name, p.count,
        static_cast<int>(p.payload), p.value_bytes, p.keys_out, static_cast<int>(p.order),
        p.begin_bit, p.end_bit, static_cast<int>(p.nan), static_cast<int>(p.zeros), p.segments,
        p.offset_bytes, p.limit, in_place);
  }
};

// -------------------------------------------------------------------------------------------------
// The reference: keys as numbers in sorted order, and std::stable_sort
// -------------------------------------------------------------------------------------------------

// Returns a number that is smaller for keys that sort earlier. It is computed from sign and
// magnitude, unlike order_bits.
__int128 place_of(std::uint64_t key, const Problem& p) {
  const auto& type = info(p.key);
  const std::uint64_t sign = std::uint64_t{1} << (type.bits() - 1), magnitude = key & (sign - 1);
  const bool negative = (key & sign) != 0, down = p.order == Order::descending;
  __int128 place = 0;
  if (type.is_float) {
    constexpr __int128 beyond = static_cast<__int128>(1) << 80;
    if (magnitude > type.infinity && p.nan == NanOrder::last) return beyond;
    if (magnitude > type.infinity && p.nan == NanOrder::first) return -beyond;
    place = static_cast<__int128>(magnitude);
    if (negative) place = -place - (magnitude != 0 || p.zeros == ZeroOrder::distinct);
  } else if (type.is_signed) {
    place = static_cast<__int128>(magnitude) - (negative ? static_cast<__int128>(sign) : 0);
  } else {
    place = static_cast<__int128>(key);
  }
  if (p.begin_bit != 0 || p.end_bit != 0) {  // for integers: bits of the unsigned code
    const unsigned end = p.end_bit == 0 ? type.bits() : p.end_bit;
    const auto code =
        static_cast<std::uint64_t>(type.is_signed ? place + static_cast<__int128>(sign) : place);
    const unsigned width = end - p.begin_bit;
    place =
        code >> p.begin_bit & (width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1);
  }
  return down ? -place : place;
}

// Returns the input's positions in sorted order, segment by segment.
std::vector<std::uint64_t> sorted_positions(const Case& c) {
  std::vector<std::uint64_t> order(c.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<__int128> places(c.keys.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = place_of(c.keys[i], c.problem);
  const auto sort_range = [&](std::uint64_t begin, std::uint64_t end) {
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                     order.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](auto a, auto b) { return places[a] < places[b]; });
  };
  if (c.problem.segments == 0) sort_range(0, order.size());
  for (std::size_t s = 0; s + 1 < c.offsets.size(); ++s) sort_range(c.offsets[s], c.offsets[s + 1]);
  return order;
}

// -------------------------------------------------------------------------------------------------
// Drawing a random case
// -------------------------------------------------------------------------------------------------

// Of 1000 lists, 990 are short: a minute then has some 10^5 calls, and still sorts of all sizes.
std::uint64_t draw_count(Random& r, bool small) {
  if (r.below(100) != 0) return r.below(r.below(4) == 0 ? 400 : 40);
  static constexpr std::uint64_t switches[] = {16, 24, 255, 1 << 14, 1 << 15, 1 << 16};
  switch (r.below(small ? 4 : 8)) {
    case 0:
      return r.below(20);
    case 1:
    case 2:
      return r.below(3000);
    case 3:
    case 4:
      return switches[r.below(6)] + r.below(5) - 2;
    case 5:
      return r.below(400'000);
    default:
      return r.below(70'000);
  }
}

std::vector<std::uint64_t> draw_keys(Random& r, const Problem& p) {
  const auto& type = info(p.key);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits());
  const std::uint64_t kind = r.below(8), few = 1 + r.below(9), period = 1 + p.count / few;
  const std::uint64_t special[] = {0, all, all / 2, all / 2 + 1, type.infinity, type.infinity + 1};
  std::vector<std::uint64_t> keys(p.count);
  for (std::uint64_t i = 0; i < p.count; ++i) {
    std::uint64_t k = r.next();
    if (kind == 1) k = r.below(few);
    if (kind == 2) k = i;
    if (kind == 3) k = p.count - i;
    if (kind == 4) k = i % period;
    if (kind == 5) k = special[r.below(6)];
    if (kind == 6) k = r.below(1 << 20) | (r.below(3) == 0 ? all / 2 + 1 : 0);
    keys[i] = k & all;
  }
  if (kind == 7) std::ranges::sort(keys);
  return keys;
}

void draw_segments(Random& r, Case& c) {
  c.problem.segments = 1 + r.below(c.problem.count < 400 ? 20 : 200);
  c.problem.offset_bytes = r.below(2) == 0 ? 4 : 8;
  c.offsets = {0};
  for (std::uint64_t s = 1; s < c.problem.segments; ++s)
    c.offsets.push_back(r.below(c.problem.count + 1));
  c.offsets.push_back(c.problem.count);
  std::ranges::sort(c.offsets);
}

Case draw(Random& r, const std::string& device) {
  Case c;
  Problem& p = c.problem;
  c.options.device = device;
  const bool kernels = device != "cpu:0";
  p.key = all_key_types[r.below(all_key_types.size())];
  p.count = draw_count(r, kernels);
  p.payload = static_cast<Payload>(r.below(3));
  p.value_bytes = r.below(2) == 0 ? 4 : 8;
  if (p.payload == Payload::values && r.below(4) == 0)
    p.value_bytes = static_cast<unsigned>(1 + r.below(40));
  p.keys_out = p.payload != Payload::positions || r.below(2) == 0;
  if (r.below(3) == 0) p.order = Order::descending;
  if (r.below(3) == 0) p.nan = static_cast<NanOrder>(r.below(3));
  if (r.below(3) == 0) p.zeros = static_cast<ZeroOrder>(r.below(2));
  if (!info(p.key).is_float && r.below(4) == 0) {
    p.begin_bit = static_cast<unsigned>(r.below(info(p.key).bits()));
    p.end_bit = p.begin_bit + 1 + static_cast<unsigned>(r.below(info(p.key).bits() - p.begin_bit));
  }
  if (r.below(4) == 0) draw_segments(r, c);
  if (p.count != 0 && r.below(5) == 0) p.limit = 1 + r.below(p.count);
  if (p.segments != 0) p.limit = std::min<std::uint64_t>(p.limit, 300);
  c.in_place = p.limit == 0 && p.keys_out && r.below(2) == 0;
  const bool plain = p.segments == 0 && p.limit == 0 && !kernels;
  if (plain && r.below(6) == 0) c.options.algorithm = "sample";
  if (plain && r.below(6) == 0) c.options.algorithm = "sample-in-place";
  if (plain && c.options.algorithm == "auto" && r.below(6) == 0)
    c.options.max_scratch_bytes = 1 + r.below(4 * p.count + 100'000);
  c.keys = draw_keys(r, p);
  if (p.payload == Payload::values) c.values.resize(p.count * p.value_bytes);
  for (auto& b : c.values) b = static_cast<std::byte>(r.next());
  return c;
}

// -------------------------------------------------------------------------------------------------
// Running a case
// -------------------------------------------------------------------------------------------------

// Returns the lowest `bytes` bytes of each number (all supported hosts are little-endian).
Bytes packed(std::span<const std::uint64_t> numbers, unsigned bytes) {
  Bytes out(numbers.size() * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(out.data() + i * bytes, &numbers[i], bytes);
  return out;
}

// Returns the expected output with elements of `bytes` bytes: element order[i] of `in` at position
// i; with a limit only the first ones. Other positions keep the content of `before`.
Bytes expected_output(const Case& c, const std::vector<std::uint64_t>& order, const Bytes& in,
                      unsigned bytes, Bytes before) {
  const Problem& p = c.problem;
  const auto put = [&](std::uint64_t to, std::uint64_t from) {
    std::memcpy(before.data() + to * bytes, in.data() + order[from] * bytes, bytes);
  };
  if (p.segments == 0 || p.limit == 0) {
    for (std::uint64_t i = 0; i < records_out(p); ++i) put(i, i);
    return before;
  }
  for (std::uint64_t s = 0; s < p.segments; ++s)
    for (std::uint64_t i = 0; i < p.limit && c.offsets[s] + i < c.offsets[s + 1]; ++i)
      put(s * p.limit + i, c.offsets[s] + i);
  return before;
}

// Returns a description of the first error, or nothing.
std::string run(const Case& c) {
  const Problem& p = c.problem;
  const unsigned key_bytes = info(p.key).bytes;
  const std::uint64_t out = records_out(p);
  const bool own_values = c.in_place && p.payload == Payload::values;
  const Bytes keys_in = packed(c.keys, key_bytes);
  Bytes keys = keys_in, values = c.values, offsets = packed(c.offsets, p.offset_bytes);
  Bytes keys_out(p.keys_out && !c.in_place ? out * key_bytes : 0, std::byte{0x5a});
  Bytes values_out(p.payload == Payload::none || own_values ? 0 : out * p.value_bytes,
                   std::byte{0xa5});
  const Bytes keys_before = c.in_place ? keys : keys_out,
              values_before = own_values ? values : values_out;
  try {
    sort_host(p,
              {keys.data(), c.in_place ? keys.data() : keys_out.data(), values.data(),
               own_values ? values.data() : values_out.data(), offsets.data()},
              c.options);
  } catch (const Error& e) {
    // A ceiling may be too low for every algorithm. An empty array may be null.
    const bool allowed = e.code() == ErrorCode::invalid_argument &&
                         (c.options.max_scratch_bytes != 0 || p.count == 0);
    if (!allowed) return fmt::format("error: {}", e.what());
    if (keys != keys_in || values != c.values) return "an error, and the input is changed";
    return {};
  }
  const auto order = sorted_positions(c);
  if (p.keys_out &&
      (c.in_place ? keys : keys_out) != expected_output(c, order, keys_in, key_bytes, keys_before))
    return "wrong keys";
  if (!c.in_place && keys != keys_in) return "the input's keys are changed";
  if (p.payload == Payload::none) return {};
  std::vector<std::uint64_t> positions(p.payload == Payload::positions ? p.count : 0);
  std::iota(positions.begin(), positions.end(), 0);
  const Bytes from = p.payload == Payload::values ? c.values : packed(positions, p.value_bytes);
  if ((own_values ? values : values_out) !=
      expected_output(c, order, from, p.value_bytes, values_before))
    return "wrong values or positions";
  if (!own_values && values != c.values) return "the input's values are changed";
  return {};
}

int fuzz(double seconds, std::uint64_t seed, const std::string& device) {
  fmt::print("seed {}\n", seed);
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t cases = 0;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds;
       ++cases) {
    Random random(seed + cases);
    const Case c = draw(random, device);
    if (const std::string wrong = run(c); !wrong.empty()) {
      fmt::print("case {} (api_fuzz 1 {} {}): {}\n  {}\n", cases, seed + cases, device, wrong,
                 c.text());
      return 1;
    }
  }
  fmt::print("{} cases, all right\n", cases);
  return 0;
}

}  // namespace
}  // namespace sortium::test

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::strtod(arguments[1], nullptr) : 60;
  const std::uint64_t seed =
      count > 2 ? std::strtoull(arguments[2], nullptr, 10) : std::random_device{}();
  return sortium::test::fuzz(seconds, seed, count > 3 ? arguments[3] : "cpu:0");
}
