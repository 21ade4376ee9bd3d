// Fuzzes the reader of text. What it reads, the writer must write so that it reads back as the
// same. The first byte is the type.
#include "io/text.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto type = sortium::all_key_types[data[0] % sortium::all_key_types.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::may_refuse([&] {
    const unsigned width = sortium::info(type).bytes;
    const app::Bytes keys = app::parse_text(text, type, fuzz::no_progress());
    std::string lines;
    app::format_text(lines, keys.data(), keys.size() / width, type);
    const app::Bytes again = app::parse_text(lines, type, fuzz::no_progress());
    fuzz::require(keys.size() == again.size(), "as many lines as keys");
    for (std::uint64_t i = 0; i < keys.size() / width; ++i) {
      const auto key = app::element(keys.data(), width, i);
      const std::string word = app::format_key(key, type);
      fuzz::require(key == app::element(again.data(), width, i) || word.find("nan") != word.npos,
                    "each number reads back");
    }
  });
  return 0;
}
