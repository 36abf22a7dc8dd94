// SPDX-License-Identifier: Apache-2.0
#include "bench/processes.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "bench/contestants.h"
#include "bench/limits.h"

extern char** environ;

namespace dovetail::bench {

namespace {

constexpr char kReady = 'r';
constexpr char kGo = 'g';

[[noreturn]] void fail(const char* what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

double used_cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Seconds that all processors together were busy with programs, since the machine was started.
double busy_seconds() {
  std::ifstream status("/proc/stat");
  std::string name;
  std::uint64_t user = 0;
  std::uint64_t nice = 0;
  std::uint64_t system = 0;
  status >> name >> user >> nice >> system;
  return static_cast<double>(user + nice + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  return used_cpu_seconds(RUSAGE_SELF) + used_cpu_seconds(RUSAGE_CHILDREN);
}

std::uint64_t peak_rss_kib() {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    if (key == "VmHWM:") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

void pin(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  if (!cpus.empty() && ::sched_setaffinity(0, sizeof(set), &set) != 0) fail("sched_setaffinity");
}

/// A process that was started, and the ends of its pipes.
struct Child {
  pid_t pid = -1;
  int to = -1;
  int from = -1;
};

Child start(const Job& job) {
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) fail("pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::string text = to_text(job);
  char program[] = "delivery_bench";
  char command[] = "child";
  char* arguments[] = {program, command, text.data(), nullptr};
  Child child{.to = to[1], .from = from[0]};
  const int error = ::posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  if (error != 0) fail("posix_spawn", error);
  return child;
}

std::string read_all(int fd) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(fd, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

Outcome finish(const Child& child, std::string text) {
  text += read_all(child.from);
  ::close(child.from);
  ::close(child.to);
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  Outcome outcome;
  if (WIFSIGNALED(status)) {
    outcome.error = "the process was killed by signal " + std::to_string(WTERMSIG(status));
    return outcome;
  }
  try {
    return outcome_from_text(text);
  } catch (const std::exception&) {
    outcome.error = "the process ended with status " + std::to_string(WEXITSTATUS(status)) + " and said: " + text;
    return outcome;
  }
}

}  // namespace

void Start::wait() {
  char byte = kReady;
  if (::write(STDOUT_FILENO, &byte, 1) != 1) fail("write");
  if (::read(STDIN_FILENO, &byte, 1) != 1 || byte != kGo) throw std::runtime_error("the measurement was called off");
  cpu_begin_ = used_cpu_seconds(RUSAGE_SELF);
  begin_ = std::chrono::steady_clock::now();
}

double Start::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

double Start::cpu_seconds() const {
  return used_cpu_seconds(RUSAGE_SELF) - cpu_begin_;
}

std::vector<Outcome> run_together(const std::vector<Job>& jobs) {
  std::signal(SIGPIPE, SIG_IGN);  // a child that has failed no longer reads
  std::vector<Child> children;
  for (const Job& job : jobs) children.push_back(start(job));

  std::vector<std::string> said(jobs.size());
  bool all_ready = true;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    char byte = 0;
    const bool ready = ::read(children[i].from, &byte, 1) == 1 && byte == kReady;
    if (!ready && byte != 0) said[i].push_back(byte);
    all_ready = all_ready && ready;
  }
  for (Child& child : children) {
    if (all_ready && ::write(child.to, &kGo, 1) == 1) continue;
    ::close(child.to);  // the end of its input calls the measurement off
    child.to = -1;
  }
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < jobs.size(); ++i) outcomes.push_back(finish(children[i], std::move(said[i])));
  return outcomes;
}

int run_child(const std::string& job_text) {
  Outcome outcome;
  try {
    const Job job = job_from_text(job_text);
    pin(job.cpus);
    if (const Contestant* contestant = find_contestant(job.task)) {
      outcome = contestant->run(job);
    } else {
      outcome = measure_limit(job);
    }
    outcome.peak_rss_kib = peak_rss_kib();
  } catch (const std::exception& error) {
    outcome = {};
    outcome.error = error.what();
  }
  const std::string text = to_text(outcome);
  const bool written = ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return written && outcome.error.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

OtherLoad::OtherLoad() : busy_(busy_seconds()), own_(own_seconds()) {}

double OtherLoad::share() const {
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double others = busy_seconds() - busy_ - (own_seconds() - own_);
  return std::max(0.0, others / (wall * static_cast<double>(std::thread::hardware_concurrency())));
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) fail("sched_getaffinity");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace dovetail::bench
