#pragma once
// Which leaf it was, if a leaf ends the process: by a bad address, a division by zero, an abort().
//
// A thread that runs a leaf has its name at hand, as bytes; the handler of such a signal writes it,
// gives the signal to whoever had it before, and changes nothing else.

#include <string>

namespace rubato::flow {

// While it lives, a crash of this thread is said to be that of `who`, which outlives it. Not of what
// may be suspended, and go on beside others of its thread.
class LeafInCrash {
 public:
  explicit LeafInCrash(const std::string& who);
  LeafInCrash(const LeafInCrash&) = delete;
  LeafInCrash& operator=(const LeafInCrash&) = delete;
  ~LeafInCrash();

 private:
  const std::string* before_;
};

}  // namespace rubato::flow
