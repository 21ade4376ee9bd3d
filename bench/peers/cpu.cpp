// Compares Sortium on a CPU with other sorts: the C++ library's, on one thread and parallel
// (oneTBB), Highway's vqsort, Boost.Sort, x86-simd-sort. All sort the same records in host memory,
// interleaved in one run, and each result is checked.
//   cpu [--n 2^20,2^25] [--types u32,f64] [--payload keys,values] [--distribution uniform,…]
//       [--threads N] [--seconds S] [--json FILE]
// Times are medians. Few records are sorted as many lists, one after the other. Values are u32.
// vqsort sorts pairs as one word of key and position; x86-simd-sort sorts keys and u32 values.
#include <fmt/format.h>
#include <hwy/contrib/sort/vqsort.h>
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
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

// `load` copies the input to the memory that sort() uses; it is not timed. `stable`: ties must keep
// their order.
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
// input's first record; the values of the others count up from it.
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

template <class K>
void compare(const Row& row, std::uint64_t n) {
  const bool pairs = row.payload == "values";
  const auto type = sortium::parse_key_type(row.type);
  // At least 65536 records, so that a branch predictor cannot learn the data.
  const std::size_t lists = std::max<std::size_t>(1, 65536 / n), all_records = n * lists;
  std::vector<K> in(all_records), keys(all_records);
  std::vector<std::uint32_t> positions(pairs ? all_records : 0), values(positions.size());
  if (row.distribution == "uniform")
    app::make_keys(row.distribution, type, all_records, 0, all_records, in.data());
  else
    for (std::size_t begin = 0; begin < all_records; begin += n)
      app::make_keys(row.distribution, type, n, 0, n, &in[begin]);
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::uint32_t>(i);
  struct Record {
    K key;
    std::uint32_t value;
  };
  std::vector<Record> records(positions.size());
  std::vector<std::uint64_t> words;

  std::vector<Contender<K>> all;
  const auto load = [&] { keys = in, values = positions; };
  const auto as_they_lie = [&](std::vector<K>& k, std::vector<std::uint32_t>& v) {
    k = keys, v = values;
  };
  const auto load_records = [&] {
    for (std::size_t i = 0; i < records.size(); ++i) records[i] = {in[i], positions[i]};
  };
  const auto from_records = [&](std::vector<K>& k, std::vector<std::uint32_t>& v) {
    for (std::size_t i = 0; i < records.size(); ++i) k[i] = records[i].key, v[i] = records[i].value;
  };
  const auto by_key = [](const Record& a, const Record& b) { return less(a.key, b.key); };
  const auto add_sortium = [&](const std::string& name, sortium::Options options) {
    all.push_back({name, load,
                   [&, options](std::size_t begin) {
                     const std::span k(keys.data() + begin, n);
                     if (pairs)
                       sortium::sort(k, std::span(values.data() + begin, n), options);
                     else
                       sortium::sort(k, options);
                   },
                   as_they_lie, true});
  };
  add_sortium(
      "sortium",
      {.device = "cpu:0",
       .algorithm = row.settings.threads < std::thread::hardware_concurrency() ? "sample" : "auto",
       .parameters = row.settings.threads < std::thread::hardware_concurrency()
                         ? fmt::format("threads={}", row.settings.threads)
                         : ""});
  for (const auto& d : sortium::devices())
    if (d->info().claimed.backend == sortium::Backend::opencl &&
        d->info().claimed.kind == sortium::DeviceKind::cpu) {
      add_sortium("sortium, OpenCL", {.device = d->info().id});
      break;
    }
  if (pairs) {
    all.push_back({"std::stable_sort", load_records,
                   [&](auto b) { std::stable_sort(&records[b], &records[b] + n, by_key); },
                   from_records, true});
    all.push_back({"std::stable_sort, parallel", load_records,
                   [&](auto b) {
                     std::stable_sort(std::execution::par, &records[b], &records[b] + n, by_key);
                   },
                   from_records, true});
    all.push_back(
        {"std::sort, parallel", load_records,
         [&](auto b) { std::sort(std::execution::par, &records[b], &records[b] + n, by_key); },
         from_records, false});
    all.push_back({"boost::sort::parallel_stable_sort", load_records,
                   [&](auto b) {
                     boost::sort::parallel_stable_sort(&records[b], &records[b] + n, by_key,
                                                       row.settings.threads);
                   },
                   from_records, true});
    if constexpr (std::is_same_v<K, std::uint32_t>)
      all.push_back({"vqsort, 1 thread",
                     [&] {
                       words.resize(all_records);
                       for (std::size_t i = 0; i < all_records; ++i)
                         words[i] = std::uint64_t{in[i]} << 32 | i;
                     },
                     [&](auto b) { hwy::VQSort(&words[b], n, hwy::SortAscending()); },
                     [&](auto& k, auto& v) {
                       for (std::size_t i = 0; i < all_records; ++i)
                         k[i] = static_cast<K>(words[i] >> 32),
                         v[i] = static_cast<std::uint32_t>(words[i]);
                     },
                     true});
#ifdef X86_SIMD_SORT
    all.push_back({"x86-simd-sort", load,
                   [&](auto b) { x86simdsortStatic::keyvalue_qsort(&keys[b], &values[b], n); },
                   as_they_lie, false});
#endif
  } else {
    const auto compare_keys = [](K a, K b) { return less(a, b); };
    all.push_back({"std::sort", load,
                   [&](auto b) { std::sort(&keys[b], &keys[b] + n, compare_keys); }, as_they_lie,
                   false});
    all.push_back(
        {"std::sort, parallel", load,
         [&](auto b) { std::sort(std::execution::par, &keys[b], &keys[b] + n, compare_keys); },
         as_they_lie, false});
    all.push_back({"boost::sort::block_indirect_sort", load,
                   [&](auto b) {
                     boost::sort::block_indirect_sort(&keys[b], &keys[b] + n, compare_keys,
                                                      row.settings.threads);
                   },
                   as_they_lie, false});
    if constexpr (std::is_same_v<K, std::uint32_t> || std::is_same_v<K, std::uint64_t>)
      all.push_back({"vqsort, 1 thread", load,
                     [&](auto b) { hwy::VQSort(&keys[b], n, hwy::SortAscending()); }, as_they_lie,
                     false});
#ifdef X86_SIMD_SORT
    all.push_back({"x86-simd-sort", load,
                   [&](auto b) { x86simdsortStatic::qsort(&keys[b], n, true); }, as_they_lie,
                   false});
#endif
  }
  if (!row.settings.only.empty())
    std::erase_if(all, [&](const auto& c) {
      return std::ranges::none_of(row.settings.only, [&](const auto& word) {
        return c.name.find(word) != std::string::npos;
      });
    });

  // Interleaved, so that a disturbance of the machine affects all sorts.
  std::vector<std::vector<double>> times(all.size());
  std::vector<bool> right(all.size());
  const double begin = now();
  for (unsigned round = 0;
       round < 2 ||
       (round < 50 && now() - begin < row.settings.seconds * static_cast<double>(all.size()));
       ++round)
    for (std::size_t c = 0; c < all.size(); ++c) {
      all[c].load();
      const double start = now();
      for (std::size_t begin = 0; begin < all_records; begin += n) all[c].sort(begin);
      times[c].push_back((now() - start) / static_cast<double>(lists));
      if (round != 0) continue;
      times[c].clear();  // the first round allocates memory and builds kernels
      std::vector<K> k(all_records);
      std::vector<std::uint32_t> v(values.size());
      all[c].result(k, v);
      right[c] = true;
      for (std::size_t b = 0; b < all_records; b += n)
        right[c] = right[c] && correct(&in[b], &k[b], pairs ? &v[b] : nullptr, n,
                                       static_cast<std::uint32_t>(b), all[c].stable);
    }

  double parallel = 0;
  const auto median = [](std::vector<double>& t) {
    std::ranges::nth_element(t, t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2));
    return t[t.size() / 2];
  };
  for (std::size_t c = 0; c < all.size(); ++c)
    if (all[c].name == "std::sort, parallel") parallel = median(times[c]);
  for (std::size_t c = 0; c < all.size(); ++c) {
    const double t = median(times[c]);
    fmt::print("{:>10} {:<4} {:<6} {:<10} {:<34} {:>8.1f} Mkey/s {:>6.2f} x {}\n", n, row.type,
               row.payload, row.distribution, all[c].name, static_cast<double>(n) / t * 1e-6,
               parallel / t, right[c] ? "" : "WRONG");
    row.results.push_back({{"n", n},
                           {"type", row.type},
                           {"payload", row.payload},
                           {"distribution", row.distribution},
                           {"sort", all[c].name},
                           {"threads", row.settings.threads},
                           {"seconds", t},
                           {"mkeys_per_second", static_cast<double>(n) / t * 1e-6},
                           {"times_parallel_std_sort", parallel / t},
                           {"correct", static_cast<bool>(right[c])}});
    if (!right[c]) throw std::runtime_error(all[c].name + " sorted wrongly");
  }
  std::fflush(stdout);
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
  app.add_option("--seconds", s.seconds, "time for each sort of each row");
  app.add_option("--json", s.json);
  CLI11_PARSE(app, argc, argv);
  for (const auto& distribution : s.distributions) app::check_distribution(distribution);
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
