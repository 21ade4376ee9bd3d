// Tests how the library handles a device whose compiler builds a kernel wrongly. Sorters that are
// wrong on purpose take the place of such kernels.
#include "sort/self_test.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "algorithms/algorithm.hpp"
#include "expect_error.hpp"
#include "support.hpp"
#include "wrapped_device.hpp"

namespace sortium::test {
namespace {

// Sorts, and then loses or exchanges something.
class Broken final : public Sorter {
 public:
  enum class How : std::uint8_t { not_at_all, last_key_lost, values_of_neighbours, nothing_done };
  Broken(std::unique_ptr<Sorter> whole, Problem problem, How how)
      : whole_(std::move(whole)), problem_(problem), how_(how) {}
  std::uint64_t scratch_bytes() const override { return whole_->scratch_bytes(); }
  std::string parameters() const override { return whole_->parameters(); }
  void build(Device& device, const Capabilities& c) override { whole_->build(device, c); }
  void enqueue(Queue& queue, const Operands& o) override {
    if (how_ == How::nothing_done) return;
    whole_->enqueue(queue, o);
    const unsigned bytes = info(problem_.key).bytes;
    const std::uint64_t last = problem_.count - 1;
    if (how_ == How::last_key_lost)
      queue.copy(o.keys_out.slice(last * bytes, bytes), o.keys_out, bytes);
    if (how_ == How::values_of_neighbours)
      queue.copy(o.values_out.slice(4 * last, 4), o.values_out.slice(4 * (last - 1), 4), 4);
  }

 private:
  std::unique_ptr<Sorter> whole_;
  Problem problem_;
  How how_;
};

TEST(SelfTests, SeeWhatIsWrong) {
  const auto device = test_device();
  const auto& c = capabilities(*device);
  Problem p{.key = KeyType::f32, .count = 1009, .payload = Payload::values};
  const auto verdict = [&](Broken::How how) {
    auto planned = plan_auto(p, c);
    Broken sorter(std::move(planned.sorter), p, how);
    sorter.build(*device, c);
    return first_wrong_record(*device, sorter, p, planned.algorithm->info());
  };
  EXPECT_EQ(verdict(Broken::How::not_at_all), "");
  EXPECT_NE(verdict(Broken::How::last_key_lost).find("keys[1008]"), std::string::npos);
  EXPECT_NE(verdict(Broken::How::values_of_neighbours).find("values[1008]"), std::string::npos);
  EXPECT_NE(verdict(Broken::How::nothing_done).find("1009 f32 keys with 4-byte values"),
            std::string::npos);
}

TEST(SelfTests, AutoTakesWhatPasses) {
  const auto& c = capabilities(*test_device());
  if (c.backend == Backend::host) GTEST_SKIP() << "cpu:0 has one algorithm for a purpose";
  const Problem p{.key = KeyType::u32, .count = 100'000};
  std::vector<std::string> asked;
  const auto planned = plan_judged(p, c, {}, [&](const Planned& next) {
    asked.push_back(next.algorithm->info().name);
    return asked.size() == 1 ? "wrong: " + asked[0] : "";
  });
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_NE(asked[0], asked[1]);
  EXPECT_EQ(planned.algorithm->info().name, asked[1]);

  const auto refuse_all = [](const Planned& next) {
    return "wrong: " + next.algorithm->info().name;
  };
  try {
    (void)plan_judged(p, c, {.algorithm = "lsd"}, refuse_all);
    FAIL() << "an algorithm that failed was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_STREQ(e.what(), "wrong: lsd");
  }
  try {
    (void)plan_judged(p, c, {}, refuse_all);
    FAIL() << "an algorithm that failed was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("wrong: lsd"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("wrong: merge"), std::string::npos) << e.what();
  }
}

// Its compiler makes loops of the probe end after 65535 rounds, as Mesa's llvmpipe does.
class ShortLoops final : public WrappedDevice {
 public:
  using WrappedDevice::WrappedDevice;
  std::unique_ptr<Module> compile(const std::string& source,
                                  std::vector<std::byte>& binary) override {
    std::string changed = source;
    const std::string_view condition = "local_id() == 0 && round < rounds";
    if (const auto at = changed.find(condition); at != changed.npos) {
      changed.insert(at, "round < 65535 && ");
      ++changes;
    }
    return WrappedDevice::compile(changed, binary);
  }
  unsigned changes = 0;
};

TEST(SelfTests, LoopsThatEndTooEarlyAreNoticed) {
  if (test_device()->info().claimed.backend == Backend::host) GTEST_SKIP() << "no kernels";
  const std::string kept = std::getenv("SORTIUM_CACHE_DIR") ? std::getenv("SORTIUM_CACHE_DIR") : "";
  ::setenv("SORTIUM_CACHE_DIR", "off", 1);
  const auto device = std::make_shared<ShortLoops>(test_device());
  for (int again = 0; again < 2; ++again) {
    try {
      (void)capabilities(*device);
      ADD_FAILURE() << "the device was accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string(e.what()).find("ends loops of 100000 rounds too early"),
                std::string::npos)
          << e.what();
    }
  }
  EXPECT_EQ(device->changes, 1u);  // the kernel is kept
  ::setenv("SORTIUM_CACHE_DIR", kept.c_str(), 1);
}

// An algorithm that refuses such small problems until `refuses` is set to false.
class Refusing final : public Algorithm {
 public:
  bool refuses = true;
  const AlgorithmInfo& info() const override { return info_; }
  std::unique_ptr<Sorter> plan(const Problem& p, const Capabilities& c,
                               const Parameters&) const override {
    if (refuses) throw Error(ErrorCode::unsupported, "too few records");
    return std::make_unique<Broken>(plan_auto(p, c).sorter, p, Broken::How::last_key_lost);
  }

 private:
  AlgorithmInfo info_{.name = "refusing", .title = "", .source = "", .cost = ""};
};

TEST(SelfTests, WhatWasNotTestedHasNotPassed) {
  const auto device = test_device();
  const auto& c = capabilities(*device);
  if (c.backend == Backend::host || is_set("SORTIUM_SELF_TEST"))
    GTEST_SKIP() << "Plans are not tested here";
  const Problem p{.key = KeyType::u32, .count = 100'000};
  Refusing refusing;
  const Planned planned{&refusing, plan_auto(p, c).sorter, p};
  EXPECT_EQ(self_test(*device, c, planned), "");
  refusing.refuses = false;
  EXPECT_NE(self_test(*device, c, planned).find("its self-test failed"), std::string::npos);
}

// Compilers for CPUs take seconds for kernels: there, test one algorithm that runs on every device.
TEST(SelfTests, OfTheAlgorithmsHere) {
  const bool slow = capabilities(*test_device()).sub_group_words == SubGroupWords::emulated;
  const auto tests = self_test(*test_device(), slow ? (on_host() ? "sample" : "lsd") : "");
  EXPECT_FALSE(tests.empty());
  expect_error([] { (void)self_test(*test_device(), "no-such"); }, ErrorCode::not_found,
               {"no-such"});
  for (const auto& test : tests)
    if (test.supported) {
      EXPECT_EQ(test.failure, "") << test.algorithm;
    } else {
      EXPECT_NE(test.failure, "") << test.algorithm;
    }
}

}  // namespace
}  // namespace sortium::test
