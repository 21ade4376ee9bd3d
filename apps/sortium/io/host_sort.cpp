#include "io/host_sort.hpp"

#include <fmt/format.h>
#ifdef SORTIUM_TBB
#include <tbb/version.h>
#endif
#ifdef SORTIUM_VQSORT
#include <hwy/base.h>
#include <hwy/contrib/sort/vqsort.h>
#endif

#include <cstring>
#include <type_traits>
#include <utility>

#include "cli/common.hpp"

namespace app {

using sortium::HostOperands;
using sortium::KeyType;
using sortium::Payload;
using sortium::Problem;

namespace {

enum class How : std::uint8_t { plain, stable, parallel };

// The library's default order by C++ comparisons: -0.0 and +0.0 tie, NaN comes last.
struct Ascending {
  template <class K>
  bool operator()(K a, K b) const {
    if constexpr (std::is_floating_point_v<K>)
      return a < b || (b != b && a == a);
    else
      return a < b;
  }
};

// Any order and bit range; slower, as it computes both ranks for each comparison.
struct ByRank {
  Problem problem;
  template <class K>
  bool operator()(K a, K b) const {
    return rank(problem, a) < rank(problem, b);
  }
};

// std::sort-parallel sorts keys alone unstably.
template <class K, class Less>
void sort_keys(How how, K* first, K* last, const Less& less) {
  if (how == How::parallel) {
#ifdef SORTIUM_TBB
    std::sort(std::execution::par, first, last, less);
#endif
  } else if (how == How::stable) {
    std::stable_sort(first, last, less);
  } else {
    std::sort(first, last, less);
  }
}

// A record that std::stable_sort moves. Narrow keys are widened to 32 bits, which takes no more
// memory and saves the compiler the sorts of four more types.
template <class K>
using SortedKey =
    std::conditional_t<(sizeof(K) >= 4), K,
                       std::conditional_t<std::is_signed_v<K>, std::int32_t, std::uint32_t>>;
template <class K, class V>
struct Record {
  K key;
  V value;
};

// Compares records by their keys.
template <class Less>
struct ByKey {
  const Less& less;
  template <class R>
  bool operator()(const R& a, const R& b) const {
    return less(a.key, b.key);
  }
};

// Records are always sorted stably.
template <class R, class Less>
void sort_records(How how, std::vector<R>& records, const ByKey<Less>& less) {
  if (how == How::parallel) {
#ifdef SORTIUM_TBB
    std::stable_sort(std::execution::par, records.begin(), records.end(), less);
#endif
  } else {
    std::stable_sort(records.begin(), records.end(), less);
  }
}

template <class K, class Less>
class KeySort final : public HostSort {
 public:
  KeySort(How how, const Problem& problem, const HostOperands& o, Less less)
      : how_(how),
        count_(problem.count),
        in_(static_cast<const K*>(o.keys_in)),
        out_(static_cast<K*>(o.keys_out)),
        less_(less) {}

  double run() override {
    if (in_ != out_ && count_ > 0) std::memcpy(out_, in_, count_ * sizeof(K));
    Stopwatch watch;
    sort_keys(how_, out_, out_ + count_, less_);
    return watch.lap();
  }

 private:
  How how_;
  std::uint64_t count_;
  const K* in_;
  K* out_;
  Less less_;
};

template <class K, class V, class Less>
class RecordSort final : public HostSort {
 public:
  RecordSort(How how, const Problem& problem, const HostOperands& o, Less less)
      : how_(how), problem_(problem), operands_(o), less_(less), records_(problem.count) {}

  double run() override {
    const auto* keys = static_cast<const K*>(operands_.keys_in);
    const auto* values = static_cast<const V*>(operands_.values_in);
    const bool positions = problem_.payload == Payload::positions;
    for (std::size_t i = 0; i < records_.size(); ++i)
      records_[i] = {keys[i], positions ? static_cast<V>(i) : values[i]};
    Stopwatch watch;
    sort_records(how_, records_, ByKey<Less>{less_});
    return watch.lap();
  }

  void store() override {
    auto* keys = problem_.keys_out ? static_cast<K*>(operands_.keys_out) : nullptr;
    auto* values = static_cast<V*>(operands_.values_out);
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (keys != nullptr) keys[i] = static_cast<K>(records_[i].key);
      values[i] = records_[i].value;
    }
  }

 private:
  How how_;
  Problem problem_;
  HostOperands operands_;
  Less less_;
  std::vector<Record<SortedKey<K>, V>> records_;
};

template <class K, class Less>
std::unique_ptr<HostSort> make(How how, const Problem& p, const HostOperands& o, Less less) {
  if (p.payload == Payload::none) return std::make_unique<KeySort<K, Less>>(how, p, o, less);
  if (p.value_bytes == 4)
    return std::make_unique<RecordSort<K, std::uint32_t, Less>>(how, p, o, less);
  return std::make_unique<RecordSort<K, std::uint64_t, Less>>(how, p, o, less);
}

#ifdef SORTIUM_VQSORT
template <class K>
class VectorSort final : public HostSort {
 public:
  VectorSort(std::uint64_t count, const HostOperands& o)
      : count_(count), in_(static_cast<const K*>(o.keys_in)), out_(static_cast<K*>(o.keys_out)) {}

  double run() override {
    if (in_ != out_ && count_ > 0) std::memcpy(out_, in_, count_ * sizeof(K));
    Stopwatch watch;
    hwy::VQSort(out_, count_, hwy::SortAscending());
    return watch.lap();
  }

 private:
  std::uint64_t count_;
  const K* in_;
  K* out_;
};
#endif

std::unique_ptr<HostSort> make_vqsort([[maybe_unused]] const Problem& p,
                                      [[maybe_unused]] const HostOperands& o) {
#ifdef SORTIUM_VQSORT
  const bool whole = p.payload == Payload::none && p.order == sortium::Order::ascending &&
                     p.begin_bit == 0 && p.end_bit == 0;
  if (whole && p.key == KeyType::u32)
    return std::make_unique<VectorSort<std::uint32_t>>(p.count, o);
  if (whole && p.key == KeyType::u64)
    return std::make_unique<VectorSort<std::uint64_t>>(p.count, o);
  throw sortium::Error(sortium::ErrorCode::unsupported,
                       "vqsort: sorts u32 and u64 keys alone, ascending and by all of their bits");
#else
  throw Failure(exit_usage, "vqsort: this build has no Highway (1.2 or newer was not found)");
#endif
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::string libstdcxx = fmt::format("libstdc++ {}", _GLIBCXX_RELEASE);
#ifdef SORTIUM_TBB
  static const std::string tbb = fmt::format("{}, oneTBB {}", libstdcxx, TBB_VERSION_STRING);
#else
  static const std::string tbb = libstdcxx;
#endif
#ifdef SORTIUM_VQSORT
  static const std::string highway =
      fmt::format("Highway {}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH);
#else
  static const std::string highway;
#endif
  static const std::vector<Peer> all{
      {"std::sort", "the C++ library's sort on one core of the host", libstdcxx, false, true},
      {"std::stable_sort", "the C++ library's stable sort on one core of the host", libstdcxx, true,
       true},
      {"std::sort-parallel", "std::sort with std::execution::par (TBB) on all cores of the host",
       tbb, false, true},
      {"vqsort",
       "Highway's vectorised quicksort on one core of the host: u32 and u64 keys alone, ascending",
       highway, false, false},
  };
  return all;
}

const Peer* find_peer(std::string_view name) {
  const auto it = std::ranges::find(peers(), name, &Peer::name);
  return it == peers().end() ? nullptr : &*it;
}

std::unique_ptr<HostSort> make_host_sort(const Peer& peer, const Problem& p,
                                         const HostOperands& o) {
  if (peer.name == "vqsort") return make_vqsort(p, o);
  How how = How::plain;
  if (peer.name == "std::stable_sort") how = How::stable;
  if (peer.name == "std::sort-parallel") {
    how = How::parallel;
#ifndef SORTIUM_TBB
    throw Failure(exit_usage,
                  "std::sort-parallel: this build has no parallel algorithms (TBB was not found)");
#endif
  }
  const bool as_in_cpp = p.order == sortium::Order::ascending && p.begin_bit == 0 &&
                         p.end_bit == 0 && p.nan == sortium::NanOrder::last &&
                         p.zeros == sortium::ZeroOrder::tied;
  if (as_in_cpp) {
    switch (p.key) {
      case KeyType::u32:
        return make<std::uint32_t>(how, p, o, Ascending{});
      case KeyType::i32:
        return make<std::int32_t>(how, p, o, Ascending{});
      case KeyType::f32:
        return make<float>(how, p, o, Ascending{});
      case KeyType::u64:
        return make<std::uint64_t>(how, p, o, Ascending{});
      case KeyType::i64:
        return make<std::int64_t>(how, p, o, Ascending{});
      case KeyType::f64:
        return make<double>(how, p, o, Ascending{});
      case KeyType::u8:
        return make<std::uint8_t>(how, p, o, Ascending{});
      case KeyType::i8:
        return make<std::int8_t>(how, p, o, Ascending{});
      case KeyType::u16:
        return make<std::uint16_t>(how, p, o, Ascending{});
      case KeyType::i16:
        return make<std::int16_t>(how, p, o, Ascending{});
      case KeyType::f16:
      case KeyType::bf16:
        break;  // C++20 has no such types
    }
  }
  return with_word(sortium::info(p.key).bytes,
                   [&](auto word) { return make<decltype(word)>(how, p, o, ByRank{p}); });
}

}  // namespace app
