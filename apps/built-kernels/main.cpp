// Compiles the kernels that packages contain:
//
//   sortium-built-kernels DIRECTORY [--list] [--types u32,i64] [TARGET…]
//
// writes a file for each target (sm_90, ptx_90, …; default: all) with the kernels of default
// sorts. The sorts are planned for the GPUs of that architecture; nothing runs. With --list, it
// compiles nothing and says how many kernels there would be.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <sortium/sortium.hpp>
#include <sstream>
#include <thread>

#include "architectures.hpp"
#include "device/nvrtc.hpp"
#include "planned_sources.hpp"

namespace {

using namespace sortium;
namespace fs = std::filesystem;

struct Request {
  std::string directory;
  bool list = false;
  std::vector<KeyType> types{KeyType::u32, KeyType::i32, KeyType::f32,
                             KeyType::u64, KeyType::i64, KeyType::f64};
  std::vector<std::string> targets;
};

Request read(int argc, char** argv) {
  Request options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--list") {
      options.list = true;
    } else if (argument == "--types" && i + 1 < argc) {
      options.types.clear();
      std::istringstream names(argv[++i]);
      for (std::string name; std::getline(names, name, ',');)
        options.types.push_back(parse_key_type(name));
    } else if (argument.starts_with("-")) {
      throw Error(ErrorCode::invalid_argument, "unknown option " + argument);
    } else if (options.directory.empty()) {
      options.directory = argument;
    } else {
      options.targets.push_back(argument);
    }
  }
  if (options.directory.empty())
    throw Error(ErrorCode::invalid_argument, "usage: sortium-built-kernels DIRECTORY [TARGET…]");
  return options;
}

using Kernels = std::vector<std::pair<std::string, std::vector<std::byte>>>;

// Compiles on all cores. Throws the first error.
Kernels compile(const std::set<std::string>& sources, cuda::Target target) {
  Kernels kernels;
  for (const auto& source : sources) kernels.emplace_back(source, std::vector<std::byte>());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < kernels.size();) try {
        kernels[i].second = cuda::compile_for(kernels[i].first, target);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = kernels.size();
      }
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back(work);
  threads.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  return kernels;
}

void make(const builder::Architecture& architecture, const Request& options) {
  const auto sources = builder::planned_sources(architecture, options.types);
  fmt::print("{}: {} kernels\n", architecture.target.name(), sources.size());
  if (options.list) return;
  const auto file = fs::path(options.directory) / architecture.target.name();
  cuda::write_built_kernels(file.string(), compile(sources, architecture.target));
  fmt::print("{}: {} bytes\n", file.string(), fs::file_size(file));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("SORTIUM_CACHE_DIR", "off", 1);
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // without the user's tuned parameters
  ::unsetenv("SORTIUM_TUNING");
  try {
    const Request options = read(argc, argv);
    fs::create_directories(options.directory);
    for (const auto& architecture : builder::architectures)
      if (options.targets.empty() ||
          std::ranges::find(options.targets, architecture.target.name()) != options.targets.end())
        make(architecture, options);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "sortium-built-kernels: {}\n{}\n", error.what(), error.log());
  } catch (const std::exception& error) {
    fmt::print(stderr, "sortium-built-kernels: {}\n", error.what());
  }
  return 1;
}
