#pragma once
// What comes through a launcher's output: the program's lines, the guards' reports (guard.hpp), and
// the launcher's own boxes about failed processes.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/tools/launch/guard.hpp"

namespace rubato::tools {

// Takes the bytes of one stream and gives back what people should see. Reports and the boxes of
// Open MPI (between lines of dashes) and Hydra (between lines of "=") that merely say that a
// process failed are taken out; a line that nodes mark to be said once (say_once) comes without its
// mark, and not again, nor at all if it says that a node was terminated after another one had
// failed; every other line passes unchanged, in order.
class OutputFilter {
 public:
  // Adds `bytes`; returns the text that is now clear to print.
  [[nodiscard]] std::string feed(std::string_view bytes);

  // What is held back, at the end of the stream or when no more has come for a while: an unfinished
  // line (a prompt, a progress line) must not wait for its end.
  [[nodiscard]] std::string flush();

  // From now on the launcher, process `pid`, only ends the job: that it complains of being told so
  // twice, or crashes at it, is no news.
  void ignore_launcher(int pid) { ending_launcher_ = pid; }

  [[nodiscard]] const std::vector<NodeEnd>& ends() const noexcept { return ends_; }
  // The run can be saved by a signal (saves_report).
  [[nodiscard]] bool saves() const noexcept { return saves_; }
  // Where nodes write (output_report), and where their run is recorded (record_report).
  [[nodiscard]] const std::set<std::string>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] const std::set<std::string>& records() const noexcept { return records_; }
  // Of runs that can be gone on with.
  [[nodiscard]] const std::vector<JournalReport>& journals() const noexcept { return journals_; }

 private:
  [[nodiscard]] bool take_report(const std::string& line);
  [[nodiscard]] bool some_node_failed() const;
  void take_line(std::string line, std::string& out);
  void take_boxed_line(std::string line, std::string& out);
  [[nodiscard]] bool is_failure_box() const;
  [[nodiscard]] bool is_launchers_own(std::string_view line) const;

  std::string partial_;           // of the line that has not ended
  std::vector<std::string> box_;  // lines of an open box
  bool after_hydra_box_ = false;  // three lines of advice follow it
  std::vector<NodeEnd> ends_;
  std::set<std::string> outputs_;
  std::set<std::string> records_;
  std::vector<JournalReport> journals_;
  bool saves_ = false;
  int ending_launcher_ = 0;  // 0: it still runs the job
  std::set<std::string, std::less<>> said_;
};

}  // namespace rubato::tools
