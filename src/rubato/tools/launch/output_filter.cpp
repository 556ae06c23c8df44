#include "rubato/tools/launch/output_filter.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "rubato/base/error.hpp"

namespace rubato::tools {
namespace {

constexpr std::size_t kRuleLettersMin = 70;  // Open MPI's rules have 74 and 76, Hydra's 83
constexpr std::size_t kBoxLinesMax = 40;     // a program's own rule, that is never closed

bool is_rule(std::string_view line, char letter) {
  return line.size() >= kRuleLettersMin &&
         std::all_of(line.begin(), line.end(), [letter](char c) { return c == letter; });
}

bool contains(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

}  // namespace

std::string OutputFilter::feed(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    partial_ += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    take_line(std::exchange(partial_, {}), out);
    bytes.remove_prefix(end + 1);
  }
  return out;
}

std::string OutputFilter::flush() {
  std::string out;
  for (const std::string& line : box_)
    out += line + "\n";
  box_.clear();
  // The beginning of a report, or of a line to be said once, stays until its line is whole.
  if (!contains(partial_, "rubato-guard") && !contains(partial_, kOnceMark))
    out += std::exchange(partial_, {});
  return out;
}

bool OutputFilter::take_report(const std::string& line) {
  if (const auto end = parse_report(line)) {
    ends_.push_back(*end);
  } else if (auto output = parse_output_report(line)) {
    outputs_.insert(std::move(*output));
  } else if (auto record = parse_record_report(line)) {
    records_.insert(std::move(*record));
  } else if (auto journal = parse_journal_report(line)) {
    journals_.push_back(std::move(*journal));
  } else if (is_saves_report(line)) {
    saves_ = true;
  } else {
    return false;
  }
  return true;
}

// By itself. The launcher then ends the others, which is no news.
bool OutputFilter::some_node_failed() const {
  return std::ranges::any_of(ends_, [](const NodeEnd& end) {
    return end.signal == 0 && end.exit_code != 0 &&
           end.exit_code != static_cast<int>(ExitCode::terminated);
  });
}

void OutputFilter::take_line(std::string line, std::string& out) {
  if (take_report(line)) {
    line.resize(line.find("rubato-guard"));
    if (line.empty()) return;
  }
  if (const std::size_t at = line.find(kOnceMark); at != std::string::npos) {
    const std::string text = line.substr(at + kOnceMark.size());
    const bool is_new =
        !(text == "rubato: terminated" && some_node_failed()) && said_.insert(text).second;
    line.erase(at, is_new ? kOnceMark.size() : std::string::npos);
    if (line.empty()) return;
  }
  if (is_launchers_own(line)) return;
  if (!box_.empty() || is_rule(line, '-') || is_rule(line, '=')) {
    take_boxed_line(std::move(line), out);
    return;
  }
  constexpr std::array kAdvice = {"YOUR APPLICATION TERMINATED WITH", "This typically refers to a",
                                  "Please see the FAQ page for"};
  if (after_hydra_box_ && std::any_of(kAdvice.begin(), kAdvice.end(),
                                      [&](const char* part) { return contains(line, part); })) {
    return;
  }
  out += line + "\n";
}

void OutputFilter::take_boxed_line(std::string line, std::string& out) {
  const bool closes = !box_.empty() && line == box_.front();
  box_.push_back(std::move(line));
  if (!closes && box_.size() < kBoxLinesMax) return;
  if (closes && is_failure_box()) {
    after_hydra_box_ = box_.front().front() == '=';
    box_.clear();
    return;
  }
  for (const std::string& boxed : box_)
    out += boxed + "\n";
  box_.clear();
}

// Open MPI's: "[host:pid] *** Process received signal ***" with a stack, and a complaint.
bool OutputFilter::is_launchers_own(std::string_view line) const {
  if (ending_launcher_ == 0) return false;
  const std::size_t end = line.find("] ");
  const std::string own = ":" + std::to_string(ending_launcher_);
  const bool of_launcher =
      line.starts_with("[") && end != std::string_view::npos && line.substr(0, end).ends_with(own);
  return of_launcher || contains(line, "abort is already in progress");
}

bool OutputFilter::is_failure_box() const {
  constexpr std::array kSigns = {"noticed that process rank", "process returned",
                                 "exited with non-zero status", "has unexpectedly disconnected",
                                 "BAD TERMINATION OF ONE"};
  return std::any_of(box_.begin(), box_.end(), [&](const std::string& line) {
    return std::any_of(kSigns.begin(), kSigns.end(),
                       [&](const char* sign) { return contains(line, sign); });
  });
}

}  // namespace rubato::tools
