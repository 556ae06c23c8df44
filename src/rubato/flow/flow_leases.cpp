// Files that go when nobody needs them any more.
//
// The right to use a file is that to write a datum, whose parts rules carry and give back as any other:
// so the file is counted wherever its users are, and nobody asks for it.

#include <filesystem>
#include <system_error>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {

Ref Flow::lease_file(const std::string& path, PortablePlace at) {
  const DataId id = create(Kind::unit, Closing::counted, at);
  give_back_reader_here({id, kWholeWeight});  // nobody waits for it
  leased_.emplace(id.word, path);
  return {id, kWholeWeight};
}

void Flow::end_lease(DataId id) {
  const auto ended = leased_.extract(id.word);
  if (ended.empty()) return;
  here_.spawn(
      [this, path = ended.mapped()] {
        const auto remove = [&path] {
          std::error_code ignored;  // what is left goes with the folder
          std::filesystem::remove_all(path, ignored);
        };
        here_.run_native(remove, {core::NativeTime::brief});
      },
      core::TaskOptions{"a temporary file goes"});
}

}  // namespace rubato::flow
