// `sortium bench` as a user runs it: its rows, files and messages, peers that are scripts, and the
// keys that it sorts.
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli.hpp"
#include "protocol/distributions.hpp"

namespace {

using nlohmann::json;

class Bench : public Cli {
 protected:
  // Runs `sortium bench` with --json. Returns the file's content.
  json results(const std::string& arguments, int code = 0) {
    const Result r = run("bench --min-time 0.001 --json result.json " + arguments);
    out_ = r.out;
    EXPECT_EQ(r.code, code) << arguments << "\n" << r.out << r.err;
    return exists("result.json") ? json::parse(read("result.json"))
                                 : json{{"results", json::array()}};
  }
  json rows(const std::string& arguments, int code = 0) {
    return results(arguments, code)["results"];
  }

  // A peer's program: a shell script in the folder peers.
  void peer(const std::string& name, const std::string& script) const {
    fs::create_directory(dir_ / "peers");
    write("peers/" + name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(dir_ / "peers" / name, fs::perms::owner_all);
  }
  // Returns a row as a peer prints it.
  static std::string peer_row(double seconds, bool verified, const std::string& more = "") {
    return fmt::format(
        "echo '{{\"algorithm\": \"fake\", \"version\": \"fake 1.0\", \"type\": \"u32\", "
        "\"payload\": \"keys\", \"n\": 1000, "
        "\"distribution\": \"uniform\", \"seconds\": {0}, \"median_seconds\": {0}, "
        "\"low_seconds\": {0}, "
        "\"high_seconds\": {0}, \"mkeys_per_second\": 1, \"repetitions\": 3, \"verified\": "
        "{1}{2}}}'",
        seconds, verified, more);
  }

  std::string out_;  // of the last run
};

bool contains(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

// ---------------------------------------------------------------------------------------------
// rows
// ---------------------------------------------------------------------------------------------

TEST_F(Bench, RowsOfAllThatWasAskedFor) {
  const json all =
      results("--n 1000,2^8:2^10 --algorithm lsd,std::sort,std::stable_sort --type u32,f64");
  EXPECT_FALSE(contains(out_, "WRONG")) << out_;
  for (const char* field :
       {"sortium", "commit", "compiler", "date", "processor", "protocol", "min_seconds"})
    EXPECT_TRUE(all.contains(field)) << field;
  EXPECT_FALSE(all["interrupted"].get<bool>());
  std::map<std::string, int> algorithms, payloads, types;
  std::map<std::uint64_t, int> sizes;
  std::map<std::string, double> best_peer;  // for each problem; the peer's own ratio is 1
  for (const auto& row : all["results"]) {
    ++algorithms[row["algorithm"]], ++payloads[row["payload"]], ++types[row["type"]],
        ++sizes[row["n"]];
    EXPECT_TRUE(row["verified"].get<bool>()) << row;
    EXPECT_EQ(row["peer"].get<bool>(), row["algorithm"] != "lsd");
    EXPECT_EQ(row.contains("version"), row["algorithm"] != "lsd");
    EXPECT_EQ(row["distribution"], "uniform");
    EXPECT_GT(row["seconds"], 0);
    EXPECT_LE(row["low_seconds"], row["median_seconds"]) << row;
    EXPECT_LE(row["median_seconds"], row["high_seconds"]) << row;
    EXPECT_NEAR(row["mkeys_per_second"].get<double>(),
                row["n"].get<double>() / row["seconds"].get<double>() * 1e-6, 1e-3);
    EXPECT_EQ(row["device_seconds"].is_number(), row["algorithm"] == "lsd") << row;
    EXPECT_EQ(row["bytes_moved"].is_number(), row["algorithm"] == "lsd") << row;
    EXPECT_EQ(row["of_bound"].is_number(), row["algorithm"] == "lsd") << row;
    EXPECT_GT(row["ratio_to_best_peer"], 0) << row;
    auto& best = best_peer[fmt::format("{} {} {}", row["n"].dump(), row["type"].dump(),
                                       row["payload"].dump())];
    if (row["peer"]) best = std::max(best, row["ratio_to_best_peer"].get<double>());
    EXPECT_FALSE(row.contains("phases"));
    for (const char* field :
         {"driver", "language", "parameters", "repetitions", "copy_gb_per_second",
          "bound_mkeys_per_second", "device", "device_id", "of_floor"})
      EXPECT_TRUE(row.contains(field)) << field;
  }
  EXPECT_EQ(best_peer.size(), 16u);
  for (const auto& [problem, ratio] : best_peer) EXPECT_EQ(ratio, 1) << problem;
  EXPECT_EQ(algorithms,
            (std::map<std::string, int>{{"lsd", 16}, {"std::sort", 16}, {"std::stable_sort", 16}}));
  EXPECT_EQ(payloads, (std::map<std::string, int>{{"keys", 24}, {"keys+values", 24}}));
  EXPECT_EQ(types, (std::map<std::string, int>{{"u32", 24}, {"f64", 24}}));
  EXPECT_EQ(sizes, (std::map<std::uint64_t, int>{{256, 12}, {512, 12}, {1000, 12}, {1024, 12}}));
  EXPECT_TRUE(contains(out_, "Ratios to the best peer")) << out_;
}

TEST_F(Bench, PhasesAndBytes) {
  // For every algorithm in which each launch moves all records once: compare the bytes moved with
  // the number of launches.
  const double n = 5000;
  for (const auto& row : rows("--n 5000 --payload keys --phases --algorithm "
                              "lsd,bitonic,odd-even,merge-local,radix-simd "
                              "--params bitonic:schedule=A --params bitonic:schedule=B2+B4 "
                              "--params bitonic:schedule=C4+B* "
                              "--params odd-even:rounds=500")) {
    double launches = 0, seconds = 0;
    std::set<std::string> names;
    for (const auto& phase : row["phases"]) {
      launches += phase["launches"].get<double>();
      seconds += phase["seconds"].get<double>();
      names.insert(phase["name"]);
    }
    EXPECT_NEAR(seconds, row["device_seconds"].get<double>(), 1e-9) << row;
    const std::string algorithm = row["algorithm"];
    // Radix sorts count in separate launches; their passes read the keys twice.
    const double moved = algorithm == "lsd"          ? 4 * n * 4 * 3
                         : algorithm == "radix-simd" ? 8 * n * 4 * 3
                                                     : launches * n * 4 * 2;
    EXPECT_EQ(row["bytes_moved"], moved) << row;
    if (algorithm != "lsd") {  // its variant for CPUs scans in the launch that scatters
      EXPECT_EQ(names.contains("scan"), algorithm == "radix-simd") << row;
    }
  }
  EXPECT_TRUE(contains(out_, "histogram ")) << out_;
}

TEST_F(Bench, SeveralSetsOfParameters) {
  std::set<std::string> seen;
  for (const auto& row : rows("--n 3000 --payload keys --algorithm radix,lsd --params radix:r=4 "
                              "--params radix:r=8,groups=2 "
                              "--params radix:")) {
    const std::string parameters = row["parameters"];
    if (row["algorithm"] == "lsd")
      seen.insert("lsd");
    else if (!row.contains("asked_parameters"))
      seen.insert("defaults");
    else
      seen.insert(row["asked_parameters"].get<std::string>());
    if (row.value("asked_parameters", "") == "r=4") {
      EXPECT_TRUE(contains(parameters, "r=4,")) << parameters;
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"r=4", "r=8,groups=2", "defaults", "lsd"}));
  EXPECT_TRUE(contains(out_, "radix(r=4)")) << out_;
  EXPECT_EQ(rows("--n 3000 --payload keys --algorithm lsd --params groups=3").size(), 1u);
}

TEST_F(Bench, PartialSortsSaySo) {
  for (const auto& row : rows("--n 5000 --payload keys --algorithm selection-local,std::sort"))
    EXPECT_EQ(row["ratio_to_best_peer"].is_null(), row["algorithm"] == "selection-local") << row;
  EXPECT_TRUE(contains(out_, "verified, sorted runs of")) << out_;
}

TEST_F(Bench, SkipsWhatDoesNotFit) {
  const auto r = rows("--n 2^32 --type u64 --payload values --algorithm std::sort");
  ASSERT_EQ(r.size(), 1u);
  EXPECT_TRUE(contains(r[0]["skipped"], "needs")) << r;
  EXPECT_TRUE(contains(out_, "skipped: needs")) << out_;
  EXPECT_TRUE(contains(
      rows("--n 2^40 --type u64 --payload keys --algorithm std::sort")[0]["skipped"], "needs"))
      << out_;
}

TEST_F(Bench, Vqsort) {
  const Result r =
      run("bench --n 3000 --min-time 0.001 --type u32,f32 --payload keys --algorithm vqsort");
  if (r.code == 2) {
    EXPECT_TRUE(contains(r.err, "Highway")) << r.err;
    return;
  }
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(contains(r.out, "verified")) << r.out;
  EXPECT_TRUE(contains(r.out, "skipped: vqsort")) << r.out;
}

TEST_F(Bench, Csv) {
  const auto r = rows("--n 1000,2000 --algorithm radix,std::sort --csv result.csv");
  std::istringstream lines(read("result.csv"));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(line.starts_with(
      "n,type,payload,distribution,algorithm,peer,device_id,seconds,median_seconds,"))
      << line;
  const auto columns = std::ranges::count(line, ',');
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    ASSERT_LT(i, r.size());
    EXPECT_TRUE(line.starts_with(fmt::format("{},{},{}", r[i]["n"].get<int>(),
                                             r[i]["type"].get<std::string>(),
                                             r[i]["payload"].get<std::string>())))
        << line;
    bool quoted = false;
    std::ptrdiff_t commas = 0;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      commas += c == ',' && !quoted;
    }
    EXPECT_EQ(commas, columns) << line;
  }
  EXPECT_EQ(std::ranges::count(read("result.csv"), '\n'),
            static_cast<std::ptrdiff_t>(r.size()) + 1);
}

TEST_F(Bench, Refuses) {
  refuses("bench --n 2^8:2^4", 2, {"--n", "2^8:2^4"});
  refuses("bench --n many", 2, {"--n", "many"});
  refuses("bench --n 1000:2000", 2, {"--n", "1000:2000"});
  refuses("bench --n 4294967297", 2, {"--n", "4294967297", "2^32"});  // values are 4-byte positions
  refuses("bench --n 2^41 --payload keys", 2, {"--n", "2^41", "2^40"});
  refuses("bench --algorithm quick --n 256", 2, {"quick", "lsd"});
  refuses("bench --device nowhere --n 256", 2, {"nowhere"});
  refuses("bench --distribution flat --n 256", 2, {"--distribution", "flat", "zipfK", "distinctK"});
  refuses("bench --distribution uniform,distinct0 --n 256", 2, {"--distribution", "distinct0"});
  refuses("bench --n 256 --params groups=1 --algorithm lsd,radix", 2, {"--params", "groups=1"});
  refuses("bench --n 256 --params merge:tier1=2 --algorithm lsd,radix", 2,
          {"--params", "merge:tier1=2"});
  refuses("bench --n 256 --params std::sort:x=2 --algorithm std::sort", 2,
          {"--params", "std::sort:x=2"});
  refuses("bench --n 256 --params a=1 --algorithm auto", 2, {"--params", "a=1"});
  refuses("bench --n 256 --algorithm std::sort,lsd --params lsd:nothing=1", 2,
          {"nothing", "groups"});
  refuses("bench --n 256 --min-time 0", 2, {"--min-time"});
  refuses("bench --n 256 --json none/x.json", 2, {"none/x.json"});
  refuses("bench --n 256 --csv none/x.csv", 2, {"none/x.csv"});
  refuses("bench --n 256 --json x --csv ./x", 2, {"--json x", "--csv ./x"});
  refuses("bench --n 256 --peers nowhere", 2, {"--peers", "nowhere"});
  refuses("bench --n 256 --peers io", 2, {"--peers", "io", "peer_"});
  refuses("bench --paper 001", 2, {"--paper", "000", "003"});
  refuses("bench --paper 000 --algorithm lsd", 2, {"--paper", "--algorithm"});
  refuses("bench --paper 003 --distribution zipf", 2, {"--paper", "--distribution"});
}

TEST_F(Bench, InterruptedKeepsItsRows) {
  // A peer that never ends, so that the program still runs when the signal comes.
  peer("peer_slow", "exec sleep 1000");
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  {
    // The test waits for the first row in the file that receives the table.
    const int saved = ::dup(1);
    ::dup2(ends[1], 1);
    Waiting run(dir_,
                {"bench", "--n", "256", "--min-time", "0.001", "--algorithm", "lsd", "--payload",
                 "keys", "--peers", "peers", "--json", "result.json"},
                null);
    ::dup2(saved, 1);
    ::close(saved);
    ::close(ends[1]);
    std::string table;
    char part[512];
    for (ssize_t n; table.find("verified") == std::string::npos &&
                    (n = ::read(ends[0], part, sizeof part)) > 0;)
      table.append(part, static_cast<std::size_t>(n));
    run.signal(SIGINT);
    for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;)
      table.append(part, static_cast<std::size_t>(n));
    EXPECT_TRUE(WIFEXITED(run.wait())) << table;
  }
  ::close(ends[0]);
  ::close(null);
  const json all = json::parse(read("result.json"));
  EXPECT_TRUE(all["interrupted"].get<bool>());
  ASSERT_EQ(all["results"].size(), 1u);
  EXPECT_TRUE(all["results"][0]["verified"].get<bool>());
  EXPECT_EQ(files(), (std::vector<std::string>{"io", "peers", "result.json"}));
}

// ---------------------------------------------------------------------------------------------
// peers' programs
// ---------------------------------------------------------------------------------------------

TEST_F(Bench, PeersBesideOurs) {
  peer("peer_fake", "echo \"$*\" > said\n" + peer_row(1e-9, true));
  const auto r = rows("--n 1000 --payload keys --algorithm lsd,std::sort --peers peers");
  ASSERT_EQ(r.size(), 3u);
  EXPECT_TRUE(contains(
      read("said"), "--n 1000 --type u32 --payload keys --distribution uniform --min-time 0.001"))
      << read("said");
  for (const auto& row : r) {
    const bool fake = row["algorithm"] == "fake";
    EXPECT_EQ(row["ratio_to_best_peer"].get<double>() == 1, fake) << row;
    EXPECT_EQ(row["peer"].get<bool>(), row["algorithm"] != "lsd");
    if (!fake) continue;
    EXPECT_EQ(row["version"], "fake 1.0");
    EXPECT_GT(row["bound_mkeys_per_second"], 0);
  }
}

TEST_F(Bench, WrongPeersAreReportedAndBeatNobody) {
  peer("peer_fake", peer_row(1e-9, false));
  const auto r = rows("--n 1000 --payload keys --algorithm lsd,std::sort --peers peers", 1);
  ASSERT_EQ(r.size(), 3u);
  EXPECT_TRUE(contains(out_, "WRONG")) << out_;
  for (const auto& row : r) {
    EXPECT_EQ(row["verified"].get<bool>(), row["algorithm"] != "fake");
    EXPECT_EQ(row["ratio_to_best_peer"].is_null(), row["algorithm"] == "fake") << row;
    if (row["algorithm"] == "std::sort") {
      EXPECT_EQ(row["ratio_to_best_peer"], 1);
    }
  }
}

TEST_F(Bench, PeersThatFailAreReported) {
  struct Fake {
    std::string script;
    std::string said;
  };
  const Fake fakes[] = {{"exit 3", "exit code 3"},
                        {"kill -9 $$", "signal 9"},
                        {"echo hello", "not JSON"},
                        {"echo '[1]'", "not an object"},
                        {peer_row(1e-3, true, ", \"n\": 77"), "not requested"},
                        {peer_row(1e-3, true, ", \"seconds\": \"fast\""), "'seconds'"},
                        {peer_row(1e-3, true) + "; exit 5", "exit code 5"},
                        {peer_row(1e-3, true, ", \"failed\": \"no memory\""), "failed: no memory"}};
  for (std::size_t i = 0; i < std::size(fakes); ++i)
    peer(fmt::format("peer_{}", i), fakes[i].script);
  write("peers/peer_text", "not a program");
  const json all = results("--n 1000 --payload keys --algorithm lsd --peers peers", 3);
  for (const auto& fake : fakes)
    EXPECT_TRUE(contains(out_, fake.said)) << fake.said << "\n" << out_;
  ASSERT_EQ(all["results"].size(), 3u) << all;  // Sortium's row, and those of the last two peers
  EXPECT_TRUE(all["results"][0]["verified"].get<bool>());
  EXPECT_FALSE(all["results"][2]["verified"].get<bool>());
  ASSERT_EQ(all["peers_failed"].size(), std::size(fakes) - 1);
  for (std::size_t i = 0; i + 1 < std::size(fakes); ++i)
    EXPECT_TRUE(contains(all["peers_failed"][i], fmt::format("peer_{} ", i)))
        << all["peers_failed"];
}

// ---------------------------------------------------------------------------------------------
// papers
// ---------------------------------------------------------------------------------------------

TEST_F(Bench, Paper003) {
  const json all = results("--paper 003 --n 2^20");
  for (const char* word : {"Table 4", "GTX 470, published", "0.01052", "std::sort, this host",
                           "defaults", "Table 5: skipped", "Table 7: skipped"})
    EXPECT_TRUE(contains(out_, word)) << word << "\n" << out_;
  EXPECT_EQ(all["paper"]["tables"].size(), 4u);
  unsigned measured = 0;
  for (const auto& row : all["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row;
    EXPECT_EQ(row["paper"]["table"], "Table 4");
    if (row["algorithm"] != "radix") continue;
    ++measured;
    std::set<std::string> names;
    for (const auto& phase : row["phases"]) names.insert(phase["name"]);
    EXPECT_TRUE(names.contains("histogram") && names.contains("scan") && names.contains("reorder"))
        << row;
  }
  EXPECT_EQ(measured, 2u);
}

// cpu:0 supports no sort of document 000. Every row says so, and the tables are complete.
TEST_F(Bench, Paper000) {
  if (!contains(run("devices").out, "\ncpu:0 ") && !run("devices").out.starts_with("cpu:0 "))
    GTEST_SKIP() << "no cpu:0";
  const json all = results("--paper 000 --n 2^9 --device cpu:0");
  std::map<std::string, int> tables;
  for (const auto& row : all["results"]) {
    ++tables[row["paper"]["table"]];
    EXPECT_TRUE(row.contains("skipped")) << row;
    if (row["algorithm"] == "selection" && row["payload"] == "keys") {
      EXPECT_EQ(row["paper"]["published"], 1.23);
    }
  }
  EXPECT_EQ(tables, (std::map<std::string, int>{{"ParallelSelection", 2},
                                                {"ParallelSelection_Blocks", 2},
                                                {"ParallelSelection_Local", 9},
                                                {"ParallelBitonic_Local", 9},
                                                {"ParallelBitonic_A", 1},
                                                {"ParallelBitonic", 13},
                                                {"ParallelMerge_Local", 9}}));
  EXPECT_TRUE(contains(out_, "cpu:0 does not run")) << out_;
}

// ---------------------------------------------------------------------------------------------
// what is sorted
// ---------------------------------------------------------------------------------------------

std::vector<std::uint32_t> keys_of(const std::string& distribution, std::uint64_t n = 20000) {
  std::vector<std::uint32_t> out(n);
  app::make_keys(distribution, sortium::KeyType::u32, n, 0, n, out.data());
  return out;
}

TEST(BenchData, InPartsAsAtOnce) {
  constexpr std::uint64_t n = 200000, first = 170000, count = 1000;
  for (const auto& name : app::distributions())
    for (const char* type_name : {"u8", "i16", "f16", "u32", "f32", "i64", "f64"}) {
      const auto type = sortium::parse_key_type(type_name);
      const unsigned bytes = sortium::info(type).bytes;
      std::vector<char> whole(n * bytes), part(count * bytes);
      app::make_keys(name, type, n, 0, n, whole.data());
      app::make_keys(name, type, n, first, count, part.data());
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * bytes))
          << name << " " << type_name;
      if (bytes >= 4 && name != "constant") {
        EXPECT_NE(std::string_view(part.data(), bytes),
                  std::string_view(&part[part.size() - bytes], bytes))
            << name << " " << type_name;
      }
    }
}

std::vector<float> floats_of(const std::string& distribution, std::uint64_t n = 100000) {
  std::vector<float> out(n);
  app::make_keys(distribution, sortium::KeyType::f32, n, 0, n, out.data());
  return out;
}

TEST(BenchData, ContinuousDistributions) {
  const auto share_below = [](const std::vector<float>& keys, float limit) {
    return static_cast<double>(std::ranges::count_if(keys, [&](float k) { return k < limit; })) /
           static_cast<double>(keys.size());
  };
  const auto is_near = [&](const char* name, float limit, double share) {
    EXPECT_NEAR(share_below(floats_of(name), limit), share, 0.01) << name << " below " << limit;
  };
  is_near("uniform", -0.5f, 0.25);
  is_near("normal", 0, 0.5);
  is_near("normal", -1, 0.1587);
  is_near("normal", 2, 0.9772);
  is_near("exponential", 1, 0.6321);
  is_near("exponential", 0, 0);
  is_near("lognormal", 1, 0.5);
  is_near("lognormal2", 7.389056f, 0.8413);
  is_near("cauchy", -1, 0.25);
  is_near("gamma2", 2, 0.5940);       // 1 - 3 e^-2
  is_near("gamma0.5", 0.5f, 0.6827);  // half the square of a normal number
  is_near("mixture100000", 0, 0.5);
}

TEST(BenchData, Windows) {
  const auto limits = [](const std::vector<std::uint32_t>& keys) {
    const auto [least, most] = std::ranges::minmax(keys);
    return std::pair(least, most);
  };
  EXPECT_LT(limits(keys_of("ids12")).second, 1u << 12);
  EXPECT_GT(limits(keys_of("ids12")).second, 4000u);
  const auto [low, high] = limits(keys_of("offset16"));
  EXPECT_EQ(low >> 20, 0x2b7u);
  EXPECT_LT(high - low, 1u << 16);
  const auto [first, last] = limits(keys_of("prefix16"));
  EXPECT_EQ(first >> 16, last >> 16);
  for (const auto key : keys_of("multiples16")) ASSERT_EQ(key & 0xffff, 0u);
  const auto times = keys_of("timestamps50");
  for (std::uint32_t i = 0; i < times.size(); ++i) {
    ASSERT_GE(times[i], (1u << 30) + i);
    ASSERT_LT(times[i], (1u << 30) + i + 50);
  }
}

TEST(BenchData, OrderThatIsThere) {
  const auto runs = [](const std::vector<std::uint32_t>& keys) {
    std::size_t found = 1;
    for (std::size_t i = 1; i < keys.size(); ++i) found += keys[i] < keys[i - 1];
    return found;
  };
  EXPECT_EQ(runs(keys_of("sawtooth10")), 10u);
  EXPECT_EQ(runs(keys_of("blocks1000")), 20u);
  const auto mixed = keys_of("interleaved4");
  std::vector<std::uint32_t> one;
  for (std::size_t i = 2; i < mixed.size(); i += 4) one.push_back(mixed[i]);
  EXPECT_TRUE(std::ranges::is_sorted(one));
  EXPECT_FALSE(std::ranges::is_sorted(mixed));
  const auto tail = keys_of("tail10");
  EXPECT_TRUE(std::is_sorted(tail.begin(), tail.end() - 2000));
  EXPECT_FALSE(std::is_sorted(tail.begin(), tail.end() - 1900));
}

TEST(BenchData, SpecialFloats) {
  const auto keys = floats_of("normal+nan10");
  const auto nan = std::ranges::count_if(keys, [](float k) { return std::isnan(k); });
  EXPECT_NEAR(static_cast<double>(nan), 10000, 500);
  std::size_t zeros[2] = {0, 0};
  for (const float k : floats_of("normal+zero50"))
    if (k == 0) ++zeros[std::signbit(k) ? 1 : 0];
  EXPECT_NEAR(static_cast<double>(zeros[0]), 25000, 1000);
  EXPECT_NEAR(static_cast<double>(zeros[1]), 25000, 1000);
}

TEST(BenchData, WordsOfAFile) {
  const std::string path = testing::TempDir() + "bench-words";
  const auto words = keys_of("uniform", 1000);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(words.data()), 4000);
  EXPECT_EQ(keys_of("file:" + path, 1000), words);
  EXPECT_THROW((void)keys_of("file:" + path, 1001), sortium::Error);
  EXPECT_THROW((void)keys_of("file:" + path + ".none", 1), sortium::Error);
}

TEST(BenchData, NamesThatAreRefused) {
  for (const char* name : {"", "flat", "uniform3", "zipf9", "zipfx", "distinct0", "normal+", "ids0",
                           "normal+nan", "normal+nan101", "normal+half"})
    EXPECT_THROW(app::check_distribution(name), sortium::Error) << name;
  EXPECT_NO_THROW(app::check_distribution("and"));              // and3
  EXPECT_THROW((void)keys_of("normal+nan10"), sortium::Error);  // u32 has no NaN
}

TEST_F(Bench, SeveralDistributions) {
  std::string names = "distinct7";
  for (const auto& name : app::distributions()) names += "," + name;
  std::set<std::string> seen;
  for (const auto& row : rows("--n 5000 --type i32 --payload keys --distribution " + names)) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row;
    seen.insert(row["distribution"].get<std::string>());
  }
  EXPECT_EQ(seen.size(), app::distributions().size() + 1);
}

TEST(BenchData, DistributionsAreWhatTheySay) {
  const auto distinct = [](const std::vector<std::uint32_t>& keys) {
    return std::set(keys.begin(), keys.end()).size();
  };
  EXPECT_EQ(distinct(keys_of("constant")), 1u);
  EXPECT_EQ(distinct(keys_of("distinct")), 16u);
  EXPECT_EQ(distinct(keys_of("distinct1")), 1u);
  EXPECT_EQ(distinct(keys_of("distinct300")), 300u);
  EXPECT_TRUE(std::ranges::is_sorted(keys_of("sorted")));
  EXPECT_TRUE(std::ranges::is_sorted(keys_of("reversed"), std::greater{}));

  const auto nearly = keys_of("nearly"), sorted = keys_of("sorted");
  std::size_t elsewhere = 0;
  for (std::size_t i = 0; i < nearly.size(); ++i) elsewhere += nearly[i] != sorted[i];
  EXPECT_GT(elsewhere, nearly.size() / 200);
  EXPECT_LT(elsewhere, nearly.size() / 50);

  const auto pipe = keys_of("organ-pipe");
  const auto middle = pipe.begin() + static_cast<std::ptrdiff_t>(pipe.size() / 2);
  EXPECT_TRUE(std::is_sorted(pipe.begin(), middle));
  EXPECT_TRUE(std::is_sorted(middle, pipe.end(), std::greater{}));

  for (const int words : {2, 3, 4, 5}) {  // one bit in 2^words is set
    double bits = 0;
    const auto keys = keys_of("and" + std::to_string(words));
    for (const auto key : keys) bits += std::popcount(key);
    const double expected = 32.0 * static_cast<double>(keys.size()) / (1 << words);
    EXPECT_NEAR(bits, expected, expected * 0.05);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_cli_tests(argc, argv); }
