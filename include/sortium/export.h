/* SORTIUM_API marks what the shared library exports; all else is hidden in it. */
#ifndef SORTIUM_EXPORT_H
#define SORTIUM_EXPORT_H

#define SORTIUM_API __attribute__((visibility("default")))

#endif
