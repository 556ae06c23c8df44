#include "rubato/flow/journal/equal_tasks.hpp"

#include <map>

#include "rubato/global/delegate.hpp"

namespace rubato::flow {
namespace {

using core::CoreContext;

// How many there were of each task whose home is a core.
struct EqualTasks {
  std::map<TaskIdentity::Key, std::uint64_t> n;
};

}  // namespace

std::uint64_t number_among_equals(TaskIdentity& task) {
  if (!task.may_have_equals()) return 0;
  const TaskIdentity::Key key = task.key();
  const auto n_cores = CoreContext::here().shape().n_cores_total();
  // What is called is the core, not its memory.
  const global::GlobalPtr<std::byte> home(static_cast<CoreId>(key[1] % n_cores),
                                          global::Place::at_offset(0));
  const std::uint64_t number = global::call(home, [key](std::byte& /*unused*/) {
    return CoreContext::here().local_or_make<EqualTasks>().n[key]++;
  });
  task.set_number(number);
  return number;
}

void forget_equal_tasks(CoreContext& here) {
  here.local_or_make<EqualTasks>().n.clear();
}

}  // namespace rubato::flow
