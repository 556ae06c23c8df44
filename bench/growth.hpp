#pragma once
// What a benchmark's process takes of memory.

namespace rubato::bench {

// By how much the process has grown at most since this was made. One at a time: the system keeps one
// mark.
class Growth {
 public:
  Growth();
  [[nodiscard]] double mib() const;

 private:
  double kib_before_;
};

}  // namespace rubato::bench
