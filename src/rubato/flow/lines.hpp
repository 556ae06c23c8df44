#pragma once
// Lines that a flow says to people while it runs: what scripts print, and whom the run waits for.
//
// Whoever else writes to the terminal meanwhile, such as a line of progress, is the LineSink of the
// node's cores and puts them where they do not meet; without one they are written as they are.

#include <cstdio>
#include <string>

#include "rubato/core/message/core_context.hpp"

namespace rubato::flow {

class LineSink {
 public:
  LineSink() = default;
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;
  virtual ~LineSink() = default;

  // Writes `text`, which ends with a newline, to stdout or stderr, in one piece. From any thread.
  virtual void say(std::FILE* to, const std::string& text) = 0;
};

// Where a core's sink is, if it has one: CoreContext::local_or_make().
struct LinePlace {
  LineSink* sink = nullptr;
};

// Bytes that steer terminals, and zeros, as \xHH; newlines and tabs stay.
[[nodiscard]] std::string printable(std::string text);

// Adds the newline. Called by whatever runs on that core.
void say_line(core::CoreContext& here, std::FILE* to, std::string line);

}  // namespace rubato::flow
