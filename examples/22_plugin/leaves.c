/* Leaves of a script in C: the mean of a container, and a table that is written to a file.
 *
 *   cc -shared -fPIC -I src examples/22_plugin/leaves.c -o libleaves.so
 *   rubato flow run --plugin ./libleaves.so examples/22_plugin/means.tic */
#include <stdio.h>

#include "rubato/flow/plugin/rubato_plugin.h"

/* leaf mean(container<integer, float> c) to (float m) */
static void mean(const RubatoApi* api, RubatoCall* call, void* user) {
  (void)user;
  const int64_t n = api->n_members(call, 0);
  if (n == 0) {
    api->fail(call, "has no members to take the mean of");
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += api->as_float(call, api->member(call, 0, i));
  api->set_float(call, 0, sum / (double)n);
}

/* leaf write(container<integer, float> c, string title) to (file f) */
static void write_table(const RubatoApi* api, RubatoCall* call, void* user) {
  (void)user;
  FILE* file = fopen(api->output_file(call, 0), "w");
  if (file == NULL) {
    api->fail(call, "cannot write its file");
    return;
  }
  fprintf(file, "# %s\n", api->as_text(call, api->input(call, 1), NULL));
  for (int64_t i = 0; i < api->n_members(call, 0); ++i) {
    fprintf(file, "%lld %g\n", (long long)api->as_integer(call, api->key(call, 0, i)),
            api->as_float(call, api->member(call, 0, i)));
  }
  if (fclose(file) != 0) api->fail(call, "cannot write its file");
}

int rubato_plugin(const RubatoApi* api) {
  if (api->version < RUBATO_PLUGIN_VERSION) return 1;
  api->add_leaf("mean", mean, NULL);
  api->add_leaf("write", write_table, NULL);
  return 0;
}
