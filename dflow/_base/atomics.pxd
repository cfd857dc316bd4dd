"""What atomics.h has, which says the order of memory of each."""

cdef extern from "_base/atomics.h" nogil:
    int DFLOW_DEBUG
    int DFLOW_TSAN
    int DFLOW_PLAIN_MALLOC
    void invariant(bint holds, const char* text)    # the debug build stops where one does not
    int load_int(int*)
    int load_int_after(int*)
    void store_int(int*, int)
    int glance_int(int*)
    void hint_int(int*, int)
    int add_int(int*, int)
    int swap_int(int*, int)
    int cas_int(int*, int, int)
    int cas_i64(long long*, long long, long long)
    int cas_ptr(void*, void*, void*)
    void* load_ptr(void*)
    void store_ptr(void*, void*)
    void* swap_ptr(void*, void*)
    long long load_i64(long long*)
    void store_i64(long long*, long long)
    long long add_i64(long long*, long long)
    void publish_i64(long long*, long long)
    long long collect_i64(long long*)
    double load_double(double*)
    void store_double(double*, double)
    void full_fence()
    void cpu_pause()
    void cpu_pause_or_yield(int)                    # the nth turn of a loop that waits for another thread
    void spin_lock(int*)
    bint spin_trylock(int*)
    void spin_unlock(int*)
    void told(void*, size_t, bint)                  # ThreadSanitizer is told of a read, or a write,
    void given_back(void*, size_t)                  # and of memory that is nobody's any more
