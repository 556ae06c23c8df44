#pragma once
// The errors of a script, all that one reading finds: FILE:LINE:COLUMN: found .., expected ..

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/flow/tic/type.hpp"

namespace rubato::flow::tic {

struct Diagnostic {
  Place place;
  std::string text;  // without file and place
};

// Collects up to `kMax` errors of one script. Values, owned by who reads the script.
class Diagnostics {
 public:
  static constexpr std::size_t kMax = 20;

  explicit Diagnostics(std::string file_name) : file_name_(std::move(file_name)) {}

  // One error; further ones are dropped when it is full, and so is a second one at one place.
  void add(Place place, std::string text);
  void found(Place place, std::string_view found, std::string_view expected,
             std::string_view hint = "");

  [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
  [[nodiscard]] bool full() const noexcept { return list_.size() >= kMax; }
  [[nodiscard]] const std::vector<Diagnostic>& list() const noexcept { return list_; }

  // "file:line:column", for a message that names a second place.
  [[nodiscard]] std::string where(Place place) const;
  // One line for each error, in the order of the text.
  [[nodiscard]] std::string text() const;
  // Throws rubato::Error with text() unless there are none.
  void throw_if_any() const;

 private:
  std::string file_name_;
  std::vector<Diagnostic> list_;
};

}  // namespace rubato::flow::tic
