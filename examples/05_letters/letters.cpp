// How often each character is in a text: a parallel loop over characters that lie on all cores adds
// one to counters that lie on all cores [Grappa, figure 1].

#include <cstdint>
#include <cstdio>
#include <string>

#include "rubato/base/arguments.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/main.hpp"

using namespace rubato::global;

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::string text = given.text("TEXT", "she sells sea shells by the sea shore");
    given.end();
    const auto chars = GlobalArray<char>::make(text.size());
    const auto counts = GlobalArray<std::uint64_t>::make(256);
    // The text is here, on core 0; from now on it is everywhere.
    finish([&] {
      for (std::size_t i = 0; i < text.size(); ++i)
        async_write(chars[i], text[i]);
    });
    // Each core walks over its own characters, and asks the owners of the counters to add one.
    forall(chars, [counts](char& c) {
      async_call(counts[static_cast<unsigned char>(c)], [](std::uint64_t& n) { ++n; });
    });
    for (char c = 'a'; c <= 'z'; ++c) {
      const std::uint64_t n = read(counts[static_cast<unsigned char>(c)]);
      if (n > 0) std::printf("%c %lu\n", c, n);
    }
  });
}
