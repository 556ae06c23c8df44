#pragma once
// WeighedSamples: what part() of a model that can be cut again goes by, of some tuples, as the model
// writes it (model.hpp); and what these cost.

#include "rubato/base/bytes.hpp"

namespace rubato::tick {

struct WeighedSamples {
  ByteView samples;
  double cost = 0;  // ns of a core that a step of these tuples takes; 0: they are taken as they are
};

}  // namespace rubato::tick
