#include "rubato/tick/plan.hpp"

namespace rubato::tick {

void Plan::link_readers() {
  std::vector<std::vector<RegionId>> lists(regions.size());
  for (RegionId reader = 0; reader < regions.size(); ++reader) {
    for (const RegionId input : inputs[reader])
      lists[input].push_back(reader);
  }
  readers = {};
  for (const auto& list : lists)
    readers.append(list);
}

}  // namespace rubato::tick
