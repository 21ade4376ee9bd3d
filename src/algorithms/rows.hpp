// Records that `sample` sorts as rows. A row has the elements of some columns, side by side. So
// records are read and written in order, and at random only in a core's cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium {

// The functions are called by several threads at once, and must not throw.
class Rows {
 public:
  // `words`: the number of 64-bit words of a record's key.
  Rows(std::uint64_t count, unsigned row_bytes, unsigned words)
      : count_(count), row_bytes_(row_bytes), words_(words) {}
  virtual ~Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // Writes the most significant word of each of the records [begin, begin + records).
  virtual void first_words(std::uint64_t begin, std::uint64_t records, std::uint64_t* to) const = 0;
  // Copies record begin + places[i] of the input to row i, which begins at rows + i * row_bytes().
  virtual void load(std::uint64_t begin, const std::uint32_t* places, std::uint64_t records,
                    std::byte* rows) const = 0;
  // Writes word `word` of row places[i] to to[i]. Word 0, the most significant one, is not asked
  // for.
  virtual void words_of(unsigned word, const std::byte* rows, const std::uint32_t* places,
                        std::uint64_t records, std::uint64_t* to) const = 0;
  // Copies row places[i] to record begin + i of the output.
  virtual void store(std::uint64_t begin, const std::byte* rows, const std::uint32_t* places,
                     std::uint64_t records) const = 0;

  [[nodiscard]] std::uint64_t count() const { return count_; }  // records
  [[nodiscard]] unsigned row_bytes() const { return row_bytes_; }
  [[nodiscard]] unsigned words() const { return words_; }

 private:
  std::uint64_t count_;
  unsigned row_bytes_, words_;
};

}  // namespace sortium
