// The C++ interface: devices by name, and the descriptions of algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api.hpp"
#include "expect_error.hpp"

namespace sortium::test {
namespace {

TEST(Devices, AreFoundByName) {
  const auto& d = *test_device();
  EXPECT_EQ(find_device(d.info().id).get(), &d);
  std::string upper = d.info().id;
  std::ranges::transform(upper, upper.begin(), [](unsigned char ch) { return std::toupper(ch); });
  EXPECT_EQ(find_device(upper).get(), &d);
  const auto& name = d.info().name;
  EXPECT_EQ(find_device(name)->info().name, name);
  const auto part = name.substr(1, 6);
  EXPECT_NE(find_device(part)->info().name.find(part), std::string::npos);
  EXPECT_NE(find_device("auto"), nullptr);
  ASSERT_FALSE(devices().empty());
  for (const auto& one : devices()) EXPECT_EQ(find_device(one->info().id), one);
  unsigned nth = 0;
  for (const auto& one : devices())
    if (one->info().claimed.backend == Backend::opencl) {
      EXPECT_EQ(find_device("opencl:" + std::to_string(nth)), one);
      ++nth;
    }
}

TEST(Devices, UnknownOnesAreRefusedWithAList) {
  const std::string known = devices().front()->info().id;
  for (const auto* spec : {"no such device", "opencl:99", "opencl:0:99", "cuda:99",
                           "opencl:", "cuda:x", "autos", " ", "-", "  \t"})
    expect_error([&] { (void)find_device(spec); }, ErrorCode::not_found, {spec, known});
  std::vector<float> keys(3);
  expect_error([&] { sortium::sort(keys, {.device = "no such device"}); }, ErrorCode::not_found,
               {"no such device"});
}

TEST(Devices, TheEnvironmentSetsTheDefault) {
  const char* before = std::getenv("SORTIUM_DEVICE");
  const std::string kept = before ? before : "";
  setenv("SORTIUM_DEVICE", test_device()->info().id.c_str(), 1);
  EXPECT_EQ(find_device(), test_device());
  setenv("SORTIUM_DEVICE", "nonsense", 1);
  expect_error([] { (void)find_device(); }, ErrorCode::not_found, {"nonsense"});
  EXPECT_NE(find_device("auto"), nullptr) << "a spec goes before the environment";
  setenv("SORTIUM_DEVICE", "", 1);
  EXPECT_EQ(find_device(), find_device("auto"));
  before ? setenv("SORTIUM_DEVICE", kept.c_str(), 1) : unsetenv("SORTIUM_DEVICE");
}

TEST(Devices, BackendsSayWhyTheyAreAbsent) {
  std::size_t all = 0;
  for (const auto& b : backends()) {
    EXPECT_EQ(b.devices == 0, !b.why.empty()) << name(b.backend);
    all += b.devices;
  }
  EXPECT_EQ(all, devices().size());
}

TEST(Devices, RefuseTooMuchMemory) {
  auto& d = *test_device();
  const auto there = d.info().claimed.global_memory;
  expect_error([&] { (void)d.allocate(2 * there); }, ErrorCode::out_of_memory,
               {std::to_string(2 * there), std::to_string(there)});
  EXPECT_GT(d.free_memory(), 0u);
  EXPECT_EQ(d.allocate(1000)->memory().bytes, 1000u);
}

TEST(Algorithms, DescribeThemselves) {
  EXPECT_GE(algorithms().size(), 2u);
  for (const auto& a : algorithms()) {
    for (const auto* text : {&a.name, &a.title, &a.source, &a.cost})
      EXPECT_FALSE(text->empty()) << a.name;
    for (const auto& p : a.parameters) {
      EXPECT_FALSE(p.meaning.empty()) << a.name << ' ' << p.name;
      EXPECT_NE(p.choices.empty(), p.maximum == 0) << a.name << ' ' << p.name;
    }
  }
}

}  // namespace
}  // namespace sortium::test
