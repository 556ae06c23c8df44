#include "rubato/net/fabric_factory.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::net {
namespace {

// How long a message to itself takes says nothing here (it is never delayed); the type does.
class MakeFabric : public ::testing::Test {
 protected:
  MakeFabric() { setenv("RUBATO_MPI", "none", 1); }
  ~MakeFabric() override {
    unsetenv("RUBATO_MPI");
    unsetenv("RUBATO_PROFILE");
    unsetenv("RUBATO_SEED");
  }
};

TEST_F(MakeFabric, IsAJobOfOneNodeWithoutALauncher) {
  const auto fabric = make_fabric();
  EXPECT_EQ(fabric->n_nodes(), 1U);
  EXPECT_EQ(fabric->node(), 0U);
  Bytes bytes(3);
  ASSERT_TRUE(fabric->try_send(0, bytes));
  Arrival arrival;
  ASSERT_TRUE(fabric->poll(arrival));
  EXPECT_EQ(arrival.bytes.size(), 3U);
}

TEST_F(MakeFabric, TakesTheProfileOfTheEnvironmentUnlessToldOtherwise) {
  setenv("RUBATO_PROFILE", "ec2-lage", 1);
  try {
    (void)make_fabric();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).rfind("RUBATO_PROFILE: ", 0), 0U) << e.what();
  }
  FabricOptions options;
  options.profile = "ec2-large";
  EXPECT_NE(make_fabric(options), nullptr);
}

TEST_F(MakeFabric, RefusesASeedThatIsNoNumber) {
  setenv("RUBATO_SEED", "seven", 1);
  EXPECT_THROW((void)make_fabric(), Error);
}

}  // namespace
}  // namespace rubato::net
