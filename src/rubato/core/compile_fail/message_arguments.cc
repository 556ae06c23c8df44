// Each CASE must fail to compile, with the message that CMakeLists.txt names. CASE 0 compiles.
#include <string>
#include <string_view>

#include "rubato/core/message/core_context.hpp"

namespace rubato::core {

#if CASE == 0 || CASE > 4
using Argument = int;
#elif CASE == 1
using Argument = int*;
#elif CASE == 2
using Argument = const int&;
#elif CASE == 3
using Argument = std::string_view;
#elif CASE == 4
using Argument = std::string;
#endif

void handler(CoreContext& /*here*/, Argument /*argument*/) {}
int other(int x) {
  return x;
}

#if CASE == 5
void send(CoreContext& here) {
  here.send<&other>(0);
}
#elif CASE == 6
void send(CoreContext& here) {
  here.send<&handler>(0);
}
#else
void send(CoreContext& here, Argument argument) {
  here.send<&handler>(0, argument);
}
#endif

}  // namespace rubato::core
