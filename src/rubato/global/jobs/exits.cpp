// A job whose last core calls exit() in a task: whoever started it is told by which node it ended.

#include <cstdlib>

#include "rubato/global/loop.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/program.hpp"

int main() {
  return rubato::global::run_main([] {
    rubato::global::on_all_cores([] {
      if (rubato::global::this_core() + 1 == rubato::global::n_cores()) std::exit(0);
    });
  });
}
