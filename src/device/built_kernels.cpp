#include "built_kernels.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sortium/types.hpp>
#include <span>

#include "../core/environment.hpp"
#include "../core/own_file.hpp"
#include "../core/warnings.hpp"
#include "similar_order.hpp"

namespace sortium::cuda {

namespace {

namespace fs = std::filesystem;

constexpr char magic[8] = {'S', 'O', 'R', 'T', 'K', 'R', 'N', '1'};
constexpr const char* folder = "sortium-kernels";
constexpr std::uint32_t most_block_bytes = 64u << 20;

// FNV-1a with 128 bits.
struct Hash {
  std::uint64_t high = 0, low = 0;
  friend auto operator<=>(const Hash&, const Hash&) = default;
};

Hash hash(std::span<const std::byte> data) {
  unsigned __int128 h =
      static_cast<unsigned __int128>(0x6c62272e07bb0142u) << 64 | 0x62b821756295c58du;
  constexpr unsigned __int128 prime = static_cast<unsigned __int128>(0x1000000u) << 64 | 0x13bu;
  for (const auto b : data) h = (h ^ static_cast<unsigned char>(b)) * prime;
  return {static_cast<std::uint64_t>(h >> 64), static_cast<std::uint64_t>(h)};
}
Hash hash(std::string_view text) { return hash(std::as_bytes(std::span(text))); }

// A file consists of this header, the entries in ascending order of Entry::source, the block table,
// and the blocks' data. Each block is compressed as .xz. A block holds similar codes, which
// compress well together.
struct Header {
  char magic[8];
  std::uint64_t entries, blocks;
  Hash table_hash;  // of entries and blocks
};
struct Entry {
  Hash source, code;                   // code: of the decompressed code
  std::uint32_t block, offset, bytes;  // where the code lies in its block
  std::uint32_t padding;
};
struct Block {
  std::uint64_t offset;               // from the start of the file
  std::uint32_t packed_bytes, bytes;  // compressed, and decompressed
};
static_assert(sizeof(Header) == 40 && sizeof(Entry) == 48 && sizeof(Block) == 16);

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the built kernels in {} are not used: {}", path, why));
}

// True if only root, this user or the library's owner can write to the file. Trusting the library's
// owner adds no risk: that user can replace the library itself.
bool is_trusted(const struct stat& s) {
  struct stat own {};
  const bool is_owners = stat(own_file().c_str(), &own) == 0 && own.st_uid == s.st_uid;
  return (s.st_uid == 0 || s.st_uid == geteuid() || is_owners) &&
         (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::vector<fs::path> directories() {
  if (const char* set = environment("SORTIUM_BUILT_KERNELS"); set != nullptr && *set != '\0') {
    if (std::string_view(set) == "off") return {};
    return {set};
  }
  std::error_code error;
  const fs::path own = fs::canonical(own_file(), error).parent_path();
  if (error) return {};
  return {own / folder, own.parent_path() / SORTIUM_LIBDIR / folder};
}

// Returns the directory's file of machine code for `arch`, or for the latest earlier architecture
// of the same major version. Else returns its file of PTX for the latest architecture up to `arch`.
std::optional<fs::path> file_in(const fs::path& directory, int arch) {
  std::error_code error;
  for (int same = arch; same / 10 == arch / 10; --same)
    if (auto file = directory / Target{same, false}.name(); fs::exists(file, error)) return file;
  for (int older = arch; older > 0; --older)
    if (auto file = directory / Target{older, true}.name(); fs::exists(file, error)) return file;
  return std::nullopt;
}

}  // namespace

std::string Target::name() const { return fmt::format("{}_{}", ptx ? "ptx" : "sm", arch); }

// A file of built kernels, mapped into memory.
struct BuiltKernels::File {
  explicit File(const std::string& name) : path(name) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) refuse(path, "it cannot be opened");
    struct stat s {};
    const bool known = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
    const bool trusted = known && is_trusted(s);
    if (trusted && s.st_size >= static_cast<off_t>(sizeof(Header))) {
      bytes = static_cast<std::size_t>(s.st_size);
      void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
      data = mapped == MAP_FAILED ? nullptr : static_cast<const std::byte*>(mapped);
    }
    close(fd);
    if (!trusted) refuse(path, known ? "other users may write to it" : "it is no regular file");
    if (data == nullptr) refuse(path, "it cannot be read");
  }
  ~File() {
    if (data != nullptr) munmap(const_cast<std::byte*>(data), bytes);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::span<const Entry> entries;
  std::span<const Block> blocks;

  // Returns the decompressed block; empty if the block is damaged.
  [[nodiscard]] std::vector<std::byte> read(const Block& block) const {
    if (block.offset > bytes || block.packed_bytes > bytes - block.offset ||
        block.bytes > most_block_bytes)
      return {};
    std::vector<std::byte> out(block.bytes);
    std::uint64_t memory = std::uint64_t{1} << 30;
    std::size_t in_at = 0, out_at = 0;
    const auto result = lzma_stream_buffer_decode(
        &memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(data + block.offset), &in_at,
        block.packed_bytes, reinterpret_cast<std::uint8_t*>(out.data()), &out_at, out.size());
    return result == LZMA_OK && out_at == out.size() ? out : std::vector<std::byte>();
  }
};

BuiltKernels::BuiltKernels(const std::string& path) : file_(std::make_unique<File>(path)) {
  Header header{};
  std::memcpy(&header, file_->data, sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0)
    refuse(path, "it is not a file of built kernels");
  const std::uint64_t left = file_->bytes - sizeof header;
  if (header.entries > left / sizeof(Entry) ||
      header.blocks > (left - header.entries * sizeof(Entry)) / sizeof(Block))
    refuse(path, "it is incomplete");
  const std::byte* const entries = file_->data + sizeof header;
  file_->entries = {reinterpret_cast<const Entry*>(entries),
                    static_cast<std::size_t>(header.entries)};
  file_->blocks = {reinterpret_cast<const Block*>(entries + file_->entries.size_bytes()),
                   static_cast<std::size_t>(header.blocks)};
  if (hash({entries, file_->entries.size_bytes() + file_->blocks.size_bytes()}) !=
      header.table_hash)
    refuse(path, "it is damaged");
}

BuiltKernels::~BuiltKernels() = default;

std::size_t BuiltKernels::count() const { return file_->entries.size(); }

std::vector<std::byte> BuiltKernels::find(std::string_view source) const {
  const Hash wanted = hash(source);
  const auto entry = std::ranges::lower_bound(file_->entries, wanted, {}, &Entry::source);
  if (entry == file_->entries.end() || entry->source != wanted) return {};
  const auto block = entry->block < file_->blocks.size() ? file_->read(file_->blocks[entry->block])
                                                         : std::vector<std::byte>();
  if (entry->offset <= block.size() && entry->bytes <= block.size() - entry->offset) {
    const auto code = std::span(block).subspan(entry->offset, entry->bytes);
    if (hash(code) == entry->code) return {code.begin(), code.end()};
  }
  warn(fmt::format("a built kernel in {} is damaged and not used", file_->path));
  return {};
}

std::unique_ptr<const BuiltKernels> BuiltKernels::find_for(int arch) {
  for (const auto& directory : directories())
    if (const auto file = file_in(directory, arch)) {
      try {
        return std::make_unique<const BuiltKernels>(file->string());
      } catch (const Error& e) {
        warn(e.what());
      }
    }
  return nullptr;
}

bool is_machine_code(std::span<const std::byte> code) {
  constexpr unsigned char elf[] = {0x7f, 'E', 'L', 'F'};
  return code.size() > sizeof elf && std::memcmp(code.data(), elf, sizeof elf) == 0;
}

namespace {

// Bytes of a block: some 40 kernels of machine code, which take 28 ms to decompress. Blocks of
// 2 MiB made the file of sm_90 5 % larger. PTX is longer, and the driver compiles it for seconds.
// Blocks of 8 MiB made its file 7 % larger.
std::size_t block_bytes(std::span<const std::byte> code) {
  return std::size_t{is_machine_code(code) ? 3u : 32u} << 20;
}

std::vector<std::uint8_t> compressed(std::span<const std::byte> block) {
  lzma_options_lzma options{};
  lzma_lzma_preset(&options, 9 | LZMA_PRESET_EXTREME);
  options.dict_size = static_cast<std::uint32_t>(
      std::max<std::size_t>(block.size(), LZMA_DICT_SIZE_MIN));  // allocated to decompress, too
  if (is_machine_code(block)) {  // instructions of 16 bytes: bytes are alike by their places there
    options.lc = 0;
    options.lp = options.pb = 4;
  }
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::vector<std::uint8_t> packed(lzma_stream_buffer_bound(block.size()));
  std::size_t bytes = 0;
  if (lzma_stream_buffer_encode(filters, LZMA_CHECK_NONE, nullptr,
                                reinterpret_cast<const std::uint8_t*>(block.data()), block.size(),
                                packed.data(), &bytes, packed.size()) != LZMA_OK)
    throw Error(ErrorCode::out_of_memory, "liblzma cannot compress the built kernels");
  packed.resize(bytes);
  return packed;
}

// The content of a file that is being made. Equal codes are written once.
struct Writer {
  std::vector<Entry> entries;
  std::vector<Block> blocks;
  std::vector<std::uint8_t> packed;
  std::vector<std::byte> block;  // the current block, not yet compressed

  // Returns where the code lies, as an entry without a source.
  Entry add(std::span<const std::byte> code) {
    if (block.size() + code.size() > block_bytes(code)) close_block();
    const Entry place{{},
                      hash(code),
                      static_cast<std::uint32_t>(blocks.size()),
                      static_cast<std::uint32_t>(block.size()),
                      static_cast<std::uint32_t>(code.size()),
                      0};
    block.insert(block.end(), code.begin(), code.end());
    return place;
  }
  void close_block() {
    if (block.empty()) return;
    const auto bytes = compressed(block);
    blocks.push_back({packed.size(), static_cast<std::uint32_t>(bytes.size()),
                      static_cast<std::uint32_t>(block.size())});
    packed.insert(packed.end(), bytes.begin(), bytes.end());
    block.clear();
  }
};

}  // namespace

void write_built_kernels(
    const std::string& path,
    const std::vector<std::pair<std::string, std::vector<std::byte>>>& kernels) {
  Writer made;
  std::vector<std::span<const std::byte>> codes;  // each distinct code once
  std::map<Hash, Entry> places;                   // by the hash of the code
  for (const auto& [source, code] : kernels)
    if (places.try_emplace(hash(std::span(code))).second) codes.emplace_back(code);
  const std::size_t limit = codes.empty() ? 0 : block_bytes(codes.front());
  for (const auto i : similar_order(codes, limit)) {
    const Entry place = made.add(codes[i]);
    places[place.code] = place;
  }
  made.close_block();
  for (const auto& [source, code] : kernels) {
    made.entries.push_back(places.at(hash(std::span(code))));
    made.entries.back().source = hash(source);
  }
  std::ranges::sort(made.entries, {}, &Entry::source);
  const auto entries = std::as_bytes(std::span(made.entries));
  std::vector<std::byte> table(entries.begin(), entries.end());
  for (auto& block : made.blocks)
    block.offset += sizeof(Header) + entries.size() + made.blocks.size() * sizeof(Block);
  const auto blocks = std::as_bytes(std::span(made.blocks));
  table.insert(table.end(), blocks.begin(), blocks.end());
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.entries = made.entries.size();
  header.blocks = made.blocks.size();
  header.table_hash = hash(std::span<const std::byte>(table));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(reinterpret_cast<const char*>(table.data()),
            static_cast<std::streamsize>(table.size()));
  out.write(reinterpret_cast<const char*>(made.packed.data()),
            static_cast<std::streamsize>(made.packed.size()));
  if (!out.flush()) throw Error(ErrorCode::device_failed, fmt::format("cannot write {}", path));
}

}  // namespace sortium::cuda
