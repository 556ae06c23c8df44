#pragma once
// SignalText: a message put together and written by a handler of signals, which may have interrupted
// malloc() and so must not call it.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <unistd.h>

namespace rubato {

class SignalText {
 public:
  // What does not fit is left out.
  SignalText& add(std::string_view text) noexcept {
    const std::size_t n = std::min(text.size(), text_.size() - n_);
    std::copy_n(text.data(), n, text_.data() + n_);
    n_ += n;
    return *this;
  }
  SignalText& add(std::uint64_t number) noexcept {
    std::array<char, 20> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return add({digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
  }
  // ", node 2 core 1", if set_fatal_place() has said so.
  void add_fatal_place() noexcept;
  // To the standard error, as a line.
  void write() noexcept {
    add("\n");
    if (n_ == text_.size()) text_.back() = '\n';
    for (std::size_t at = 0; at < n_;) {
      const ssize_t n = ::write(STDERR_FILENO, text_.data() + at, n_ - at);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
  }

 private:
  std::array<char, 2048> text_;  // NOLINT(cppcoreguidelines-pro-type-member-init): the first n_
  std::size_t n_ = 0;
};

}  // namespace rubato
