// An integer where a script wants a float.

#include "rubato/flow/interpret/run_script_test.hpp"

namespace rubato::flow {
namespace {

TEST(Widening, makes_floats_of_integers_that_are_parameters) {
  expect_lines(R"(
    struct point { float x y }
    function half(float x) to (float y) { y = x / 2 }
    function again(float x) to (float y) { when { } then {y} from {half x} }
    function shown(float x) to (string s) { s = string(x) }
    function grown(float x) to (float y) { loop (float z = x) while z < 10 { next (z * 1.5) } to (y) }
    function sum(container<integer, float> c) to (float s) { s = c[1] / 2 + c[2] / 2 }
    function norm(point p) to (float r) { r = p.x / 2 + p.y / 2 }
    integer n
    when { } then {n} from {= 3}
    container<integer, integer> c
    insert c[1] = n
    container<integer, float> d
    insert d[1] = n
    insert d[2] = 1
    point p
    p.x = n
    p.y = 2
    float y1 y2 y3 y4 y5 y6 y7 y8
    string s
    when { } then {y1} from {half n}
    when {n} then {y2} from {half n}
    when { } then {y3} from {half c[1]}
    when { } then {y4} from {again n}
    when { } then {y5} from {grown n}
    when { } then {y6} from {sum d}
    when { } then {y7} from {norm p}
    when {c} then {y8} from {half (0 + c[1])}
    when { } then {s} from {shown n}
    print(y1, y2, y3, y4, y5, y6, y7, y8, s)
    for i in [3:3] {
      float z
      when { } then {z} from {half i}
      print(z)
    }
)",
               "1.5 1.5 1.5 1.5 10.125 2.0 2.5 1.5 3.0\n1.5\n");
}

}  // namespace
}  // namespace rubato::flow
