// Particles of a particle-in-cell simulation on a device: they move, and are sorted by the
// cell that they are in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

namespace app {

// Sums over all particles; they do not depend on the particles' order.
struct Tally {
  std::uint64_t disorder = 0;    // neighbours in memory that are not in the order of their cells
  std::uint64_t strays = 0;      // particles outside of the unit square
  std::uint64_t ids = 0;         // sum of the ids
  std::uint64_t identities = 0;  // checksum of (id, u, v), which no step changes
  std::uint64_t particles = 0;   // checksum of (id, u, v, x, y), which no sort changes
  std::uint64_t momentum_x = 0, momentum_y = 0;  // sums of u and v in units of 2^-24: exact
  std::uint64_t energy_high = 0,
                energy_low = 0;  // sum of u^2 + v^2 in units of 2^-24 and 2^-48: exact

  bool operator==(const Tally&) const = default;
};

// Each returns a description of what is wrong with the particles; empty if nothing is wrong.
[[nodiscard]] std::string flaw_at_start(const Tally& start, std::uint64_t count);
[[nodiscard]] std::string flaw_of_move(const Tally& start, const Tally& moved);
[[nodiscard]] std::string flaw_of_sort(const Tally& before, const Tally& after);

struct ChargeSums {
  std::uint64_t different = 0;  // nodes whose charges differ
  std::uint64_t before = 0, after = 0;
};
[[nodiscard]] std::string flaw_of_charges(const ChargeSums& sums, std::uint64_t charge);

// The particles: one array for each member.
struct ParticleArrays {
  sortium::Memory x, y, u, v, id;  // f32; id: u32
};

// Some of the particles, one from each of many equal parts of memory, in the order of memory.
struct Sample {
  std::vector<float> x, y;
};

struct PicProblem {
  std::uint64_t particles = 0;  // 1 to 2^32
  unsigned grid = 0;            // cells along a side, 2 to 4096
  double dt = 0;                // 0 to 1
  sortium::Method method{};
};

// The kernels of pic.cl, built for a device. Throws sortium::Error.
struct PicKernels {
  PicKernels(sortium::Device& device, const sortium::Capabilities& capabilities,
             const PicProblem& problem);

  std::unique_ptr<sortium::Kernel> create, move, find_cells, gather, deposit, tally, compare;
  unsigned work_group;   // of all kernels
  unsigned run;          // particles that a work-item deposits
  std::uint64_t charge;  // of a particle, in the grid's units
};

class Pic {
 public:
  enum class Bits { cell, all };  // bits to sort by: those of the cells' numbers, or all 32

  // Creates the particles. Throws sortium::Error: invalid_argument, not_found, unsupported,
  // out_of_memory (before any memory is used), build_failed.
  Pic(std::shared_ptr<sortium::Device> device, const PicProblem& problem);

  // A step. These functions only enqueue work. All but move() and end_step() may be repeated.
  void move();
  void find_cells();
  void sort(Bits bits);   // finds the order by cell; moves no particle
  void forget_order();    // clears the last result, so that it cannot pass for the next one
  void gather();          // moves the particles into that order
  void deposit_before();  // adds the particles' charges to a grid
  void deposit_after();   // adds the gathered particles' charges to another grid
  void end_step();        // replaces the particles by the gathered ones

  // These functions wait for the device.
  [[nodiscard]] Tally tally_before();
  [[nodiscard]] Tally tally_after();
  [[nodiscard]] ChargeSums compare_charges();
  // Returns up to `count` of the particles as they are before sort() and gather(). Overwrites the
  // results of those two functions.
  [[nodiscard]] Sample sample(std::uint64_t count);
  void finish() { queue_->finish(); }

  [[nodiscard]] const PicProblem& problem() const { return problem_; }
  [[nodiscard]] const sortium::Plan& plan(Bits bits) const {
    return bits == Bits::cell ? by_cell_ : by_all_;
  }
  [[nodiscard]] std::uint64_t charge() const { return kernels_.charge; }
  [[nodiscard]] sortium::Queue& queue() { return *queue_; }
  [[nodiscard]] ParticleArrays before() const { return arrays(before_); }
  [[nodiscard]] ParticleArrays after() const { return arrays(after_); }
  [[nodiscard]] sortium::Memory order() const { return order_->memory(); }
  [[nodiscard]] sortium::Memory charges_before() const { return charges_[0]->memory(); }

 private:
  using Buffers = std::array<std::unique_ptr<sortium::Buffer>, 5>;
  [[nodiscard]] static ParticleArrays arrays(const Buffers& b);

  void launch(sortium::Kernel& kernel, std::uint64_t items, std::span<const sortium::Arg> args);
  void gather(std::uint64_t count);
  void deposit(const ParticleArrays& particles, const sortium::Buffer& charges);
  [[nodiscard]] Tally tally(const ParticleArrays& particles);
  // Runs a kernel that writes `width` sums for each work-item. Returns their totals.
  [[nodiscard]] std::vector<std::uint64_t> add_up(sortium::Kernel& kernel, unsigned width,
                                                  std::span<const sortium::Arg> args);

  std::shared_ptr<sortium::Device> device_;
  PicProblem problem_;
  PicKernels kernels_;
  sortium::Plan by_cell_, by_all_;
  std::unique_ptr<sortium::Queue> queue_;
  Buffers before_, after_;
  std::unique_ptr<sortium::Buffer> cells_, order_, scratch_, sums_;
  std::array<std::unique_ptr<sortium::Buffer>, 2> charges_;
};

}  // namespace app
