#include <sortium/sortium.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  float keys[] = {2.5f, -1.0f, 7.0f, 0.0f};
  char version[32];
  const sortium_options options = {"cpu:0", NULL, NULL, 0};
  const sortium_options nonsense = {"no such device", NULL, NULL, 0};
  if (sortium_sort(SORTIUM_F32, keys, 4, SORTIUM_DESCENDING, &options) != SORTIUM_OK) {
    printf("%s\n", sortium_last_error());
    return 1;
  }
  if (keys[0] != 7.0f || keys[1] != 2.5f || keys[2] != 0.0f || keys[3] != -1.0f) return 2;
  if (sortium_sort(SORTIUM_F32, keys, 4, SORTIUM_ASCENDING, &nonsense) != SORTIUM_NOT_FOUND)
    return 3;
  snprintf(version, sizeof version, "%d.%d.%d", SORTIUM_VERSION_MAJOR, SORTIUM_VERSION_MINOR,
           SORTIUM_VERSION_PATCH);
  if (strcmp(version, sortium_version()) != 0) return 4;
  printf("sorted with %s\n", version);
  return 0;
}
