#include "trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "support.hpp"

namespace sortium::test {

namespace {

constexpr std::uint64_t boundary = 512;

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + boundary - 1) / boundary * boundary; }

std::byte canary(std::uint64_t at) { return static_cast<std::byte>(0xa5 ^ (at * 0x9d >> 3)); }

// Returns the value of input record i. Its halves differ, so that a torn value is detected.
std::uint64_t value_of(std::uint64_t i, const Problem& p) {
  if (p.payload == Payload::positions || p.value_bytes == 4) return i;
  return i | (i ^ 0x5bd1e995u) << 32;
}

std::uint64_t get(const std::byte* from, std::uint64_t index, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from + index * bytes, bytes);
  return value;
}

void put(std::byte* to, std::uint64_t index, unsigned bytes, std::uint64_t value) {
  std::memcpy(to + index * bytes, &value, bytes);
}

// The seed of a case's input in this run. A case of Distribution::runs has 1 + seed % 9 runs, in
// every run of the tests.
std::uint64_t drawn(const Case& c) {
  const std::uint64_t seed = Random(c.seed ^ run_seed()).next() >> 4;
  return seed - seed % 9 + c.seed % 9;
}

// The parts of the output that the problem has.
struct Output {
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
};

std::string differs(std::string_view what, std::uint64_t at, std::uint64_t is,
                    std::uint64_t should) {
  return fmt::format("{}[{}] is {:#x}, should be {:#x}", what, at, is, should);
}

// A stable sort's records: `count` records, every p.stride-th from `begin` on in the input and from
// `to` on in the output.
struct Extent {
  std::uint64_t begin, count, to;
};

// Checks these records. With a limit, checks only the first ones. Exactly one result is right.
std::string check_stable(const Problem& p, std::span<const std::uint64_t> keys, const Output& out,
                         std::span<const std::uint64_t> ranks, const Extent& records) {
  std::vector<std::uint64_t> order(records.count);
  for (std::uint64_t j = 0; j < records.count; ++j) order[j] = records.begin + j * p.stride;
  std::ranges::stable_sort(order, {}, [&](auto i) { return ranks[i]; });
  const std::uint64_t wanted = p.limit == 0 ? records.count : std::min(records.count, p.limit);
  for (std::uint64_t j = 0; j < wanted; ++j) {
    const std::uint64_t source = order[j], i = records.to + j * p.stride;
    if (out.keys != nullptr)
      if (const auto k = get(out.keys, i, info(p.key).bytes); k != keys[source])
        return differs("keys_out", i, k, keys[source]);
    if (out.values != nullptr)
      if (const auto v = get(out.values, i, p.value_bytes); v != value_of(source, p))
        return differs("values_out", i, v, value_of(source, p));
  }
  return "";
}

// Returns where segment s is in the input and in the output.
Extent extent_of(const Case& c, std::uint64_t s) {
  const Problem& p = c.problem;
  if (p.stride == 1) {
    const std::uint64_t begin = c.offsets[s];
    return {begin, c.offsets[s + 1] - begin, p.limit == 0 ? begin : s * p.limit};
  }
  const std::uint64_t length = p.count / p.segments, wanted = p.limit == 0 ? length : p.limit,
                      matrix = s / p.stride, column = s % p.stride;
  return {matrix * length * p.stride + column, length, matrix * wanted * p.stride + column};
}

// Checks records [begin, end) of a sort that need not be stable: they are in order, each input
// record occurs once, and values are with their keys.
std::string check_unstable(const Problem& p, std::span<const std::uint64_t> keys, const Output& out,
                           std::span<const std::uint64_t> ranks, std::uint64_t begin,
                           std::uint64_t end) {
  std::vector<std::uint64_t> source(
      end - begin);  // the input record that each output record claims to be
  if (out.values != nullptr) {
    std::vector<bool> seen(end - begin);
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto v = get(out.values, i, p.value_bytes);
      const auto s = v & 0xffffffffu;
      if (s < begin || s >= end || v != value_of(s, p))
        return fmt::format("values_out[{}] is {:#x}, which no input record of this run has", i, v);
      if (seen[s - begin]) return fmt::format("values_out[{}] is {:#x} for the second time", i, v);
      seen[s - begin] = true;
      source[i - begin] = s;
      if (out.keys != nullptr)
        if (const auto k = get(out.keys, i, info(p.key).bytes); k != keys[s])
          return differs("keys_out", i, k, keys[s]);
    }
    for (std::uint64_t i = begin + 1; i < end; ++i)
      if (ranks[source[i - begin]] < ranks[source[i - begin - 1]])
        return fmt::format("values_out[{}] comes before values_out[{}], but should not", i - 1, i);
    return "";
  }
  std::vector<std::uint64_t> is, should(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                                        keys.begin() + static_cast<std::ptrdiff_t>(end));
  for (std::uint64_t i = begin; i < end; ++i) is.push_back(get(out.keys, i, info(p.key).bytes));
  for (std::size_t i = 1; i < is.size(); ++i)
    if (rank_of(is[i], p) < rank_of(is[i - 1], p))
      return fmt::format("keys_out[{}] = {:#x} comes before {:#x}", begin + i - 1, is[i - 1],
                         is[i]);
  std::ranges::sort(is);
  std::ranges::sort(should);
  const auto [a, b] = std::ranges::mismatch(is, should);
  return a == is.end()
             ? ""
             : fmt::format("keys_out is no permutation of keys_in: has {:#x} where {:#x} is due",
                           *a, *b);
}

}  // namespace

std::string describe(const Case& c) {
  const auto& p = c.problem;
  const char* payload = p.payload == Payload::none     ? "keys alone"
                        : p.payload == Payload::values ? "values"
                                                       : "positions";
  constexpr std::array nans{"NaN last", "NaN first", "NaN by bits"};
  const std::string floats = !info(p.key).is_float
                                 ? ""
                                 : fmt::format(", {}, zeros {}", nans[static_cast<unsigned>(p.nan)],
                                               p.zeros == ZeroOrder::tied ? "tied" : "distinct");
  std::string segments;
  if (p.segments != 0) {
    const auto some = std::min<std::size_t>(c.offsets.size(), 12);
    segments = fmt::format(
        ", {} segments (stride {}, {}-byte offsets {}{})", p.segments, p.stride, p.offset_bytes,
        fmt::join(c.offsets.begin(), c.offsets.begin() + static_cast<std::ptrdiff_t>(some), " "),
        some < c.offsets.size() ? " …" : "");
  }
  return fmt::format(
      "{} {} ({} bytes{}), {}{}, bits {}:{}, {}, count {}{}, limit {}, {}, seed {:#x} of "
      "SORTIUM_TEST_SEED={:#x}",
      info(p.key).name, payload, p.payload == Payload::none ? 0 : p.value_bytes,
      p.keys_out ? "" : ", no keys_out", p.order == Order::ascending ? "ascending" : "descending",
      floats, p.begin_bit, p.end_bit, c.in_place ? "in place" : "out of place", p.count, segments,
      p.limit, name(c.distribution), c.seed, run_seed());
}

void set_segments(Case& c, Lengths lengths, const std::vector<std::uint64_t>& typical,
                  unsigned offset_bytes) {
  Random random(drawn(c));
  std::uint64_t n = c.problem.count;
  const std::uint64_t equal = typical[random.below(typical.size())];
  std::uint64_t turn = random.below(3 * typical.size());
  const auto length = [&]() -> std::uint64_t {
    switch (lengths) {
      case Lengths::log_uniform:
        return static_cast<std::uint64_t>(
            std::exp2(random.unit() * std::log2(static_cast<double>(n) + 1)));
      case Lengths::mostly_empty:
        return random.below(8) == 0 ? 1 + random.below(2 * equal) : 0;
      case Lengths::one:
        return n;
      case Lengths::borders:
        return ++turn, typical[turn / 3 % typical.size()] + turn % 3 - 1;
      default:
        return equal;
    }
  };
  c.problem.offset_bytes = offset_bytes;
  if (lengths == Lengths::rows) {
    c.problem.offset_bytes = 0;
    c.problem.count = n = n < equal ? n : n - n % equal;
    c.problem.limit = std::min(c.problem.limit, n);
  }
  c.offsets = {0};
  if (lengths == Lengths::ends_empty) c.offsets.push_back(0);
  while (c.offsets.back() < n) c.offsets.push_back(std::min(n, c.offsets.back() + length()));
  if (lengths == Lengths::ends_empty || c.offsets.size() == 1) c.offsets.push_back(n);
  c.problem.segments = c.offsets.size() - 1;
}

void set_stride(Case& c, std::uint64_t stride) {
  Problem& p = c.problem;
  const std::uint64_t length = p.count / p.segments;
  p.stride = std::min(stride, p.segments);
  p.segments -= p.segments % p.stride;
  p.count = p.segments * length;
  p.limit = std::min(p.limit, length);
  c.offsets.resize(p.segments + 1);
}

Trial::Trial(std::shared_ptr<Device> device, Placement placement)
    : device_(std::move(device)), queue_(device_->make_queue()), placement_(placement) {}

// `turn` differs from case to case.
void Trial::place(std::vector<Area*> areas, std::uint64_t turn) {
  std::uint64_t total = boundary;
  for (auto* a : areas) {
    a->offset = total + (turn /= 2) % 4 * a->element;
    total += round_up(a->bytes + 3 * a->element) + boundary;
  }
  before_.resize(total);
  for (std::uint64_t i = 0; i < total; ++i) before_[i] = canary(i);

  if (placement_ == Placement::exact) buffers_.clear();
  if (placement_ == Placement::guarded &&
      (buffers_.empty() || buffers_[0]->memory().bytes < total)) {
    buffers_.clear();
    buffers_.push_back(device_->allocate(total * 2));
  }
  for (auto* a : areas) {
    if (a->bytes == 0) continue;
    if (placement_ == Placement::exact)
      a->memory = buffers_.emplace_back(device_->allocate(a->bytes))->memory();
    else
      a->memory = buffers_[0]->memory().slice(a->offset, a->bytes);
  }
}

std::string Trial::run(const Case& c, const Planned& planned) {
  const Problem& p = c.problem;
  const unsigned key_bytes = info(p.key).bytes;
  const std::uint64_t values = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
  const std::uint64_t out_count = records_out(p);
  const bool reads_values = p.payload == Payload::values;
  Area keys_in{"keys_in", 0, p.count * key_bytes, c.in_place, {}, key_bytes};
  Area keys_out{"keys_out", 0,  p.keys_out && !c.in_place ? out_count * key_bytes : 0,
                true,       {}, key_bytes};
  Area values_in{"values_in", 0,  reads_values && !c.in_place ? values : 0,
                 false,       {}, p.value_bytes};
  Area values_out{"values_out", 0,  values == 0 ? 0 : out_count * p.value_bytes,
                  true,         {}, p.value_bytes};
  Area scratch{"scratch", 0, planned.scratch_bytes, true, {}, 0};
  Area offsets{"offsets", 0, offsets_bytes(p.segments, p.offset_bytes), false, {}, p.offset_bytes};
  const std::array<Area*, 6> areas{&keys_out,  &keys_in,    &scratch,
                                   &values_in, &values_out, &offsets};
  place({areas.begin(), areas.end()}, drawn(c));

  const auto keys = make_keys(c.distribution, p, drawn(c));
  for (std::uint64_t i = 0; i < p.count; ++i)
    put(before_.data() + keys_in.offset, i, key_bytes, keys[i]);
  if (reads_values) {
    std::byte* const to = before_.data() + (c.in_place ? values_out : values_in).offset;
    for (std::uint64_t i = 0; i < p.count; ++i) put(to, i, p.value_bytes, value_of(i, p));
  }
  for (std::uint64_t i = 0; i < c.offsets.size() && p.offset_bytes != 0; ++i)
    put(before_.data() + offsets.offset, i, p.offset_bytes, c.offsets[i]);

  Operands o;
  o.keys_in = keys_in.memory;
  if (p.keys_out) o.keys_out = c.in_place ? keys_in.memory : keys_out.memory;
  if (reads_values) o.values_in = c.in_place ? values_out.memory : values_in.memory;
  o.values_out = values_out.memory;
  o.scratch = scratch.memory;
  o.offsets = offsets.memory;

  after_ = before_;
  if (placement_ == Placement::guarded) {
    const Memory all = buffers_[0]->memory();
    queue_->write(all, before_.data(), before_.size());
    planned.run(*queue_, o);
    queue_->read(after_.data(), all, after_.size());
  } else {
    for (const auto* a : areas) queue_->write(a->memory, before_.data() + a->offset, a->bytes);
    planned.run(*queue_, o);
    for (const auto* a : areas)  // a tool would report scratch memory that was never written
      if (a != &scratch) queue_->read(after_.data() + a->offset, a->memory, a->bytes);
  }

  // Canaries and the input of a sort out of place must not change.
  for (std::uint64_t i = 0; i < before_.size(); ++i) {
    if (const auto in = std::ranges::find_if(areas,
                                             [&](const auto* a) {
                                               return a->written && i >= a->offset &&
                                                      i < a->offset + a->bytes;
                                             });
        in != areas.end()) {
      i = (*in)->offset + (*in)->bytes - 1;
      continue;
    }
    if (before_[i] == after_[i]) continue;
    std::string near;
    for (const auto* a : areas)
      if (a->bytes != 0) near += fmt::format(" {} {}:{}", a->name, a->offset, a->offset + a->bytes);
    return fmt::format("byte {} was changed; there are{}", i, near);
  }

  const Output out{p.keys_out ? after_.data() + (c.in_place ? keys_in : keys_out).offset : nullptr,
                   values != 0 ? after_.data() + values_out.offset : nullptr};
  std::vector<std::uint64_t> ranks(p.count);
  std::ranges::transform(keys, ranks.begin(), [&](auto k) { return rank_of(k, p); });
  for (std::uint64_t i = 0; i < p.segments; ++i) {
    const Extent extent = extent_of(c, i);
    auto wrong = check_stable(p, keys, out, ranks, extent);
    // If a segment is shorter than the limit, the rest of its output must not change.
    for (std::uint64_t left = extent.to + extent.count;
         p.limit > extent.count && left < extent.to + p.limit && wrong.empty(); ++left)
      for (const auto& [area, bytes] :
           {std::pair{&keys_out, key_bytes}, {&values_out, p.value_bytes}})
        if (area->bytes != 0 && std::memcmp(&before_[area->offset + left * bytes],
                                            &after_[area->offset + left * bytes], bytes) != 0)
          wrong = fmt::format("{}[{}] was written, past the segment's {} records", area->name, left,
                              extent.count);
    if (!wrong.empty()) return fmt::format("segment {}: {}", i, wrong);
  }
  if (p.segments != 0) return "";
  const std::uint64_t run =
      planned.run_length == 0 ? std::max<std::uint64_t>(p.count, 1) : planned.run_length;
  for (std::uint64_t begin = 0; begin < p.count; begin += run) {
    const auto end = std::min(begin + run, p.count);
    auto wrong = planned.stable ? check_stable(p, keys, out, ranks, {begin, end - begin, begin})
                                : check_unstable(p, keys, out, ranks, begin, end);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace sortium::test
