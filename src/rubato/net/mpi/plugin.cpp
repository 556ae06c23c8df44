// The MPI plugin: compiled once against each MPI that is installed, loaded by net/mpi.cpp. The only
// file that knows MPI. See plugin_api.h for what it must do.

// The C++ bindings of MPI-2 would make the plugin need a second library.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>
#include <unistd.h>

#include "rubato/net/mpi/plugin_api.h"

namespace {

// MPI itself is global to a process, and so is the state of its plugin.
struct State {
  // Our own: messages of a library that uses MPI beside us never mix with ours.
  MPI_Comm comm = MPI_COMM_NULL;
  bool started_mpi = false;  // else the program did, and it stops MPI too
  std::uint32_t slot_bytes = 0;
  std::unique_ptr<char[]> slots;      // [n_slots * slot_bytes], its pages touched when used
  std::vector<MPI_Request> receives;  // [n_slots], null while the slot is handed out
  std::vector<MPI_Request> sends;     // the open ones
  std::vector<std::uint64_t> tokens;  // [sends]
  std::vector<int> indices;           // room for MPI_Testsome
  std::vector<MPI_Status> statuses;
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool in_barrier = false;
  std::string error;
};

State& state() {
  static State s;
  return s;
}

// Notes what `call` said if it failed.
bool ok(int result, const char* call) {
  if (result == MPI_SUCCESS) return true;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  state().error = std::string(call) + ": " + text.data();
  return false;
}

bool post(std::uint32_t slot) {
  State& s = state();
  return ok(
      MPI_Irecv(s.slots.get() + std::size_t{slot} * s.slot_bytes, static_cast<int>(s.slot_bytes),
                MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, s.comm, &s.receives[slot]),
      "MPI_Irecv");
}

// Over TCP, Open MPI asks for leave before it sends more than 64 KB: a late network is then met
// three times. A fragment of ours fits the receiver's slot whatever its size, so it goes at once.
// Within a machine the same holds from 4 KB on, and an answer waits until a busy sender looks: buffers of
// messages, of 64 KB and a block, go at once too, for one more copy.
// What the user has set stays.
void send_fragments_at_once(std::uint32_t slot_bytes) {
#ifdef OPEN_MPI
  const std::string limit = std::to_string(slot_bytes + 1024);
  for (const char* name : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_rndv_eager_limit",
                           "OMPI_MCA_btl_tcp_max_send_size"}) {
    setenv(name, limit.c_str(), 0);  // NOLINT(concurrency-mt-unsafe): before MPI starts threads
  }
  setenv("OMPI_MCA_btl_vader_eager_limit", "98304", 0);  // NOLINT(concurrency-mt-unsafe): as above
#else
  static_cast<void>(slot_bytes);
#endif
}

#ifdef OPEN_MPI
// Of Open MPI's libopen-pal; absent in versions that have renamed it.
extern "C" __attribute__((weak)) bool opal_progress_set_yield_when_idle(bool yields);
#endif

// On a crowded machine Open MPI gives the processor away whenever a test finds nothing. That is
// right while it blocks, at its start and its end; in between, a core that has work looks for
// messages now and then and goes on at once, and one that has none naps (core/detail/node_run.cpp).
void yield_when_idle([[maybe_unused]] bool yields) {
#ifdef OPEN_MPI
  static bool was = false;
  if (opal_progress_set_yield_when_idle == nullptr) return;
  if (yields) {
    opal_progress_set_yield_when_idle(was);
  } else {
    was = opal_progress_set_yield_when_idle(false);
  }
#endif
}

bool start_mpi() {
  State& s = state();
  int initialized = 0;
  MPI_Initialized(&initialized);
  int level = MPI_THREAD_SINGLE;
  if (initialized == 0) {
    if (!ok(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread")) {
      return false;
    }
    s.started_mpi = true;
  } else {
    MPI_Query_thread(&level);
  }
  if (level < MPI_THREAD_SERIALIZED) {
    s.error = "this MPI offers thread level " + std::to_string(level) +
              ", expected at least MPI_THREAD_SERIALIZED (" +
              std::to_string(MPI_THREAD_SERIALIZED) + ")";
    return false;
  }
  return ok(MPI_Comm_dup(MPI_COMM_WORLD, &s.comm), "MPI_Comm_dup") &&
         ok(MPI_Comm_set_errhandler(s.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void fill_info(RubatoMpiInfo* info) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(state().comm, &rank);
  MPI_Comm_size(state().comm, &size);
  info->rank = static_cast<std::uint32_t>(rank);
  info->n_ranks = static_cast<std::uint32_t>(size);
  int length = 0;
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  MPI_Get_processor_name(host.data(), &length);
  std::snprintf(info->host, sizeof info->host, "%s", host.data());
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  MPI_Get_library_version(library.data(), &length);
  // Its first line, without trailing blanks, is for people.
  library[std::strcspn(library.data(), ",\n")] = '\0';
  std::snprintf(info->library, sizeof info->library, "%.255s", library.data());
}

int start(std::uint32_t n_slots, std::uint32_t slot_bytes, std::uint32_t n_sends,
          RubatoMpiInfo* info) {
  State& s = state();
  send_fragments_at_once(slot_bytes);
  if (!start_mpi()) return -1;
  yield_when_idle(false);
  fill_info(info);
  s.slot_bytes = slot_bytes;
  s.slots = std::make_unique_for_overwrite<char[]>(std::size_t{n_slots} * slot_bytes);
  s.receives.assign(n_slots, MPI_REQUEST_NULL);
  s.sends.reserve(n_sends);
  s.tokens.reserve(n_sends);
  s.indices.resize(std::max(n_slots, n_sends));
  s.statuses.resize(std::max(n_slots, n_sends));
  for (std::uint32_t slot = 0; slot < n_slots; ++slot) {
    if (!post(slot)) return -1;
  }
  return 0;
}

// The checker looks for a wait in this function; ours is the MPI_Testsome of progress_sends().
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
int send(std::uint32_t to, std::uint32_t tag, const void* data, std::uint32_t n_bytes,
         std::uint64_t token, int synchronous) {
  State& s = state();
  MPI_Request request = MPI_REQUEST_NULL;
  const auto start_send = synchronous != 0 ? MPI_Issend : MPI_Isend;
  if (!ok(start_send(data, static_cast<int>(n_bytes), MPI_BYTE, static_cast<int>(to),
                     static_cast<int>(tag), s.comm, &request),
          "MPI_Isend")) {
    return -1;
  }
  s.sends.push_back(request);
  s.tokens.push_back(token);
  return 0;
}
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

// Reports the sends that are complete; returns the new count of events, -1 if MPI failed.
int progress_sends(RubatoMpiEvent* events, int n_events) {
  State& s = state();
  if (s.sends.empty()) return n_events;
  int n_done = 0;
  if (!ok(MPI_Testsome(static_cast<int>(s.sends.size()), s.sends.data(), &n_done, s.indices.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Testsome of sends")) {
    return -1;
  }
  if (n_done == MPI_UNDEFINED || n_done == 0) return n_events;
  for (int i = 0; i < n_done; ++i) {
    RubatoMpiEvent& event = events[n_events++];
    event = {};
    event.kind = RUBATO_MPI_SENT;
    event.token = s.tokens[static_cast<std::size_t>(s.indices[static_cast<std::size_t>(i)])];
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.sends.size(); ++i) {
    if (s.sends[i] == MPI_REQUEST_NULL) continue;
    s.sends[kept] = s.sends[i];
    s.tokens[kept++] = s.tokens[i];
  }
  s.sends.resize(kept);
  s.tokens.resize(kept);
  return n_events;
}

int progress(RubatoMpiEvent* events) {
  State& s = state();
  int n_done = 0;
  if (!ok(MPI_Testsome(static_cast<int>(s.receives.size()), s.receives.data(), &n_done,
                       s.indices.data(), s.statuses.data()),
          "MPI_Testsome of receives")) {
    return -1;
  }
  if (n_done == MPI_UNDEFINED) n_done = 0;
  for (int i = 0; i < n_done; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const MPI_Status& status = s.statuses[at];
    int n_bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &n_bytes);
    RubatoMpiEvent& event = events[i];
    event = {};
    event.kind = RUBATO_MPI_CAME;
    event.slot = static_cast<std::uint32_t>(s.indices[at]);
    event.from = static_cast<std::uint32_t>(status.MPI_SOURCE);
    event.tag = static_cast<std::uint32_t>(status.MPI_TAG);
    event.data = s.slots.get() + std::size_t{event.slot} * s.slot_bytes;
    event.n_bytes = static_cast<std::uint64_t>(n_bytes);
  }
  return progress_sends(events, n_done);
}

int release(std::uint32_t slot) {
  return post(slot) ? 0 : -1;
}

int try_barrier() {
  State& s = state();
  if (!s.in_barrier && !ok(MPI_Ibarrier(s.comm, &s.barrier), "MPI_Ibarrier")) return -1;
  s.in_barrier = true;
  int done = 0;
  if (!ok(MPI_Test(&s.barrier, &done, MPI_STATUS_IGNORE), "MPI_Test of a barrier")) return -1;
  if (done != 0) s.in_barrier = false;
  return done;
}

int finish() {
  State& s = state();
  for (MPI_Request& receive : s.receives) {
    if (receive == MPI_REQUEST_NULL) continue;
    if (!ok(MPI_Cancel(&receive), "MPI_Cancel") ||
        !ok(MPI_Wait(&receive, MPI_STATUS_IGNORE), "MPI_Wait of a cancelled receive")) {
      return -1;
    }
  }
  yield_when_idle(true);
  if (s.comm != MPI_COMM_NULL) MPI_Comm_free(&s.comm);
  if (s.started_mpi && !ok(MPI_Finalize(), "MPI_Finalize")) return -1;
  return 0;
}

// A job of one process has nobody to tell, so it leaves MPI as in peace: MPICH's launcher returns 1
// where it sees that a process is gone that did not leave before it sees the process's own code (one
// of 40 runs on a busy machine). Should MPI not let go, an alarm ends the process.
void leave_alone(int code) {
  static int code_at_alarm = 0;
  code_at_alarm = code;
  (void)std::signal(SIGALRM, [](int) { std::_Exit(code_at_alarm); });
  alarm(2);
  (void)finish();
  std::_Exit(code);
}

// Of the world, not of our communicator: then MPICH's launcher returns another code in one of four
// runs.
void abort_job(int code) {
  int n_processes = 0;
  int is_main = 0;
  if (MPI_Comm_size(MPI_COMM_WORLD, &n_processes) == MPI_SUCCESS && n_processes == 1 &&
      MPI_Is_thread_main(&is_main) == MPI_SUCCESS && is_main != 0) {
    leave_alone(code);
  }
  MPI_Abort(MPI_COMM_WORLD, code);
}

const char* error_text() {
  return state().error.c_str();
}

constexpr RubatoMpiApi kApi = {RUBATO_MPI_API_VERSION,
                               sizeof(RubatoMpiApi),
                               start,
                               send,
                               progress,
                               release,
                               try_barrier,
                               finish,
                               abort_job,
                               error_text};

}  // namespace

extern "C" __attribute__((visibility("default"))) const RubatoMpiApi* rubato_mpi_api() {
  return &kApi;
}
