// Random sorts of host memory against a reference sort: problems, layouts, sizes, devices, methods.
// With each sort also the companions and a sort of records, of the same keys.
//
//   api_fuzz [SECONDS [DEVICE [SEED]]]
//
// DEVICE is cpu:0 by default. A device that runs kernels builds some for each new problem; several
// cases have the same problem but for their lists.
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
  std::string device;  // without a list of devices
  bool in_place = false;
  std::uint64_t shift = 0;                   // bytes from an aligned address to each array
  std::vector<std::uint64_t> keys, offsets;  // keys: raw bits
  Bytes values;

  [[nodiscard]] std::string text() const {
    const Problem& p = problem;
    return fmt::format(
        "device {} algorithm {} {} max_scratch_bytes {}: {} count {} payload {} of {} bytes "
        "keys_out {} order {} bits {}:{} nan {} zeros {} segments {} of {} limit {} in_place {} "
        "shift {}",
        options.device, options.algorithm, options.parameters, options.max_scratch_bytes,
        info(p.key).name, p.count, static_cast<int>(p.payload), p.value_bytes, p.keys_out,
        static_cast<int>(p.order), p.begin_bit, p.end_bit, static_cast<int>(p.nan),
        static_cast<int>(p.zeros), p.segments, p.offset_bytes, p.limit, in_place, shift);
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
  c.problem.offset_bytes = static_cast<unsigned>(4 * r.below(3));
  const bool rows = c.problem.offset_bytes == 0;  // segments of one length, without offsets
  if (rows) c.problem.count -= c.problem.count % c.problem.segments;
  const std::uint64_t length = c.problem.count / c.problem.segments;
  c.offsets = {0};
  for (std::uint64_t s = 1; s < c.problem.segments; ++s)
    c.offsets.push_back(rows ? s * length : r.below(c.problem.count + 1));
  c.offsets.push_back(c.problem.count);
  std::ranges::sort(c.offsets);
}

// Draws what kernels are compiled for, and the options.
void draw_problem(Random& r, Case& c) {
  Problem& p = c.problem;
  p.key = all_key_types[r.below(all_key_types.size())];
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
  p.segments = r.below(4) == 0;  // whether there are some
  p.limit = r.below(5) == 0;
}

// Draws an algorithm that the problem allows, or a ceiling.
void draw_method(Random& r, Case& c) {
  Options& o = c.options;
  const Problem& p = c.problem;
  const bool kernels = c.device != "cpu:0", plain = p.segments == 0 && p.limit == 0;
  const auto one_of = [&](std::initializer_list<std::pair<const char*, const char*>> methods) {
    const auto& [algorithm, parameters] = methods.begin()[r.below(methods.size())];
    o.algorithm = algorithm;
    o.parameters = parameters;
  };
  if (r.below(3) != 0) return;
  if (plain && !kernels) one_of({{"sample", ""}, {"sample-in-place", ""}});
  if (plain && kernels) one_of({{"lsd", ""}, {"merge", ""}});
  if (p.segments == 0 && p.limit != 0 && kernels)
    one_of({{"topk", "method=sample"},
            {"topk", "method=sample,samples=3"},
            {"topk", "method=select"},
            {"topk", "method=sort"}});
  if (p.segments == 0 && p.limit != 0 && !kernels)
    one_of({{"topk-host", "method=select"}, {"topk-host", "method=sort"}});
  if (plain && r.below(3) == 0) {
    o.algorithm = "auto";
    o.parameters = "";
    o.max_scratch_bytes = 1 + r.below(4 * p.count + 100'000);
  }
}

// `problems` draws the problem, `r` everything else.
Case draw(Random& problems, Random& r, const std::string& device) {
  Case c;
  Problem& p = c.problem;
  c.device = c.options.device = device;
  const bool kernels = device != "cpu:0";
  draw_problem(problems, c);
  p.count = draw_count(r, kernels);
  if (p.segments != 0) draw_segments(r, c);
  if (p.limit != 0) p.limit = p.count == 0 ? 0 : 1 + r.below(p.count);
  if (p.segments != 0) p.limit = std::min<std::uint64_t>(p.limit, 300);
  c.in_place = p.limit == 0 && p.keys_out && r.below(2) == 0;
  draw_method(problems, c);
  if (c.options.algorithm == "auto" && p.segments == 0 && p.limit == 0 && r.below(20) == 0)
    c.options.device = fmt::format("{0},{0}", device);
  if (r.below(4) == 0) c.shift = 1 + r.below(15);
  c.keys = draw_keys(r, p);
  if (p.payload == Payload::values) c.values.resize(p.count * p.value_bytes);
  for (auto& b : c.values) b = static_cast<std::byte>(r.next());
  return c;
}

// -------------------------------------------------------------------------------------------------
// Running a case
// -------------------------------------------------------------------------------------------------

// An array at an address that may be misaligned. It ends where its memory ends.
class Array {
 public:
  Array(const Bytes& contents, std::uint64_t shift) : shift_(shift), memory_(shift) {
    memory_.reserve(std::max<std::size_t>(shift + contents.size(), 1));  // never null
    memory_.insert(memory_.end(), contents.begin(), contents.end());
  }
  void* data() { return memory_.data() + shift_; }
  [[nodiscard]] Bytes contents() const {
    return {memory_.begin() + static_cast<std::ptrdiff_t>(shift_), memory_.end()};
  }

 private:
  std::uint64_t shift_;
  Bytes memory_;
};

// Returns the lowest `bytes` bytes of each number (all supported hosts are little-endian).
Bytes packed(std::span<const std::uint64_t> numbers, unsigned bytes) {
  Bytes out(numbers.size() * bytes);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(out.data() + i * bytes, &numbers[i], bytes);
  return out;
}

std::vector<std::uint64_t> numbers_to(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
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

// Returns a description of the first error of the sort, or nothing.
std::string check_sort(const Case& c) {
  const Problem& p = c.problem;
  const unsigned key_bytes = info(p.key).bytes;
  const std::uint64_t out = records_out(p);
  const bool own_values = c.in_place && p.payload == Payload::values;
  const Bytes keys_in = packed(c.keys, key_bytes);
  const Bytes keys_before =
      c.in_place ? keys_in : Bytes(p.keys_out ? out * key_bytes : 0, std::byte{0x5a});
  const Bytes values_before =
      own_values ? c.values
                 : Bytes(p.payload == Payload::none ? 0 : out * p.value_bytes, std::byte{0xa5});
  Array keys(keys_in, c.shift), values(c.values, c.shift),
      offsets(packed(c.offsets, p.offset_bytes), c.shift), keys_out(keys_before, c.shift),
      values_out(values_before, c.shift);
  Array& sorted_keys = c.in_place ? keys : keys_out;
  Array& sorted_values = own_values ? values : values_out;
  const auto or_null = [](bool used, Array& array) { return used ? array.data() : nullptr; };
  try {
    sort_host(p,
              {keys.data(), or_null(p.keys_out, sorted_keys),
               or_null(p.payload == Payload::values, values),
               or_null(p.payload != Payload::none, sorted_values),
               or_null(offsets_bytes(p.segments, p.offset_bytes) != 0, offsets)},
              c.options);
  } catch (const Error& e) {
    // A ceiling may be too low for every algorithm.
    const bool allowed =
        e.code() == ErrorCode::invalid_argument && c.options.max_scratch_bytes != 0;
    if (!allowed) return fmt::format("error: {}", e.what());
    if (keys.contents() != keys_in || values.contents() != c.values)
      return "an error, and the input is changed";
    return {};
  }
  const auto order = sorted_positions(c);
  if (p.keys_out &&
      sorted_keys.contents() != expected_output(c, order, keys_in, key_bytes, keys_before))
    return "wrong keys";
  if (!c.in_place && keys.contents() != keys_in) return "the input's keys are changed";
  if (p.payload == Payload::none) return {};
  const Bytes from =
      p.payload == Payload::values ? c.values : packed(numbers_to(p.count), p.value_bytes);
  if (sorted_values.contents() != expected_output(c, order, from, p.value_bytes, values_before))
    return "wrong values or positions";
  if (!own_values && values.contents() != c.values) return "the input's values are changed";
  return {};
}

// -------------------------------------------------------------------------------------------------
// Companions and records
// -------------------------------------------------------------------------------------------------

// The keys of a case, and the sorted ones, for calls that go with a sort.
class Companions {
 public:
  Companions(const Case& c, Random& r)
      : r_(r),
        device_(c.device),
        p_(c.problem),
        shift_(c.shift),
        key_bytes_(info(p_.key).bytes),
        n_(p_.count),
        order_(sorted_positions(c)),
        keys_(packed(c.keys, key_bytes_)),
        sorted_(gathered(keys_, order_, key_bytes_)) {
    p_.payload = Payload::none;
    p_.keys_out = true;
    p_.value_bytes = r.below(2) == 0 ? 4 : 8;
    for (const auto key : c.keys) places_.push_back(place_of(key, p_));
    for (const auto i : order_) sorted_places_.push_back(places_[i]);
  }

  // Returns a description of the first error, or nothing.
  std::string check() {
    for (const auto& [name, call] : {std::pair{"first_unsorted", &Companions::first_unsorted},
                                     {"unique", &Companions::unique},
                                     {"merge", &Companions::merge},
                                     {"search", &Companions::search},
                                     {"nth_element", &Companions::nth_element},
                                     {"permute", &Companions::permute},
                                     {"records", &Companions::records}})
      try {
        if (!(this->*call)()) return fmt::format("wrong result of {}", name);
      } catch (const Error& e) {
        return fmt::format("error of {}: {}", name, e.what());
      }
    return {};
  }

 private:
  using Numbers = std::vector<std::uint64_t>;
  static Bytes gathered(const Bytes& from, const Numbers& order, unsigned bytes) {
    Bytes out(order.size() * bytes);
    for (std::size_t i = 0; i < order.size(); ++i)
      std::memcpy(out.data() + i * bytes, from.data() + order[i] * bytes, bytes);
    return out;
  }
  // The positions of the records, which move as values with their keys.
  [[nodiscard]] Bytes positions() const { return packed(numbers_to(n_), p_.value_bytes); }
  [[nodiscard]] Problem with_values() const {
    Problem p = p_;
    p.payload = Payload::values;
    return p;
  }

  bool first_unsorted() {
    const auto is_unsorted = [&](std::uint64_t i) { return places_[i] > places_[i + 1]; };
    std::uint64_t first = 0;
    while (first + 1 < n_ && !is_unsorted(first)) ++first;
    Array keys(keys_, shift_), sorted(sorted_, shift_);
    return first_unsorted_host(p_, keys.data(), device_) == (first + 1 < n_ ? first : n_) &&
           first_unsorted_host(p_, sorted.data(), device_) == n_;
  }

  // In place, with values and lengths.
  bool unique() {
    const bool of_sorted = r_.below(2) == 0;
    const auto& places = of_sorted ? sorted_places_ : places_;
    Numbers heads, lengths;
    for (std::uint64_t i = 0; i < n_; ++i) {
      if (i == 0 || places[i] != places[i - 1]) {
        heads.push_back(i);
        lengths.push_back(0);
      }
      ++lengths.back();
    }
    const Bytes before = of_sorted ? sorted_ : keys_;
    Array keys(before, shift_), values(positions(), shift_), counts(Bytes(n_ * 4), shift_);
    const auto runs =
        unique_host(with_values(), {keys.data(), keys.data(), values.data(), values.data()},
                    counts.data(), 4, device_);
    return runs == heads.size() && begins_with(keys, gathered(before, heads, key_bytes_)) &&
           begins_with(values, packed(heads, p_.value_bytes)) &&
           begins_with(counts, packed(lengths, 4));
  }
  static bool begins_with(const Array& array, const Bytes& wanted) {
    const Bytes all = array.contents();
    return std::equal(wanted.begin(), wanted.end(), all.begin());
  }

  // The sorted halves of the list, divided anywhere: their merge is the sorted list.
  bool merge() {
    const std::uint64_t of_a = r_.below(n_ + 1);
    Numbers a, b;
    for (const auto i : order_) (i < of_a ? a : b).push_back(i);
    Array a_keys(gathered(keys_, a, key_bytes_), shift_),
        b_keys(gathered(keys_, b, key_bytes_), shift_), keys(Bytes(sorted_.size()), shift_),
        a_values(packed(a, p_.value_bytes), shift_), b_values(packed(b, p_.value_bytes), shift_),
        values(positions(), shift_);
    merge_host(with_values(), of_a,
               {a_keys.data(), b_keys.data(), keys.data(), a_values.data(), b_values.data(),
                values.data()},
               device_);
    return keys.contents() == sorted_ && values.contents() == packed(order_, p_.value_bytes);
  }

  bool search() {
    const Bound bound = r_.below(2) == 0 ? Bound::lower : Bound::upper;
    Numbers places;
    for (const auto place : places_) {
      const auto at = bound == Bound::lower ? std::ranges::lower_bound(sorted_places_, place)
                                            : std::ranges::upper_bound(sorted_places_, place);
      places.push_back(static_cast<std::uint64_t>(at - sorted_places_.begin()));
    }
    Array sorted(sorted_, shift_), needles(keys_, shift_), out(positions(), shift_);
    search_host(p_, sorted.data(), needles.data(), n_, out.data(), bound, device_);
    return out.contents() == packed(places, p_.value_bytes);
  }

  bool nth_element() {
    const std::uint64_t nth = r_.below(n_);
    Numbers wanted = numbers_to(n_);
    const auto group = [&](std::uint64_t i) {
      return (places_[i] > sorted_places_[nth]) - (places_[i] < sorted_places_[nth]);
    };
    std::ranges::stable_sort(wanted, {}, group);
    Array keys(keys_, shift_), values(positions(), shift_);
    nth_element_host(with_values(), nth, {keys.data(), keys.data(), values.data(), values.data()},
                     device_);
    return keys.contents() == gathered(keys_, wanted, key_bytes_) &&
           values.contents() == packed(wanted, p_.value_bytes);
  }

  bool permute() {
    const unsigned index_bytes = r_.below(2) == 0 ? 4 : 8;
    Array in(keys_, shift_), positions(packed(order_, index_bytes), shift_),
        out(Bytes(keys_.size()), shift_);
    permute_host({Direction::gather, n_, key_bytes_, index_bytes}, in.data(), positions.data(),
                 out.data(), {.device = device_});
    if (out.contents() != sorted_) return false;
    permute_host({Direction::scatter, n_, key_bytes_, index_bytes}, out.data(), positions.data(),
                 in.data(), {.device = device_});
    return in.contents() == keys_;
  }

  // By a narrow number first, which is part of a wider column, then by the keys.
  bool records() {
    Bytes wide(n_ * 6);
    for (std::uint64_t i = 0; i < n_; ++i) {
      for (unsigned b = 0; b < 6; ++b)
        wide[i * 6 + b] = static_cast<std::byte>(b == 3 ? r_.below(3) : i >> 8 * b);
    }
    Numbers order = numbers_to(n_);
    std::ranges::stable_sort(order, [&](auto a, auto b) {
      const auto left = wide[a * 6 + 3], right = wide[b * 6 + 3];
      return left != right ? left > right : places_[a] < places_[b];
    });
    const RecordProblem problem{
        .count = n_,
        .columns = {{key_bytes_, Moved::in_place}, {6, Moved::out}},
        .key = {{.column = 1, .offset = 3, .type = KeyType::u8, .order = Order::descending},
                {.column = 0,
                 .type = p_.key,
                 .order = p_.order,
                 .nan = p_.nan,
                 .zeros = p_.zeros,
                 .begin_bit = p_.begin_bit,
                 .end_bit = p_.end_bit}},
        .position_bytes = p_.value_bytes};
    Array keys(keys_, shift_), wide_in(wide, shift_), wide_out(Bytes(wide.size()), shift_),
        positions_out(positions(), shift_);
    const void* const in[] = {keys.data(), wide_in.data()};
    void* const out[] = {nullptr, wide_out.data()};
    sort_records_host(problem, {in, out, positions_out.data()}, {.device = device_});
    return keys.contents() == gathered(keys_, order, key_bytes_) &&
           wide_out.contents() == gathered(wide, order, 6) && wide_in.contents() == wide &&
           positions_out.contents() == packed(order, p_.value_bytes);
  }

  Random& r_;
  const std::string device_;
  Problem p_;
  const std::uint64_t shift_;
  const unsigned key_bytes_;
  const std::uint64_t n_;
  const Numbers order_;  // positions of the sorted keys
  const Bytes keys_, sorted_;
  std::vector<__int128> places_, sorted_places_;
};

// -------------------------------------------------------------------------------------------------

// Cases with neighbouring seeds have the same problem on a device with kernels.
std::string run(std::uint64_t seed, const std::string& device, std::string& text) {
  constexpr std::uint64_t cases_of_kernels = 32;
  Random r(seed), problems(device == "cpu:0" ? ~seed : ~(seed / cases_of_kernels));
  const Case c = draw(problems, r, device);
  text = c.text();
  if (auto wrong = check_sort(c); !wrong.empty()) return wrong;
  if (c.problem.count == 0 || c.problem.segments != 0 || c.problem.limit != 0) return {};
  return Companions(c, r).check();
}

int fuzz(double seconds, const std::string& device, std::uint64_t seed) {
  fmt::print("seed {}\n", seed);
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t cases = 0;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds;
       ++cases) {
    std::string text;
    if (const std::string wrong = run(seed + cases, device, text); !wrong.empty()) {
      fmt::print("case {} (api_fuzz 0.001 {} {}): {}\n  {}\n", cases, device, seed + cases, wrong,
                 text);
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
  const std::string device = count > 2 ? arguments[2] : "cpu:0";
  const std::uint64_t seed =
      count > 3 ? std::strtoull(arguments[3], nullptr, 10) : std::random_device{}();
  return sortium::test::fuzz(seconds, device, seed);
}
