#pragma once
// Which processes a program has started, and those of them that have left its group (setsid).
// Reads all of /proc: for the ends of programs that we end, which are rare. Private to flow/program.

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace rubato::flow::program_detail {

// Whether a process of `group` lives. Its unreaped leader holds the number, so kill(-group, 0)
// would always say yes.
[[nodiscard]] bool group_lives(pid_t group);

// Processes that descend from a program and are in another group. Found while their parents live:
// children of a process that has ended are those of somebody else. So a program is looked at before
// it is asked to end, and again before it is killed.
class Strays {
 public:
  explicit Strays(pid_t program) noexcept : program_(program) {}

  // Those that there are now are kept in mind.
  void look();
  // To those that are in mind and live.
  void send(int signal) const;
  // Whether one of them lives.
  [[nodiscard]] bool live() const;

 private:
  // A number is given to another process once its own has ended, who began later.
  struct Known {
    pid_t process;
    std::uint64_t began;
  };
  [[nodiscard]] static bool lives(const Known& known);

  pid_t program_;
  std::vector<Known> known_;
};

}  // namespace rubato::flow::program_detail
