#pragma once
// For tests of containers in files: a folder of the test, and jobs of several shapes.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/global/file.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {

// A folder of the test, gone at its end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("rubato_file_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t n_files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                  std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

// Runs `main` as the main task of a job whose shape is one of several, by `number`: virtual nodes,
// or real cores.
inline void run_on_shape(std::uint64_t number, const std::function<void()>& main) {
  constexpr std::array<std::array<std::uint32_t, 2>, 6> kShapes{
      {{1, 1}, {2, 2}, {3, 1}, {1, 3}, {4, 2}, {5, 3}}};
  const std::uint64_t shape = number % (kShapes.size() + 3);
  if (shape < kShapes.size()) {
    simulate_seed(kShapes[shape][0], kShapes[shape][1], number, main,
                  number % 2 == 1 ? tiny_windows() : core::MessageOptions{});
  } else {
    run_here(static_cast<std::uint32_t>(shape - kShapes.size() + 1), main);
  }
}

// The same, and what `main` threw as an Error; "" if it did not.
[[nodiscard]] inline std::string error_of(std::uint64_t number, const std::function<void()>& main) {
  std::string message;
  run_on_shape(number, [&] {
    try {
      main();
    } catch (const Error& error) {
      message = error.what();
    }
  });
  return message;
}

// Some are longer than what a std::string holds in place, one is empty.
[[nodiscard]] inline std::string key_of(std::uint64_t i) {
  if (i == 0) return "";
  return "key " + std::to_string(i) + std::string(i % 5 * 8, 'x');
}

}  // namespace rubato::global
