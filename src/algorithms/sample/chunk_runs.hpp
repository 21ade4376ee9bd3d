// Finds order in a short list of codes: ascending and descending runs, interleaved runs, or codes
// that ascend but for a few strays. Rearranges the codes so that they are some ascending runs.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>

#include "merge_pieces.hpp"
#include "order_words.hpp"

namespace sortium::sample {

template <class Key>
struct ChunkRuns {
  // The most runs that are merged: log2 of this number of merges take as long as a sort.
  static constexpr std::size_t most = sizeof(Key) == 4 ? 128 : 512;
  static constexpr std::size_t least_run = 128;   // mean codes of a run; shorter runs are sorted
  static constexpr std::size_t stray_share = 16;  // at most one of so many codes is out of order

  // Makes runs: run r ends before codes[ends[r]], and `ends` has `most` elements. Returns their
  // number, or 0 with the codes in any order if sorting them takes less time than merging runs.
  // `spare` has space for all codes.
  static std::size_t make(Key* codes, std::size_t count, Key* spare, std::size_t* ends) {
    if (const std::size_t runs = runs_and_tail(codes, count, ends); runs != 0) return runs;
    if (const std::size_t runs = interleaved_runs(codes, count, spare, ends); runs != 0)
      return runs;
    const Steps steps = steps_of(codes, count);
    if (steps.strays > steps.falls / 2) return runs_without_strays(codes, count, spare, ends);
    return count / least_run > few
               ? natural_runs(codes, count, ends, std::min(most, count / least_run))
               : 0;
  }

  // Merges such runs in `codes`. Overwrites `ends`.
  static void merge(Key* codes, std::size_t count, Key* spare, std::size_t* ends,
                    std::size_t runs) {
    std::size_t begins[most + 1] = {0};
    std::copy_n(ends, runs, begins + 1);
    if (merge_pieces<most>(codes, spare, begins, runs) != codes)
      std::memcpy(codes, spare, count * sizeof(Key));
    ends[0] = count;
  }

  // Returns how many runs a sample of at most 512 neighbours is, up to `allowed`, at most 4; 1 if
  // it ascends but for a few strays; 0 if it is neither. Changes the sample.
  static std::size_t runs_of_sample(Key* codes, std::size_t count, std::size_t allowed) {
    Piece pieces[most_sample / least_run];
    Key strays[most_sample / stray_share];
    if (const std::size_t runs = find_pieces(codes, count, pieces, allowed); runs != 0) return runs;
    return move_strays(codes, count, strays, count / stray_share) != 0 ? 1 : 0;
  }

 private:
  static constexpr std::size_t few = 16;         // runs that need no look at all codes
  static constexpr std::size_t tail_share = 16;  // behind few runs, at most one of so many codes
  static constexpr std::size_t glanced = 4, least_glanced = 64;  // codes of the first pieces
  static constexpr std::size_t most_sample = 512, most_stride = 64;
  static constexpr std::size_t most_interleaved = sizeof(Key) == 4 ? 32 : 64;

  // An ascending run of codes, or one that descends.
  struct Piece {
    std::size_t begin, end;
    bool falls;
  };
  static Piece piece_from(const Key* codes, std::size_t begin, std::size_t count) {
    const std::size_t left = count - begin;
    const std::size_t length = ascending(codes + begin, left, Coding<Key>{});
    if (length > 1 || left == 1) return {begin, begin + length, false};
    return {begin, begin + descending(codes + begin, left, Coding<Key>{}), true};
  }
  // Returns the number of pieces; 0 if there are more than `allowed`.
  static std::size_t find_pieces(const Key* codes, std::size_t count, Piece* pieces,
                                 std::size_t allowed) {
    std::size_t found = 0;
    for (std::size_t begin = 0; begin < count; begin = pieces[found++].end) {
      if (found == allowed) return 0;
      pieces[found] = piece_from(codes, begin, count);
    }
    return found;
  }
  // Reverses the pieces that descend, and joins neighbours that ascend together. Returns the number
  // of runs.
  static std::size_t join(Key* codes, const Piece* pieces, std::size_t count, std::size_t* ends) {
    std::size_t runs = 0;
    for (std::size_t p = 0; p < count; ++p) {
      const auto [begin, end, falls] = pieces[p];
      const std::size_t length = end - begin;
      if (falls) swap_reversed(codes + begin, codes + begin + (length + 1) / 2, length / 2);
      if (runs != 0 && codes[begin - 1] <= codes[begin]) --runs;
      ends[runs++] = end;
    }
    return runs;
  }
  // Returns the number of runs; 0, with the codes unchanged, if they have more than `allowed`
  // pieces.
  static std::size_t natural_runs(Key* codes, std::size_t count, std::size_t* ends,
                                  std::size_t allowed) {
    Piece pieces[most];
    return join(codes, pieces, find_pieces(codes, count, pieces, allowed), ends);
  }
  // Finds a few runs, perhaps with codes in any order behind them, which are sorted. Returns as
  // natural_runs() does.
  static std::size_t runs_and_tail(Key* codes, std::size_t count, std::size_t* ends) {
    Piece pieces[few + 1];
    const std::size_t allowed = std::min(few, count / least_run);
    std::size_t found = 0, begin = 0;
    for (; begin < count; begin = pieces[found++].end) {
      const bool is_tail = count - begin <= count / tail_share;
      if (!is_tail && (found >= allowed || (found == glanced && begin < least_glanced))) return 0;
      pieces[found] = piece_from(codes, begin, count);
      if (is_tail && pieces[found].end != count) break;
    }
    if (begin < count) {
      sort_codes(codes + begin, count - begin);
      pieces[found++] = {begin, count, false};
    }
    return join(codes, pieces, found, ends);
  }

  // Interleaved runs of which each is above another one are joined. Returns 0, with the codes
  // unchanged, if there are none or too many.
  static std::size_t interleaved_runs(Key* codes, std::size_t count, Key* spare,
                                      std::size_t* ends) {
    const std::size_t stride = stride_of(codes, count);
    if (stride == 0) return 0;
    std::size_t begins[most_stride + 1] = {0}, order[most_stride];
    for (std::size_t r = 0; r < stride; ++r)
      begins[r + 1] = begins[r] + (count - r + stride - 1) / stride;
    const auto last = [&](std::size_t r) {
      return codes[(begins[r + 1] - begins[r] - 1) * stride + r];
    };
    std::size_t overlapping = 0;
    for (std::size_t r = 0; r < stride; ++r)
      overlapping += codes[r] < last(0) && codes[0] < last(r);
    if (overlapping > most_interleaved || overlapping * least_run > count) return 0;
    std::iota(order, order + stride, std::size_t{0});
    std::stable_sort(order, order + stride,
                     [&](std::size_t a, std::size_t b) { return codes[a] < codes[b]; });
    std::size_t joined = 1;
    for (std::size_t k = 1; k < stride; ++k) joined += last(order[k - 1]) > codes[order[k]];
    if (joined > most_interleaved || joined * least_run > count) return 0;

    separate(codes, count, stride, begins, spare);
    std::size_t runs = 0, to = 0;
    for (std::size_t k = 0; k < stride; ++k) {
      const Key* const run = spare + begins[order[k]];
      const std::size_t length = begins[order[k] + 1] - begins[order[k]];
      if (to != 0 && codes[to - 1] <= run[0]) --runs;
      std::memcpy(codes + to, run, length * sizeof(Key));
      ends[runs++] = to += length;
    }
    return runs;
  }
  // Copies codes i, i + stride, … to spare[begins[i]] and behind. A few codes of all runs at a
  // time, because codes that are `stride` apart lie in different cache lines.
  static void separate(const Key* codes, std::size_t count, std::size_t stride,
                       const std::size_t* begins, Key* spare) {
    const std::size_t rows = 1024 / stride;
    for (std::size_t row = 0; row * stride < count; row += rows)
      for (std::size_t r = 0; r < stride; ++r) {
        Key* const to = spare + begins[r];
        const std::size_t end = std::min(row + rows, begins[r + 1] - begins[r]);
        std::size_t i = row;
        for (; i + 4 <= end; i += 4) {
          const Key* const from = codes + i * stride + r;
          to[i] = from[0], to[i + 1] = from[stride];
          to[i + 2] = from[2 * stride], to[i + 3] = from[3 * stride];
        }
        for (; i < end; ++i) to[i] = codes[i * stride + r];
      }
  }

  // If all codes ascend except for a few, makes a run of these and a run of the others.
  static std::size_t runs_without_strays(Key* codes, std::size_t count, Key* spare,
                                         std::size_t* ends) {
    const std::size_t kept = move_strays(codes, count, spare, count / stray_share);
    if (kept == 0) return 0;
    sort_codes(codes + kept, count - kept);
    ends[0] = kept;
    ends[1] = count;
    return 2;
  }
};

}  // namespace sortium::sample
