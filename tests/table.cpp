#include "table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "support.hpp"

namespace sortium::test {

namespace {

struct Form {
  Payload payload;
  unsigned value_bytes;
  bool keys_out;
};
constexpr std::array<Form, 7> forms{{{Payload::none, 0, true},
                                     {Payload::values, 4, true},
                                     {Payload::values, 8, true},
                                     {Payload::positions, 4, true},
                                     {Payload::positions, 8, true},
                                     {Payload::positions, 4, false},
                                     {Payload::positions, 8, false}}};

struct Bits {
  unsigned begin, end;
};
constexpr unsigned bit_ranges = 6;
Bits bits(unsigned index, KeyType key) {
  const unsigned all = info(key).bits();
  const std::array<Bits, bit_ranges> ranges{{{0, 0},
                                             {0, std::min(10u, all - 1)},
                                             {3, std::min(28u, all - 1)},
                                             {0, 1},
                                             {all - 1, 0},
                                             {all * 5 / 8, all - 1 - all / 16}}};
  return ranges[index];
}

// The factors of a case, as small numbers.
enum Factor : std::uint8_t { key, order, form, range, place, size, distribution, factors };
using Row = std::array<unsigned, factors>;

class Pairs {
 public:
  // What a row adds to the table. Rows are compared by their number of new pairs, then by how rare
  // their other pairs are.
  struct Worth {
    int fresh = 0;
    double rare = 0;
    bool operator>(const Worth& o) const {
      return fresh != o.fresh ? fresh > o.fresh : rare > o.rare;
    }
  };
  Worth worth(const Row& row) {
    Worth w;
    each(row, [&](unsigned& seen) {
      w.fresh += seen == 0;
      w.rare += 1.0 / (1 + seen);
    });
    return w;
  }
  void take(const Row& row) {
    each(row, [](unsigned& seen) { ++seen; });
  }
  [[nodiscard]] Table summary(unsigned often) const {
    Table t;
    for (const auto& [pair, seen] : seen_) {
      const auto [a, value_a, b, value_b] = pair;
      if ((a == size && value_a >= often) || (b == size && value_b >= often)) continue;
      ++t.pairs;
      t.missing += seen == 0;
    }
    return t;
  }

 private:
  template <class F>
  void each(const Row& row, F&& f) {
    for (unsigned a = 0; a < factors; ++a)
      for (unsigned b = a + 1; b < factors; ++b) f(seen_[{a, row[a], b, row[b]}]);
  }
  std::map<std::array<unsigned, 4>, unsigned> seen_;  // every pair that was ever a candidate
};

}  // namespace

std::vector<Shape> shapes(Depth depth, unsigned turn, bool bits_are_compiled_in) {
  std::vector<Shape> out;
  constexpr std::array<unsigned, 3> value_bytes{0, 4, 8};
  constexpr unsigned main_types = 6;  // the first ones, of 4 and 8 bytes
  const bool each_type_once = depth == Depth::few || depth == Depth::narrow;
  for (unsigned v = 0; v < value_bytes.size(); ++v) {
    for (unsigned k = 0; k < main_types; ++k) {
      if (each_type_once && (k + turn) % 3 != v) continue;
      if (depth == Depth::few && k != turn % 3 && k != 3 + (turn + 1) % 3) continue;
      const bool descending = each_type_once ? (k / 3 + turn) % 2 == 0 : (k + v + turn) % 2 == 0;
      for (const auto o : {Order::ascending, Order::descending})
        if (depth == Depth::full || (o == Order::descending) == descending)
          out.push_back({all_key_types[k], value_bytes[v], o});
    }
    for (unsigned k = main_types; k < all_key_types.size(); ++k) {
      if ((k + turn) % 3 != v) continue;
      if (depth == Depth::few && (k + turn) % 6 != 0) continue;
      if (depth == Depth::narrow && (k + turn) % 6 != 0 && (k + turn) % 6 != 4) continue;
      out.push_back({all_key_types[k], value_bytes[v],
                     (k + v + turn) % 2 == 0 ? Order::ascending : Order::descending});
    }
  }
  // Every other float type has a policy that is not the default.
  constexpr std::array<std::pair<NanOrder, ZeroOrder>, 5> policies{
      {{NanOrder::first, ZeroOrder::tied},
       {NanOrder::bits, ZeroOrder::distinct},
       {NanOrder::first, ZeroOrder::distinct},
       {NanOrder::last, ZeroOrder::distinct},
       {NanOrder::bits, ZeroOrder::tied}}};
  unsigned floats = turn;
  for (auto& shape : out)
    if (info(shape.key).is_float && ++floats % 2 == 0)
      std::tie(shape.nan, shape.zeros) = policies[floats / 2 % policies.size()];
  if (bits_are_compiled_in)  // every second shape has all bits, the others one bit range each
    for (unsigned i = 0; i < out.size(); ++i)
      out[i].bits = i % 2 == 0 ? 0 : static_cast<int>(1 + (i / 2 + turn) % (bit_ranges - 1));
  return out;
}

Table make_table(const std::vector<Shape>& shapes, const Sizes& sizes, unsigned turn) {
  std::vector<std::uint64_t> counts = sizes.often;
  counts.insert(counts.end(), sizes.seldom.begin(), sizes.seldom.end());
  Pairs pairs;
  Random random(turn);
  std::vector<Case> cases;
  for (unsigned i = 0; i < shapes.size(); ++i) {
    const auto& shape = shapes[i];
    unsigned first_form = 1;
    for (unsigned f = 0; f < forms.size(); ++f) {
      if (forms[f].value_bytes != shape.value_bytes) continue;
      for (unsigned n = 0; n < counts.size(); ++n) {
        if (n >= sizes.often.size() && ((i + n + turn) % 3 != 0 || !first_form)) continue;
        Row best{};
        Pairs::Worth best_worth{-1, 0};
        const unsigned start =
            static_cast<unsigned>(random.below(100));  // chooses at random among equally good rows
        for (unsigned r = 0; r < bit_ranges; ++r)
          for (unsigned p = 0; p < (forms[f].keys_out ? 2u : 1u); ++p)
            for (unsigned d = 0; d < all_distributions.size(); ++d) {
              if (shape.bits >= 0 && r != static_cast<unsigned>(shape.bits)) continue;
              const auto turned = static_cast<unsigned>((d + start) % all_distributions.size());
              const Row row{static_cast<unsigned>(shape.key),
                            static_cast<unsigned>(shape.order),
                            f,
                            r,
                            p,
                            n,
                            turned};
              if (const auto w = pairs.worth(row); w > best_worth) best = row, best_worth = w;
            }
        pairs.take(best);
        Case c;
        c.problem = {.key = shape.key,
                     .count = counts[n],
                     .payload = forms[f].payload,
                     .value_bytes = shape.value_bytes == 0 ? 4 : shape.value_bytes,
                     .keys_out = forms[f].keys_out,
                     .order = shape.order,
                     .begin_bit = bits(best[range], shape.key).begin,
                     .end_bit = bits(best[range], shape.key).end,
                     .nan = shape.nan,
                     .zeros = shape.zeros};
        c.in_place = best[place] == 1;
        c.distribution = all_distributions[best[distribution]];
        c.seed = random.next();
        cases.push_back(c);
      }
      first_form = 0;
    }
  }
  Table table = pairs.summary(static_cast<unsigned>(sizes.often.size()));
  table.cases = std::move(cases);
  return table;
}

}  // namespace sortium::test
