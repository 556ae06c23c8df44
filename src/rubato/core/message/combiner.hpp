#pragma once
// What a core holds back: Combiner messages for a while, so that fewer and larger ones leave;
// HeldBack work, as long as anything else goes on in the job.

#include <functional>

namespace rubato::core {

class CoreContext;

// Holds back what is to be sent, so that more can be combined with it.
class Combiner {
 public:
  Combiner() = default;
  Combiner(const Combiner&) = delete;
  Combiner& operator=(const Combiner&) = delete;
  virtual ~Combiner() = default;

  // Sends all that it holds. Called when its core has nothing else to do, or
  // MessageOptions::combining_age after hold_back().
  virtual void flush(CoreContext& here) = 0;

 private:
  friend class CoreContext;
  bool is_listed_ = false;
};

// Work that goes on when nothing else can happen any more on any node, in place of a deadlock.
struct HeldBack {
  std::function<bool()> is_any;  // called between the turns of its core
  std::function<void()> let_go;  // called in a task of it, of no scope
  std::function<void()> look;  // called when n_lent() has become less, not in a task; may be empty
};

}  // namespace rubato::core
