#pragma once
// Warden: a small process that sees the end of its node, and ends the programs that the node leaves.
//
// A node that is told to end ends its programs itself; one that is killed (kill -9, no memory left)
// cannot. So with its first program it starts this executable once more, as a process that does nothing
// but wait for the end of a pipe which the node alone holds open. Then it kills the process groups that
// stand in memory which both share: a word for each program that may run, so that a program costs the
// node two stores and the warden nothing.
//
// Rejected: PR_SET_PDEATHSIG, which reaches the program and not what it has started, and which a
// program that changes its user loses; a server that starts programs, which costs each of them two
// messages; a fork without exec, which would keep all of the node's memory. What is open for some
// microseconds: a program whose start a killed node had not written down yet lives on.
//
// Private to flow/program.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "rubato/flow/program/detail/descriptor.hpp"

namespace rubato::flow::program_detail {

class Warden {
 public:
  // For as many programs at a time. Where the system refuses a process, or has no /proc, there is
  // none, and programs outlive a node that is killed.
  explicit Warden(std::uint32_t n_programs);
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;
  // REQUIRES: no program runs.
  ~Warden();

  [[nodiscard]] bool is_there() const noexcept { return process_ > 0; }
  // The program that has that place; 0 when it has ended. From any thread.
  void note(std::uint32_t place, pid_t group) noexcept {
    if (groups_ != nullptr) groups_[place].store(group, std::memory_order_relaxed);
  }

 private:
  void start(std::uint32_t n_programs);

  std::atomic<pid_t>* groups_ = nullptr;  // [n_programs]
  std::size_t n_bytes_ = 0;
  Descriptor alive_;  // the end of the pipe that closes with the node
  pid_t process_ = -1;
};

}  // namespace rubato::flow::program_detail
