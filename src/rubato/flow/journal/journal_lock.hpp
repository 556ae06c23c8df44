#pragma once
// JournalLock: of the processes that might write a journal at the same time, one has it.
//
// A lock on the file `journal.lock` in the journal's folder, which ends with the process whatever ends
// that: one of the process, which has it again for its next run. Nobody else opens that file, since the
// lock would end when it is closed. The file `journal.holder` says whose it is, for people, and for the
// nodes of the run: who does not find the same there looks at another folder of that name.

#include <string>

#include "rubato/flow/journal/journal.hpp"

namespace rubato::flow {

class JournalLock {
 public:
  // Tries to get it for a run that begins, which has its number then (Journal::numbered): the folder
  // is made if it is to be new. Throws Error as that does, and if the files cannot be opened. On file
  // systems that know no locks all get it.
  explicit JournalLock(const JournalOptions& asked);
  JournalLock(const JournalLock&) = delete;
  JournalLock& operator=(const JournalLock&) = delete;
  ~JournalLock();

  // Who has it; "" if this one does.
  [[nodiscard]] const std::string& in_use_by() const noexcept { return in_use_by_; }
  // It is locked by another machine: if that went down, a file server lets go of it after a while.
  [[nodiscard]] bool may_be_left() const;
  // REQUIRES: it is not in use.
  [[nodiscard]] const JournalOptions& options() const noexcept { return options_; }
  // The last one that had it; "" if none did.
  [[nodiscard]] static std::string holder_in(const std::string& folder);

 private:
  void take(const std::string& folder);

  int file_ = -1;
  std::string in_use_by_;
  JournalOptions options_;
};

}  // namespace rubato::flow
