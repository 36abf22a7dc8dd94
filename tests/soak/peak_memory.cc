// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/peak_memory.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "tests/support/sanitizers.h"

namespace dovetail::test {

namespace {

std::int64_t status_bytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoll(line.substr(line.find(':') + 1)) << 10;
  }
  throw std::runtime_error(std::string(name) + " is not in /proc/self/status");
}

bool forget_peak() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good();
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

}  // namespace

PeakMeter::PeakMeter() {
  ::malloc_trim(0);
  forget_peak();
  before_ = status_bytes("VmRSS");
}

std::int64_t PeakMeter::peak() const {
  return status_bytes("VmHWM") - before_;
}

bool can_measure_peaks() {
  return !kSanitized && forget_peak();
}

Told peak_of(const std::function<std::string(PeakMeter& meter)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe can be had");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("the process cannot be forked");
  if (child == 0) {
    int status = EXIT_FAILURE;
    std::string told;
    try {
      PeakMeter meter;
      const std::string note = work(meter);
      told = std::to_string(meter.peak()) + " " + note;
      status = EXIT_SUCCESS;
    } catch (const std::exception& failure) {
      told = std::string("0 ") + failure.what();
    }
    write_all(ends[1], told);
    ::_exit(status);
  }
  ::close(ends[1]);
  std::string told;
  char some[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], some, sizeof(some))) > 0;) {
    told.append(some, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::size_t space = told.find(' ');
  if (space == std::string::npos) return {.peak = 0, .note = "the child was killed", .ended = false};
  return {.peak = std::stoll(told.substr(0, space)),
          .note = told.substr(space + 1),
          .ended = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS};
}

}  // namespace dovetail::test
