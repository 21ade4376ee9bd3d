#include "pic/pic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "../../../src/kernels/kernels.hpp"
#include "cli/common.hpp"
#include "pic_cl.hpp"

namespace app {

using sortium::Arg;
using sortium::Buffer;
using sortium::Capabilities;
using sortium::DeviceKind;
using sortium::Error;
using sortium::ErrorCode;
using sortium::Payload;
using sortium::Problem;

namespace {

constexpr unsigned tally_width = 9;
constexpr unsigned compare_width = 3;

std::uint64_t nodes(const PicProblem& p) { return std::uint64_t{p.grid} * p.grid; }

void refuse_host(const sortium::Device& device) {
  if (device.info().claimed.backend != sortium::Backend::host) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("{} runs no kernels, which move the particles; use another "
                          "device, such as PoCL's for the cores of this machine",
                          device.info().id));
}

// Returns the problem of sorting the particles by cell: the result is their positions in that
// order.
Problem sort_problem(const PicProblem& p, Pic::Bits bits) {
  Problem out;
  out.count = p.particles;
  out.payload = Payload::positions;
  out.keys_out = false;
  out.end_bit = bits == Pic::Bits::all ? 32 : static_cast<unsigned>(std::bit_width(nodes(p) - 1));
  return out;
}

// Returns the weight along one axis, a power of two up to 2^8. It is the largest with which a
// node's 32-bit charge does not overflow with eight times the average number of particles. An
// overflow by more particles would show in the total charge of the grid.
unsigned weight(const PicProblem& p) {
  const std::uint64_t crowd = 8 * (p.particles / nodes(p) + 1);
  unsigned w = 256;
  while (w > 1 && crowd * w * w > ~std::uint32_t{0}) w /= 2;
  return w;
}

std::uint64_t work_groups(std::uint64_t items, unsigned work_group) {
  return (items + work_group - 1) / work_group;
}

// The number of work-groups for kernels that return sums: enough to keep the device busy, few
// enough to read the sums back.
std::uint64_t groups_that_sum(const Capabilities& c) {
  return c.compute_units * (c.kind == DeviceKind::cpu ? 1u : 8u);
}

}  // namespace

std::string flaw_at_start(const Tally& start, std::uint64_t count) {
  const std::uint64_t ids = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
  if (start.ids != ids) return fmt::format("the sum of the ids is {}, not {}", start.ids, ids);
  if (start.strays != 0) return fmt::format("{} particles are outside the square", start.strays);
  return {};
}

std::string flaw_of_move(const Tally& start, const Tally& moved) {
  if (moved.ids != start.ids)
    return fmt::format("the sum of the ids is {}, not {}", moved.ids, start.ids);
  if (moved.identities != start.identities)
    return "an id has lost its velocity, or a particle is lost or doubled";
  if (moved.momentum_x != start.momentum_x || moved.momentum_y != start.momentum_y)
    return fmt::format("the momentum is ({}, {}), not ({}, {}), in units of 2^-24",
                       moved.momentum_x, moved.momentum_y, start.momentum_x, start.momentum_y);
  if (moved.energy_high != start.energy_high || moved.energy_low != start.energy_low)
    return "the energy has changed";
  if (moved.strays != 0) return fmt::format("{} particles are outside the square", moved.strays);
  return {};
}

std::string flaw_of_sort(const Tally& before, const Tally& after) {
  if (const auto flaw = flaw_of_move(before, after); !flaw.empty()) return flaw;
  if (after.particles != before.particles) return "a particle has lost its position";
  if (after.disorder != 0)
    return fmt::format("{} neighbours are not in the order of their cells", after.disorder);
  return {};
}

std::string flaw_of_charges(const ChargeSums& sums, std::uint64_t charge) {
  if (sums.different != 0)
    return fmt::format("sorted and unsorted particles charge {} nodes of the grid differently",
                       sums.different);
  if (sums.before != charge || sums.after != charge)
    return fmt::format("the grid's charge is {} and {}, not {}", sums.before, sums.after, charge);
  return {};
}

PicKernels::PicKernels(sortium::Device& device, const Capabilities& c, const PicProblem& problem) {
  refuse_host(device);
  work_group = std::min(c.max_work_group, 256u);
  // On a GPU, a work-item's particles fill one sector of 32 bytes in each array. With longer runs,
  // a cache line would be evicted before all of its particles are read.
  run = c.kind == DeviceKind::cpu ? 256 : 8;
  const unsigned w = weight(problem);
  charge = std::uint64_t{w} * w;
  sortium::kernels::Defines defines;
  defines.problem(sort_problem(problem, Pic::Bits::cell))
      .set("WG", work_group)
      .set("GRID", fmt::format("{}u", problem.grid))
      .set("DT", fmt::format("{:.9e}f", problem.dt))
      .set("WEIGHT", fmt::format("{}u", w))
      .set("RUN", run)
      .set("TALLY", tally_width);
  const auto module =
      sortium::kernels::build(device, c, sortium::kernels::Source{"pic.cl", pic_cl}, defines);
  create = module->kernel("create_particles");
  move = module->kernel("move_particles");
  find_cells = module->kernel("find_cells");
  gather = module->kernel("gather_particles");
  deposit = module->kernel("deposit_charges");
  tally = module->kernel("tally_particles");
  compare = module->kernel("compare_charges");
}

Pic::Pic(std::shared_ptr<sortium::Device> device, const PicProblem& problem)
    : device_(std::move(device)),
      problem_(problem),
      kernels_(*device_, sortium::capabilities(*device_), problem),
      by_cell_(device_, sort_problem(problem, Bits::cell), problem.method),
      by_all_(device_, sort_problem(problem, Bits::all), problem.method),
      queue_(device_->make_queue()) {
  if (by_cell_.algorithm().partial)
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: it leaves sorted runs; particles need a full sort",
                            by_cell_.algorithm().name));
  const std::uint64_t part = 4 * problem.particles, grid = 4 * nodes(problem);
  const std::uint64_t scratch =
      std::max({by_cell_.scratch_bytes(), by_all_.scratch_bytes(), std::uint64_t{16}});
  const std::uint64_t sums = 8 * std::max(tally_width, compare_width) * kernels_.work_group *
                             groups_that_sum(sortium::capabilities(*device_));
  const std::uint64_t need = (2 * before_.size() + 2) * part + 2 * grid + scratch + sums,
                      have = device_->free_memory();
  const std::uint64_t largest = std::max({part, grid, scratch}),
                      most = device_->info().claimed.max_allocation;
  if (need > have || largest > most)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("--particles {} with --grid {} needs {}, {} of it in one piece; the "
                            "device has {}, up to {} in "
                            "one piece",
                            problem.particles, problem.grid, human_bytes(need),
                            human_bytes(largest), human_bytes(have), human_bytes(most)));
  for (auto* const particles : {&before_, &after_})
    for (auto& buffer : *particles) buffer = device_->allocate(part);
  cells_ = device_->allocate(part);
  order_ = device_->allocate(part);
  scratch_ = device_->allocate(scratch);
  sums_ = device_->allocate(sums);
  for (auto& buffer : charges_) buffer = device_->allocate(grid);

  const ParticleArrays a = before();
  const Arg args[] = {{"x", a.x}, {"y", a.y},   {"u", a.u},
                      {"v", a.v}, {"id", a.id}, {"n", problem_.particles}};
  launch(*kernels_.create, problem_.particles, args);
}

ParticleArrays Pic::arrays(const Buffers& b) {
  return {b[0]->memory(), b[1]->memory(), b[2]->memory(), b[3]->memory(), b[4]->memory()};
}

void Pic::launch(sortium::Kernel& kernel, std::uint64_t items, std::span<const Arg> args) {
  queue_->launch(
      {kernel, work_groups(items, kernels_.work_group), kernels_.work_group, args, kernel.name()});
}

void Pic::move() {
  const ParticleArrays a = before();
  const Arg args[] = {{"x", a.x}, {"y", a.y}, {"u", a.u}, {"v", a.v}, {"n", problem_.particles}};
  launch(*kernels_.move, problem_.particles, args);
}

void Pic::find_cells() {
  const ParticleArrays a = before();
  const Arg args[] = {
      {"x", a.x}, {"y", a.y}, {"cells", cells_->memory()}, {"n", problem_.particles}};
  launch(*kernels_.find_cells, problem_.particles, args);
}

void Pic::sort(Bits bits) {
  plan(bits).run(
      *queue_,
      {.keys_in = cells_->memory(), .values_out = order_->memory(), .scratch = scratch_->memory()});
}

void Pic::forget_order() { queue_->fill(order_->memory(), 0, 4 * problem_.particles); }

void Pic::gather() { gather(problem_.particles); }

void Pic::gather(std::uint64_t count) {
  const ParticleArrays a = before(), b = after();
  const Arg args[] = {{"from", order_->memory()},
                      {"old_x", a.x},
                      {"old_y", a.y},
                      {"old_u", a.u},
                      {"old_v", a.v},
                      {"old_id", a.id},
                      {"x", b.x},
                      {"y", b.y},
                      {"u", b.u},
                      {"v", b.v},
                      {"id", b.id},
                      {"n", count},
                      {"count", problem_.particles}};
  launch(*kernels_.gather, count, args);
}

void Pic::deposit_before() { deposit(before(), *charges_[0]); }
void Pic::deposit_after() { deposit(after(), *charges_[1]); }

void Pic::deposit(const ParticleArrays& a, const Buffer& charges) {
  queue_->fill(charges.memory(), 0, 4 * nodes(problem_));
  const Arg args[] = {
      {"x", a.x}, {"y", a.y}, {"charges", charges.memory()}, {"n", problem_.particles}};
  launch(*kernels_.deposit, work_groups(problem_.particles, kernels_.run), args);
}

void Pic::end_step() { std::swap(before_, after_); }

std::vector<std::uint64_t> Pic::add_up(sortium::Kernel& kernel, unsigned width,
                                       std::span<const Arg> args) {
  const std::uint64_t groups = groups_that_sum(sortium::capabilities(*device_));
  queue_->launch({kernel, groups, kernels_.work_group, args, kernel.name()});
  std::vector<std::uint64_t> each(width * groups * kernels_.work_group), sums(width);
  queue_->read(each.data(), sums_->memory(), 8 * each.size());
  for (std::size_t i = 0; i < each.size(); ++i) sums[i % width] += each[i];
  return sums;
}

Tally Pic::tally(const ParticleArrays& a) {
  const Arg args[] = {{"x", a.x},
                      {"y", a.y},
                      {"u", a.u},
                      {"v", a.v},
                      {"id", a.id},
                      {"sums", sums_->memory()},
                      {"n", problem_.particles}};
  const auto sums = add_up(*kernels_.tally, tally_width, args);
  return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7], sums[8]};
}
Tally Pic::tally_before() { return tally(before()); }
Tally Pic::tally_after() { return tally(after()); }

ChargeSums Pic::compare_charges() {
  const Arg args[] = {
      {"a", charges_[0]->memory()}, {"b", charges_[1]->memory()}, {"sums", sums_->memory()}};
  const auto sums = add_up(*kernels_.compare, compare_width, args);
  return {sums[0], sums[1], sums[2]};
}

Sample Pic::sample(std::uint64_t count) {
  const std::uint64_t n = problem_.particles;
  count = std::min(count, n);
  // Takes a random position in each of `count` parts of memory. At equal distances, the particles'
  // numbers would share digits, and van der Corput's sequence would leave empty areas.
  std::vector<std::uint32_t> places(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t first = k * n / count, end = (k + 1) * n / count;
    const std::uint64_t random = (k + 1) * 0x9e3779b97f4a7c15u;
    places[k] = static_cast<std::uint32_t>(
        first + ((random ^ random >> 29) * 0xbf58476d1ce4e5b9u >> 32) % (end - first));
  }
  queue_->write(order_->memory(), places.data(), 4 * count);
  gather(count);
  Sample out{std::vector<float>(count), std::vector<float>(count)};
  queue_->read(out.x.data(), after().x, 4 * count);
  queue_->read(out.y.data(), after().y, 4 * count);
  return out;
}

}  // namespace app
