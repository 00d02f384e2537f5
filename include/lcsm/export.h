/* lcsm/export.h - which symbols leave the library, and how C++ sees them. */
#ifndef LCSM_EXPORT_H
#define LCSM_EXPORT_H

#if defined(__GNUC__)
#define LCSM_API __attribute__((visibility("default")))
#else
#define LCSM_API
#endif

#ifdef __cplusplus
#define LCSM_BEGIN_DECLS extern "C" {
#define LCSM_END_DECLS   }
#else
#define LCSM_BEGIN_DECLS
#define LCSM_END_DECLS
#endif

#endif
