#include "cli/lines.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sortium/lines.hpp>

#include "cli/algorithms.hpp"
#include "cli/memory.hpp"
#include "cli/sort.hpp"
#include "cli/stop.hpp"
#include "io/host_sort.hpp"
#include "io/input.hpp"
#include "io/output.hpp"

namespace app {

using sortium::LineOptions;
using sortium::LineReport;

namespace {

std::uint64_t parse_field(const std::string& text) {
  if (text.empty()) return 0;
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n == 0)
    refuse(fmt::format("--field '{}' is not the number of a field, which is 1 or more", text));
  return n;
}

std::optional<char> parse_separator(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (*text == "\\t") return '\t';
  if (*text == "\\0") return '\0';
  if (text->size() != 1)
    refuse(fmt::format("--separator '{}' has {} bytes; it must have one, or be \\t or \\0", *text,
                       text->size()));
  return text->front();
}

void check_line_usage(const SortOptions& o) {
  const std::pair<bool, const char*> excluded[] = {{o.text, "--text"},
                                                   {o.type.has_value(), "--type"},
                                                   {o.nan.has_value(), "--nan"},
                                                   {o.zeros.has_value(), "--zeros"},
                                                   {!o.bits.empty(), "--bits"},
                                                   {!o.by.empty(), "--by"},
                                                   {o.record.has_value(), "--record"},
                                                   {!o.key.empty(), "--key"},
                                                   {!o.segments.empty(), "--segments"},
                                                   {o.row_length != 0, "--row-length"},
                                                   {!o.values.empty(), "--values"},
                                                   {!o.values_out.empty(), "-o2"},
                                                   {o.value_bytes.has_value(), "--value-bytes"},
                                                   {o.argsort, "--argsort"},
                                                   {o.distributed, "--distributed"},
                                                   {o.in_place, "--in-place"},
                                                   {o.max_scratch_bytes != 0, "--max-scratch"},
                                                   {o.max_device_bytes != 0, "--max-device-bytes"},
                                                   {o.verify, "--verify"}};
  for (const auto& [is_set, name] : excluded)
    if (is_set) refuse(fmt::format("{} and --lines exclude each other", name));
  check_algorithm(o.algorithm);
  if (find_peer(o.algorithm) != nullptr)
    refuse(fmt::format("--algorithm {}: it sorts single keys, not lines", o.algorithm));
}

LineOptions line_options(const SortOptions& o) {
  return {.field = parse_field(o.field),
          .separator = parse_separator(o.separator),
          .numeric = o.numeric,
          .order = o.descending ? sortium::Order::descending : sortium::Order::ascending,
          .unique = o.unique,
          .device = o.device,
          .algorithm = o.algorithm,
          .parameters = o.parameters,
          .stop = StopOnSignals::flag()};
}

// One call of the command for lines.
class LineFileSort {
 public:
  LineFileSort(const SortOptions& options, LineOptions how)
      : o_(options),
        how_(std::move(how)),
        progress_(!options.quiet),
        out_(options.out),
        in_(options.in) {
    if (in_.is_regular()) how_.expected_bytes = in_.left();
    if (!how_.unique) out_.reserve(how_.expected_bytes);
    if (!is_limited()) return;
    how_.memory_bytes = parse_memory(options.memory);
    how_.temporary_directories = temporary_directories(options, out_);
    in_.bypass_cache();
    out_.bypass_cache();
  }

  void run() {
    progress_.phase(is_limited() ? "sorting runs" : "reading " + in_.name(), how_.expected_bytes);
    const LineReport report = sort();
    out_.publish();
    progress_.finish();
    if (!o_.quiet) print_error(summary(report));
  }

 private:
  [[nodiscard]] bool is_limited() const { return !o_.memory.empty(); }
  [[nodiscard]] LineReport sort() {
    const StopOnSignals stops;
    return with_memory_option(o_, [this] {
      return sortium::sort_lines(
          [this](void* to, std::uint64_t bytes) { return read(to, bytes); },
          [this](const void* from, std::uint64_t bytes) { write(from, bytes); }, how_);
    });
  }

  std::uint64_t read(void* to, std::uint64_t bytes) {
    const std::uint64_t n = in_.read(to, bytes);
    read_ += n;
    progress_.advance(n);
    if (n < bytes && !is_limited()) progress_.phase("sorting");
    return n;
  }
  void write(const void* from, std::uint64_t bytes) {
    if (!writes_) progress_.phase(is_limited() ? "merging" : "writing " + out_.name(), read_);
    writes_ = true;
    out_.write(from, bytes);
    progress_.advance(bytes);
  }

  [[nodiscard]] std::string summary(const LineReport& r) const {
    std::string line = fmt::format("{} lines", r.lines);
    if (how_.unique) line += fmt::format(", {} of them with different keys", r.written_lines);
    line += fmt::format(", {}, {}", r.device, r.algorithm);
    if (!r.parameters.empty()) line += fmt::format("({})", r.parameters);
    if (is_limited())
      return line + fmt::format(": {} run{}, {} of temporary files; runs {:.3f} s, merge {:.3f} s",
                                r.runs, r.runs == 1 ? "" : "s", human_bytes(r.temporary_bytes),
                                r.run_seconds, r.merge_seconds);
    return line + fmt::format(": reading {:.3f} s, sorting {:.3f} s, writing {:.3f} s",
                              r.read_seconds, r.sort_seconds, r.write_seconds);
  }

  const SortOptions& o_;
  LineOptions how_;
  Progress progress_;
  Output out_;  // opened first, so that an error shows before the sorting
  Input in_;
  std::uint64_t read_ = 0;
  bool writes_ = false;
};

}  // namespace

int sort_lines(const SortOptions& options) {
  check_line_usage(options);
  remove_temporaries_on_signals();
  LineFileSort(options, line_options(options)).run();
  return exit_success;
}

}  // namespace app
