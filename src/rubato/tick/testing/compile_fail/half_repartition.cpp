// Samples that cannot be put together.
// expect-error: a model with Samples needs: Samples sample(const State&)
#include "rubato/tick/testing/compile_fail/minimal_model.hpp"

namespace rubato::tick {

struct Wrong : testing::MinimalModel {
  using Samples = int;
  using testing::MinimalModel::part;
  Samples sample(const State& state) const { return static_cast<int>(state.size()); }
#ifdef RUBATO_RIGHT
  void merge_samples(Samples& into, const Samples& from) const {
    into += from;
  }
#endif
  void write_samples(Writer& writer, const Samples& samples) const {
    writer.put(samples);
  }
  Samples read_samples(Reader& reader) const {
    return reader.get<Samples>();
  }
  std::vector<Query> part(std::uint32_t n, const Samples& /*samples*/) const {
    return part(n);
  }
};

#ifdef RUBATO_RIGHT
static_assert(HasRepartition<Wrong>);
#else
static_assert(Model<Wrong> && !HasRepartition<Wrong>);
#endif
void check() {
  explain_model<Wrong>();
}

}  // namespace rubato::tick
