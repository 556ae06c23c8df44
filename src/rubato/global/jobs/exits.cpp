// A job whose last core calls exit() in a task, or throws in it where "throws" is asked for: whoever
// started it is told by which node it ended.

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "rubato/global/loop.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/program.hpp"

int main(int n_arguments, char** arguments) {
  const bool throws = n_arguments > 1 && arguments[1] == std::string_view("throws");
  return rubato::global::run_main([=] {
    rubato::global::on_all_cores([=] {
      if (rubato::global::this_core() + 1 != rubato::global::n_cores()) return;
      if (throws) throw std::runtime_error("no such city");
      std::exit(0);
    });
  });
}
