// `sortium pic`: the particles are created, moved, sorted and deposited correctly, and the checks
// find errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#ifdef SORTIUM_PNG
#include <png.h>
#endif

#include "cli/common.hpp"
#include "cli/pic.hpp"
#include "expect_error.hpp"
#include "pic/pic.hpp"
#include "pic/picture.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using app::Pic;
using app::PicProblem;
using app::Tally;

// A multiple neither of a work-group nor of the particles that a work-item deposits.
const std::uint64_t some = is_set("SORTIUM_TEST_SMALL") ? 1003 : 20011;

struct Particles {
  std::vector<float> x, y, u, v;
  std::vector<std::uint32_t> id;
  bool operator==(const Particles&) const = default;
};

template <class T>
std::vector<T> read(Queue& queue, const Memory& memory, std::uint64_t count) {
  std::vector<T> out(count);
  queue.read(out.data(), memory, count * sizeof(T));
  return out;
}

Particles read(Pic& pic, const app::ParticleArrays& a) {
  const auto n = pic.problem().particles;
  auto& q = pic.queue();
  return {read<float>(q, a.x, n), read<float>(q, a.y, n), read<float>(q, a.u, n),
          read<float>(q, a.v, n), read<std::uint32_t>(q, a.id, n)};
}

unsigned cell_along(float place, unsigned grid) {
  return static_cast<unsigned>(std::floor(double{place} * 0x1p24) * grid * 0x1p-24);
}

unsigned cell(const Particles& p, std::size_t k, unsigned grid) {
  return cell_along(p.x[k], grid) * grid + cell_along(p.y[k], grid);
}

double van_der_corput(std::uint64_t i, unsigned base) {
  double out = 0, digit = 1;
  for (; i != 0; i /= base) out += static_cast<double>(i % base) * (digit /= base);
  return out;
}

TEST(Particles, BeginWhereVanDerCorputSays) {
  Pic pic(test_device(), {some, 32, 1.0 / 32});
  const Particles p = read(pic, pic.before());
  EXPECT_EQ((std::vector(p.x.begin(), p.x.begin() + 5)),
            (std::vector{0.0f, 0.5f, 0.25f, 0.75f, 0.125f}));
  for (std::size_t k = 0; k < some; ++k) {
    ASSERT_EQ(p.id[k], k);
    for (const auto& [value, base] :
         {std::pair{p.x[k], 2u}, {p.y[k], 3u}, {p.u[k], 5u}, {p.v[k], 7u}}) {
      ASSERT_NEAR(value, van_der_corput(k, base), 0x1p-24) << "number " << k << " of base " << base;
      ASSERT_EQ(std::ldexp(value, 24), std::floor(std::ldexp(value, 24)))
          << "not a multiple of 2^-24";
    }
  }
  EXPECT_EQ(app::flaw_at_start(pic.tally_before(), some), "");
}

struct Setup {
  const char* name;
  unsigned grid;
  double dt;
};
void PrintTo(const Setup& s, std::ostream* out) { *out << s.name; }

class Steps : public testing::TestWithParam<Setup> {};

// Compares with the same steps on the host. dt is a power of two, so no product is rounded, and
// only one result is right.
TEST_P(Steps, AreThoseOfTheHost) {
  const unsigned grid = GetParam().grid;
  const double dt = GetParam().dt;
  Pic pic(test_device(), {some, grid, dt});
  Particles host = read(pic, pic.before());
  const Tally start = pic.tally_before();
  for (unsigned step = 0; step < 3; ++step) {
    if (step != 0) {
      pic.move();
      for (auto* const axis : {&host.x, &host.y}) {
        const auto& velocity = axis == &host.x ? host.u : host.v;
        for (std::size_t k = 0; k < some; ++k) {
          float& place = (*axis)[k];
          place += velocity[k] * static_cast<float>(dt);
          if (place >= 1) place -= 1;
        }
      }
    }
    ASSERT_EQ(read(pic, pic.before()), host) << "step " << step;
    const Tally before = pic.tally_before();
    EXPECT_EQ(app::flaw_of_move(start, before), "");
    std::uint64_t disorder = 0;
    for (std::size_t k = 1; k < some; ++k)
      disorder += cell(host, k - 1, grid) > cell(host, k, grid) ? 1 : 0;
    EXPECT_EQ(before.disorder, disorder);

    std::vector<std::size_t> order(some);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return cell(host, k, grid); });
    const Particles unsorted = host;
    for (std::size_t k = 0; k < some; ++k) {
      host.x[k] = unsorted.x[order[k]];
      host.y[k] = unsorted.y[order[k]];
      host.u[k] = unsorted.u[order[k]];
      host.v[k] = unsorted.v[order[k]];
      host.id[k] = unsorted.id[order[k]];
    }
    pic.find_cells();
    for (const auto bits : {Pic::Bits::all, Pic::Bits::cell}) {
      pic.forget_order();
      pic.sort(bits);
      pic.gather();
      ASSERT_EQ(read(pic, pic.after()), host) << "step " << step;
      EXPECT_EQ(app::flaw_of_sort(before, pic.tally_after()), "");
    }
    pic.deposit_before();
    pic.deposit_after();
    EXPECT_EQ(app::flaw_of_charges(pic.compare_charges(), some * pic.charge()), "");
    pic.end_step();
  }
}

// Each particle's charge, by its distance from four nodes.
TEST_P(Steps, ChargeIsSharedOutByDistance) {
  const unsigned grid = GetParam().grid;
  const double dt = GetParam().dt;
  Pic pic(test_device(), {some, grid, dt});
  const Particles p = read(pic, pic.before());
  const double weight = std::sqrt(static_cast<double>(pic.charge()));
  std::vector<std::uint32_t> expected(std::size_t{grid} * grid);
  for (std::size_t k = 0; k < some; ++k) {
    const auto split = [&](float place) {
      const double inside = double{place} * grid - cell_along(place, grid);
      const auto next = static_cast<std::uint32_t>(inside * weight);
      return std::array{static_cast<std::uint32_t>(weight) - next, next};
    };
    const auto along_x = split(p.x[k]), along_y = split(p.y[k]);
    for (const unsigned i : {0u, 1u})
      for (const unsigned j : {0u, 1u})
        expected[(cell_along(p.x[k], grid) + i) % grid * grid +
                 (cell_along(p.y[k], grid) + j) % grid] += along_x[i] * along_y[j];
  }
  pic.deposit_before();
  EXPECT_EQ(read<std::uint32_t>(pic.queue(), pic.charges_before(), expected.size()), expected);
}

INSTANTIATE_TEST_SUITE_P(All, Steps,
                         testing::Values(Setup{"Document", 32, 1.0 / 32}, Setup{"FewCells", 2, 1},
                                         Setup{"NoPowerOfTwo", 37, 1.0 / 64},
                                         Setup{"ManyCells", 512, 1.0 / 4},
                                         Setup{"NobodyMoves", 16, 0}),
                         [](const auto& instance) { return instance.param.name; });

TEST(Particles, OneIsEnough) {
  const unsigned most =
      is_set("SORTIUM_TEST_SMALL") ? 1024 : 4096;  // Oclgrind's device has 128 MiB
  Pic pic(test_device(), {1, most, 0.5});
  const Tally start = pic.tally_before();
  EXPECT_EQ(app::flaw_at_start(start, 1), "");
  pic.move();
  pic.find_cells();
  pic.sort(Pic::Bits::cell);
  pic.gather();
  EXPECT_EQ(app::flaw_of_sort(start, pic.tally_after()), "");
}

// Makes a sorted step, then overwrites something: the corresponding check must notice.
class Checks : public testing::Test {
 protected:
  Pic pic{test_device(), {some, 32, 1.0 / 32}};
  Tally start = pic.tally_before();

  void SetUp() override {
    pic.find_cells();
    pic.sort(Pic::Bits::cell);
    pic.gather();
    ASSERT_EQ(app::flaw_of_sort(start, pic.tally_after()), "");
  }
  template <class T>
  T at(const Memory& array, std::uint64_t k) {
    return read<T>(pic.queue(), array.slice(k * sizeof(T), sizeof(T)), 1)[0];
  }
  template <class T>
  void put(const Memory& array, std::uint64_t k, T value) {
    pic.queue().write(array.slice(k * sizeof(T), sizeof(T)), &value, sizeof value);
  }
  void expect_seen(const std::string& word) {
    const auto flaw = app::flaw_of_sort(start, pic.tally_after());
    EXPECT_NE(flaw.find(word), std::string::npos) << "'" << flaw << "' should say: " << word;
  }
};

TEST_F(Checks, SeeAParticleThatWasOverwrittenByAnother) {
  const auto a = pic.after();
  for (const auto* array : {&a.x, &a.y, &a.u, &a.v}) put(*array, 17, at<float>(*array, 18));
  put(a.id, 17, at<std::uint32_t>(a.id, 18));
  expect_seen("sum of the ids");
}

TEST_F(Checks, SeeTwoParticlesReplacedByOthersOfTheSameSum) {
  const auto a = pic.after();
  put(a.id, 3, at<std::uint32_t>(a.id, 3) + 1);
  put(a.id, 4, at<std::uint32_t>(a.id, 4) - 1);
  expect_seen("lost its velocity");
}

TEST_F(Checks, SeeASwappedVelocity) {
  const auto a = pic.after();
  const float first = at<float>(a.v, 100);
  put(a.v, 100, at<float>(a.v, 200));
  put(a.v, 200, first);  // momentum and energy are the same
  expect_seen("lost its velocity");
}

TEST_F(Checks, SeeASwappedPosition) {
  const auto a = pic.after();
  std::uint64_t k = 1;  // two particles of one cell, so that the order stays right
  const Particles p = read(pic, a);
  while (cell(p, k, 32) != cell(p, k - 1, 32)) ++k;
  put(a.x, k, p.x[k - 1]);
  put(a.x, k - 1, p.x[k]);
  expect_seen("lost its position");
}

TEST_F(Checks, SeeAParticleOutsideOfTheSquare) {
  for (const float x : {1.0f, -1e-30f, 1e30f, std::nanf("")}) {
    put(pic.after().x, some - 1, x);
    expect_seen("1 particles are outside");
    pic.deposit_after();  // must not write nodes outside the grid
    pic.finish();
  }
}

TEST_F(Checks, SeeWrongOrder) {
  // Exchanges two particles of different cells, so that only the order is wrong.
  const Particles p = read(pic, pic.after());
  const auto a = pic.after();
  ASSERT_NE(cell(p, 0, 32), cell(p, some - 1, 32));
  for (const std::uint64_t from : {std::uint64_t{0}, some - 1}) {
    const std::uint64_t to = some - 1 - from;
    put(a.x, to, p.x[from]);
    put(a.y, to, p.y[from]);
    put(a.u, to, p.u[from]);
    put(a.v, to, p.v[from]);
    put(a.id, to, p.id[from]);
  }
  expect_seen("not in the order of their cells");
}

TEST_F(Checks, SeeASortThatDidNothing) {
  pic.forget_order();
  pic.gather();
  expect_seen("sum of the ids");
}

TEST_F(Checks, SeeASortThatPointsOutside) {
  pic.queue().fill(pic.order(), 0xffffffff, 4 * some);
  pic.gather();  // must not read particles that do not exist
  expect_seen("sum of the ids");
}

TEST_F(Checks, SeeMomentumAndEnergy) {
  Tally now = start;
  now.momentum_y += 1;
  EXPECT_NE(app::flaw_of_move(start, now).find("momentum"), std::string::npos);
  now = start;
  now.energy_low += 1;
  EXPECT_NE(app::flaw_of_move(start, now).find("energy"), std::string::npos);
  now = start;
  now.ids += 1;
  EXPECT_NE(app::flaw_at_start(now, some).find("ids"), std::string::npos);
  now = start;
  now.strays = 2;
  EXPECT_NE(app::flaw_at_start(now, some).find("2 particles"), std::string::npos);
}

TEST_F(Checks, SeeWrongCharges) {
  pic.deposit_before();
  pic.deposit_after();
  const auto right = pic.compare_charges();
  EXPECT_EQ(app::flaw_of_charges(right, some * pic.charge()), "");
  EXPECT_NE(app::flaw_of_charges(right, some * pic.charge() + 1).find("charge is"),
            std::string::npos);
  put(pic.charges_before(), 5, at<std::uint32_t>(pic.charges_before(), 5) + 1);
  EXPECT_NE(app::flaw_of_charges(pic.compare_charges(), some * pic.charge()).find("1 nodes"),
            std::string::npos);
}

TEST(Particles, TheHostAndPartialSortsAreRefused) {
  expect_error(
      [] {
        Pic pic(test_device(), {some, 32, 0, {"bitonic-local"}});
      },
      ErrorCode::unsupported, {"bitonic-local", "sorted runs"});
  expect_error(
      [] {
        Pic pic(test_device(), {some, 32, 0, {"no-such"}});
      },
      ErrorCode::not_found, {"no-such"});
  const auto& all = devices();
  const auto host = std::ranges::find(all, "cpu:0", [](const auto& d) { return d->info().id; });
  if (host == all.end()) GTEST_SKIP() << "there is no cpu:0";
  expect_error(
      [&] {
        Pic pic(*host, {some, 32, 0});
      },
      ErrorCode::unsupported, {"cpu:0", "kernels"});
}

TEST(Particles, SamplesFollowMemory) {
  Pic pic(test_device(), {some, 32, 1.0 / 32});
  const Particles p = read(pic, pic.before());
  const auto sample = pic.sample(100);
  ASSERT_EQ(sample.x.size(), 100u);
  for (std::size_t k = 0; k < 100; ++k) {
    const auto from = p.x.begin() + static_cast<std::ptrdiff_t>(k * some / 100);
    const auto end = p.x.begin() + static_cast<std::ptrdiff_t>((k + 1) * some / 100);
    const auto found = std::find(from, end, sample.x[k]);
    ASSERT_NE(found, end) << k;
    ASSERT_EQ(p.y[static_cast<std::size_t>(found - p.x.begin())], sample.y[k]);
  }
  EXPECT_EQ(pic.sample(2 * some).x, p.x);
}

TEST(Picture, HasEachParticleInItsColour) {
  // Colours by position in memory: from the first to the last; in the second sample from the top
  // left to the bottom right.
  const app::Sample rise{{0.0f, 0.5f, 0.999f}, {0.0f, 0.5f, 0.999f}},
      fall{{0.0f, 0.5f, 0.999f}, {0.999f, 0.5f, 0.0f}};
  const auto image = app::paint({rise, fall});
  ASSERT_EQ(image.pixels.size(), std::size_t{image.width} * image.height);
  struct Dot {
    unsigned x, y;
    std::uint8_t colour;
  };
  std::vector<Dot> dots;
  std::vector<std::uint8_t> key;  // the topmost line of the colour bar at the bottom
  unsigned key_line = 0;
  for (unsigned y = 0; y < image.height; ++y)
    for (unsigned x = 0; x < image.width; ++x) {
      const auto colour = image.pixels[std::size_t{y} * image.width + x];
      ASSERT_LT(3u * colour + 2, image.colours.size());
      if (colour < 2) continue;
      if (y < image.width / 2)
        dots.push_back({x, y, colour});
      else if (key.empty() || y == key_line)
        key.push_back(colour), key_line = y;
    }
  ASSERT_EQ(dots.size(), 6u);
  std::ranges::sort(dots, {}, [](const Dot& d) { return std::pair(d.x, d.y); });
  for (const unsigned s : {0u, 3u}) {
    EXPECT_LT(dots[s].colour, dots[s + 1].colour);
    EXPECT_LT(dots[s + 1].colour, dots[s + 2].colour);
    EXPECT_EQ(dots[s].colour, dots[0].colour);
  }
  EXPECT_GT(dots[0].y, dots[2].y);
  EXPECT_LT(dots[3].y, dots[5].y);
  EXPECT_TRUE(std::ranges::is_sorted(key));
  EXPECT_EQ(key.front(), dots[0].colour);
  EXPECT_GT(key.back(), key.front() + 50);
}

// The command, in a directory of the test.
class PicCommand : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }
  static std::string contents(const std::string& file) {
    return (std::ostringstream() << std::ifstream(file).rdbuf()).str();
  }
  void refuses(const app::PicOptions& wrong, const std::string& word) const {
    try {
      app::pic(wrong);
      ADD_FAILURE() << "an error that says '" << word << "' was due";
    } catch (const app::Failure& failure) {
      EXPECT_EQ(failure.code(), app::exit_usage);
      EXPECT_NE(std::string(failure.what()).find(word), std::string::npos) << failure.what();
    } catch (const sortium::Error& error) {
      EXPECT_EQ(error.code(), sortium::ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory));
  }
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("sortium-pic-{}", ::getpid());
  app::PicOptions options = [] {
    app::PicOptions o;
    o.particles = std::to_string(some);
    o.grid = 16;
    o.steps = 2;
    o.device = device_spec();
    o.min_seconds = 1e-6;
    return o;
  }();
};

TEST_F(PicCommand, PrintsAndWritesEachStep) {
  options.json = directory / "result.json";
  testing::internal::CaptureStdout();
  const int code = app::pic(options);
  const std::string out = testing::internal::GetCapturedStdout(), json = contents(options.json);
  EXPECT_EQ(code, app::exit_success) << out;
  EXPECT_EQ(out.find("WRONG"), std::string::npos) << out;
  for (const char* word : {"16 x 16 cells", "the time step is 0.0625", "by the 8 bits", "8 bits",
                           "32 bits", "\n   2 "})
    EXPECT_NE(out.find(word), std::string::npos) << "no '" << word << "' in\n" << out;
  EXPECT_EQ(out.find("table 7"), std::string::npos) << "figures of another experiment:\n" << out;
  for (const char* word : {"\"cell_bits\": 8", "\"step\": 2", "\"sort_cell_bits_seconds\"",
                           "\"sort_all_bits_seconds\"", "\"gather_seconds\"",
                           "\"deposit_sorted_seconds\"", "\"invariants_hold\": true"})
    EXPECT_NE(json.find(word), std::string::npos) << "no '" << word << "' in\n" << json;
  EXPECT_EQ(json.find("\"invariants_hold\": false"), std::string::npos) << json;
}

TEST_F(PicCommand, RefusesWhatCannotBe) {
  const auto with = [&](auto change) {
    auto changed = options;
    change(changed);
    return changed;
  };
  refuses(with([](auto& o) { o.particles = "0"; }), "--particles 0");
  refuses(with([](auto& o) { o.particles = "many"; }), "--particles many");
  refuses(with([](auto& o) { o.particles = "2^33"; }), "--particles 2^33");
  refuses(with([](auto& o) { o.dt = -0.5; }), "--dt -0.5");
  refuses(with([](auto& o) { o.dt = std::nan(""); }), "--dt nan");
  refuses(with([&](auto& o) { o.json = directory / "none/result.json"; }), "none/result.json");
#ifdef SORTIUM_PNG
  refuses(with([&](auto& o) { o.picture = o.json = directory / "both"; }), "both");
  refuses(with([](auto& o) { o.picture = "-"; }), "--picture -");
#else
  refuses(with([&](auto& o) { o.picture = directory / "p.png"; }), "libpng");
#endif
}

#ifdef SORTIUM_PNG
TEST_F(PicCommand, DrawsFirstAndLastStep) {
  options.picture = directory / "p.png";
  testing::internal::CaptureStdout();
  const int code = app::pic(options);
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, app::exit_success) << out;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, options.picture.c_str()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0) << image.message;
  const app::Sample none;
  const auto size = app::paint({none, none, none, none});  // two steps, before and after
  EXPECT_EQ(image.width, size.width);
  EXPECT_EQ(image.height, size.height);
  const auto white = static_cast<std::size_t>(std::ranges::count(pixels, 255));
  EXPECT_LT(white, pixels.size() / 100 * 99);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}),
            1);  // no temporary file is left
}
#endif

}  // namespace
}  // namespace sortium::test
