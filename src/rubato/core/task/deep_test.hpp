#pragma once
// Calls that go deep into a stack, for tests of their ends.

namespace rubato::core {

// `n` frames of 512 bytes.
[[gnu::noinline]] inline int deep(int n) {
  volatile char frame[512];
  for (volatile char& byte : frame)
    byte = static_cast<char>(n);
  if (n == 0) return frame[0];
  return deep(n - 1) + frame[0];
}

}  // namespace rubato::core
