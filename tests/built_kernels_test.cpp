// Tests built kernels. Their files are trusted only if they are complete and no other user can have
// written them. A device without a compiler sorts with the kernels that it has.
#include "device/built_kernels.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include "algorithms/algorithm.hpp"
#include "checking_queue.hpp"
#include "core/warnings.hpp"
#include "device/nvrtc.hpp"
#include "planned_sources.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

namespace fs = std::filesystem;
using cuda::BuiltKernels;
using Code = std::vector<std::byte>;

Code code_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class BuiltKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sortium-built-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    setenv("SORTIUM_BUILT_KERNELS", name.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("SORTIUM_BUILT_KERNELS");
    fs::remove_all(directory_);
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (directory_ / name).string();
  }
  // A file with one kernel: its code is the file's name.
  [[nodiscard]] std::string write(const std::string& name) const {
    cuda::write_built_kernels(file(name), {{"source", code_of(name)}});
    return file(name);
  }
  // The name of the file that a GPU of this architecture takes its kernels from; "": from none.
  static std::string found_for(int arch) {
    const auto built = BuiltKernels::find_for(arch);
    if (built == nullptr) return "";
    const Code code = built->find("source");
    return {reinterpret_cast<const char*>(code.data()), code.size()};
  }
  static void change_byte(const std::string& path, std::streamoff at) {
    std::fstream f(path, std::ios::binary | std::ios::in | std::ios::out);
    f.seekg(at);
    const char c = static_cast<char>(f.get());
    f.seekp(at);
    f.put(static_cast<char>(c ^ 1));
  }
  static std::string why_refused(const std::string& path) {
    try {
      const BuiltKernels built(path);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  fs::path directory_;
};

TEST_F(BuiltKernelsTest, FindsCodesBySource) {
  const std::string large(100'000, 'x');
  cuda::write_built_kernels(
      file("a"), {{"one", code_of(large)}, {"two", code_of("2")}, {"also one", code_of(large)}});
  const BuiltKernels built(file("a"));
  EXPECT_EQ(built.count(), 3u);
  EXPECT_EQ(built.find("one"), code_of(large));
  EXPECT_EQ(built.find("also one"), code_of(large));
  EXPECT_EQ(built.find("two"), code_of("2"));
  EXPECT_EQ(built.find("three"), Code());
  cuda::write_built_kernels(file("b"), {{"one", code_of(large)}, {"two", code_of("2")}});
  EXPECT_LT(fs::file_size(file("a")), fs::file_size(file("b")) + 60) << "equal codes, once each";
}

TEST_F(BuiltKernelsTest, FindsMachineCodeAndTextOfAnyLength) {
  std::vector<std::pair<std::string, Code>> kernels;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5}, std::size_t{70'000},
                                  std::size_t{900'000}, std::size_t{5'000'003}})
    for (const std::string start : {"\177ELF", "// PTX"}) {
      std::string code = start;
      while (code.size() < bytes) code.push_back(static_cast<char>(code.size() % 251));
      kernels.emplace_back(fmt::format("{} {}", start, bytes), code_of(code));
    }
  cuda::write_built_kernels(file("a"), kernels);
  const BuiltKernels built(file("a"));
  for (const auto& [source, code] : kernels) EXPECT_EQ(built.find(source), code) << source;
}

TEST_F(BuiltKernelsTest, CompressesSimilarCodesTogether) {
  // Three codes of each of three kinds, of 1 MB each; a block holds three. Those of one kind
  // differ in one byte, and two of different kinds have nothing in common.
  std::vector<std::pair<std::string, Code>> kernels;
  for (int copy = 0; copy < 3; ++copy)
    for (unsigned kind = 0; kind < 3; ++kind) {
      std::mt19937 random(kind);
      std::string code = "\177ELF";
      while (code.size() < 1'000'000) code.push_back(static_cast<char>(random()));
      code[500'000] = static_cast<char>(copy);
      kernels.emplace_back(fmt::format("{} {}", copy, kind), code_of(code));
    }
  cuda::write_built_kernels(file("a"), kernels);
  EXPECT_LT(fs::file_size(file("a")), 4'000'000u) << "each kind once";
  const BuiltKernels built(file("a"));
  for (const auto& [source, code] : kernels) EXPECT_EQ(built.find(source), code) << source;
}

TEST_F(BuiltKernelsTest, TakesMachineCodeOfTheSameMajorArchitectureElsePtx) {
  for (const char* name : {"sm_80", "sm_86", "sm_100", "ptx_90"}) (void)write(name);
  EXPECT_EQ(found_for(75), "");
  EXPECT_EQ(found_for(80), "sm_80");
  EXPECT_EQ(found_for(86), "sm_86");
  EXPECT_EQ(found_for(87), "sm_86");
  EXPECT_EQ(found_for(90), "ptx_90");
  EXPECT_EQ(found_for(103), "sm_100");
  EXPECT_EQ(found_for(120), "ptx_90");
  setenv("SORTIUM_BUILT_KERNELS", "off", 1);
  EXPECT_EQ(found_for(80), "");
}

TEST_F(BuiltKernelsTest, RefusesDamagedFiles) {
  const auto size = fs::file_size(write("sm_80"));
  change_byte(write("magic"), 0);
  EXPECT_NE(why_refused(file("magic")).find("not a file of built kernels"), std::string::npos);
  change_byte(write("count"), 9);
  EXPECT_NE(why_refused(file("count")).find("incomplete"), std::string::npos);
  change_byte(write("entry"), 40);
  EXPECT_NE(why_refused(file("entry")).find("damaged"), std::string::npos);
  fs::resize_file(write("short"), 40);
  EXPECT_NE(why_refused(file("short")).find("incomplete"), std::string::npos);
  std::ofstream(file("empty")).flush();
  EXPECT_NE(why_refused(file("empty")).find("cannot be read"), std::string::npos);
  EXPECT_NE(why_refused(file("absent")).find("cannot be opened"), std::string::npos);
  EXPECT_NE(why_refused(directory_.string()).find("no regular file"), std::string::npos);

  // A damaged code, and one whose end is missing: the others are still used.
  for (const bool cut : {false, true}) {
    const std::string path = write("code");
    if (cut)
      fs::resize_file(path, fs::file_size(path) - 1);
    else
      change_byte(path, static_cast<std::streamoff>(fs::file_size(path)) - 3);
    const BuiltKernels built(path);
    EXPECT_EQ(built.find("source"), Code()) << cut;
  }
  EXPECT_GT(size, 80u);
}

TEST_F(BuiltKernelsTest, RefusesFilesThatOthersMayWrite) {
  fs::permissions(write("sm_80"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(why_refused(file("sm_80")).find("other users may write"), std::string::npos);
  const auto before = warnings().size();
  EXPECT_EQ(found_for(80), "");
  EXPECT_EQ(warnings().size(), before + 1);
}

const builder::Architecture& sm_90() {
  const auto is_90 = [](const auto& a) { return a.target.name() == "sm_90"; };
  return *std::ranges::find_if(builder::architectures, is_90);
}

// A device without a compiler that has the kernels of some sources.
class WithoutCompiler final : public Device {
 public:
  using Has = std::function<bool(const std::string& source)>;
  explicit WithoutCompiler(Has has, unsigned compute_units = 132) : has_(std::move(has)) {
    info_.id = "cuda:none";
    info_.claimed = builder::claimed_by(sm_90());
    info_.claimed.compute_units = compute_units;
  }
  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Module> compile(const std::string& source, std::vector<std::byte>&) override {
    if (!has_(source)) throw Error(ErrorCode::unsupported, "no kernel, no compiler");
    return std::make_unique<AnyModule>();
  }
  std::unique_ptr<Buffer> allocate(std::uint64_t) override { return std::make_unique<NoBuffer>(); }
  std::unique_ptr<Buffer> adopt(void*, std::uint64_t) override { return nullptr; }
  void sync_host(Queue&, Buffer&) override {}
  std::unique_ptr<Queue> make_queue(bool) override {
    return std::make_unique<CheckingQueue>(shared_from_this());
  }
  std::uint64_t free_memory() override { return 0; }
  std::unique_ptr<Module> load(std::span<const std::byte>) override {
    return std::make_unique<AnyModule>();
  }
  void* native_context() override { return nullptr; }

 private:
  struct AnyModule final : Module {
    std::unique_ptr<Kernel> kernel(const std::string& name) override {
      return std::make_unique<NamedKernel>(name);
    }
  };
  Has has_;
  DeviceInfo info_;
};

std::shared_ptr<Device> without_compiler(const std::string& part) {
  return std::make_shared<WithoutCompiler>(
      [part](const std::string& source) { return source.find(part) != std::string::npos; });
}

TEST(WithoutACompiler, AutoTakesTheBestAlgorithmWhoseKernelsAreThere) {
  setenv("SORTIUM_SELF_TEST", "off", 1);
  setenv("SORTIUM_CACHE_DIR", "off", 1);
  const Problem problem{.count = 50'000};  // for one-cluster
  const Plan lsd(without_compiler("lsd"), problem);
  EXPECT_EQ(lsd.algorithm().name, "lsd");
  const Plan best(without_compiler(""), problem);
  EXPECT_EQ(best.algorithm().name, "one-cluster");
  try {
    const Plan none(without_compiler("no such source"), problem);
    FAIL() << "planned without kernels";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("lsd: no kernel, no compiler"), std::string::npos)
        << e.what();
  }
}

TEST(WithoutACompiler, FirstRecordsOfAnyListHaveTheirKernels) {
  setenv("SORTIUM_SELF_TEST", "off", 1);
  setenv("SORTIUM_CACHE_DIR", "off", 1);
  const auto sources = builder::planned_sources(sm_90(), {KeyType::u32});
  Random random(run_seed());
  for (int i = 0; i < 100; ++i) {
    const unsigned count_bits = 1 + static_cast<unsigned>(random.below(30));
    Problem p{.count = (std::uint64_t{1} << count_bits) + random.below(1u << count_bits)};
    p.payload = i % 3 == 0 ? Payload::none : i % 3 == 1 ? Payload::values : Payload::positions;
    p.keys_out = p.payload != Payload::positions;
    if (p.payload == Payload::positions && i % 2 == 0) p.value_bytes = 8;
    p.limit = std::min(p.count, 1 + random.below(i % 2 == 0 ? 100 : 10'000));
    // A new device has no kernels in memory.
    const auto device = std::make_shared<WithoutCompiler>(
        [&](const std::string& source) { return sources.contains(source); });
    EXPECT_NO_THROW(Plan(device, p)) << p.limit << " of " << p.count;
  }
}

// Powers of two, their neighbours, primes and random numbers, below 2^30.
std::vector<std::uint64_t> any_lengths() {
  std::vector<std::uint64_t> lengths{7, 97, 1009, 10'007, 100'003, 1'000'003, 16'777'259};
  Random random(run_seed());
  for (unsigned log2 = 1; log2 < 30; ++log2) {
    const std::uint64_t power = std::uint64_t{1} << log2;
    for (const std::uint64_t length : {power - 1, power, power + 1, power + random.below(power)})
      lengths.push_back(length);
  }
  return lengths;
}

TEST(WithoutACompiler, ListsOfAnyLengthHaveTheKernelsOfTheirAlgorithms) {
  setenv("SORTIUM_SELF_TEST", "off", 1);
  setenv("SORTIUM_CACHE_DIR", "off", 1);
  const auto sources = builder::planned_sources(sm_90(), {KeyType::u32, KeyType::f64});
  for (const unsigned compute_units : {132u, 78u}) {
    const auto device = std::make_shared<WithoutCompiler>(
        [&](const std::string& source) { return sources.contains(source); }, compute_units);
    unsigned number = 0;
    for (const auto length : any_lengths()) {
      Problem p{.key = ++number % 2 == 0 ? KeyType::u32 : KeyType::f64, .count = length};
      const unsigned kind = number / 2 % 3;
      p.payload = kind == 0 ? Payload::none : kind == 1 ? Payload::values : Payload::positions;
      if (kind == 1) p.value_bytes = info(p.key).bytes;
      p.keys_out = p.payload != Payload::positions;
      const auto best = plan_auto(p, capabilities(*device)).algorithm->info().name;
      if (kind == 2 && length % 2 != 0) p.value_bytes = 8;  // made from 4 bytes
      EXPECT_EQ(Plan(device, p).algorithm().name, best) << length << ", kind " << kind;
      p.offset_bytes = number % 5 < 2 ? 4 : 8;
      p.segments = number % 3 == 0 ? 1 : 1 + length / (number % 2 == 0 ? 10 : 5000);
      EXPECT_NO_THROW(Plan(device, p)) << length << " in " << p.segments << ", kind " << kind;
      p.offset_bytes = 0;
      p.count -= p.count % p.segments;
      EXPECT_NO_THROW(Plan(device, p)) << p.count << " in " << p.segments << " rows, kind " << kind;
    }
  }
}

// The names of the last files of all sources: those with the kernels.
std::set<std::string> files_of(const std::set<std::string>& sources) {
  std::set<std::string> files;
  for (const auto& source : sources) {
    constexpr std::string_view mark = "\n#line 1 \"";
    const auto begin = source.rfind(mark) + mark.size();
    files.insert(source.substr(begin, source.find('"', begin) - begin));
  }
  return files;
}

TEST(PlannedSources, HaveTheKernelsOfDefaultSorts) {
  setenv("SORTIUM_CACHE_DIR", "off", 1);
  for (const auto& architecture : builder::architectures) {
    const auto name = architecture.target.name();
    if (name != "sm_80" && name != "sm_90") continue;  // without clusters and with them; 2 s each
    const auto sources = builder::planned_sources(architecture, {KeyType::u32});
    if (name == "sm_90") {
      EXPECT_EQ(sources, builder::planned_sources(architecture, {KeyType::u32}))
          << "other kernels the second time";
    }
    const auto files = files_of(sources);
    for (const char* file :
         {"lsd.cl", "lsd_settle.cl", "msd_local.cl", "msd_count.cl", "msd_partition.cl",
          "radix_passes.cl", "one_group_bins.cl", "segmented_block.cl", "segmented_classify.cl",
          "topk_sample.cl", "probe.cl"})
      EXPECT_TRUE(files.contains(file)) << name << ": " << file;
    EXPECT_EQ(files.contains("one_cluster.cl"), architecture.cluster_groups > 1) << name;
  }
}

TEST(PlannedSources, CompileForEveryArchitecture) {
  try {
    (void)cuda::compile_for("", {90});
  } catch (const Error& e) {
    if (!is_set("SORTIUM_REQUIRE_NVRTC")) GTEST_SKIP() << "NO KERNEL WAS COMPILED: " << e.what();
  }
  for (const auto& architecture : builder::architectures) {
    const auto sources = builder::planned_sources(architecture, {});
    const auto probe = std::ranges::find_if(
        sources, [](const auto& source) { return source.find("probe.cl") != source.npos; });
    ASSERT_NE(probe, sources.end());
    const Code code = cuda::compile_for(*probe, architecture.target);
    const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
    EXPECT_EQ(text.starts_with("\177ELF"), !architecture.target.ptx);
    EXPECT_NE(text.find("probe_words"), text.npos) << architecture.target.name();
  }
}

}  // namespace
}  // namespace sortium::test
