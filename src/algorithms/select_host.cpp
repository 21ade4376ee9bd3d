// Radix select on the host: the steps of select.cl, on all cores. All memory is allocated before
// the first write to the output, so that a failed allocation leaves the output unchanged.
#ifdef SORTIUM_WITH_HOST
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "../device/host_threads.hpp"
#include "select.hpp"

namespace sortium {

namespace {

template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

template <class Key, class Value>
class HostSelect {
 public:
  HostSelect(const Problem& problem, const Operands& o, unsigned threads)
      : problem_(problem),
        keys_(at<const Key>(o.keys_in)),
        keys_out_(at<Key>(o.keys_out)),
        values_(at<const Value>(o.values_in)),
        values_out_(at<Value>(o.values_out)),
        digits_(digits(problem, digit_bits)),
        parts_(problem.count <= 1u << 15 ? 1 : std::min<std::uint64_t>(4 * threads, problem.count)),
        part_((problem.count + parts_ - 1) / parts_) {
    for (const auto& d : digits_) bits_ |= std::uint64_t{d.mask} << d.shift;
    std::ranges::reverse(digits_);
  }

  void run(std::uint64_t k, std::uint64_t limit) {
    const Key threshold = find(k);
    partition(threshold, limit);
  }

 private:
  static constexpr unsigned digit_bits = 11;
  using Histogram = std::array<std::uint64_t, 1u << digit_bits>;

  // Calls body(part, its first record, its end) for each part, in parallel. If oneTBB fails, calls
  // body again for parts already done; repeating a call must not change the result.
  template <class Body>
  void in_parts(const Body& body) const {
    const auto some = [&](const tbb::blocked_range<std::uint64_t>& range) {
      for (auto p = range.begin(); p != range.end(); ++p)
        body(p, std::min(p * part_, problem_.count), std::min((p + 1) * part_, problem_.count));
    };
    const tbb::blocked_range<std::uint64_t> all(0, parts_);
    if (parts_ == 1)
      some(all);
    else
      host::repeatable_for(all, some, tbb::simple_partitioner{});
  }

  [[nodiscard]] Key rank(Key key) const {
    return static_cast<Key>(order_bits(key, type_, problem_.order, problem_.nan, problem_.zeros) &
                            bits_);
  }

  // Finds the rank of the k-th record, digit by digit from the most significant, and returns it.
  // Once at most 1/16 of the keys have the digits found so far, gathers these keys and selects
  // among them.
  [[nodiscard]] Key find(std::uint64_t k) const {
    std::vector<Histogram> counts(parts_);
    std::uint64_t decided = 0, prefix = 0;
    for (const auto [shift, mask] : digits_) {
      in_parts(
          [&, shift = shift, mask = mask](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
            auto& count = counts[p];
            count.fill(0);
            for (auto i = begin; i < end; ++i) {
              const Key r = rank(keys_[i]);
              if (((r ^ prefix) & decided) == 0) ++count[r >> shift & mask];
            }
          });
      std::uint64_t digit = 0, in_digit = 0;
      for (;; ++digit) {
        in_digit = 0;
        for (const auto& c : counts) in_digit += c[digit];
        if (k <= in_digit) break;
        k -= in_digit;
      }
      prefix |= digit << shift;
      decided |= std::uint64_t{mask} << shift;
      if (decided != bits_ && in_digit <= problem_.count / 16)
        return gather(k, prefix, decided, in_digit, counts, digit);
    }
    return static_cast<Key>(prefix);
  }

  [[nodiscard]] Key gather(std::uint64_t k, std::uint64_t prefix, std::uint64_t decided,
                           std::uint64_t count, const std::vector<Histogram>& counts,
                           std::uint64_t digit) const {
    std::vector<Key> candidates(count);
    std::vector<std::uint64_t> begins(parts_);
    for (std::uint64_t p = 1; p < parts_; ++p) begins[p] = begins[p - 1] + counts[p - 1][digit];
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      std::uint64_t to = begins[p];
      for (auto i = begin; i < end; ++i)
        if (const Key r = rank(keys_[i]); ((r ^ prefix) & decided) == 0) candidates[to++] = r;
    });
    const auto wanted = candidates.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(candidates.begin(), wanted, candidates.end());
    return *wanted;
  }

  void partition(Key threshold, std::uint64_t limit) const {
    struct Places {
      std::uint64_t smaller = 0, ties = 0, larger = 0;
    };
    std::vector<Places> next(parts_);
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      Places found;
      for (auto i = begin; i < end; ++i) {
        const Key r = rank(keys_[i]);
        found.smaller += r < threshold;
        found.ties += r == threshold;
      }
      found.larger = end - begin - found.smaller - found.ties;
      next[p] = found;
    });
    std::uint64_t place = 0;
    for (const auto kind : {&Places::smaller, &Places::ties, &Places::larger})
      for (auto& n : next) place += std::exchange(n.*kind, place);
    in_parts([&](std::uint64_t p, std::uint64_t begin, std::uint64_t end) {
      auto [smaller, ties, larger] = next[p];
      for (auto i = begin; i < end; ++i) {
        const Key r = rank(keys_[i]);
        const std::uint64_t to = r < threshold ? smaller++ : r == threshold ? ties++ : larger++;
        if (to >= limit) continue;
        if (keys_out_ != nullptr) keys_out_[to] = keys_[i];
        if (values_out_ != nullptr)
          values_out_[to] = values_ != nullptr ? values_[i] : static_cast<Value>(i);
      }
    });
  }

  const Problem& problem_;
  const KeyTypeInfo type_ = info(problem_.key);
  const Key* keys_;
  Key* keys_out_;
  const Value* values_;
  Value* values_out_;
  std::vector<Digit> digits_;  // the most significant first
  std::uint64_t bits_ = 0, parts_, part_;
};

template <class Key>
void select_keys(const Problem& problem, const Operands& o, unsigned threads, std::uint64_t k,
                 std::uint64_t limit) {
  if (problem.value_bytes == 8)
    HostSelect<Key, std::uint64_t>(problem, o, threads).run(k, limit);
  else
    HostSelect<Key, std::uint32_t>(problem, o, threads).run(k, limit);
}

}  // namespace

void select_on_host(const Problem& problem, const Operands& o, unsigned threads, std::uint64_t k,
                    std::uint64_t limit) {
  const auto all = [&] {
    switch (info(problem.key).bytes) {
      case 1:
        return select_keys<std::uint8_t>(problem, o, threads, k, limit);
      case 2:
        return select_keys<std::uint16_t>(problem, o, threads, k, limit);
      case 4:
        return select_keys<std::uint32_t>(problem, o, threads, k, limit);
      default:
        return select_keys<std::uint64_t>(problem, o, threads, k, limit);
    }
  };
  host::Threads arena(threads);
  arena.start();
  arena.run(all);
}

}  // namespace sortium
#endif
