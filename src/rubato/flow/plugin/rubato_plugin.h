/* Leaves of scripts in shared libraries, in C or whatever can call C.
 *
 *   static void half(const RubatoApi* api, RubatoCall* call, void* user) {
 *     api->set_float(call, 0, api->as_float(call, api->input(call, 0)) / 2);
 *   }
 *   int rubato_plugin(const RubatoApi* api) {
 *     api->add_leaf("half", half, 0);
 *     return 0;
 *   }
 *
 *   cc -shared -fPIC -I SRC half.c -o libhalf.so        SRC: where `rubato/` lies
 *   rubato flow run --plugin ./libhalf.so script.tic    leaf half(float x) to (float y)
 *
 * A leaf runs on a thread beside the cores, several at a time: it must not count on being alone.
 * Whatever a call hands out lives until the leaf returns. What asks for a value of another kind, or
 * for one that is not there, gets 0 or "", and the call fails and says so when the leaf returns. */
#ifndef RUBATO_PLUGIN_H
#define RUBATO_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUBATO_PLUGIN_VERSION 2

typedef struct RubatoCall RubatoCall;   /* one call of a leaf */
typedef struct RubatoValue RubatoValue; /* of an input, or of a member of one */

/* NOLINTBEGIN(readability-identifier-naming): as C has it */
enum RubatoKind {
  RUBATO_NONE = 0, /* no value: a container, or out of range */
  RUBATO_DONE = 1,
  RUBATO_INTEGER = 2,
  RUBATO_FLOAT = 3,
  RUBATO_BOOLEAN = 4,
  RUBATO_STRING = 5,
  RUBATO_BLOB = 6,
  RUBATO_FILE = 7 /* its name */
};
/* NOLINTEND(readability-identifier-naming) */

typedef struct RubatoApi RubatoApi;
typedef void (*RubatoLeaf)(const RubatoApi* api, RubatoCall* call, void* user);

/* Grows at its end; a plugin of version N works with all that have N or more. */
struct RubatoApi {
  uint32_t version;

  /* From rubato_plugin() alone. The last one of a name counts. */
  void (*add_leaf)(const char* name, RubatoLeaf leaf, void* user);

  /* Inputs count from 0, in the order of the script. */
  int32_t (*n_inputs)(RubatoCall* call);
  const RubatoValue* (*input)(RubatoCall* call, int32_t i);
  /* Members of an input that is a container or a struct, in the order of their keys. */
  int64_t (*n_members)(RubatoCall* call, int32_t i);
  const RubatoValue* (*key)(RubatoCall* call, int32_t i, int64_t member);
  const RubatoValue* (*member)(RubatoCall* call, int32_t i, int64_t member);

  int32_t (*kind)(const RubatoValue* value); /* enum RubatoKind */
  int64_t (*as_integer)(RubatoCall* call, const RubatoValue* value);
  double (*as_float)(RubatoCall* call, const RubatoValue* value); /* of integers, too */
  int32_t (*as_boolean)(RubatoCall* call, const RubatoValue* value);
  /* Of strings, blobs and names of files: ends with 0; n_bytes, which may be null, is without it. */
  const char* (*as_text)(RubatoCall* call, const RubatoValue* value, size_t* n_bytes);

  /* Each output is set once, by what its type in the script says. */
  int32_t (*n_outputs)(RubatoCall* call);
  void (*set_integer)(RubatoCall* call, int32_t i, int64_t x);
  void (*set_float)(RubatoCall* call, int32_t i, double x);
  void (*set_boolean)(RubatoCall* call, int32_t i, int32_t x);
  void (*set_string)(RubatoCall* call, int32_t i, const char* bytes, size_t n_bytes);
  void (*set_blob)(RubatoCall* call, int32_t i, const void* bytes, size_t n_bytes);
  void (*set_done)(RubatoCall* call, int32_t i); /* void */
  /* Where to write a file, which is set already: it gets its own name when the leaf has ended well.
   * "" of another type. */
  const char* (*output_file)(RubatoCall* call, int32_t i);

  /* The call fails, and what needs its outputs; the first text counts. */
  void (*fail)(RubatoCall* call, const char* why);

  /* --- Since version 2. */

  /* 1 when the leaf should end: its time-out is over, or the run is told to end; else 0. */
  int32_t (*time_is_up)(RubatoCall* call);
};

/* What the library has. Returns 0; anything else refuses to be loaded. */
int rubato_plugin(const RubatoApi* api);

#ifdef __cplusplus
}
#endif
#endif
