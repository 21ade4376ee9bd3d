#include "tuning.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../core/environment.hpp"
#include "../core/warnings.hpp"
#include "embedded.hpp"

namespace sortium::tuning {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uintmax_t most_file_bytes = 1 << 24;  // an entry has some 150 bytes

[[noreturn]] void refuse(const std::string& origin, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("tuning file {}: {}", origin, what));
}

unsigned number_of(const std::string& name, const json& value) {
  constexpr unsigned most = ~0u;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    throw std::invalid_argument(
        fmt::format("has {} {}; a whole number from 0 to {} is allowed", name, value.dump(), most));
  return value.get<unsigned>();
}

Entry entry_of(const json& j) {
  Entry e;
  for (const auto& [name, value] : j.items()) {
    if (name == "device")
      value.get_to(e.device);
    else if (name == "backend")
      value.get_to(e.backend);
    else if (name == "algorithm")
      value.get_to(e.algorithm);
    else if (name == "key_bytes")
      e.key_bytes = number_of(name, value);
    else if (name == "value_bytes")
      e.value_bytes = number_of(name, value);
    else if (name == "log2_count")
      e.log2_count = number_of(name, value);
    else if (name == "parameters")
      value.get_to(e.parameters);
    else if (name == "gain")
      value.get_to(e.gain);
    else
      throw std::invalid_argument("has an unknown member '" + name + "'");
  }
  for (const auto* needed : {"device", "backend", "algorithm", "parameters", "log2_count"})
    if (!j.contains(needed)) throw std::invalid_argument(fmt::format("has no member '{}'", needed));
  return e;
}

// Returns the entries of the user's file. A file that cannot be read or understood causes a
// warning, not an error: sorts work without tuned parameters.
std::vector<Entry> read_users_file() {
  const std::string file = user_file();
  if (file.empty()) return {};
  try {
    std::error_code missing;
    if (!fs::exists(file, missing) && environment("SORTIUM_TUNING") == nullptr)
      return {};  // the user did not name this file, so it may be missing
    return read(file);
  } catch (const Error& e) {
    warn(fmt::format("tuned parameters are ignored: {}", e.what()));
    return {};
  }
}

Tables read_tables() {
  const char* const set = environment("SORTIUM_TUNING");
  if (set != nullptr && std::string_view(set) == "off") return {};
  return {read_users_file(), parse(kernels::embedded::tuned_json.text, "of the library")};
}

}  // namespace

std::vector<Entry> parse(std::string_view text, const std::string& origin) {
  std::vector<Entry> entries;
  try {
    const json root = json::parse(text);
    if (!root.is_object() || !root.contains("tuned") || !root["tuned"].is_array())
      refuse(origin, "is not {\"tuned\": [entries]}");
    for (const auto& j : root.at("tuned")) {
      try {
        entries.push_back(entry_of(j));
      } catch (const std::exception& e) {
        refuse(origin, fmt::format("entry {} {}", entries.size(), e.what()));
      }
    }
  } catch (const json::exception& e) {
    refuse(origin, e.what());
  }
  return entries;
}

std::vector<Entry> read(const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) && !error) refuse(file, "is not a regular file");
  if (const auto bytes = error ? 0 : fs::file_size(file, error); !error && bytes > most_file_bytes)
    refuse(file, fmt::format("has {} bytes; up to {} are read", bytes, most_file_bytes));
  std::ifstream in(file);
  if (!in) refuse(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  return parse(text.str(), file);
}

std::string print(const std::vector<Entry>& entries) {
  std::string out = "{\"tuned\": [";
  const char* separator = "\n";
  for (const auto& e : entries) {  // one line for each entry, so that diffs are readable
    nlohmann::ordered_json j;
    j["device"] = e.device;
    j["backend"] = e.backend;
    j["algorithm"] = e.algorithm;
    j["key_bytes"] = e.key_bytes;
    j["value_bytes"] = e.value_bytes;
    j["log2_count"] = e.log2_count;
    j["parameters"] = e.parameters;
    j["gain"] = std::round(e.gain * 1000) / 1000;
    out += separator + j.dump();
    separator = ",\n";
  }
  return out + "\n]}\n";
}

const Tables& tables() {
  static const Tables read = read_tables();
  return read;
}

std::string user_file() {
  if (const char* set = environment("SORTIUM_TUNING"))
    return std::string_view(set) == "off" ? "" : set;
  if (const char* xdg = environment("XDG_CONFIG_HOME"); xdg && *xdg)
    return fmt::format("{}/sortium/tuned.json", xdg);
  if (const char* home = environment("HOME"); home && *home)
    return fmt::format("{}/.config/sortium/tuned.json", home);
  return "";
}

}  // namespace sortium::tuning
