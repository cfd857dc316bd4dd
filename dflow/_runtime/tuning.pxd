"""The thresholds of scheduling, with their units. Results do not depend on them; time does.

A cost is an estimate of the nanoseconds that a kernel takes (Kernel.cost times its elements), a time is the clock's.
How they relate is in check_tuning(), which the engine calls as it is imported: who changes one learns which others it
drags along.
"""

cdef enum:
    # cost of an operation, in ns
    LEAST_JOIN_NS = 50      # from which it joins a large open group rather than run at once
    TINY_NS = 500           # up to which it runs in its caller, though it could join a group (Settings.tiny_cost)
    INLINE_NS = 2000        # up to which it runs in its caller, if its operands are ready (Settings.inline_cost),
    MIDDLING = 8            # and times this much where what is handed over is needed at once
    JOIN_NS = 4000          # of an open group that an operation joins, however small, rather than catch up with it
    WORTH_NS = 4000         # of what is left to a worker that looks for work, though something small waits for it
    GRAIN_NS = 20000        # of a piece of a split kernel
    HOST_NS = 50000         # of a Python function on a worker: work that takes less is done before one is sent for
    SHARE_NS = 9000         # from which a kernel is split where a worker looks around: it comes at once
    SPLIT_NS = 10000        # from which a kernel is split for those who come, or wait for it
    REPLAY_NS = 50000       # of a graph's steps up to which its replay waits a little before it gets ahead of workers
    CALL_NS = 60000         # from which a worker is woken: for an open group, or for a piece of a kernel,
    LONG_NS = 300000        # and from which one is woken though as many threads are at work as there are workers

    # time, in ns
    GRACE_NS = 2000         # for which such a replay waits, for each in a row that found something pending
    RIPE_NS = 8000          # for which nobody has joined an open group that an idle worker then takes,
    RIPE_PART = 32          # and this part of the group's cost: to be joined may save more
    SPIN_NS = 20000         # for which a waiting thread looks around before it sleeps, at least
    LULL_NS = 50000         # after which a thread that has submitted nothing may be gone from its core
    WATCH_NS = 200000       # for which one idle worker looks around: to wake it costs the submitter 20 to 100 us; and
                            # who waits, where it has a core for itself
    HABIT_NS = 1000000      # for which it counts that who waited ran what a worker was to be woken for
    PATIENCE_NS = 1000000   # for which a wait for room holds out for an eighth of the budget, then takes just enough
    TURN_NS = 10000000      # for which a chain of tasks may keep a worker from others that are queued
    SLICE_NS = 50000000     # of the longest sleep of a waiting thread between looks at signals
    STUCK = 60              # slices without progress after which the exit waits no longer for host tasks

    # counts
    MOST_BEHIND = 50        # replays in a row that lengthen that wait
    MAX_LOOSE = 32          # results of a group that nothing in it has read; more would only be in each other's way
    MAX_FUTILE = 32         # attempts in a row to catch up that may find nothing; then as many are skipped between two
    LOOK_AFTER = 31         # operations that ran in their callers for that; then one is handed over
    FENCE_AFTER = 64        # length of a frontier at which a partial write inserts a fence
    COUNT_AFTER = 4096      # submissions between looks at how many are pending
    TASK_BYTES = 200        # memory of a pending task, about
    SHARES = 16             # of a kernel that is split, unless they would be longer than GRAIN_NS, or too short
    VECTOR_PRODUCT = 3      # times the cost of a product, for a matrix times a vector: an element is read for one use;
    FAR_PRODUCT = 8         # for one of so many elements (twice that for two vectors) that
    FAR = 3 << 16           # no core's own cache has them beside others

cdef inline int check_tuning() except -1:
    cdef dict relations = {
        "TINY_NS <= INLINE_NS": TINY_NS <= INLINE_NS,
        "LEAST_JOIN_NS < TINY_NS: only then is there something to join rather than run": LEAST_JOIN_NS < TINY_NS,
        "GRACE_NS * MOST_BEHIND < WATCH_NS: a worker that a replay waits for is still awake":
            GRACE_NS * MOST_BEHIND < WATCH_NS,
        "INLINE_NS <= JOIN_NS: what runs in its caller is no group to join": INLINE_NS <= JOIN_NS,
        "JOIN_NS < CALL_NS: a group is joined before it calls a worker": JOIN_NS < CALL_NS,
        "MIDDLING * WORTH_NS <= CALL_NS: a worker that is awake takes less than one that sleeps":
            MIDDLING * WORTH_NS <= CALL_NS,
        "SHARE_NS <= SPLIT_NS: who looks around costs nothing to be told": SHARE_NS <= SPLIT_NS,
        "SPLIT_NS <= CALL_NS: threads that are awake share less than what wakes one": SPLIT_NS <= CALL_NS,
        "CALL_NS < LONG_NS": CALL_NS < LONG_NS,
        "RIPE_NS < WATCH_NS: who looks around sees a group ripen": RIPE_NS < WATCH_NS,
        "SPIN_NS < PATIENCE_NS < SLICE_NS": SPIN_NS < PATIENCE_NS < SLICE_NS,
        "LULL_NS < WATCH_NS": LULL_NS < WATCH_NS,
        "LONG_NS < TURN_NS < SLICE_NS": LONG_NS < TURN_NS < SLICE_NS,
        "FENCE_AFTER < COUNT_AFTER: fences are submitted too": FENCE_AFTER < COUNT_AFTER,
    }
    broken = [relation for relation, holds in relations.items() if not holds]
    if broken:
        raise ImportError(f"dflow/_runtime/tuning.pxd breaks {'; '.join(broken)}")
    return 0
