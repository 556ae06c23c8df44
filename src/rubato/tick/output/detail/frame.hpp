#pragma once
// Frame: the files of one tick: written by all nodes, each its own tuples, and made whole by one.
//
// A process has one Frame for each wanted tick, whether it is one node of a job or all virtual
// nodes of a simulation. Grids have files of fixed layout, into which each row goes straight from
// the store's memory (SharedOutputFile); tables have sorted parts that one node merges as a stream.

#include <cstdint>
#include <memory>
#include <string>

#include "rubato/tick/output/source.hpp"

namespace rubato::tick::detail {

struct FrameFormats {
  bool csv = false;
  bool vtk = false;
  bool png = false;
};

struct FrameOptions {
  std::string folder;
  std::string name;  // of the run, for titles
  std::string stem;  // of the files: stem.csv, ..
  Tick tick = 0;
  FrameFormats formats;
  std::uint32_t n_nodes = 1;
  std::uint64_t job_id = 0;

  [[nodiscard]] std::string path(const std::string& extension) const {
    return folder + "/" + stem + extension;
  }
  // A file that is gone when the frame is whole.
  [[nodiscard]] std::string hidden_path(const std::string& extension) const {
    return folder + "/." + stem + extension;
  }
};

class Frame {
 public:
  Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  // Removes what is half written unless finish() was called.
  virtual ~Frame() = default;

  // Takes tuples of a node of this process; its methods are called from several cores at once.
  [[nodiscard]] virtual OutputReader& reader(NodeId node) = 0;
  // All tuples of that node have been read.
  virtual void node_done(NodeId node) = 0;
  // All nodes of this process are done: nothing stays open.
  virtual void finish() = 0;
  // All processes have finished; called on one of them. The files appear.
  virtual void commit() = 0;
  // Takes back what finish() left, instead of commit().
  virtual void abandon() noexcept = 0;
  // What ParaView opens, or "".
  [[nodiscard]] virtual std::string vtk_file() const = 0;
};

// `schema` outlives the frame.
[[nodiscard]] std::unique_ptr<Frame> make_grid_frame(const OutputSchema& schema,
                                                     const FrameOptions& options);
[[nodiscard]] std::unique_ptr<Frame> make_table_frame(const OutputSchema& schema,
                                                      const FrameOptions& options);

}  // namespace rubato::tick::detail
