#pragma once
// StacklessTasks: what has begun on a core, has not ended and has no stack that would tell of it
// (coroutines), by the places where it was started. So that a run does not end before it has, and a
// deadlock names it.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "rubato/base/source_place.hpp"
#include "rubato/core/job_shape.hpp"
#include "rubato/core/message/handlers.hpp"

namespace rubato::core::detail {

class StacklessTasks {
 public:
  // Those that were started at one place. Stays where it is.
  struct OfPlace {
    SourcePlace at;
    std::string text{};  // "a coroutine that was started at file:line"
    Handler handler{};   // for people: what is applied while one of them runs, by that name
    std::uint64_t n = 0;
    std::uint64_t n_asking = 0;  // of them, for an answer: of a delegate, or one of `answers`
    std::uint64_t n_nested = 0;  // for another of this place, which they have begun
    // How many wait for something else than the result of a delegate, which a literal says.
    std::map<const char*, std::uint64_t> answers{};
  };

  // One more; whoever it is keeps the result, of 8 bytes where a place has 16, until end().
  [[nodiscard]] OfPlace& begin(SourcePlace at) {
    if (last_ == nullptr || last_->at.file != at.file || last_->at.line != at.line)
      last_ = &of_place(at);
    ++last_->n;
    ++n_;
    return *last_;
  }
  void end(OfPlace& of_place) noexcept {
    --of_place.n;
    --n_;
  }

  [[nodiscard]] std::uint64_t n() const noexcept { return n_; }
  // "; 3 coroutines of core 1, started at file:line, wait (2 for delegates, 1 for events)", for each of
  // at most `n_most` places.
  [[nodiscard]] std::string text(CoreId core, std::size_t n_most) const;

 private:
  [[nodiscard]] OfPlace& of_place(SourcePlace at);

  std::map<std::pair<const char*, int>, OfPlace> places_;
  OfPlace* last_ = nullptr;
  std::uint64_t n_ = 0;
};

}  // namespace rubato::core::detail
