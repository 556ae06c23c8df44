#include "rubato/net/testing/nodes_main.hpp"

#include <csignal>
#include <cstdio>
#include <memory>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "rubato/base/error.hpp"
#include "rubato/net/fabric_factory.hpp"

namespace rubato::net::testing {
namespace {

// Owned by run(), not by a static: an MPI that ends the process with exit() would destroy it
// meanwhile.
Fabric* fabric = nullptr;

class EndOfJob : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (!info.result()->Failed()) return;
    const auto& result = *info.result();
    std::string why = std::string(info.test_suite_name()) + "." + info.name() + " failed";
    for (int i = 0; i < result.total_part_count(); ++i) {
      why += std::string("\n") + result.GetTestPartResult(i).message();
    }
    fabric->abort(1, why);
  }
};

}  // namespace

Fabric& job_fabric() {
  return *fabric;
}

int run(int argc, char** argv) {
  // A test that ctest ends for its time must not leave its processes behind.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::testing::InitGoogleTest(&argc, argv);
  std::unique_ptr<Fabric> owned;
  try {
    owned = make_fabric();
  } catch (const Error& e) {
    std::fprintf(stderr, "rubato: %s\n", e.what());
    return static_cast<int>(e.code());
  }
  fabric = owned.get();
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (fabric->node() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new EndOfJob);
  return RUN_ALL_TESTS();
}

}  // namespace rubato::net::testing

int main(int argc, char** argv) {
  return rubato::net::testing::run(argc, argv);
}
