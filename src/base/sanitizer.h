/* sanitizer.h - LCSM_ASAN is 1 under AddressSanitizer, LCSM_TSAN under ThreadSanitizer; poisoning
 * does nothing elsewhere. */
#ifndef LCSM_BASE_SANITIZER_H
#define LCSM_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define LCSM_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define LCSM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LCSM_ASAN 1
#elif __has_feature(thread_sanitizer)
#define LCSM_TSAN 1
#endif
#endif

#ifndef LCSM_ASAN
#define LCSM_ASAN 0
#endif
#ifndef LCSM_TSAN
#define LCSM_TSAN 0
#endif

#if LCSM_ASAN
#include <sanitizer/asan_interface.h>
#define LCSM_POISON(p, bytes)   __asan_poison_memory_region((p), (bytes))
#define LCSM_UNPOISON(p, bytes) __asan_unpoison_memory_region((p), (bytes))
#else
#define LCSM_POISON(p, bytes)   ((void)(p), (void)(bytes))
#define LCSM_UNPOISON(p, bytes) ((void)(p), (void)(bytes))
#endif

#endif
