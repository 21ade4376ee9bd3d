#include "cli/ranks.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <vector>

#include "cli/errors.hpp"
#include "io/printable.hpp"

namespace app {

namespace fs = std::filesystem;

namespace {

constexpr const char* module_file = "sortium-mpi.so";
constexpr std::size_t longest_text = 1000;

// What one process tells the others about its failure.
struct Outcome {
  int code = exit_success;
  std::array<char, longest_text + 1> text{};  // ends with 0
};

Outcome outcome_of(Exit code, const std::string& text) {
  Outcome outcome{code, {}};
  std::memcpy(outcome.text.data(), text.data(), std::min(text.size(), longest_text));
  return outcome;
}

Outcome run(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Failure& failure) {
    return outcome_of(failure.code(), failure.what());
  } catch (const sortium::Error& error) {
    const bool is_usage = error.code() == sortium::ErrorCode::invalid_argument ||
                          error.code() == sortium::ErrorCode::not_found;
    return outcome_of(is_usage ? exit_usage : exit_runtime, error.what());
  } catch (const std::bad_alloc&) {
    return outcome_of(exit_runtime, out_of_memory_message());
  } catch (const std::exception& error) {
    return outcome_of(exit_runtime, error.what());
  }
}

// Throws the first failure. The message names the process, unless all have the same.
[[noreturn]] void throw_first(const std::vector<Outcome>& all) {
  const auto first = std::ranges::find_if(all, [](const Outcome& o) { return o.code != 0; });
  const std::string text = first->text.data();
  const bool is_common =
      std::ranges::all_of(all, [&](const Outcome& o) { return o.text == first->text; });
  throw CommonFailure(
      static_cast<Exit>(first->code),
      is_common ? text
                : fmt::format("process {} of {}: {}", first - all.begin(), all.size(), text));
}

// Where the module is: in the variable SORTIUM_MPI_MODULE, beside the program, or where `cmake
// --install` copies it.
std::string find_module() {
  if (const char* const set = ::secure_getenv("SORTIUM_MPI_MODULE"); set != nullptr && *set != '\0')
    return set;
  std::error_code error;
  const fs::path directory = fs::canonical("/proc/self/exe", error).parent_path();
  const fs::path places[] = {directory / module_file,
                             directory.parent_path() / SORTIUM_LIBDIR / "sortium" / module_file};
  for (const auto& place : places)
    if (fs::exists(place, error)) return place.string();
  throw Failure(
      exit_runtime,
      fmt::format("--distributed: the MPI module is missing: {} and {} do not exist. It is "
                  "built where CMake finds an MPI; SORTIUM_MPI_MODULE may name it",
                  printable(places[0].string()), printable(places[1].string())));
}

}  // namespace

Ranks::Ranks(double timeout_seconds) : file_(find_module()) {
#ifdef SORTIUM_MPI_LIBRARY
  // Global: the module needs its symbols, and so do plugins that Open MPI opens.
  if (::dlopen(SORTIUM_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw Failure(exit_runtime, fmt::format("--distributed: MPI is missing: {}", ::dlerror()));
#endif
  module_ = ::dlopen(file_.c_str(), RTLD_LAZY);
  if (module_ == nullptr)
    throw Failure(exit_runtime,
                  fmt::format("--distributed: the MPI module cannot be loaded: {}", ::dlerror()));
  const std::string version = function<const char>(mpi_version_name);
  if (version != sortium::version())
    throw Failure(exit_runtime,
                  fmt::format("--distributed: {} belongs to version {}, this program is version {}",
                              printable(file_), printable(version), sortium::version()));
  function<MpiStart>(mpi_start_name)(timeout_seconds, mpi_);
}

template <class Function>
Function* Ranks::function(const char* name) const {
  void* const found = ::dlsym(module_, name);
  if (found == nullptr)
    throw Failure(exit_runtime, fmt::format("--distributed: {} is no MPI module of Sortium: it has "
                                            "no {}",
                                            printable(file_), name));
  return reinterpret_cast<Function*>(found);
}

void Ranks::together(const std::function<void()>& work) {
  const Outcome mine = run(work);
  std::vector<Outcome> all(size());
  try {
    std::uint64_t failed = mine.code;
    communicator().all_reduce({&failed, 1}, sortium::distributed::Reduction::max);
    if (failed == 0) return;
    const auto bytes = communicator().all_gather(std::as_bytes(std::span(&mine, 1)));
    std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  } catch (const sortium::Error&) {
    if (mine.code == 0) throw;
    throw Failure(static_cast<Exit>(mine.code), mine.text.data());
  }
  throw_first(all);
}

std::string Ranks::from_first(const std::string& text) {
  const std::string mine = rank() == 0 ? text : "";
  const auto bytes = communicator().all_gather(std::as_bytes(std::span(mine)));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Ranks::end() {
  mpi_.communicator.reset();
  function<MpiEnd>(mpi_end_name)();
}

void Ranks::abort(Exit code) {
  function<MpiAbort>(mpi_abort_name)(code);
  std::_Exit(code);
}

}  // namespace app
