// SPDX-License-Identifier: BSD-2-Clause
// exrnic-fuzz: runs a target on inputs made of its seeds, without a fuzzing engine. What ends the
// process is said with the seed that repeats it.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/mutate.h"

namespace {

using namespace exrnic::fuzz;
using Clock = std::chrono::steady_clock;

constexpr unsigned kLongestRun = 60;  // seconds of one input

const char* running = "";
char runs_and_seed[64] = "";

void say(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

// Called when a run ends the process; only what signal handlers may do.
void tell_seed() {
  say("fuzz: repeat it with: exrnic-fuzz ");
  say(running);
  say(runs_and_seed);
  say("\n");
}

extern "C" void on_signal(int number) {
  tell_seed();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace

// Sanitizers have handlers of their own, and call this one before they end the process.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

void watch_for_death() {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell_seed);
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    ::signal(number, on_signal);
}

void run_one(const Target& target, const Bytes& input) {
  ::alarm(kLongestRun);
  target.run(input.data(), input.size());
  ::alarm(0);
}

void run_target(const Target& target, uint64_t seed, uint64_t runs, unsigned seconds) {
  running = target.name;
  const std::vector<Bytes> seeds = target.seeds();
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  uint64_t done = 0;
  for (; seconds ? Clock::now() < end : done < runs; ++done) {
    const uint64_t before = done % target.shared;
    std::snprintf(runs_and_seed, sizeof runs_and_seed, " --runs %llu --seed %llu",
                  static_cast<unsigned long long>(before + 1),
                  static_cast<unsigned long long>(seed + done - before));
    run_one(target, make_input(seeds, seed + done));
  }
  std::printf("fuzz: %s: %llu inputs, seeds from %llu: nothing found\n", target.name,
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(seed));
}

// As other fuzzers want their corpus: a file each.
void write_seeds(const Target& target, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const Bytes& seed : target.seeds()) {
    std::ofstream file(folder / ("seed" + std::to_string(number++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
  }
}

void run_file(const Target& target, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  running = target.name;
  std::snprintf(runs_and_seed, sizeof runs_and_seed, " FILE: the last one named above");
  std::printf("fuzz: %s\n", path.c_str());
  std::fflush(stdout);
  run_one(target, Bytes(text.begin(), text.end()));
}

}  // namespace

int main(int argc, char** argv) {
  std::string name, corpus;
  uint64_t seed = std::random_device{}(), runs = 1000;
  unsigned seconds = 0;
  std::vector<std::string> files;
  CLI::App app{"Fuzzes what comes from peers, guests and files"};
  app.add_option("target", name, "One of its targets, or all")->required();
  app.add_option("files", files, "Run these inputs instead")->check(CLI::ExistingFile);
  app.add_option("--seed", seed, "Number of the first input")->envname("EXRNIC_SEED");
  app.add_option("--runs", runs, "Inputs")->check(CLI::Range(1u, 1'000'000'000u));
  app.add_option("--seconds", seconds, "Or as many as fit into this time, for each target");
  app.add_option("--write-seeds", corpus, "Write the seeds into this folder, and run nothing");
  CLI11_PARSE(app, argc, argv);
  std::vector<Target> all = targets(), chosen;
#ifdef EXRNIC_FUZZ_RTL
  all.push_back({"frames-rtl", frame_seeds, fuzz_frames_rtl, kFramesRtlShared});
#endif
  for (const Target& target : all)
    if (name == target.name || name == "all") chosen.push_back(target);
  if (chosen.empty()) {
    std::fprintf(stderr, "exrnic-fuzz: no target \"%s\"; there are: all", name.c_str());
    for (const Target& target : all) std::fprintf(stderr, " %s", target.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  watch_for_death();
  for (const Target& target : chosen) {
    if (!corpus.empty()) {
      write_seeds(target, corpus);
    } else if (!files.empty()) {
      for (const std::string& file : files) run_file(target, file);
    } else {
      run_target(target, seed, runs, seconds);
    }
  }
  return std::fflush(stdout) != 0;  // a verdict that nobody can read is none
}
