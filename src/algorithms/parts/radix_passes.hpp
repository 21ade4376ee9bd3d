// Stable radix passes, with decoupled look-back except in short lists: a pass reads every record
// once and writes it once. An algorithm can sort with them (all digits, the least significant
// first) or partition with them (one or two digits, the most significant first). Adinets, Merrill,
// "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs" (2022); Merrill, Garland,
// "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../algorithm.hpp"
#include "equalize.hpp"
#include "key_map.hpp"

namespace sortium {

// True if a work-group may have more than 128 KB of local memory. Tiles then fill a compute unit.
[[nodiscard]] bool has_much_local(const Capabilities& device);

// The dimensions of one launch.
struct RadixPassShape {
  unsigned work_group = 0;      // work-items of a work-group
  unsigned items = 0;           // records of a work-item in a tile
  unsigned resident = 0;        // work-groups that share a compute unit
  unsigned copies = 1;          // copies of each histogram in local memory
  unsigned common_share = 8;    // a digit is common if more than one record in this many has it
  bool looks_back = true;       // false: the passes of radix_rows.cl
  bool alternating = false;     // a tile's keys and values use the same local memory in turn
  unsigned local_bytes = 0;     // size of onesweep_memory_t
  std::uint64_t tiles = 0;      // the most tiles of a pass, over all segments
  std::uint64_t groups = 0;     // work-groups launched
  std::uint64_t mark_rows = 0;  // rows of the table of marks for one pass; see LONG_COUNTS

  [[nodiscard]] std::uint64_t tile() const { return std::uint64_t{work_group} * items; }
};

struct RadixPassOptions {
  // The algorithm's name, for error messages.
  std::string_view algorithm;
  // The most segments of partition()'s second pass. 0: partition() is not called.
  std::uint64_t segments = 0;
  // The map of partition_mapped(). Without cells: it is not called.
  KeyMap map{};
  // The equalizer of partition_equalized(). If no keys are equalized, it is not called.
  Equalizer equalizer{};
  // partition() uses spread orders with this many leading bits. 0: it uses the order of the keys.
  unsigned spread_bits = 0;
  bool class_digits = false;  // with spread_bits: see class_lead() in primitives.cl
  // partition() may stretch keys (stretch.cl).
  bool stretches = false;
  // sort_or_partition() is called instead of sort(). Only if RadixPasses::may_partition().
  bool tries_leading = false;
  // sort() runs only for keys that do not spread over the buckets of a partition.
  bool skewed = false;
  // sort_listed() may be called. Only with an even number of digits.
  bool lists = false;
  // The gate's word is at least few_digits if most digits of the keys have few values.
  bool tells_few_digits = false;
  // sort() may be told to sort only a part of the records, the rest (see sort()). Requires an even
  // number of digits.
  bool rests = false;
  // The passes have no buffers of their own: sort_between() is called instead of sort(), and
  // partition() is not called. Tiles are small: one pass over codes is a tenth faster then, two
  // passes are as fast. Measured on an H200.
  bool between = false;
  // Bytes for the algorithm's own use, which clear() sets to 0, too.
  std::uint64_t cleared_bytes = 0;
};

// The kinds of launches. `small_tiles`: two work-groups share a compute unit, and tiles are half as
// large. `mapped`: partition_mapped(). `equalized`: partition_equalized().
enum class RadixPassKind : std::uint8_t { plain, small_tiles, mapped, equalized };

// Returns the shape for `problem` on a device. `given` may have work_group, items, resident, groups
// and count_bits; the function chooses the others. Throws Error(unsupported) if the device's limits
// do not allow it.
[[nodiscard]] RadixPassShape radix_pass_shape(const Problem& problem, const Capabilities& device,
                                              const Parameters& given,
                                              const RadixPassOptions& options, RadixPassKind kind);

class RadixPasses {
 public:
  // A word on the device that turns launches on and off: a launch does its work only if
  // least <= word <= most. Without a word, it always does.
  struct Gate {
    Memory word{};
    std::uint32_t least = 0, most = 0;
  };
  // With RadixPassOptions::tells_few_digits, values of the gate's word from `few_digits` upwards
  // mean that most digits have few values.
  static constexpr std::uint32_t few_digits = 0x40000000;
  // Values of the gate's word from `mapped` upwards turn sort() off: keys are mapped or
  // equalized. The value `listed` turns sort_listed() on.
  static constexpr std::uint32_t mapped = 0x80000000, listed = mapped + 1;
  // Up to this many records, lists with repeated keys are treated like lists with few digits.
  static constexpr std::uint64_t small_tiles_to = std::uint64_t{1} << 25;

  // Adds all scratch memory that the passes need to `layout`. Throws Error(unsupported) if the
  // device cannot run them.
  RadixPasses(const Problem& problem, const Capabilities& device, const Parameters& given,
              const RadixPassOptions& options, ScratchLayout& layout);

  // The parameters in force: "work_group=…,items=…,resident=…".
  [[nodiscard]] std::string parameters() const;
  // False if the keys are not counted before the first pass (radix_rows.cl).
  [[nodiscard]] bool looks_back() const { return shape_.looks_back; }
  // The number of passes that sort() makes.
  [[nodiscard]] std::size_t pass_count() const { return digits_.size(); }
  void build(Device& device, const Capabilities& capabilities);

  // The calls of one sort, in this order: start(), clear() (or a kernel of the algorithm that sets
  // cleared() to 0), then partition() and sort() at most once each.

  // In place with an odd number of passes, copies the input.
  void start(Queue& queue, const Operands& operands) const { buffers_.start(queue, operands); }
  void clear(Queue& queue, const Operands& operands) const {
    queue.fill(cleared(operands), 0, cleared_.bytes, "clear");
  }
  [[nodiscard]] Memory cleared(const Operands& operands) const { return cleared_.in(operands); }
  // All passes, from the least significant digit to the most significant one. With
  // RadixPassOptions::rests, `rest_state` has two words on the device. If the first is not 0, only
  // a rest of the list is sorted, in its place: its keys are the first ones where pass 0 writes its
  // output, its values are the last ones there. The second word is its number of records. None of
  // them may tie with a key of other bits. The input is not read then, the memory of the output is
  // work space, and the keys are written even if Problem::keys_out is false.
  void sort(Queue& queue, const Operands& operands, Gate gate, Memory rest_state = {}) const;
  // Sorts all records between the caller's buffers, with RadixPassOptions::between. Passes write in
  // turn to the outputs of `first` and of `second`. The last one writes to those of `second` if the
  // number of digits is even, but no keys if Problem::keys_out is false. `rest_state`: two words on
  // the device. If the second word is 0, the two passes' outputs change places for values: what
  // would be written to the output of `first` is written to that of `second`, and the reverse.
  void sort_between(Queue& queue, const Operands& operands, const PingPong::Pass& first,
                    const PingPong::Pass& second, Gate gate, Memory rest_state) const;
  // True if the list is so short that sort_or_partition() may take the place of sort().
  [[nodiscard]] static bool may_partition(const Problem& problem, const Capabilities& device,
                                          const Parameters& given);
  // If no value of the 8-bit digit from bit `shift` on has more than `capacity` records, partitions
  // the list by it, from the input to the output of pass 0, writes `starts` (as for partition()),
  // and sets the word `skewed` to 0. Otherwise sorts the list, and sets the word to 1.
  void sort_or_partition(Queue& queue, const Operands& operands, std::uint32_t shift,
                         std::uint32_t capacity, Memory starts, Memory skewed) const;
  // If the word `gate` is `listed`, sorts contiguous parts of the output of two partitioning
  // passes, each in its place. `list` has these parts; see LISTED in radix_passes.cl. Call it
  // instead of sort() or after it: both use the same memory, so only one of them may run.
  void sort_listed(Queue& queue, const Operands& operands, Memory gate, Memory list) const;
  // One or two passes, from the leading digit on; the second sorts each segment that the first one
  // made. `starts` has the output index where each value of the two digits together begins, then
  // the end.
  // `spread`: the table of spread orders, with spread_bits. `stretch`: STRETCH_WORDS of stretch.cl,
  // if keys may be stretched.
  void partition(Queue& queue, const Operands& operands, Memory starts, Memory spread,
                 Memory stretch, const std::vector<Digit>& digits, Gate gate) const;
  // The same if the gate's word says that keys are mapped. `digits` are those of a bucket's number,
  // `map` is the map in global memory (key_map.cl).
  void partition_mapped(Queue& queue, const Operands& operands, Memory starts, Memory map,
                        const std::vector<Digit>& digits, Memory gate) const;

  // The same if keys are equalized. `entries`: from equalize.cl, with their head. The shift of the
  // second digit is that in an equalized key.
  void partition_equalized(Queue& queue, const Operands& operands, Memory starts, Memory entries,
                           const std::vector<Digit>& digits, Memory gate) const;

  // The buffers that the passes read and write.
  [[nodiscard]] const PingPong& buffers() const { return buffers_; }
  // The RadixPassOptions::cleared_bytes that belong to the algorithm.
  [[nodiscard]] Memory extension(const Operands& operands) const { return extension_.in(operands); }
  // A word that a kernel before sort() may set to not 0 if it has seen keys that tie: sort() then
  // need not look for them. It is 0 at first. Empty memory if no keys can tie.
  [[nodiscard]] Memory ties(const Operands& operands) const {
    return may_tie_ ? ties_.in(operands) : Memory{};
  }
  // True if keys with few digits are sorted in another shape than others, so that the gate's word
  // must tell them apart.
  [[nodiscard]] bool tells_few_digits() const { return sorts_.size() > 1; }

 private:
  struct Sort {
    RadixPassShape shape;
    std::shared_ptr<Module> module = nullptr;
    std::unique_ptr<Kernel> kernel = nullptr;
  };
  // The shape of the sort of keys that tie. Such lists have frequent keys, so their digits have few
  // values.
  [[nodiscard]] const RadixPassShape& tie_shape() const;
  // Histograms (of radix_rows.cl: the counts of groups of tiles) and states of one launch.
  struct Counts {
    ScratchLayout::Slice histograms, state;
  };
  void choose_shapes(const Capabilities& device, const Parameters& given,
                     const RadixPassOptions& options);
  void lay_out(const RadixPassOptions& options, ScratchLayout& layout);
  // What a kernel does; each is compiled from the same files.
  enum class Build : std::uint8_t {
    sort,
    sort_with_codes,
    sort_listed,
    partition,
    partition_mapped,
    partition_equalized
  };
  [[nodiscard]] std::shared_ptr<Module> build_kernel(Device& device,
                                                     const Capabilities& capabilities,
                                                     const RadixPassShape& shape, Build what) const;
  // The memory that only some launches have.
  struct Extra {
    Memory map{}, entries{}, spread{}, stretch{}, list{}, rest_state{};
    const PingPong::Pass *first = nullptr, *second = nullptr;  // buffers that replace buffers_
  };
  // How sort_or_partition() partitions.
  struct Leading {
    std::uint32_t shift = 0, capacity = 0;
    Memory starts{}, skewed{};
  };
  // Launches a sort by all digits, by one of the two kernels.
  void sort_all(Queue& queue, const Operands& operands, Kernel& kernel, const RadixPassShape& shape,
                const Counts& counts, Gate gate, Leading leading, Memory rest_state) const;
  void launch_rows(Queue& queue, const Operands& operands, Kernel& kernel,
                   const RadixPassShape& shape, const Counts& counts, Gate gate,
                   Leading leading) const;
  void launch(Queue& queue, const Operands& operands, Kernel& kernel, const RadixPassShape& shape,
              Memory starts, Memory state, const std::vector<Digit>& digits, Gate gate,
              std::string_view phase, Extra extra) const;

  Problem problem_;
  std::vector<Digit> digits_;
  PingPong buffers_;
  KeyMap map_;
  Equalizer equalizer_;
  unsigned spread_bits_ = 0;
  bool class_digits_ = false;
  bool stretches_ = false;
  unsigned count_bits_ = 0;      // bits of a count in the look-back table
  bool segmented_ = false;       // partition() may be called
  bool codes_ = false;           // floats: passes work on codes; see CODES in radix_pass_tiles.cl
  bool lists_ = false;           // RadixPassOptions::lists
  bool tries_leading_ = false;   // RadixPassOptions::tries_leading
  bool rests_ = false;           // RadixPassOptions::rests
  bool between_ = false;         // RadixPassOptions::between
  bool may_tie_ = false;         // codes could lose ties, so a launch without codes stands by
  bool long_counts_ = false;     // counts do not fit count_bits_
  RadixPassShape shape_;         // of partition(), and the one that parameters() reports
  RadixPassShape mapped_shape_;  // of partition_mapped() or partition_equalized()
  std::vector<Sort> sorts_;      // of sort(); the second one is for few digits
  Counts counts_, tie_counts_;  // of the launch with codes or of integers; of the one without codes
  ScratchLayout::Slice partition_state_, ties_, marks_, look_, extension_, cleared_;
  std::shared_ptr<Module> ties_module_, listed_module_, segmented_module_, mapped_module_;
  std::unique_ptr<Kernel> sort_ties_, sort_listed_, partition_, partition_mapped_;
};

}  // namespace sortium
