// Checks of the source files alone: includes point only to lower floors (docs/design.md), and
// kernels avoid a trap of their dialect (src/kernels/dialect.md).
#include <cxxabi.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

// Returns the floor of a file, by its path from the root of the project. Returns nothing if the
// file may include headers of any floor.
std::optional<int> floor_of(const std::string& path) {
  const auto in = [&](const char* folder) { return path.starts_with(folder); };
  const auto header = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(
        names, [&](const char* name) { return path == std::string("include/sortium/") + name; });
  };
  if (in("src/core/") || header({"export.h", "types.hpp", "order.hpp", "problem.hpp",
                                 "algorithm_info.hpp", "core.hpp", "detail/key_order.h"}))
    return 0;
  if (in("src/device/") || header({"device.hpp"})) return 1;
  if (in("src/kernels/") || in("src/tuning/") || path == "embedded.hpp" ||
      header({"capabilities.hpp"}))
    return 2;
  if (in("src/algorithms/")) return 3;
  if (in("src/sort/") || in("src/files/") || in("src/c/") || in("src/distributed/") ||
      in("include/sortium/"))
    return 4;
  if (in("apps/") || in("python/") || in("tests/") || in("bench/")) return 5;
  return std::nullopt;
}

// Returns what is wrong with the includes of the file `path`, whose content is `text`.
std::vector<std::string> wrong_includes(const std::string& path, const std::string& text) {
  static const std::regex include("(^|\n)[ \t]*#[ \t]*include[ \t]*([\"<])([^\">]+)[\">]");
  static const std::regex vendor("(CL/|cuda|cub/|nvrtc|nvml|hip/|thrust/|level_zero/).*",
                                 std::regex::icase);
  std::vector<std::string> wrong;
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    const std::string name = (*it)[3];
    const bool quoted = (*it)[2] == "\"";
    const int from = floor_of(path).value();
    if (!quoted && from < 5 && !path.starts_with("src/device/") && std::regex_match(name, vendor))
      wrong.push_back(path + " includes the vendor's " + name + ", which only src/device/ may");
    std::string target = name;
    if (quoted && name != "embedded.hpp")
      target = (fs::path(path).parent_path() / name).lexically_normal().string();
    if (!quoted) target = "include/" + name;
    if (const auto to = floor_of(target); to && *to > from)
      wrong.push_back(path + " (floor " + std::to_string(from) + ") includes " + target +
                      " (floor " + std::to_string(*to) + ")");
  }
  return wrong;
}

TEST(Floors, IncludesPointDownward) {
  const fs::path root = SORTIUM_SOURCE_DIR;
  std::size_t files = 0;
  for (const auto* folder : {"include", "src", "apps"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".h" && extension != ".c")
        continue;
      const auto path = entry.path().lexically_relative(root).generic_string();
      ASSERT_TRUE(floor_of(path).has_value())
          << path << " is on no floor: say in this test on which";
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      for (const auto& wrong : wrong_includes(path, text.str())) ADD_FAILURE() << wrong;
      ++files;
    }
  EXPECT_GT(files, 20u);
}

TEST(Floors, UpwardIncludesAreSeen) {
  const auto wrong = [](const char* path, const char* text) {
    return wrong_includes(path, text).size();
  };
  EXPECT_EQ(wrong("src/device/opencl.cpp", "#include <CL/opencl.hpp>\n#include \"backends.hpp\"\n"),
            0u);
  EXPECT_EQ(wrong("src/algorithms/lsd/lsd.cpp", "// x\n#include \"../../kernels/kernels.hpp\"\n"),
            0u);
  EXPECT_EQ(wrong("src/kernels/build.cpp", "#include <CL/cl.h>\n"), 1u);
  EXPECT_EQ(
      wrong("src/kernels/build.cpp", "#include <map>\n#include \"../algorithms/algorithm.hpp\"\n"),
      1u);
  EXPECT_EQ(wrong("src/device/cuda.cpp", "#include <sortium/sortium.hpp>\n"), 1u);
  EXPECT_EQ(wrong("include/sortium/core.hpp", "  #  include <sortium/device.hpp>\n"), 1u);
}

// Returns the headers of the project that a public header includes.
std::vector<std::string> includes_of(const fs::path& header) {
  static const std::regex include("(^|\n)[ \t]*#[ \t]*include[ \t]*<(sortium/[^>]+)>");
  std::stringstream file;
  file << std::ifstream(header).rdbuf();
  const std::string text = file.str();
  std::vector<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it)
    names.push_back((*it)[2]);
  return names;
}

// Returns true if `header` includes `to`, directly or through other headers.
bool leads_to(const fs::path& root, const std::string& header, const std::string& to,
              std::set<std::string>& seen) {
  for (const auto& name : includes_of(root / header))
    if (name == to || (seen.insert(name).second && leads_to(root, name, to, seen))) return true;
  return false;
}

TEST(Floors, NoPublicHeaderIncludesBack) {
  const fs::path root = fs::path(SORTIUM_SOURCE_DIR) / "include";
  std::size_t headers = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const auto header = entry.path().lexically_relative(root).generic_string();
    std::set<std::string> seen;
    EXPECT_FALSE(leads_to(root, header, header, seen)) << header;
    EXPECT_FALSE(seen.contains("sortium/sortium.hpp")) << header << " includes the umbrella";
    ++headers;
  }
  EXPECT_GT(headers, 10u);
}

// A program with more rights than its user must not obey that user's variables.
TEST(Environment, IsReadByTheFunctionThatKnowsAboutRights) {
  const fs::path root = SORTIUM_SOURCE_DIR;
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "src")) {
    const auto extension = entry.path().extension().string();
    if (extension != ".hpp" && extension != ".cpp") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(text.str().find("std::getenv"), std::string::npos)
        << entry.path() << ": environment() in core/environment.hpp replaces it";
    ++files;
  }
  EXPECT_GT(files, 20u);
}

struct Symbol {
  std::string name;
  bool defined;
};

// Returns the symbols of an object file that the linker resolves between files, without those that
// every file may define (inline functions, templates).
std::vector<Symbol> symbols_of(const std::string& object) {
  std::FILE* const nm = ::popen(("nm -g -P '" + object + "'").c_str(), "r");
  if (nm == nullptr) throw std::runtime_error("nm does not start");
  std::vector<Symbol> symbols;
  char name[4096], type = 0;
  while (std::fscanf(nm, "%4095s %c%*[^\n]", name, &type) == 2)
    if (std::string_view("TDBRU").find(type) != std::string_view::npos)
      symbols.push_back({name, type != 'U'});
  if (::pclose(nm) != 0) throw std::runtime_error("nm failed for " + object);
  return symbols;
}

struct ObjectFile {
  std::string path;
  int floor;
};

// Returns the symbols that an object needs and that a higher floor defines.
std::vector<std::string> upward_symbols(const std::vector<ObjectFile>& objects) {
  std::map<std::string, const ObjectFile*> defined;
  for (const auto& object : objects)
    for (const auto& symbol : symbols_of(object.path))
      if (symbol.defined) defined[symbol.name] = &object;
  std::vector<std::string> wrong;
  for (const auto& object : objects)
    for (const auto& symbol : symbols_of(object.path)) {
      const auto found = defined.find(symbol.name);
      if (symbol.defined || found == defined.end() || found->second->floor <= object.floor)
        continue;
      wrong.push_back(object.path + " (floor " + std::to_string(object.floor) + ") needs " +
                      symbol.name + " of " + found->second->path + " (floor " +
                      std::to_string(found->second->floor) + ")");
    }
  return wrong;
}

// The library's objects and their floors.
std::vector<ObjectFile> library_objects() {
  std::vector<ObjectFile> objects;
  std::ifstream list(SORTIUM_OBJECTS);
  for (std::string path; std::getline(list, path);) {
    path = fs::path(path).lexically_normal().generic_string();
    // An object of several sources has the name of their floor: Unity/unity_sort_0_cxx.cxx.o.
    static const std::regex of_one("sortium\\.dir/(src/.*)"),
        of_several("/unity_([a-z]+)_\\d+_cxx");
    std::smatch found;
    std::string source = "embedded.hpp";
    if (std::regex_search(path, found, of_one))
      source = found[1];
    else if (std::regex_search(path, found, of_several))
      source = fmt::format("src/{}/", found[1].str());
    const auto floor = floor_of(source);
    if (!floor) throw std::runtime_error(path + " is on no floor");
    objects.push_back({path, *floor});
  }
  return objects;
}

TEST(Floors, SymbolsPointDownward) {
  const auto objects = library_objects();
  EXPECT_GT(objects.size(), 30u);
  for (const auto& wrong : upward_symbols(objects)) ADD_FAILURE() << wrong;
}

TEST(Floors, UpwardSymbolsAreSeen) {
  auto objects = library_objects();
  for (auto& object : objects) object.floor = 4 - object.floor;  // turns the floors upside down
  EXPECT_GT(upward_symbols(objects).size(), 100u);
}

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The functions that a public header declares and does not define: the names before "(" in lines
// that begin a declaration of namespace `sortium`.
std::set<std::string> declared_functions(const std::string& header) {
  static const std::regex declaration(
      "(?:^|\n)(?:\\[\\[nodiscard\\]\\] )?(?!inline|constexpr|template|using|typedef)"
      "[\\w:][\\w:<>&*, ]*[ &*](\\w+)\\([^;]*\\);");
  std::set<std::string> names;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it)
    names.insert((*it)[1]);
  return names;
}

// Returns the function's name of a mangled symbol: "sortium::capabilities" for
// sortium::capabilities(Device&).
std::string function_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return {};
  const std::string all = text.get();
  return all.substr(0, all.find('('));
}

// Returns the functions of public headers that are not defined on the header's floor.
std::vector<std::string> strays(const std::map<std::string, int>& headers,
                                const std::vector<ObjectFile>& objects) {
  std::map<std::string, std::set<int>> floors;  // by function
  for (const auto& object : objects)
    for (const auto& symbol : symbols_of(object.path))
      if (symbol.defined) floors[function_name(symbol.name)].insert(object.floor);
  std::vector<std::string> wrong;
  for (const auto& [header, floor] : headers)
    for (const auto& name : declared_functions(text_of(header))) {
      const auto found = floors.find("sortium::" + name);
      if (found != floors.end() && !found->second.contains(floor))
        wrong.push_back(header + " (floor " + std::to_string(floor) + ") declares " + name +
                        ", which is defined on floor " + std::to_string(*found->second.begin()));
    }
  return wrong;
}

TEST(Floors, DefineWhatTheyDeclare) {
  const fs::path root = SORTIUM_SOURCE_DIR;
  std::map<std::string, int> headers;
  for (const auto& entry : fs::directory_iterator(root / "include/sortium"))
    if (entry.path().extension() == ".hpp")
      headers[entry.path().string()] =
          floor_of(entry.path().lexically_relative(root).generic_string()).value();
  const auto objects = library_objects();
  for (const auto& wrong : strays(headers, objects)) ADD_FAILURE() << wrong;
  EXPECT_TRUE(declared_functions(text_of(root / "include/sortium/capabilities.hpp"))
                  .contains("capabilities"));
  // If headers are said to be one floor higher, their functions are strays.
  for (auto& [header, floor] : headers) floor += 1;
  EXPECT_GE(strays(headers, objects).size(), 10u);
}

// The files of the table below a heading of docs/design.md, as "`src/sort/host.cpp`".
std::vector<std::string> files_in_table(const std::string& document, const std::string& heading) {
  const auto begin = document.find("\n## " + heading + "\n");
  if (begin == std::string::npos) return {};
  const std::string section = document.substr(begin, document.find("\n## ", begin + 1) - begin);
  static const std::regex file("`((?:include|src)/[^`]*)`");
  std::vector<std::string> files;
  std::istringstream lines(section);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("|") && std::regex_search(line, match, file)) files.push_back(match[1]);
  }
  return files;
}

TEST(Documents, TheWayOfOneCallIsShort) {
  const fs::path root = SORTIUM_SOURCE_DIR;
  const auto files = files_in_table(text_of(root / "docs/design.md"), "The way of one call");
  EXPECT_GT(files.size(), 5u);
  EXPECT_LE(files.size(), 9u);
  std::ptrdiff_t lines = 0;
  for (auto file : files) {
    if (const auto name = file.find("<name>/<name>"); name != std::string::npos)
      file.replace(name, 13, "lsd/lsd");
    EXPECT_TRUE(fs::exists(root / file)) << file;
    lines += std::ranges::count(text_of(root / file), '\n');
  }
  EXPECT_LE(lines, 2000);
}

// Returns the lines of a kernel in which only some lanes of a sub-group may reach a sub-group word.
// Simulators do not notice it, and a GPU then waits for ever. (`expected` is the same for all
// lanes.)
std::vector<std::string> half_reached(const std::string& text) {
  static const std::regex behind("(&&|\\|\\||\\?)[^;:]*\\bsg_(barrier|ballot|shuffle|rank)"),
      allowed("\\(expected\\) \\|\\|");
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, behind) && !std::regex_search(line, allowed)) found.push_back(line);
  return found;
}

TEST(Kernels, AllLanesReachWordsOfTheSubGroup) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SORTIUM_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cl") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    for (const auto& line : half_reached(text.str()))
      ADD_FAILURE() << entry.path().filename() << ": " << line;
    ++files;
  }
  EXPECT_GT(files, 20u);
  EXPECT_EQ(
      half_reached("if (sg_ballot(sg, !there || bucket != sg_shuffle(sg, bucket, 0)) == 0) {\n")
          .size(),
      1u);
  EXPECT_EQ(half_reached("x = there ? sg_rank(counts, 256, d) : 0;\n").size(), 1u);
  EXPECT_EQ(
      half_reached(
          "const u32 other = bucket ^ sg_shuffle(sg, bucket, 0);\nif (there && other) y = 1;\n")
          .size(),
      0u);
}

}  // namespace
