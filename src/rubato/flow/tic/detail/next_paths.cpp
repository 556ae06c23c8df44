// Each round of a loop goes to the next exactly once, whichever branches it takes.

#include <algorithm>

#include "rubato/flow/tic/detail/checker.hpp"

namespace rubato::flow::tic::detail {
namespace {

// How many times a block says next, at least and at most.
struct Count {
  int least = 0;
  int most = 0;
};

class NextCheck {
 public:
  explicit NextCheck(Diagnostics& errors) : errors_(errors) {}

  Count block(const Block& b) {
    Count sum;
    for (const Statement& s : b.statements) {
      const Count c = std::visit([&](const auto& f) { return form(f, s.place); }, s.form);
      // At most 2 is told apart, so that long scripts cannot overflow.
      sum.least = std::min(2, sum.least + c.least);
      sum.most = std::min(2, sum.most + c.most);
    }
    return sum;
  }

 private:
  template <class Form>
  Count form(const Form&, Place) {
    return {};
  }
  Count form(const Next&, Place) { return {1, 1}; }
  Count form(const Wait& w, Place) { return block(w.body); }
  Count form(const Foreach& f, Place) {
    block(f.body);
    return {};
  }
  Count form(const ForRange& f, Place) {
    block(f.body);
    return {};
  }
  Count form(const If& i, Place) {
    Count count = i.otherwise ? block(*i.otherwise) : Count{};
    either(count, block(i.body));
    return count;
  }
  Count form(const Switch& s, Place) {
    Count count = s.otherwise ? block(*s.otherwise) : Count{};
    for (const Case& c : s.cases)
      either(count, block(c.body));
    return count;
  }
  static void either(Count& count, Count other) {
    count.least = std::min(count.least, other.least);
    count.most = std::max(count.most, other.most);
  }
  Count form(const Loop& l, Place place) {
    const Count count = block(l.body);
    if (count.most == 0) {
      errors_.found(place, "a loop without next", "next (..) in its body");
    } else if (count.least == 0) {
      errors_.found(place, "a loop of which some rounds reach no next", "next (..) on each way");
    } else if (count.most > 1) {
      errors_.found(place, "a loop of which some rounds reach two next",
                    "one next (..) on each way");
    }
    return {};
  }

  Diagnostics& errors_;
};

}  // namespace

void check_next(const Block& body, Diagnostics& errors) {
  NextCheck(errors).block(body);
}

}  // namespace rubato::flow::tic::detail
