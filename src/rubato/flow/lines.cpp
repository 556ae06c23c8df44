#include "rubato/flow/lines.hpp"

namespace rubato::flow {

void say_line(core::CoreContext& here, std::FILE* to, std::string line) {
  line += '\n';
  if (LineSink* const sink = here.local_or_make<LinePlace>().sink) return sink->say(to, line);
  // In one piece, so that lines of several cores are not mixed.
  std::fwrite(line.data(), 1, line.size(), to);
  std::fflush(to);
}

}  // namespace rubato::flow
