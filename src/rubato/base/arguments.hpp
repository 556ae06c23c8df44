#pragma once
// Arguments of a small program, which stand in a fixed order and may be left out from the last on:
//
//   int main(int argc, char** argv) {
//     return run_main([argc, argv] {
//       Arguments given(argc, argv);
//       const auto n = given.number<int>("N", 10, 0, 16);
//       given.end();
//       ..
//
// What is wrong is an Error of code `usage`, which run_main() tells: so it is asked within it.

#include <cstdint>
#include <string>

namespace rubato {

class Arguments {
 public:
  Arguments(int argc, char** argv);

  // The next argument, a whole number in [least, most]; `otherwise` if there is none.
  template <class T = std::int64_t>
  [[nodiscard]] T number(const std::string& name, std::int64_t otherwise, std::int64_t least,
                         std::int64_t most) {
    return static_cast<T>(next_number(name, otherwise, least, most));
  }
  // The next argument as it is; `otherwise` if there is none.
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise);
  // There are no others. Throws if there are.
  void end() const;

 private:
  [[nodiscard]] std::int64_t next_number(const std::string& name, std::int64_t otherwise,
                                         std::int64_t least, std::int64_t most);

  int argc_;
  char** argv_;
  int at_ = 1;
  std::string program_;
  std::string names_;  // of those that were asked for
};

}  // namespace rubato
