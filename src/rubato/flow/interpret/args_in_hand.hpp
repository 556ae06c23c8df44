#pragma once
// ArgsInHand: arguments of a rule that is not made yet; if it never is, their references are given
// back.

#include <utility>
#include <vector>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

class ArgsInHand {
 public:
  explicit ArgsInHand(Flow& flow) noexcept : flow_(flow) {}
  ArgsInHand(const ArgsInHand&) = delete;
  ArgsInHand& operator=(const ArgsInHand&) = delete;
  ~ArgsInHand() {
    for (const Arg& arg : all) {
      if (arg.mode == Arg::Mode::writer) {
        flow_.give_back_writer(arg.ref);
      } else {
        flow_.give_back_reader(arg.ref);
      }
    }
  }

  // They are the rule's.
  [[nodiscard]] std::vector<Arg> take() noexcept { return std::exchange(all, {}); }

  std::vector<Arg> all;

 private:
  Flow& flow_;
};

}  // namespace rubato::flow
