#include "rubato/base/arguments.hpp"

#include <charconv>
#include <string_view>

#include "rubato/base/error.hpp"

namespace rubato {

Arguments::Arguments(int argc, char** argv) : argc_(argc), argv_(argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  program_ = path.substr(path.rfind('/') + 1);
}

std::int64_t Arguments::next_number(const std::string& name, std::int64_t otherwise,
                                    std::int64_t least, std::int64_t most) {
  names_ += (names_.empty() ? "" : " ") + name;
  if (at_ >= argc_) return otherwise;
  const std::string_view found = argv_[at_++];
  std::int64_t number = 0;
  const char* const end = found.data() + found.size();
  const auto read = std::from_chars(found.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && least <= number && number <= most) return number;
  throw Error(program_ + ": " + name + ": found \"" + std::string(found) +
                  "\", expected a whole number from " + std::to_string(least) + " to " +
                  std::to_string(most),
              ExitCode::usage);
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) {
  names_ += (names_.empty() ? "" : " ") + name;
  return at_ < argc_ ? argv_[at_++] : otherwise;
}

void Arguments::end() const {
  if (at_ >= argc_) return;
  throw Error(program_ + ": found \"" + argv_[at_] + "\", expected " +
                  (names_.empty() ? "no arguments" : "no more than " + names_),
              ExitCode::usage);
}

}  // namespace rubato
