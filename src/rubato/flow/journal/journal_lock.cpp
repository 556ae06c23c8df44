#include "rubato/flow/journal/journal_lock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/base/wall_clock.hpp"

namespace rubato::flow {
namespace {

namespace fs = std::filesystem;

std::string path_of_lock(const std::string& folder) {
  return (fs::path(folder) / "journal.lock").string();
}
std::string path_of_holder(const std::string& folder) {
  return (fs::path(folder) / "journal.holder").string();
}

std::string host_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return host.data();
}
std::string name_of_this_run() {
  return "process " + std::to_string(::getpid()) + " on " + host_name() + ", since " + utc_now();
}

[[noreturn]] void fail(const std::string& what) {
  throw Error("journal: " + what + ": " + std::strerror(errno), ExitCode::failed);
}

void write_holder(const std::string& folder, const std::string& text) {
  const std::string path = path_of_holder(folder);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail("cannot write " + path);
  const bool is_there =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file) == 0;
  if (::close(file) != 0 || !is_there) fail("cannot write " + path);
}

enum class Taken : std::uint8_t { yes, no, no_such_thing };

Taken try_to_lock(int file, const std::string& path) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file, F_SETLK, &whole) == 0) return Taken::yes;
  switch (errno) {
    case EAGAIN:
    case EACCES:
      return Taken::no;
    case EINVAL:
    case ENOLCK:
    case ENOSYS:
    case EOPNOTSUPP:
      return Taken::no_such_thing;
    default:
      fail("cannot lock " + path);
  }
}

}  // namespace

std::string JournalLock::holder_in(const std::string& folder) {
  std::ifstream file(path_of_holder(folder), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

JournalLock::JournalLock(const JournalOptions& asked) {
  // Journal::numbered() says what is wrong with a folder, in which nothing is to be left then.
  std::error_code ignored;
  if (!asked.resume) fs::create_directories(asked.folder, ignored);
  const bool is_there =
      asked.resume ? Journal::has_run(asked.folder) : fs::is_directory(asked.folder, ignored);
  try {
    if (is_there) take(asked.folder);
    if (!in_use_by_.empty()) return;
    options_ = Journal::numbered(asked);
    options_.holder = name_of_this_run();
    write_holder(options_.folder, options_.holder);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

void JournalLock::take(const std::string& folder) {
  const std::string path = path_of_lock(folder);
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot open " + path);
  if (try_to_lock(file_, path) != Taken::no) return;
  // Now: closed after a later try has got it, it would take the lock along.
  ::close(std::exchange(file_, -1));
  in_use_by_ = holder_in(folder);
  if (in_use_by_.empty()) in_use_by_ = "another run";
}

bool JournalLock::may_be_left() const {
  return in_use_by_.find(" on ") != std::string::npos &&
         in_use_by_.find(" on " + host_name() + ",") == std::string::npos;
}

JournalLock::~JournalLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace rubato::flow
