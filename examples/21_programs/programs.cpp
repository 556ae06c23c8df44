// Numbers in many files, sorted by sort(1): each file by itself, then all of them merged.
//   programs [FILES [FOLDER]]
//
// Shows programs as tasks: words may be futures, a file that a program is to make is one, too, and
// what a program says is a string. The folder is one that all nodes see; what is made there has
// hidden names until it is whole, and is removed in the end.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "rubato/base/arguments.hpp"
#include "rubato/base/random.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/program/program_task.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::flow;

namespace {

constexpr std::int64_t kNumbersAFile = 1000;

std::uint64_t number(std::int64_t file, std::int64_t i) {
  return rubato::hash_words(static_cast<std::uint64_t>(file), static_cast<std::uint64_t>(i)) >> 40;
}

FileName write_numbers(const std::string& folder, std::int64_t file) {
  const std::string path = folder + "/numbers-" + std::to_string(file);
  std::ofstream out(path);
  for (std::int64_t i = 0; i < kNumbersAFile; ++i)
    out << number(file, i) << '\n';
  if (!out.flush()) throw rubato::Error("programs: cannot write " + path);
  return {path};
}

// The lines of the file of all, and what wc(1) says of it.
struct Sorted {
  std::vector<std::uint64_t> numbers;
  std::int64_t n_lines;
};

Sorted sort_all(const std::string& folder, std::int64_t n_files) {
  std::vector<Future<FileName>> sorted;
  for (std::int64_t file = 0; file < n_files; ++file) {
    auto made = async([](const std::string& where, std::int64_t i) {
      return write_numbers(where, i);
    })(folder, file);
    const std::string path = folder + "/sorted-" + std::to_string(file);
    sorted.push_back(
        async_program({.name = "sort"})("sort", "-n", made, "-o", output(path)).file(path));
  }
  const std::string all = folder + "/all";
  const auto merged = async_program({.name = "merge"})("sort", "-n", "-m", sorted, stdout_to(all));
  const auto counted = async_program({.name = "count", .captures_stdout = true})(
      "wc", "-l", stdin_from(merged.file(all)));
  Sorted result{{}, std::stoll(counted.text.get())};
  std::ifstream in(merged.file(all).get().path);
  for (std::uint64_t x = 0; in >> x;)
    result.numbers.push_back(x);
  return result;
}

bool is_sorted_right(const Sorted& found, std::int64_t n_files) {
  std::vector<std::uint64_t> numbers;
  for (std::int64_t i = 0; i < n_files * kNumbersAFile; ++i)
    numbers.push_back(number(i / kNumbersAFile, i % kNumbersAFile));
  std::sort(numbers.begin(), numbers.end());
  return found.numbers == numbers && found.n_lines == n_files * kNumbersAFile;
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n_files = given.number("FILES", 20, 1, 1'000'000);
    const std::filesystem::path above =
        given.text("FOLDER", std::filesystem::temp_directory_path());
    given.end();
    const std::string folder = above / ("rubato-programs-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    bool is_right = false;
    const FlowResult result =
        run([&] { is_right = is_sorted_right(sort_all(folder, n_files), n_files); });
    std::filesystem::remove_all(folder);
    result.check();
    std::printf("%ld files of %ld numbers, sorted and merged by programs, %s\n", n_files,
                kNumbersAFile, is_right ? "all right" : "WRONG");
    if (!is_right) throw rubato::Error("programs: wrong", rubato::ExitCode::failed);
  });
}
