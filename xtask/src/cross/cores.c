// The cores of the board that QEMU stands in for: those of the mask CORES, and threads may be bound to each of them. QEMU itself hands such
// calls on to this computer's kernel, which has other cores. Loaded before the libraries of a program.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>

static int all(size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    for (int core = 0; core < 64; ++core)
        if (((unsigned long long)CORES >> core) & 1) CPU_SET_S(core, size, set);
    return 0;
}

int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *set) {
    (void)thread;
    return all(size, set);
}

int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set) {
    (void)thread, (void)size, (void)set;
    return 0;
}

int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set) {
    (void)thread;
    return all(size, set);
}

int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    (void)thread, (void)size, (void)set;
    return 0;
}
