#include "rubato/flow/interpret/actions.hpp"
#include "rubato/flow/interpret/interpreter.hpp"

namespace rubato::flow {

void Interpreter::call_app(const tic::Rule& /*rule*/, const tic::RuleCall& /*call*/,
                           const tic::Callable& callable, Environment& /*environment*/) {
  throw Error("program " + callable.name);
}

}  // namespace rubato::flow
