// The Fibonacci numbers, with a task for every addition.
//   fibonacci [N]
//
// Shows tasks that return futures: such a task does not wait for what it started, its result is
// passed on when it is there. So nothing is kept on a stack, and any core may run any part.

#include <cstdint>
#include <cstdio>

#include "rubato/base/arguments.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::flow;

namespace {

Future<std::int64_t> fibonacci(std::int64_t n) {
  if (n < 2) return async([n] { return n; })();
  auto a = async([n] { return fibonacci(n - 1); })();
  auto b = async([n] { return fibonacci(n - 2); })();
  return async([](std::int64_t x, std::int64_t y) { return x + y; })(std::move(a), std::move(b));
}

std::int64_t serial_fibonacci(std::int64_t n) {
  std::int64_t a = 0;
  std::int64_t b = 1;
  for (; n > 0; --n)
    a = std::exchange(b, a + b);
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n = given.number("N", 20, 0, 40);
    given.end();
    bool is_right = false;
    run([&] {
      const std::int64_t found = fibonacci(n).get();
      is_right = found == serial_fibonacci(n);
      std::printf("fibonacci(%ld) is %ld, %s\n", n, found,
                  is_right ? "which is right" : "which is WRONG");
    }).check();
    if (!is_right) throw rubato::Error("fibonacci: wrong", rubato::ExitCode::failed);
  });
}
