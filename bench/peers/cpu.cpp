// Compares Sortium on a CPU with other sorts: the C++ library's, on one thread and parallel
// (oneTBB), Highway's vqsort, Boost.Sort, x86-simd-sort. All sort the same records in host memory,
// interleaved in one run, and each result is checked.
//   cpu [--n 2^20,2^25] [--types u32,f64] [--payload keys,values] [--distribution uniform,…]
//       [--threads N] [--avx2] [--seconds S] [--json FILE]
// Times are medians. Short lists are sorted many at a time, one after the other. Values are u32.
// For keys with values, vqsort sorts words of a key and a position; x86-simd-sort sorts two arrays.
#include <fmt/format.h>
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/sort/sort.hpp>
#include <chrono>
#include <cstring>
#include <execution>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sortium/sortium.hpp>
#include <thread>
#ifdef X86_SIMD_SORT
#include <x86simdsort-static-incl.h>
#endif

#include "protocol/distributions.hpp"
#include "protocol/sizes.hpp"

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Settings {
  std::vector<std::string> types{"u32", "u64"}, payloads{"keys", "values"},
      distributions{"uniform"}, only;
  std::string sizes = "2^20,2^23,2^25", json;
  double seconds = 0.5;
  bool avx2 = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

// A sort to measure. load() copies the input to the memory that sort() uses; its time is not
// counted. If `stable`, the check requires that ties keep their order.
template <class K>
struct Contender {
  std::string name;
  std::function<void()> load;
  std::function<void(std::size_t begin)> sort;  // sorts the list that begins there
  std::function<void(std::vector<K>&, std::vector<std::uint32_t>&)> result;
  bool stable = false;
};

struct Row {
  const Settings& settings;
  nlohmann::json& results;
  std::string type, payload, distribution;
};

template <class K>
bool less(K a, K b) {
  if constexpr (std::is_floating_point_v<K>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

// Returns true if one list is sorted and a permutation of its input. `first` is the value of the
// input's first record; each further record's value is 1 greater.
template <class K>
bool correct(const K* in, const K* keys, const std::uint32_t* values, std::size_t n,
             std::uint32_t first, bool stable) {
  std::uint64_t before = 0, after = 0;
  const auto bits = [](K key) {
    std::uint64_t b = 0;
    std::memcpy(&b, &key, sizeof key);
    b *= 0x9e3779b97f4a7c15u;
    return (b ^ b >> 31) * 0xbf58476d1ce4e5b9u;
  };
  std::vector<bool> seen(values != nullptr ? n : 0);
  for (std::size_t i = 0; i < n; ++i) {
    before += bits(in[i]);
    after += bits(keys[i]);
    if (i > 0 && less(keys[i], keys[i - 1])) return false;
    if (values == nullptr) continue;
    const std::size_t from = values[i] - first;
    if (from >= n || seen[from] || std::memcmp(&in[from], &keys[i], sizeof(K)) != 0) return false;
    seen[from] = true;
    if (stable && i > 0 && !less(keys[i - 1], keys[i]) && values[i - 1] > values[i]) return false;
  }
  return before == after;
}

double median(std::vector<double>& times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

// Measures all sorts with the same input: lists of n records, which lie one after another in a
// buffer. Each sort sorts every list.
template <class K>
class Comparison {
 public:
  Comparison(const Row& row, std::uint64_t n) : row_(row), pairs_(row.payload == "values"), n_(n) {
    // At least 65536 records, so that a branch predictor cannot learn the data.
    lists_ = std::max<std::size_t>(1, 65536 / n);
    all_records_ = n * lists_;
    make_input();
    add_sortiums();
    if (pairs_)
      add_sorts_of_pairs();
    else
      add_sorts_of_keys();
    if (row.settings.only.empty()) return;
    std::erase_if(all_, [&](const auto& c) {
      return std::ranges::none_of(row.settings.only, [&](const auto& word) {
        return c.name.find(word) != std::string::npos;
      });
    });
  }

  // Interleaves the sorts, so that a disturbance of the machine affects all of them.
  void measure() {
    times_.resize(all_.size());
    right_.resize(all_.size());
    const double begin = now(), seconds = row_.settings.seconds * static_cast<double>(all_.size());
    for (unsigned round = 0; round < 2 || (round < 50 && now() - begin < seconds); ++round)
      for (std::size_t c = 0; c < all_.size(); ++c) {
        all_[c].load();
        const double start = now();
        for (std::size_t b = 0; b < all_records_; b += n_) all_[c].sort(b);
        times_[c].push_back((now() - start) / static_cast<double>(lists_));
        if (round != 0) continue;
        times_[c].clear();  // discard: the first round allocates memory and builds kernels
        right_[c] = is_right(all_[c]);
      }
  }

  void print() {
    double parallel = 0;
    for (std::size_t c = 0; c < all_.size(); ++c)
      if (all_[c].name == "std::sort, parallel") parallel = median(times_[c]);
    for (std::size_t c = 0; c < all_.size(); ++c) {
      const double t = median(times_[c]), rate = static_cast<double>(n_) / t * 1e-6;
      fmt::print("{:>10} {:<4} {:<6} {:<10} {:<34} {:>8.1f} Mkey/s {:>6.2f} x {}\n", n_, row_.type,
                 row_.payload, row_.distribution, all_[c].name, rate, parallel / t,
                 right_[c] ? "" : "WRONG");
      row_.results.push_back({{"n", n_},
                              {"type", row_.type},
                              {"payload", row_.payload},
                              {"distribution", row_.distribution},
                              {"sort", all_[c].name},
                              {"threads", row_.settings.threads},
                              {"seconds", t},
                              {"mkeys_per_second", rate},
                              {"times_parallel_std_sort", parallel / t},
                              {"correct", static_cast<bool>(right_[c])}});
      if (!right_[c]) throw std::runtime_error(all_[c].name + " sorted wrongly");
    }
    std::fflush(stdout);
  }

 private:
  struct Record {
    K key;
    std::uint32_t value;
  };
  using Values = std::vector<std::uint32_t>;
  using Sort = std::function<void(std::size_t)>;

  void make_input() {
    const auto type = sortium::parse_key_type(row_.type);
    in_.resize(all_records_), keys_.resize(all_records_);
    if (row_.distribution == "uniform")
      app::make_keys(row_.distribution, type, all_records_, 0, all_records_, in_.data());
    else
      for (std::size_t begin = 0; begin < all_records_; begin += n_)
        app::make_keys(row_.distribution, type, n_, 0, n_, &in_[begin]);
    if (!pairs_) return;
    positions_.resize(all_records_), values_.resize(all_records_), records_.resize(all_records_);
    std::iota(positions_.begin(), positions_.end(), 0u);
  }

  // Adds a sort of arrays: keys, and perhaps values.
  void add(const std::string& name, Sort sort, bool stable = false) {
    all_.push_back({name, [this] { keys_ = in_, values_ = positions_; }, std::move(sort),
                    [this](std::vector<K>& k, Values& v) { k = keys_, v = values_; }, stable});
  }

  // Adds a sort of structures of a key and a value.
  void add_of_records(const std::string& name, Sort sort, bool stable) {
    const auto load = [this] {
      for (std::size_t i = 0; i < records_.size(); ++i) records_[i] = {in_[i], positions_[i]};
    };
    const auto result = [this](std::vector<K>& k, Values& v) {
      for (std::size_t i = 0; i < records_.size(); ++i)
        k[i] = records_[i].key, v[i] = records_[i].value;
    };
    all_.push_back({name, load, std::move(sort), result, stable});
  }

  void add_sortium(const std::string& name, const sortium::Options& options) {
    const auto sort = [this, options](std::size_t begin) {
      const std::span k(keys_.data() + begin, n_);
      if (pairs_)
        sortium::sort(k, std::span(values_.data() + begin, n_), options);
      else
        sortium::sort(k, options);
    };
    add(name, sort, true);
  }

  void add_sortiums() {
    const unsigned threads = row_.settings.threads;
    const bool all_cores = threads >= std::thread::hardware_concurrency();
    add_sortium("sortium", {.device = "cpu:0",
                            .algorithm = all_cores ? "auto" : "sample",
                            .parameters = all_cores ? "" : fmt::format("threads={}", threads)});
    for (const auto& d : sortium::devices())
      if (d->info().claimed.backend == sortium::Backend::opencl &&
          d->info().claimed.kind == sortium::DeviceKind::cpu)
        return add_sortium("sortium, OpenCL", {.device = d->info().id});
  }

  void add_sorts_of_pairs() {
    const auto by_key = [](const Record& a, const Record& b) { return less(a.key, b.key); };
    const auto at = [this](std::size_t b) { return records_.data() + b; };
    const unsigned threads = row_.settings.threads;
    add_of_records(
        "std::stable_sort", [=, this](auto b) { std::stable_sort(at(b), at(b) + n_, by_key); },
        true);
    add_of_records(
        "std::stable_sort, parallel",
        [=, this](auto b) { std::stable_sort(std::execution::par, at(b), at(b) + n_, by_key); },
        true);
    add_of_records(
        "std::sort, parallel",
        [=, this](auto b) { std::sort(std::execution::par, at(b), at(b) + n_, by_key); }, false);
    add_of_records(
        "boost::sort::parallel_stable_sort",
        [=, this](auto b) {
          boost::sort::parallel_stable_sort(at(b), at(b) + n_, by_key, threads);
        },
        true);
    if constexpr (std::is_same_v<K, std::uint32_t>) add_vqsort_of_pairs();
#ifdef X86_SIMD_SORT
    add("x86-simd-sort",
        [this](auto b) { x86simdsortStatic::keyvalue_qsort(&keys_[b], &values_[b], n_); });
#endif
  }

  // Sorts words of key and position.
  void add_vqsort_of_pairs() {
    const auto load = [this] {
      words_.resize(all_records_);
      for (std::size_t i = 0; i < all_records_; ++i) words_[i] = std::uint64_t{in_[i]} << 32 | i;
    };
    const auto result = [this](std::vector<K>& k, Values& v) {
      for (std::size_t i = 0; i < all_records_; ++i) {
        k[i] = static_cast<K>(words_[i] >> 32);
        v[i] = static_cast<std::uint32_t>(words_[i]);
      }
    };
    all_.push_back({"vqsort, 1 thread", load,
                    [this](auto b) { hwy::VQSort(&words_[b], n_, hwy::SortAscending()); }, result,
                    true});
  }

  void add_sorts_of_keys() {
    const auto compare = [](K a, K b) { return less(a, b); };
    const auto at = [this](std::size_t b) { return keys_.data() + b; };
    const unsigned threads = row_.settings.threads;
    add("std::sort", [=, this](auto b) { std::sort(at(b), at(b) + n_, compare); });
    add("std::sort, parallel",
        [=, this](auto b) { std::sort(std::execution::par, at(b), at(b) + n_, compare); });
    add("boost::sort::block_indirect_sort", [=, this](auto b) {
      boost::sort::block_indirect_sort(at(b), at(b) + n_, compare, threads);
    });
    if constexpr (std::is_same_v<K, std::uint32_t> || std::is_same_v<K, std::uint64_t>)
      add("vqsort, 1 thread", [this](auto b) { hwy::VQSort(&keys_[b], n_, hwy::SortAscending()); });
#ifdef X86_SIMD_SORT
    add("x86-simd-sort", [this](auto b) { x86simdsortStatic::qsort(&keys_[b], n_, true); });
#endif
  }

  [[nodiscard]] bool is_right(const Contender<K>& contender) const {
    std::vector<K> k(all_records_);
    Values v(values_.size());
    contender.result(k, v);
    for (std::size_t b = 0; b < all_records_; b += n_)
      if (!correct(&in_[b], &k[b], pairs_ ? &v[b] : nullptr, n_, static_cast<std::uint32_t>(b),
                   contender.stable))
        return false;
    return true;
  }

  const Row& row_;
  bool pairs_;
  std::uint64_t n_;
  std::size_t lists_, all_records_;
  std::vector<K> in_, keys_;
  Values positions_, values_;
  std::vector<Record> records_;
  std::vector<std::uint64_t> words_;
  std::vector<Contender<K>> all_;
  std::vector<std::vector<double>> times_;  // of each sort
  std::vector<bool> right_;
};

template <class K>
void compare(const Row& row, std::uint64_t n) {
  Comparison<K> comparison(row, n);
  comparison.measure();
  comparison.print();
}

}  // namespace

int main(int argc, char** argv) try {
  // By default, OpenMP's threads spin after a sort and take cores from the next one.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    ::setenv("OMP_WAIT_POLICY", "passive", 1);
    ::execv("/proc/self/exe", argv);
  }
  Settings s;
  CLI::App app("Sortium on a CPU beside other sorts");
  app.add_option("--n", s.sizes);
  app.add_option("--types", s.types)
      ->delimiter(',')
      ->check(CLI::IsMember({"u32", "f32", "u64", "f64"}));
  app.add_option("--payload", s.payloads)->delimiter(',')->check(CLI::IsMember({"keys", "values"}));
  app.add_option("--distribution", s.distributions)->delimiter(',');
  app.add_option("--only", s.only, "only the sorts whose names contain one of these words")
      ->delimiter(',');
  app.add_option("--threads", s.threads)->check(CLI::Range(1, 1024));
  app.add_flag("--avx2", s.avx2, "Sortium and vqsort use no instructions beyond AVX2");
  app.add_option("--seconds", s.seconds, "time for each sort of each row");
  app.add_option("--json", s.json);
  CLI11_PARSE(app, argc, argv);
  for (const auto& distribution : s.distributions) app::check_distribution(distribution);
  if (s.avx2)
    hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_AVX10_2);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, s.threads);
  nlohmann::json json{{"processor", sortium::find_device("cpu:0")->info().name},
                      {"threads", s.threads},
                      {"boost", BOOST_LIB_VERSION},
                      {"highway", fmt::format("{}.{}", HWY_MAJOR, HWY_MINOR)},
                      {"results", nlohmann::json::array()}};
  fmt::print("{}, {} threads; ratios to parallel std::sort\n",
             sortium::find_device("cpu:0")->info().name, s.threads);
  for (const auto& type : s.types)
    for (const auto& payload : s.payloads)
      for (const auto& distribution : s.distributions)
        for (const auto n : app::parse_sizes(s.sizes)) {
          const Row row{s, json["results"], type, payload, distribution};
          if (type == "u32") compare<std::uint32_t>(row, n);
          if (type == "f32") compare<float>(row, n);
          if (type == "u64") compare<std::uint64_t>(row, n);
          if (type == "f64") compare<double>(row, n);
          if (!s.json.empty())
            std::ofstream(s.json) << json.dump(1)
                                  << '\n';  // a run that is cut off keeps its results
        }
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "cpu: {}\n", e.what());
  return 1;
}
