#pragma once
// The files of a journal: their names, what is in them, and one file made of many. The format is in
// journal.hpp.

#include <functional>
#include <string>
#include <vector>

#include "rubato/base/bytes.hpp"

namespace rubato::flow::journal_files {

// A file of a node of a run.
[[nodiscard]] std::string name_of(std::uint32_t run, std::uint32_t node);
// Those to be read, the oldest run first: what is in one file of several runs is not read again.
[[nodiscard]] std::vector<std::string> in_folder(const std::string& folder);
// Of a file of a journal: the last run of which it has entries; 0 if it is none.
[[nodiscard]] std::uint32_t run_of(const std::string& path);

// The payloads of whole entries, and where in the file they begin; what is torn at its end is left
// out. Throws Error if the file cannot be read or is no journal of this version.
void for_each_entry(const std::string& path,
                    const std::function<void(ByteView payload, std::uint64_t offset)>& visit);
// Of a part of a file; empty if it cannot be read.
[[nodiscard]] Bytes read_part(const std::string& path, std::uint64_t offset, std::size_t n_bytes);
// The begin of a file, and an entry with that payload.
[[nodiscard]] Bytes magic();
[[nodiscard]] Bytes entry_of(ByteView payload);

// Writes the entries of all files of a folder into one, of each task the last, so that each node of
// a run that goes on has one file to read and not one of each node. It is there as a whole or not
// at all: where it cannot be written, the nodes read what was there.
void merge(const std::string& folder);

}  // namespace rubato::flow::journal_files
