// How large is a tree that nobody knows before having walked it? (Unbalanced Tree Search)
//   trees [T1|T1L|T3|T3L|small]
//
// Shows the balance of work: a vertex is a task, which spawns its children, and subtrees differ a
// thousandfold. Tasks stay on the core that made them until another one has nothing left.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/reduce.hpp"
#include "uts_tree.hpp"

using namespace rubato::global;

namespace {

// The task.
struct Visit {
  uts::Vertex vertex;
  std::uint32_t tree;              // of uts::kTrees
  GlobalArray<uts::Count> counts;  // an element a core, for the vertices that are visited there

  void run(CoreContext& here) const {
    const std::uint32_t n = uts::n_children(uts::kTrees[tree], vertex);
    uts::Count& mine = counts.local()[0];
    ++mine.n_vertices;
    if (n == 0) ++mine.n_leaves;
    mine.depth = std::max(mine.depth, vertex.depth);
    for (std::uint32_t i = 0; i < n; ++i)
      here.spawn_pooled(Visit{uts::child(vertex, i), tree, counts});
  }
};

uts::Count walk_together(std::uint32_t tree) {
  const auto counts = GlobalArray<uts::Count>::make(n_cores());
  finish([&] {
    CoreContext::here().spawn_pooled(Visit{uts::root(uts::kTrees[tree]), tree, counts});
  });
  return reduce(counts, uts::Count{}, [](const uts::Count& a, const uts::Count& b) {
    return uts::Count{a.n_vertices + b.n_vertices, a.n_leaves + b.n_leaves,
                      std::max(a.depth, b.depth)};
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  return run_main([&name] {
    const std::uint32_t tree = uts::number_of(name.empty() ? "small" : name);
    const rubato::Nanos begin = rubato::steady_now();
    const uts::Count count = walk_together(tree);
    const double time = static_cast<double>(rubato::steady_now() - begin) / rubato::kSecond;

    const uts::Count expected =
        name.empty() ? uts::walk(uts::kTrees[tree]) : uts::kTrees[tree].expected;
    const bool is_right = count == expected;
    std::printf("%lu vertices, %lu leaves, depth %u: %s\n", count.n_vertices, count.n_leaves,
                count.depth, is_right ? "right" : "WRONG");
    std::fprintf(stderr, "%.3f s, %.1f million vertices a second on %u cores\n", time,
                 static_cast<double>(count.n_vertices) / time / 1e6, n_cores());
    if (!is_right) throw rubato::Error("trees: wrong", rubato::ExitCode::failed);
  });
}
