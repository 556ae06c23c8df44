#pragma once
// Combiner: what holds messages of a core back for a while, so that fewer and larger ones leave.

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

}  // namespace rubato::core
