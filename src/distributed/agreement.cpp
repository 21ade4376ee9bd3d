#include "agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <sortium/plan.hpp>

namespace sortium::distributed {

namespace {

constexpr std::size_t longest_text = 500;

// What one rank tells all others about itself.
struct Message {
  bool is_set = false;
  ErrorCode code = ErrorCode::device_failed;
  std::array<char, longest_text + 1> text{};  // ends with 0

  Message() = default;
  Message(ErrorCode c, const std::string& t) : is_set(true), code(c) {
    std::memcpy(text.data(), t.data(), std::min(t.size(), longest_text));
  }
};

std::vector<Message> all_messages(Communicator& communicator, const Message& mine) {
  const auto bytes = communicator.all_gather(std::as_bytes(std::span(&mine, 1)));
  std::vector<Message> all(bytes.size() / sizeof(Message));
  std::memcpy(static_cast<void*>(all.data()), bytes.data(), all.size() * sizeof(Message));
  return all;
}

Message failure_of(std::uint64_t bytes, const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& e) {
    return {e.code(), e.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory,
            fmt::format("the host has no memory left for a sort with {} bytes of records", bytes)};
  } catch (const std::exception& e) {
    return {ErrorCode::device_failed, e.what()};
  }
}

[[noreturn]] void throw_first_failure(Communicator& communicator, const Message& mine) {
  const auto all = all_messages(communicator, mine);
  const auto first = std::ranges::find_if(all, [](const Message& m) { return m.is_set; });
  throw Error(first->code, fmt::format("rank {} of {}: {}", first - all.begin(), all.size(),
                                       first->text.data()));
}

// FNV-1a
std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const unsigned char c : text) h = (h ^ c) * 0x100000001b3u;
  return h;
}

}  // namespace

void together(Communicator& communicator, std::uint64_t bytes, const std::function<void()>& work) {
  const Message mine = failure_of(bytes, work);
  std::uint64_t failed = mine.is_set ? 1 : 0;
  communicator.all_reduce({&failed, 1}, Reduction::max);
  if (failed != 0) throw_first_failure(communicator, mine);
}

void agree_on(Communicator& communicator, std::uint64_t bytes,
              const std::function<std::string()>& work) {
  std::string call;
  const Message mine = failure_of(bytes, [&] { call = work(); });
  // The maximum of ~h is the complement of the minimum of h.
  std::array<std::uint64_t, 3> most{mine.is_set ? 1u : 0u, hash(call), ~hash(call)};
  communicator.all_reduce(most, Reduction::max);
  if (most[0] != 0) throw_first_failure(communicator, mine);
  if (most[1] == ~most[2]) return;
  const auto all = all_messages(communicator, {ErrorCode::invalid_argument, call});
  const auto other = std::ranges::find_if(
      all, [&](const Message& m) { return std::strcmp(m.text.data(), all[0].text.data()) != 0; });
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the ranks' calls differ: rank 0: {}; rank {}: {}", all[0].text.data(),
                          other - all.begin(), other == all.end() ? "?" : other->text.data()));
}

void validate_method(const std::string& algorithm) {
  if (algorithm == "auto") return;
  for (const auto& a : algorithms())
    if (a.name == algorithm && (!a.stable || a.partial))
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("algorithm {} is not allowed: a distributed sort needs a stable one that "
                      "sorts the whole list",
                      a.name));
}

std::string describe(const Problem& p) {
  const auto& type = info(p.key);
  std::string text = fmt::format("{} keys", type.name);
  if (p.payload == Payload::values) text += fmt::format(" with values of {} bytes", p.value_bytes);
  if (p.payload == Payload::positions)
    text += fmt::format(" {} positions of {} bytes", p.keys_out ? "with" : "for", p.value_bytes);
  text += p.order == Order::ascending ? ", ascending" : ", descending";
  text += fmt::format(", bits {} to {}", p.begin_bit, p.begin_bit + key_bits(p));
  if (type.is_float)
    text += fmt::format(", NaN order {}, zero order {}", static_cast<int>(p.nan),
                        static_cast<int>(p.zeros));
  return text;
}

std::string describe(const RecordProblem& p) {
  const std::string positions =
      p.position_bytes == 0 ? "" : fmt::format(" and positions of {} bytes", p.position_bytes);
  std::string text = "records with columns of";
  for (const auto& c : p.columns)
    text += fmt::format(" {}{}", c.bytes, c.moved == Moved::no ? " (not moved)" : "");
  text += fmt::format(" bytes{}, by", positions);
  for (const auto& f : p.key)
    text += fmt::format(" {}@{}+{} {} bits {}-{} {}{}", f.type.name(), f.column, f.offset,
                        f.order == Order::ascending ? "ascending" : "descending", f.begin_bit,
                        f.end_bit, static_cast<int>(f.nan), static_cast<int>(f.zeros));
  return text;
}

}  // namespace sortium::distributed
