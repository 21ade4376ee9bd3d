#include "cli/errors.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <new>
#include <system_error>

#include "cli/common.hpp"

namespace app {

namespace {

// True if only another device, driver or machine would help.
bool is_runtime(sortium::ErrorCode code) {
  return code != sortium::ErrorCode::invalid_argument && code != sortium::ErrorCode::not_found;
}

int complain(Exit code, const std::string& message) {
  print_message(message);
  return code;
}

// Ends the program by SIGPIPE, as other programs end when `head` has closed their output. Returns
// an exit code if the caller has blocked SIGPIPE.
int end_by_sigpipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  return exit_runtime;
}

}  // namespace

std::string out_of_memory_message() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::string out = fmt::format("out of host memory: this process uses {} of addresses",
                                human_bytes(pages * page));
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    out += fmt::format(", and its limit is {} (ulimit -v)", human_bytes(limit.rlim_cur));
  return out;
}

void print_warnings() {
  for (const auto& warning : sortium::warnings()) print_message("warning: " + warning);
}

int report_current_exception() {
  try {
    throw;
  } catch (const ReaderGone&) {
    return end_by_sigpipe();
  } catch (const Failure& failure) {
    return complain(failure.code(), failure.what());
  } catch (const sortium::Error& error) {
    print_warnings();
    print_message(error.what());
    print_error(error.log());
    return is_runtime(error.code()) ? exit_runtime : exit_usage;
  } catch (const std::system_error& error) {  // fmt::print() to standard output
    if (error.code() == std::errc::broken_pipe) return end_by_sigpipe();
    const bool is_output = std::ferror(stdout) != 0;
    return complain(exit_runtime, is_output ? fmt::format("cannot write standard output: {}",
                                                          error.code().message())
                                            : error.what());
  } catch (const std::bad_alloc&) {
    return complain(exit_runtime, out_of_memory_message());
  } catch (const std::exception& error) {
    return complain(exit_runtime, error.what());
  }
}

}  // namespace app
