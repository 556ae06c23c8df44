// The program of flow-start: a flow of nothing, on the cores of one node.

#include "rubato/flow/run.hpp"

int main() {
  return rubato::flow::run_main([] {});
}
