#pragma once
// Frame: the files of one tick: written by all nodes, each its own tuples, and made whole by one.
// All of it in a folder that shows nothing to people (work_folder.hpp).
//
// A process has one Frame for each wanted tick, whether it is one node of a job or all virtual
// nodes of a simulation. Grids have files of fixed layout, into which each row goes straight from
// the store's memory (SharedOutputFile); tables have sorted parts that one node merges as a stream.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rubato/tick/output/source.hpp"

namespace rubato::tick::detail {

struct FrameFormats {
  bool csv = false;
  bool vtk = false;
  bool png = false;
};

struct FrameOptions {
  std::string folder;  // where they are made
  std::string name;    // of the run, for titles
  std::string stem;    // of the files: stem.csv, ..
  Tick tick = 0;
  FrameFormats formats;
  std::uint32_t n_nodes = 1;
  std::uint64_t job_id = 0;

  [[nodiscard]] std::string path(const std::string& extension) const {
    return folder + "/" + stem + extension;
  }
};

class Frame {
 public:
  Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  virtual ~Frame() = default;

  // Takes tuples of a node of this process; its methods are called from several cores at once.
  [[nodiscard]] virtual OutputReader& reader(NodeId node) = 0;
  // All tuples of that node have been read.
  virtual void node_done(NodeId node) = 0;
  // All nodes of this process are done: nothing stays open.
  virtual void finish() = 0;
  // All processes have finished; called on one of them. The files in the folder are whole then.
  virtual void commit() = 0;
  // Which those are, by extension: what another one names comes first.
  [[nodiscard]] virtual std::vector<std::string> extensions() const = 0;
  // Of what ParaView opens, or "".
  [[nodiscard]] virtual std::string vtk_extension() const = 0;
};

// Of the cells that a picture of the grid `source` shows: row by row, for its schema; empty if no
// cell can be of a kind. Asks for all rows that are shown, so once a run, before its first frame.
[[nodiscard]] std::vector<std::uint8_t> sample_kinds(const OutputSource& source);

// `schema` outlives the frame.
[[nodiscard]] std::unique_ptr<Frame> make_grid_frame(const OutputSchema& schema,
                                                     const FrameOptions& options);
[[nodiscard]] std::unique_ptr<Frame> make_table_frame(const OutputSchema& schema,
                                                      const FrameOptions& options);

}  // namespace rubato::tick::detail
