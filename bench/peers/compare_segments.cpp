// Compares Sortium's segmented sort and its top-k with CUB and, if built with it, moderngpu: the
// same records on the same GPU, interleaved in one run. Each result is compared with CUB's byte for
// byte. If keys of segments or rows may be NaN or -0, Sortium's are compared with a sort on the
// host, and CUB's are not compared. Sortium sorts through its public API, in this program's own
// context and stream; the result of the same sort captured in a CUDA graph is compared too.
//   compare_segments [--n COUNT] [--seconds S] [--json FILE] [CASE…]
//   CASE: segments:key:value:lengths:distribution[:count], such as segments:f32:u32:0-31:normal;
//         rows:key:value:length:distribution[:count], the same for segments of equal length, which
//         Sortium sorts without offsets, too;
//         columns:key:value:length:distribution[:count], the same records as columns of a matrix
//         that lies row by row; CUB and `sortium-rows` have them as rows;
//         firsts:k:length:distribution[:count], the first k keys of each row; or
//         topk:k:distribution[:count]
// All times are medians. `wait` is the host's time from the first call to the end of the sort;
// `device` is the time between two events on the stream.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cub/version.cuh>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sortium/sortium.hpp>
#include <sortium/verify.hpp>
#include <span>

#include "cub_segments.hpp"
#include "interleaved.hpp"
#include "records.hpp"

namespace {

using peers::check;
using peers::Contender;
using peers::DeviceArray;

std::vector<std::string> all_cases() {
  std::vector<std::string> out;
  for (const char* value : {"none", "u32"}) {
    for (const char* lengths :
         {"0-31", "0-100", "10", "100", "1000", "4096", "50000", "log-uniform", "one-large"})
      for (const char* distribution : {"normal", "distinct101"})
        out.push_back(fmt::format("segments:f32:{}:{}:{}", value, lengths, distribution));
    for (const char* lengths : {"16", "64", "256", "512", "1024", "2048", "4096", "8192", "16384",
                                "65536", "log-uniform", "one-large"})
      for (const char* distribution : {"uniform", "upper16"})
        out.push_back(fmt::format("segments:u32:{}:{}:{}", value, lengths, distribution));
    for (const char* length : {"10", "16", "100", "256", "1000", "4096"})
      out.push_back(fmt::format("rows:f32:{}:{}:normal", value, length));
    for (const char* length : {"10", "100", "1000", "50000"})
      out.push_back(fmt::format("columns:f32:{}:{}:normal:16777216", value, length));
    for (const char* small :
         {"512:normal:32768", "30:normal:30000", "100:normal:2000", "0-31:distinct101:131072",
          "2048:normal:131072", "8192:normal:131072", "131072:normal:131072"})
      out.push_back(fmt::format("segments:f32:{}:{}", value, small));
  }
  for (unsigned k : {10u, 1024u, 1u << 20})
    for (const char* distribution : {"uniform", "bucket1"})
      out.push_back(fmt::format("topk:{}:{}", k, distribution));
  for (const char* first : {"10:100", "10:4096", "100:4096"})
    out.push_back(fmt::format("firsts:{}:normal", first));
  return out;
}

// Returns the offsets of segments of `count` records in all. `lengths` is one of
//   a number     all segments have this length; the last one may be shorter
//   a-b          random lengths from a to b
//   log-uniform  random lengths from 1 to 65536 whose logarithms are uniform
//   one-large    one segment has a sixteenth of the records, the others 1 to 16 records
std::vector<std::int32_t> offsets_of(const std::string& lengths, std::uint64_t count) {
  std::mt19937_64 generator(1);
  const auto random = [&] { return static_cast<double>(generator() >> 11) * 0x1p-53; };
  const bool named = lengths == "log-uniform" || lengths == "one-large";
  const std::size_t dash = lengths.find('-');
  const std::uint64_t least = named ? 0 : std::stoull(lengths),
                      most = named || dash == std::string::npos
                                 ? least
                                 : std::stoull(lengths.substr(dash + 1));
  if (!named && (most == 0 || most < least))
    throw std::runtime_error("segments of length " + lengths);
  std::vector<std::int32_t> offsets{0};
  for (std::uint64_t at = 0; at < count;) {
    auto length =
        least + static_cast<std::uint64_t>(static_cast<double>(most - least + 1) * random());
    if (lengths == "log-uniform") length = static_cast<std::uint64_t>(std::exp2(16 * random()));
    if (lengths == "one-large")
      length = at == 0 ? count / 16 : 1 + static_cast<std::uint64_t>(16 * random());
    at = std::min(at + length, count);
    offsets.push_back(static_cast<std::int32_t>(at));
  }
  return offsets;
}

// Stores records in device memory, sorted stably on the host: NaN last, -0 and +0 are equal.
void sort_on_host(std::span<const std::int32_t> offsets, const DeviceArray& keys,
                  const DeviceArray& values, const DeviceArray& sorted_keys,
                  const DeviceArray& sorted_values) {
  const std::size_t count = keys.bytes / 4;
  std::vector<float> key(count), to_key(count);
  std::vector<std::uint32_t> value(values.bytes / 4), to_value(value.size()), from(count);
  check(cudaMemcpy(key.data(), keys.data, keys.bytes, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(value.data(), values.data, values.bytes, cudaMemcpyDeviceToHost));
  std::iota(from.begin(), from.end(), 0u);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::stable_sort(from.begin() + offsets[s], from.begin() + offsets[s + 1],
                     [&](std::uint32_t a, std::uint32_t b) {
                       return !std::isnan(key[a]) && (std::isnan(key[b]) || key[a] < key[b]);
                     });
  for (std::size_t i = 0; i < count; ++i) to_key[i] = key[from[i]];
  for (std::size_t i = 0; i < value.size(); ++i) to_value[i] = value[from[i]];
  check(cudaMemcpy(sorted_keys.data, to_key.data(), keys.bytes, cudaMemcpyHostToDevice));
  check(cudaMemcpy(sorted_values.data, to_value.data(), values.bytes, cudaMemcpyHostToDevice));
}

class Comparison {
 public:
  // `count` is the number of keys of cases that do not state one.
  Comparison(std::uint64_t count, double seconds) : given_count_(count), seconds_(seconds) {}

  nlohmann::json run(const std::string& name) {
    const auto parts = CLI::detail::split(name, ':');
    const std::size_t counted = parts[0] == "topk" ? 4 : parts[0] == "firsts" ? 5 : 6;
    count_ = parts.size() == counted ? std::stoull(parts.back()) : given_count_;
    const bool rows = parts[0] == "rows";
    if ((parts.size() == 5 || parts.size() == 6) && (rows || parts[0] == "segments")) {
      if (rows) count_ -= count_ % std::stoull(parts[3]);
      return segments(name, parts[1], parts[2], parts[3], parts[4], rows);
    }
    if ((parts.size() == 5 || parts.size() == 6) && parts[0] == "columns")
      return columns(name, parts[1], parts[2], std::stoull(parts[3]), parts[4]);
    if ((parts.size() == 4 || parts.size() == 5) && parts[0] == "firsts")
      return first_of_rows(name, std::stoull(parts[1]), parts[2], parts[3]);
    if ((parts.size() == 3 || parts.size() == 4) && parts[0] == "topk")
      return top_k(name, std::stoull(parts[1]), parts[2]);
    throw std::runtime_error(
        "'" + name +
        "' is none of segments:key:value:lengths:distribution[:count], rows:…, columns:…, "
        "firsts:k:length:distribution[:count], topk:k:distribution[:count]");
  }

  [[nodiscard]] const sortium::DeviceInfo& device() const { return gpu_.queue->device().info(); }

 private:
  nlohmann::json segments(const std::string& name, const std::string& key, const std::string& value,
                          const std::string& lengths, const std::string& distribution, bool rows) {
    if (key != "u32" && key != "f32") throw std::runtime_error(name + ": keys are u32 or f32");
    if (value != "none" && value != "u32")
      throw std::runtime_error(name + ": values are none or u32");
    const bool floats = key == "f32";
    const std::size_t bytes = count_ * 4, value_bytes = value == "none" ? 0 : bytes;
    const std::vector<std::int32_t> host_offsets = offsets_of(lengths, count_);
    const std::size_t segments = host_offsets.size() - 1;
    DeviceArray offsets((segments + 1) * 4), keys(bytes), values(value_bytes), expected_keys(bytes),
        expected_values(value_bytes), got_keys(bytes), got_values(value_bytes);
    check(cudaMemcpy(offsets.data, host_offsets.data(), offsets.bytes, cudaMemcpyHostToDevice));
    const auto* const device_offsets = static_cast<const std::int32_t*>(offsets.data);
    auto* const device_keys = static_cast<std::uint32_t*>(keys.data);
    peers::make_keys(keys.data, sortium::parse_key_type(key), count_,
                     distribution == "upper16" ? "uniform" : distribution);
    if (distribution == "upper16")
      peers::share_upper_bits(device_keys, device_offsets, segments, gpu_.stream);
    if (value_bytes != 0) peers::make_positions(values.data, 4, count_, gpu_.stream);
    wait();

    const auto number = [&](const DeviceArray& a) {
      return a.bytes == 0 ? nullptr : static_cast<std::uint32_t*>(a.data);
    };
    const peers::SegmentedSort into_expected{count_,
                                             segments,
                                             floats,
                                             device_offsets,
                                             device_keys,
                                             number(values),
                                             number(expected_keys),
                                             number(expected_values)};
    peers::SegmentedSort into_got = into_expected;
    into_got.keys_out = number(got_keys);
    into_got.values_out = number(got_values);
    // CUB does not treat NaN and -0 as Sortium does.
    const bool by_host = floats && distribution.find('+') != std::string::npos;
    if (by_host) sort_on_host(host_offsets, keys, values, expected_keys, expected_values);
    const peers::SegmentedSort& by_cub = by_host ? into_got : into_expected;
    std::size_t sort_bytes = 0, radix_bytes = 0;
    peers::cub_segmented_sort(nullptr, sort_bytes, into_expected, gpu_.stream);
    peers::cub_segmented_radix(nullptr, radix_bytes, into_got, gpu_.stream);
    DeviceArray temp(std::max(sort_bytes, radix_bytes));

    sortium::Problem problem;
    problem.key = sortium::parse_key_type(key);
    problem.count = count_;
    problem.segments = segments;
    if (value_bytes != 0) problem.payload = sortium::Payload::values;
    const sortium::Plan plan(gpu_.queue->device().shared_from_this(), problem);
    DeviceArray scratch(plan.scratch_bytes());
    const sortium::Operands operands{{keys.data},          {got_keys.data}, {number(values)},
                                     {number(got_values)}, {scratch.data},  {offsets.data}};
    if (rows) problem.offset_bytes = 0;
    const sortium::Plan rows_plan(gpu_.queue->device().shared_from_this(), problem);
    DeviceArray rows_scratch(rows_plan.scratch_bytes());
    sortium::Operands without_offsets = operands;
    without_offsets.offsets = {};
    without_offsets.scratch = {rows_scratch.data};

    const auto clear = [&](const DeviceArray& a) {
      check(cudaMemsetAsync(a.data, 0xa5, a.bytes, gpu_.stream));
    };
    const auto matches = [&](const std::function<void()>& enqueue) {
      clear(got_keys);
      clear(got_values);
      enqueue();
      wait();
      return got_keys.equals(expected_keys) && got_values.equals(expected_values);
    };
    const auto sort = [&] {
      std::size_t given = sort_bytes;
      peers::cub_segmented_sort(temp.data, given, by_cub, gpu_.stream);
    };
    const auto radix = [&] {
      std::size_t given = radix_bytes;
      peers::cub_segmented_radix(temp.data, given, into_got, gpu_.stream);
    };
    const auto ours = [&] { plan.run(*gpu_.queue, operands); };
    // Unless `by_host`, the first contender is the reference for the others.
    std::vector<Contender> all{contender("cub-segmented-sort", sort, [] { return true; })};
    // CUB's segmented radix sort uses a work-group for each segment: millions of segments would
    // take it about a second.
    if (segments < std::size_t{1} << 18)
      all.push_back(
          contender("cub-segmented-radix", radix, [&] { return by_host || matches(radix); }));
    all.push_back(
        contender("sortium", ours, [&] { return matches(ours) && matches(as_graph(ours)); }));
    const auto by_rows = [&] { rows_plan.run(*gpu_.queue, without_offsets); };
    if (rows) {
      all.back().name = "sortium-offsets";
      all.push_back(contender("sortium", by_rows,
                              [&] { return matches(by_rows) && matches(as_graph(by_rows)); }));
    }
#ifdef SORTIUM_MODERNGPU
    const auto copy = [&] {
      check(
          cudaMemcpyAsync(got_keys.data, keys.data, bytes, cudaMemcpyDeviceToDevice, gpu_.stream));
      check(cudaMemcpyAsync(got_values.data, values.data, value_bytes, cudaMemcpyDeviceToDevice,
                            gpu_.stream));
    };
    const auto merge = [&] { peers::moderngpu_segmented_sort(into_got, gpu_.stream); };
    const auto copy_and_merge = [&] { copy(), merge(); };
    if (!floats) {
      auto moderngpu = contender("moderngpu", merge, [&] { return matches(copy_and_merge); });
      moderngpu.prepare = copy;
      all.insert(all.end() - 1, std::move(moderngpu));
    }
#endif
    auto row = measured(name, all, rows ? rows_plan : plan);
    row["segments"] = segments;
    row["cub_temporary_bytes"] = sort_bytes;
    return row;
  }

  // Writes the transposed matrix of 32-bit numbers, which has `rows` rows.
  static void transpose(const DeviceArray& in, std::size_t rows, const DeviceArray& out) {
    std::vector<std::uint32_t> from(in.bytes / 4), to(from.size());
    const std::size_t columns = from.size() / rows;
    check(cudaMemcpy(from.data(), in.data, in.bytes, cudaMemcpyDeviceToHost));
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
    check(cudaMemcpy(out.data, to.data(), out.bytes, cudaMemcpyHostToDevice));
  }

  nlohmann::json columns(const std::string& name, const std::string& key, const std::string& value,
                         std::size_t length, const std::string& distribution) {
    if (length == 0) throw std::runtime_error(name + ": a column has at least one key");
    count_ -= count_ % length;
    const std::size_t segments = count_ / length, bytes = count_ * 4,
                      value_bytes = value == "none" ? 0 : bytes;
    const std::vector<std::int32_t> host_offsets = offsets_of(std::to_string(length), count_);
    DeviceArray offsets((segments + 1) * 4), keys(bytes), values(value_bytes), expected_keys(bytes),
        expected_values(value_bytes), got_keys(bytes), got_values(value_bytes);
    check(cudaMemcpy(offsets.data, host_offsets.data(), offsets.bytes, cudaMemcpyHostToDevice));
    peers::make_keys(keys.data, sortium::parse_key_type(key), count_, distribution);
    if (value_bytes != 0) peers::make_positions(values.data, 4, count_, gpu_.stream);
    wait();
    DeviceArray column_keys(bytes), column_values(value_bytes);
    transpose(keys, segments, column_keys);
    transpose(values, segments, column_values);
    const auto number = [](const DeviceArray& a) {
      return a.bytes == 0 ? nullptr : static_cast<std::uint32_t*>(a.data);
    };
    const peers::SegmentedSort all_rows{count_,
                                        segments,
                                        key == "f32",
                                        static_cast<const std::int32_t*>(offsets.data),
                                        number(keys),
                                        number(values),
                                        number(expected_keys),
                                        number(expected_values)};
    std::size_t temp_bytes = 0;
    peers::cub_segmented_sort(nullptr, temp_bytes, all_rows, gpu_.stream);
    DeviceArray temp(temp_bytes);
    const auto cub = [&] {
      std::size_t given = temp_bytes;
      peers::cub_segmented_sort(temp.data, given, all_rows, gpu_.stream);
    };

    sortium::Problem problem{
        .key = sortium::parse_key_type(key),
        .count = count_,
        .payload = value_bytes == 0 ? sortium::Payload::none : sortium::Payload::values,
        .segments = segments,
        .offset_bytes = 0};
    const sortium::Plan rows_plan(gpu_.queue->device().shared_from_this(), problem);
    problem.stride = segments;
    const sortium::Plan plan(gpu_.queue->device().shared_from_this(), problem);
    DeviceArray scratch(std::max(plan.scratch_bytes(), rows_plan.scratch_bytes()));
    const auto sort = [&](const sortium::Plan& p, const DeviceArray& k, const DeviceArray& v) {
      p.run(*gpu_.queue, {{k.data},
                          {got_keys.data},
                          {number(v)},
                          {number(got_values)},
                          {p.scratch_bytes() == 0 ? nullptr : scratch.data}});
    };
    const auto by_rows = [&] { sort(rows_plan, keys, values); };
    const auto by_columns = [&] { sort(plan, column_keys, column_values); };
    const auto matches = [&](const std::function<void()>& enqueue, bool as_columns) {
      check(cudaMemsetAsync(got_keys.data, 0xa5, bytes, gpu_.stream));
      check(cudaMemsetAsync(got_values.data, 0xa5, value_bytes, gpu_.stream));
      enqueue();
      wait();
      if (as_columns) {
        transpose(got_keys, length, got_keys);
        transpose(got_values, length, got_values);
      }
      return got_keys.equals(expected_keys) && got_values.equals(expected_values);
    };
    std::vector<Contender> all{
        contender("cub-segmented-sort (rows)", cub, [] { return true; }),
        contender("sortium-rows", by_rows, [&] { return matches(by_rows, false); }),
        contender("sortium", by_columns, [&] {
          return matches(by_columns, true) && matches(as_graph(by_columns), true);
        })};
    auto row = measured(name, all, plan);
    row["segments"] = segments;
    return row;
  }

  // The first k keys of each row of f32 keys, beside a sort of all rows.
  nlohmann::json first_of_rows(const std::string& name, std::uint64_t k, const std::string& length,
                               const std::string& distribution) {
    const std::uint64_t row_length = std::stoull(length);
    if (k == 0 || k > row_length)
      throw std::runtime_error(name + ": k is 1 to " + std::to_string(row_length));
    count_ -= count_ % row_length;
    const std::vector<std::int32_t> host_offsets = offsets_of(length, count_);
    const std::size_t rows = host_offsets.size() - 1;
    DeviceArray offsets((rows + 1) * 4), keys(count_ * 4), sorted(count_ * 4),
        expected(rows * k * 4);
    check(cudaMemcpy(offsets.data, host_offsets.data(), offsets.bytes, cudaMemcpyHostToDevice));
    peers::make_keys(keys.data, sortium::KeyType::f32, count_, distribution);
    wait();
    const peers::SegmentedSort all_rows{count_,
                                        rows,
                                        true,
                                        static_cast<const std::int32_t*>(offsets.data),
                                        static_cast<std::uint32_t*>(keys.data),
                                        nullptr,
                                        static_cast<std::uint32_t*>(sorted.data),
                                        nullptr};
    std::size_t bytes = 0;
    peers::cub_segmented_sort(nullptr, bytes, all_rows, gpu_.stream);
    DeviceArray temp(bytes);
    const auto sort = [&] {
      std::size_t given = bytes;
      peers::cub_segmented_sort(temp.data, given, all_rows, gpu_.stream);
    };
    const auto take = [&] {
      check(cudaMemcpy2D(expected.data, k * 4, sorted.data, row_length * 4, k * 4, rows,
                         cudaMemcpyDeviceToDevice));
      return true;
    };
    sortium::Problem problem;
    problem.segments = rows;
    problem.offset_bytes = 0;
    problem.limit = k;
    auto row =
        first_records(name, problem, keys, contender("cub-segmented-sort", sort, take), expected);
    row["segments"] = rows;
    return row;
  }

  nlohmann::json top_k(const std::string& name, std::uint64_t k, const std::string& distribution) {
    if (k == 0 || k > count_)
      throw std::runtime_error(name + ": k is 1 to " + std::to_string(count_));
    DeviceArray keys(count_ * 4), expected(count_ * 4);
    peers::make_keys(keys.data, sortium::KeyType::f32, count_, distribution);
    wait();
    const auto* const in = static_cast<const float*>(keys.data);
    auto* const out = static_cast<float*>(expected.data);
    std::size_t bytes = 0;
    peers::cub_descending(nullptr, bytes, in, out, count_, gpu_.stream);
    DeviceArray temp(bytes);
    const auto sort = [&] {
      std::size_t given = bytes;
      peers::cub_descending(temp.data, given, in, out, count_, gpu_.stream);
    };
    sortium::Problem problem;
    problem.order = sortium::Order::descending;
    problem.limit = k;
    const auto is_sorted = [&] {
      sortium::Problem whole = problem;
      whole.key = sortium::KeyType::f32;
      whole.count = count_;
      whole.limit = 0;
      return sortium::verify(*gpu_.queue, whole, {expected.data}, {}).unsorted == 0;
    };
    auto row = first_records(name, problem, keys, contender("cub-sort", sort, is_sorted), expected);
    row["cub_temporary_bytes"] = bytes;
    return row;
  }

  // Measures a problem with a limit beside `peer`, whose check makes the `expected` first records
  // of the f32 keys.
  nlohmann::json first_records(const std::string& name, sortium::Problem problem,
                               const DeviceArray& keys, Contender peer,
                               const DeviceArray& expected) {
    problem.key = sortium::KeyType::f32;
    problem.count = count_;
    const sortium::Plan plan(gpu_.queue->device().shared_from_this(), problem);
    DeviceArray got(records_out(problem) * 4), scratch(plan.scratch_bytes());
    sortium::Operands operands;
    operands.keys_in = {keys.data};
    operands.keys_out = {got.data};
    operands.scratch = {scratch.data};
    const auto ours = [&] { plan.run(*gpu_.queue, operands); };
    const auto matches = [&](const std::function<void()>& enqueue) {
      check(cudaMemsetAsync(got.data, 0xa5, got.bytes, gpu_.stream));
      enqueue();
      wait();
      return got.equals(expected);
    };
    std::vector<Contender> all{std::move(peer), contender("sortium", ours, [&] {
                                 return matches(ours) && matches(as_graph(ours));
                               })};
    auto row = measured(name, all, plan);
    row["k"] = problem.limit;
    return row;
  }

  void wait() const { check(cudaStreamSynchronize(gpu_.stream)); }

  // Returns a function that launches the same work, captured in a CUDA graph.
  [[nodiscard]] std::function<void()> as_graph(const std::function<void()>& enqueue) const {
    const auto graph = std::make_shared<peers::Graph>();
    graph->capture(gpu_.stream, enqueue);
    return [this, graph] { check(cudaGraphLaunch(graph->ready, gpu_.stream)); };
  }

  Contender contender(const std::string& name, std::function<void()> enqueue,
                      std::function<bool()> correct) const {
    return {name, std::move(enqueue), [this] { wait(); }, std::move(correct)};
  }

  // Measures all contenders and checks their results. The last one must be Sortium.
  nlohmann::json measured(const std::string& name, std::vector<Contender>& all,
                          const sortium::Plan& plan) const {
    // Few rounds: CUB takes 0.1 s if segments are very long or if there are millions of them.
    constexpr int least_rounds = 3;
    peers::measure(all, gpu_.stream, seconds_, least_rounds);
    double best_waited = INFINITY, best_device = INFINITY;  // of all sorts but Sortium's
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].name.starts_with("sortium")) continue;
      best_waited = std::min(best_waited, peers::median(all[i].waited));
      best_device = std::min(best_device, peers::median(all[i].device));
    }
    nlohmann::json row{{"case", name},
                       {"count", count_},
                       {"algorithm", plan.algorithm().name},
                       {"parameters", plan.parameters()},
                       {"scratch_bytes", plan.scratch_bytes()},
                       {"correct", true}};
    std::string line = fmt::format("{:<34} {:<9}", name, plan.algorithm().name);
    for (auto& c : all) {
      const bool correct = c.correct();
      const double waited = peers::median(c.waited), device = peers::median(c.device);
      const double rate = static_cast<double>(count_) / waited;
      row["results"].push_back({{"name", c.name},
                                {"wait_seconds", waited},
                                {"device_seconds", device},
                                {"keys_per_second", rate},
                                {"correct", correct},
                                {"wait_ratio", best_waited / waited},
                                {"device_ratio", best_device / device}});
      line += fmt::format("  {} {:.1f}/{:.1f} us {:.2f} Gkey/s", c.name, waited * 1e6, device * 1e6,
                          rate * 1e-9);
      if (&c == &all.back())
        line += fmt::format(" x{:.2f}/{:.2f}", best_waited / waited, best_device / device);
      if (!correct) {
        line += " WRONG";
        row["correct"] = false;
      }
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
    return row;
  }

  peers::Gpu gpu_;
  std::uint64_t given_count_, count_ = 0;
  double seconds_;
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Sortium's sort of segments and its top-k beside CUB on the same GPU"};
  std::uint64_t count = std::uint64_t{1} << 26;
  double seconds = 0.1;
  std::string json;
  std::vector<std::string> cases;
  app.add_option("--n", count, "number of keys, at most 2^31 - 1: CUB's offsets have 32 bits")
      ->check(CLI::Range(std::uint64_t{1}, (std::uint64_t{1} << 31) - 1));
  app.add_option("--seconds", seconds, "time for each case");
  app.add_option("--json", json, "also write the results to this file");
  app.add_option(
      "case", cases,
      "segments:key:value:lengths:distribution[:count], "
      "rows:key:value:length:distribution[:count], columns:…, "
      "firsts:k:length:distribution[:count] or topk:k:distribution[:count] (default: all)");
  CLI11_PARSE(app, argc, argv);
  if (cases.empty()) cases = all_cases();

  Comparison comparison(count, seconds);
  const auto& device = comparison.device();
  nlohmann::json out{{"device", device.name},
                     {"driver", device.driver},
                     {"cub", CUB_VERSION},
                     {"cuda", CUDART_VERSION}};
  fmt::print(
      "{} keys; CUB {}, CUDA {}, {}, driver {}; wait/device medians, ratios to the fastest of the "
      "others\n",
      count, CUB_VERSION, CUDART_VERSION, device.name, device.driver);
  return peers::run_cases(
      std::move(out), cases, [&](const std::string& name) { return comparison.run(name); }, json);
} catch (const std::exception& error) {
  fmt::print(stderr, "compare_segments: {}\n", error.what());
  return 1;
}
