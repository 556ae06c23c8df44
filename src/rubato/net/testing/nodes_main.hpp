#pragma once
// What a test with NODES (rubato_test in cmake/RubatoTest.cmake) finds in every process of its job:
// the main of the test program joins the job once, runs the same tests on every node, and lets node
// 0 alone print. A failed expectation ends the whole job with exit code 1 and the node's name,
// since the other nodes would wait for this one.

#include "rubato/net/fabric.hpp"

namespace rubato::net::testing {

// The fabric of the job; lives as long as the tests.
[[nodiscard]] Fabric& job_fabric();

}  // namespace rubato::net::testing
