/* The C interface between Rubato and its MPI plugins, one shared library for each MPI.
 *
 * A plugin is thin: it starts MPI, sends fragments, hands over fragments that came, and stops MPI.
 * What makes a fabric of it (order, large messages, bounds) stands once in detail/mpi_fabric.cpp,
 * where it is tested without MPI. Nothing here blocks but start() and finish(). One job a process,
 * so the state of a plugin is global. Calls may come from different threads, never from two at
 * once. Functions that return int return 0 (or a count) if all went well, -1 if MPI failed: see
 * error_text().
 */
#ifndef RUBATO_NET_MPI_PLUGIN_API_H
#define RUBATO_NET_MPI_PLUGIN_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C has no namespaces: names say where they belong. NOLINTBEGIN(readability-identifier-naming) */
/* To be raised with every change of this file. */
enum { RUBATO_MPI_API_VERSION = 1 };
/* The largest tag that every MPI must offer. */
enum { RUBATO_MPI_TAG_MAX = 32767 };

typedef struct RubatoMpiInfo {
  uint32_t rank;
  uint32_t n_ranks;
  char host[256];    /* the processor name of this rank */
  char library[256]; /* the MPI's name and version */
} RubatoMpiInfo;

enum RubatoMpiEventKind { RUBATO_MPI_SENT = 1, RUBATO_MPI_CAME = 2 };

/* NOLINTEND(readability-identifier-naming) */

typedef struct RubatoMpiEvent {
  uint32_t kind;
  uint32_t slot;    /* came: to be given back with release() */
  uint32_t from;    /* came */
  uint32_t tag;     /* came */
  const void* data; /* came: valid until release(slot) */
  uint64_t n_bytes; /* came */
  uint64_t token;   /* sent: its buffer is free again, and matched if it was synchronous */
} RubatoMpiEvent;

typedef struct RubatoMpiApi {
  uint32_t version; /* RUBATO_MPI_API_VERSION of the plugin */
  uint32_t n_bytes; /* sizeof(RubatoMpiApi) there */

  /* Starts MPI and posts `n_slots` receives of `slot_bytes` each. At most `n_sends` sends will be
   * open at once. */
  int (*start)(uint32_t n_slots, uint32_t slot_bytes, uint32_t n_sends, RubatoMpiInfo* info);
  /* Starts to send a fragment of at most slot_bytes. `data` stays valid until RUBATO_MPI_SENT with
   * `token`. A synchronous send is complete only when its receiver has matched it. */
  int (*send)(uint32_t to, uint32_t tag, const void* data, uint32_t n_bytes, uint64_t token,
              int synchronous);
  /* Lets MPI work and reports at most n_slots + n_sends events into `events`; returns how many. The
   * fragments of a pair may come out of order. */
  int (*progress)(RubatoMpiEvent* events);
  /* Posts the receive of a slot again. */
  int (*release)(uint32_t slot);
  /* Enters a barrier of all ranks at the first call; 1 once all have entered it, else 0. */
  int (*try_barrier)(void);
  /* Cancels the receives and stops MPI. After a barrier, and with no send open. */
  int (*finish)(void);
  /* Ends all processes of the job. */
  void (*abort)(int code);
  /* What MPI said about the last failure. */
  const char* (*error_text)(void);
} RubatoMpiApi;

/* The one symbol of a plugin. */
const RubatoMpiApi* rubato_mpi_api(void);

#ifdef __cplusplus
}
#endif

#endif
