"""Submitting, control and exit. The contract is in _engine.pxd.

The life of a task: task_new and task_operand fill it; submit() admits it, says where it belongs, and lets it join the
open group or connects it to its predecessors; who brings `npending` to 0 queues it; a runner (a worker, or a thread
that waits) takes it, runs its kernel, finishes it, and queues what became ready.
"""

import os
from operator import index

from libc.string cimport memset
from dflow._kernels import native
from dflow._kernels.kernel cimport ELEMENTWISE, FENCE, HOST, Kernel, ON_DISK, REDUCES, VALUES_FAIL
from dflow._base.allocator cimport *
from dflow._base.atomics cimport DFLOW_DEBUG, add_i64, add_int, glance_int, load_i64, load_int, store_i64, store_int
from dflow._base.hooks cimport check_hooks
from dflow._base.locks cimport BIN_LOCK, lock, LockRank, try_lock, unlock
from dflow._base.thread_state cimport CPUS, captures
from dflow._base.threads cimport Cores, bell_lock, bell_unlock, cores_none, cores_with
from dflow._runtime import disk, errors, graph
from dflow._runtime cimport open_group
from dflow._runtime.cancel cimport forget_cancels
from dflow._runtime.disk cimport disk_hooks, DiskHooks, fetch_operands
from dflow._runtime.cancelling cimport cancel_everything
from dflow._runtime.executor cimport inside_host_task, purge
from dflow._runtime.fp_errors cimport give_warnings, IGNORED, RAISED, RECORDED, warnings_go, warnings_wait
from dflow._runtime.fusion_rules cimport MAX_ARGUMENTS, MAX_MEMBERS, may_tail, row_of
from dflow._runtime.events cimport reserve_events, watched
from dflow._runtime.errors cimport here, in_record, in_try, report_unseen, unseen_errors
from dflow._runtime.graph cimport *
from dflow._runtime.open_group cimport Closed, close_group, offer, offer_last, open_leader
from dflow._runtime.parking cimport announce, any_ready, queue, start_group, wake_worker
from dflow._runtime.queues cimport *
from dflow._runtime.region cimport Region
from dflow._runtime.runners cimport hold_runners, let_runners_go, pending
from dflow._runtime.story cimport story_of
from dflow._runtime.threads cimport bind_workers, dismiss, hire, leave_process, over
from dflow._runtime.tuning cimport (
    COUNT_AFTER, FENCE_AFTER, INLINE_NS, MIDDLING, STUCK, TASK_BYTES, TINY_NS, check_tuning)
from dflow._runtime cimport waiting
from dflow._runtime.waiting cimport (
    block, deadline_of, finished, FOR_ENDED, FOR_FEWER, FOR_LANE, nudge, settle, Wait, wait_for, wait_storage,
    wait_until)
from dflow._gpu.mirror cimport finish_gpus, gpus

check_tuning()
disk_hooks.submit = submit
disk_hooks.make_room = waiting.make_room

def check():
    check_hooks("_runtime.disk", &disk_hooks, sizeof(DiskHooks), "submit make_room")

check()
settings.inline_cost = INLINE_NS
settings.tiny_cost = TINY_NS

# ---- submitting ------------------------------------------------------------------------------------------------------

cdef int submit(Task* t) except -1:
    cdef Storage* awaited
    cdef Storage* told
    admit(t)
    awaited = place(t)
    number(t)
    told = output_of(t) if is_caught(t) else NULL
    if not join(t):
        connect_and_queue(t)
    # from here on t may be gone
    if graves():
        drain()
    if awaited != NULL:
        try:
            complete(awaited, True)         # those who read it, too
        except BaseException:
            if told != NULL:
                storage_unref(told)
            raise
    if told != NULL:
        complete(told, False)
    return 0

cdef inline bint is_caught(Task* t) noexcept:
    """Whether t may fail or warn, and the program would catch that here: then the call is to raise it, or to warn."""
    cdef int go = warnings_go() if t.fp_warn else IGNORED
    if go == IGNORED:
        t.fp_warn = 0
    elif go == RAISED:
        t.flags |= TELLS
    return ((t.kernel.flags & VALUES_FAIL or go == RAISED) and in_try()
            or go == RECORDED and not captures and in_record()) and not inside_host_task()     # a graph cannot wait

cdef Storage* output_of(Task* t) noexcept:
    """The first storage that it writes, and a reference to it."""
    cdef Access* a = accesses(t)
    cdef int i
    for i in range(t.nops):
        if a[i].storage != NULL and a[i].key & WRITE:
            add_int(&a[i].storage.refs, 1)
            return a[i].storage
    return NULL

cdef int admit(Task* t) except -1:
    """All that can fail, for want of memory or by a signal: then t, yet to be submitted, is freed."""
    cdef Access* a = accesses(t)
    cdef int i
    try:
        if choices and not t.kernel.flags & FENCE:
            fetch_operands(t)
        if shared.submitted > next_look and not t.kernel.flags & FENCE:
            bound_tasks()
        for i in range(t.nops):
            if a[i].storage != NULL and (a[i].key & (WRITE | FULL)) == WRITE and (
                    glance_int(&a[i].storage.nfront) >= FENCE_AFTER):
                fence(a[i].storage)
        if choices:                         # what is above may give the GIL away, and others change the workers
            choose_lane(t)
        while not load_int(&lanes[t.lane].started) and not over():
            hire(&lanes[t.lane])
            if choices:                     # this, too
                choose_lane(t)
        reserve_edges(t)
    except BaseException:
        discard(t)
        raise
    return 0

cdef long long next_look = 0        # GIL; after how many submissions to look at how many of them are pending

cdef int bound_tasks() except -1:
    """Tasks take memory, too, though who only writes in place never asks for room: they may take half of the budget."""
    global next_look
    cdef Wait w = wait_for(FOR_FEWER, waiting.memory_budget // 2 // TASK_BYTES)
    next_look = shared.submitted + COUNT_AFTER
    forget_cancels(pending() == 0)
    if inside_host_task() or pending() <= w.limit:
        return 0
    waiting.memory_waits += 1
    w.limit -= w.limit // 8
    while not finished(&w):
        block(&w)
    return 0

cdef Kernel FENCE_KERNEL
FENCE_KERNEL.name = b"fence"
FENCE_KERNEL.flags = FENCE
FENCE_KERNEL.nops = 1

cdef int fence(Storage* s) except -1:
    """A task that waits for all pending accesses of s, so that later ones compare themselves with it alone.

    Without it, n pending writes to disjoint parts would cost n * n comparisons.
    """
    cdef Task* t = task_new(&FENCE_KERNEL, 1, 1, 0, 0, 0, 0)
    task_operand(t, 0, s, 0, WRITE | FULL | TRACKED)
    return submit(t)

cdef Storage* place(Task* t) noexcept:
    """Whether t is abroad; a storage of its operands whose memory is seen from outside (a reference), or NULL."""
    cdef Access* a = accesses(t)
    cdef Storage* pinned = NULL
    cdef int i
    for i in range(t.nops):
        if a[i].storage == NULL:
            continue
        if a[i].storage.pins and not t.kernel.flags & FENCE:
            pinned = a[i].storage
        if abroad(a[i].storage) and not t.kernel.flags & ON_DISK:       # is here while a task of the disk has it
            go_abroad(t, i)
    if pinned != NULL:
        add_int(&pinned.refs, 1)
    return pinned

cdef void go_abroad(Task* t, int i) noexcept:
    """Operand i is on a GPU: see _gpu/mirror.pxd."""
    cdef Region* r
    t.flags |= ABROAD
    if t.flags & HAS_REGIONS:
        r = task_region(t, i)
        r.lo = r.start = r.pitch = 0
        r.hi = r.length = accesses(t)[i].storage.nbytes

cdef void number(Task* t) noexcept:
    """Its place in the one order of submissions. From here on it counts as pending."""
    if t.site == NULL:
        t.site = here()
    store_i64(&shared.submitted, shared.submitted + 1)
    if shared.nlanes > 1:
        store_i64(&lanes[t.lane].submitted, lanes[t.lane].submitted + 1)
    t.order = <unsigned int>shared.submitted
    if load_int(&watched):
        reserve_events()

cdef bint join(Task* t) noexcept:
    """Let t join the open group, or be the end of it. False: it is neither elementwise nor such a reduction."""
    cdef Closed closed
    cdef Lane* lane = &lanes[t.lane]
    cdef bint calls = False, reduces = (t.kernel.flags & REDUCES) != 0
    if not reduces and not t.kernel.flags & ELEMENTWISE or reduces and (t.flags & ABROAD or not may_tail(t)):
        return False
    if open_group.longest_group > 1 and t.nops <= MAX_ARGUMENTS and (not reduces or row_of(t)):
        calls = offer(t, &closed)
    elif not reduces or open_leader() == NULL or not offer_last(t, &closed):
        return False
    hand_on(closed.leader, closed.cost, closed.needed)
    if calls:
        wake_worker(lane, False)
    return True

cdef void hand_on(Task* leader, double cost, bint needed) noexcept:
    """A group that nobody joins any more, if it is ready, else NULL; needed: by the newest task."""
    # Only who closed it queues it (a thread that helps may have claimed it by then). Run here, it lets go of the newest
    # task like of any other that waits for it: that is not queued yet, and counts itself as one more to wait for.
    if leader != NULL and needed and cost < MIDDLING * settings.inline_cost:
        waiting.run_or_queue(leader, cost)
    elif leader != NULL:
        queue(leader, cost)

cdef void connect_and_queue(Task* t) noexcept:
    cdef Access* a = accesses(t)
    cdef Task* leader = open_leader()       # another thread may close its group at any time: then it is but an address
    cdef bint met = False, host = (t.kernel.flags & HOST) != 0
    cdef Closed closed
    cdef int i
    t.npending = 1
    if load_int(&watched):
        note_task(t, 0)
    for i in range(t.nops):
        if a[i].key & TRACKED and connect(t, a + i, leader):
            met = True
    if host and not load_int(&shared.closing):
        add_i64(&shared.host_tasks, 1)
    if met:
        # For what is not elementwise, the group is complete. A worker may have closed it since `leader` was read; none
        # has been opened since, as that takes the GIL: what is closed here is what was met, or nothing.
        closed = close_group()
        hand_on(closed.leader, closed.cost, True)
    if add_int(&t.npending, -1) == 0:
        queue(t, cost_of(t))
        if host:
            announce(True)
    else:
        announce(host)

cdef int complete(Storage* s, bint silent) except -1:
    """Let all that is submitted on s be done; unless silent, raise the error that it has. Takes over a reference.
    In a host task, which cannot wait, do nothing."""
    try:
        if not inside_host_task():
            wait_storage(s, NULL, silent, False)
    finally:
        storage_unref(s)
    return 0

# ---- waiting for everything ------------------------------------------------------------------------------------------

cdef int wait_all() except -1:
    """Until nothing is pending. Raises the errors that nobody has seen."""
    settle()
    if gpus:
        finish_gpus()
    purge()
    if pending() == 0:
        forget_cancels(True)
    release_edges()
    trim_cells()
    return tell_errors()

cdef int tell_errors() except -1:
    """Give warnings, and raise the errors that nobody has seen."""
    drain()
    if warnings_wait():
        give_warnings()
    errors = unseen_errors()
    if len(errors) == 1:
        raise errors[0]
    if errors:
        if all(isinstance(error, Exception) for error in errors):
            raise ExceptionGroup("several operations failed", errors)
        raise BaseExceptionGroup("several operations failed", errors)
    return 0

# ---- exit ------------------------------------------------------------------------------------------------------------

def shutdown():
    """At exit: run the host tasks, for their effects; drop the rest; report errors that nobody saw.

    Daemon threads may go on submitting: what they do from now on is not waited for.
    """
    cdef int slices = 0
    cdef long long left, early
    shared.last = <unsigned int>shared.submitted
    store_int(&shared.closing, 1)
    try:
        while load_i64(&shared.host_tasks) and slices < STUCK:
            left, early = load_i64(&shared.host_tasks), load_i64(&shared.early)
            settle(True)
            if early != load_i64(&shared.early) or left != load_i64(&shared.host_tasks) or any_engaged():
                slices = 0
            else:
                slices += 1
    except BaseException:           # Ctrl-C again
        pass
    leave_process()
    drain()
    for error in unseen_errors():
        report_unseen(error)

# ---- what Python sees ------------------------------------------------------------------------------------------------

def waitall(timeout=None):
    """Wait until nothing is pending. Raises the errors nobody has read; an ExceptionGroup when they are several.

    Parameters
    ----------
    timeout : float, optional
        Seconds. None: as long as it takes.

    Raises
    ------
    TimeoutError
        Something is pending still, which goes on: it names that.
    RuntimeError
        In a Python function that runs as a task: it would wait for itself.

    Examples
    --------
    >>> x = np.ones((300, 300)) @ np.ones((300, 300))
    >>> dflow.waitall()
    >>> x.is_ready()
    True
    """
    if inside_host_task():
        raise RuntimeError("a task would wait for all others, itself among them")
    if timeout is not None and not wait_until(NULL, NULL, deadline_of(timeout)):
        raise TimeoutError(f"not done after {timeout:g} seconds; {story_of(NULL, NULL)}")
    wait_all()

def cancel_all():
    """Cancel all that is pending: see dflow.engine.cancel_all()."""
    return cancel_everything()

def synchronize(int device):
    """Wait until nothing is pending for the workers of a device. Raises the errors nobody has read, of any device."""
    if inside_host_task():
        raise RuntimeError("a task would wait for all others, itself among them")
    if shared.nlanes == 1:
        wait_all()
        return
    start_group()
    wait_lane(lane_to(device))
    wait_lane(lane_of(device))
    if device >= CPUS:
        finish_gpus(device)
    tell_errors()

cdef int wait_lane(Lane* lane) except -1:
    """Until nothing is pending in it; NULL: there is none."""
    cdef Wait w = wait_for(FOR_LANE)
    w.lane = lane
    while lane != NULL and not finished(&w):
        block(&w)
    return 0

cdef int begin_lanes(long long ends) except -1:
    """Hold the runners, with so many tasks ended, for there to be another lane."""
    cdef Wait w = wait_for(FOR_ENDED, ends)
    while not finished(&w):
        block(&w)
    hold_runners()
    if shared.nlanes == 1:          # with one lane nobody has counted: what is pending will end as of that one
        store_i64(&lanes[0].submitted, shared.submitted)
        store_i64(&lanes[0].ended, shared.submitted - pending())
    return 0

def set_num_workers(int n, int device=0, cores=None):
    """Use n worker threads for a device from now on; 0: those of cpu(0).

    Waits for pending work first: until as many tasks have ended as were submitted before, whatever other threads
    submit.
    """
    cdef Lane* lane = &lanes[device]
    cdef Cores chosen
    if not (device == 0) <= n <= MAX_WORKERS:
        raise ValueError(f"n must be between {0 if device else 1} and {MAX_WORKERS}, not {n}")
    if device >= CPUS and n != 1:
        raise ValueError(f"n must be 1 for a GPU, not {n}: its worker tells the device what to do")
    cores_none(&chosen)
    for core in cores or ():
        cores_with(&chosen, core)
    begin_lanes(shared.submitted)
    give_lane(device, n > 0)
    let_runners_go()
    if n == 0:
        wait_lane(lane)             # what comes from now on goes to cpu(0)
        if lane_of(device) == lane: # another thread has given it workers again
            return
    bell_lock(&shared.idle_bell)
    if n:
        store_int(&lane.widest, max(n, lane.widest))
        store_int(&lane.nworkers, n)
        lane.bound = cores is not None
        lane.cores = chosen
        bind_workers(lane)
    bell_unlock(&shared.idle_bell)
    dismiss(lane, n)
    if n and load_int(&lane.started):
        hire(lane)

def num_workers(int device=0):
    """How many worker threads a device uses: its own, or cpu(0)'s."""
    return lane_of(device).nworkers

def naive(on=None):
    """Run every operation at its call (True) or asynchronously (False).

    Parameters
    ----------
    on : bool, optional
        None changes nothing.

    Returns
    -------
    bool
        The previous setting.

    Examples
    --------
    >>> before = engine.naive(True)
    >>> engine.naive(before)
    True
    """
    before = bool(settings.naive)
    if on is not None:
        waitall()
        settings.naive = bool(on)
    return before

def inline_limit(ns=None):
    """The estimated cost, in nanoseconds, up to which an operation on ready data runs in its caller.

    Parameters
    ----------
    ns : int, optional
        From now on; 0: none does. None changes nothing.

    Returns
    -------
    float
        The limit that was.

    Examples
    --------
    >>> before = engine.inline_limit(0)
    >>> engine.inline_limit(before)
    0.0
    """
    before = settings.inline_cost
    if ns is not None:
        settings.inline_cost = <float>(ns if ns > 0 else -1)
        settings.tiny_cost = min(settings.inline_cost, 500)
    return max(before, 0)

def bulk(n=None):
    """At most n elementwise operations run as one group from now on; 0 or 1: none do. Returns the previous limit."""
    before = open_group.longest_group
    if n is not None:
        n = index(n)
        if not 0 <= n <= MAX_MEMBERS:
            raise ValueError(f"n must be between 0 and {MAX_MEMBERS}, not {n}")
        start_group()
        open_group.longest_group = n
    return before

def set_memory_budget(nbytes):
    """Bytes of array data that may be allocated or promised at a time.

    An operation whose result does not fit waits until pending work has given memory back, and raises MemoryError when
    nothing pending can. So does one that finds as many pending tasks as take half as much. Work that waits for
    something that the very thread is yet to do would then keep it for ever.

    Parameters
    ----------
    nbytes : int
        At first four fifths of the memory that this process may use.

    Returns
    -------
    int
        The previous budget.

    Raises
    ------
    ValueError
        For what is no positive int.

    Examples
    --------
    >>> before = engine.set_memory_budget(1 << 30)
    >>> engine.set_memory_budget(before)
    1073741824
    """
    before = waiting.memory_budget
    if not isinstance(nbytes, int) or isinstance(nbytes, bool) or nbytes <= 0:
        raise ValueError(f"nbytes must be a positive int, not {nbytes!r}")
    store_i64(&waiting.memory_budget, min(nbytes, 1 << 62))
    set_block_limit(waiting.memory_budget)
    return before

def spill(directory, limit=None):
    """Write arrays that nothing pending needs to a file, where there would be no room for others in the budget: those
    that were used least recently. They are read back before they are used. So a program runs whose arrays are together
    more than the budget, as long as those of each operation are not.

    A lane of its own writes and reads, beside the workers, which does not change what anything computes. Arrays of less
    than 64 kB stay in memory, and so do those whose memory something outside dflow sees. A child of `fork()` has none
    of what is on the disk then. Linux alone.

    Parameters
    ----------
    directory : str or path
        Where the file is, which has no name, and is gone with the process. It takes what memory does not: a `tmpfs`
        will not do. None: no more is written; what is on the disk stays until it is used.
    limit : int, optional
        Bytes of the file, at most. None: what the disk has.

    Returns
    -------
    tuple
        The directory and the limit that were.

    Raises
    ------
    OSError
        No file can be made there.
    RuntimeError
        Arrays are still in a file in another directory.
    ValueError
        For a limit that is no positive int.
    MemoryError
        Later, at a call that finds no room: the disk is full, or cannot be written. What is in memory stays there.

    Notes
    -----
    Where something cannot be read back, that is the error (an OSError) of who reads the array, and of no other.

    Examples
    --------
    >>> import tempfile
    >>> before = engine.spill(tempfile.gettempdir(), 1 << 30)
    >>> x = np.ones(1_000_000)
    >>> engine.spill(*before) == (tempfile.gettempdir(), 1 << 30)
    True
    """
    before = disk.settings()
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit <= 0):
        raise ValueError(f"limit must be a positive int, not {limit!r}")
    if directory is not None:
        directory = os.fspath(directory)
        disk.open_file(directory, limit and min(limit, 1 << 62))
        if not lanes[DISK_LANE].nworkers:
            begin_lanes(shared.submitted)
            use_disk_lane()
            let_runners_go()
        hire(&lanes[DISK_LANE])         # now: an array on its way out is not to wait for it
    else:
        disk.open_file(None, None)
    return before

def set_cache_limit(nbytes):
    """Set how many bytes of freed arrays may be kept for arrays to come, as the system's memory is slower. What is kept
    beyond that goes back to the system at once. At first it is bounded by the budget alone. Callable from any thread.

    Parameters
    ----------
    nbytes : int
        The limit. 0: nothing is kept.

    Returns
    -------
    int
        The previous limit.

    Raises
    ------
    ValueError
        For what is no int, or a negative one.

    Examples
    --------
    >>> before = engine.set_cache_limit(64 << 20)
    >>> engine.set_cache_limit(before)
    67108864
    """
    if not isinstance(nbytes, int) or isinstance(nbytes, bool) or nbytes < 0:
        raise ValueError(f"nbytes must be an int that is not negative, not {nbytes!r}")
    return set_cached_limit(min(nbytes, 1 << 62))

def trim():
    """Give the memory that is kept for arrays to come back to the system. Callable from any thread; waits for nothing.

    Returns
    -------
    int
        How many bytes of freed arrays went back.

    Examples
    --------
    >>> x = np.ones(1_000_000)
    >>> x.wait_to_read()
    >>> del x
    >>> engine.trim() >= 8_000_000
    True
    >>> engine.memory_stats()["cached"]
    0
    """
    cdef long long released
    drain()
    if pending() == 0:
        release_edges()
        trim_cells()
    with nogil:
        released = trim_blocks()
    return released

def memory_stats():
    """Bytes of array data.

    Returns
    -------
    dict
        budget; live (allocated or promised); held (blocks taken from the system); cached (of these, kept for arrays to
        come); peak (most ever held); waits: how many submissions waited for room; and spilled (on the disk instead).

    Examples
    --------
    >>> x = np.ones(10)
    >>> engine.memory_stats()["live"] >= x.nbytes
    True
    """
    drain()
    held = block_bytes()
    return {"budget": waiting.memory_budget, "live": bytes_live(), "held": held.held, "cached": held.cached,
            "peak": held.peak, "waits": waiting.memory_waits, "spilled": bytes_spilled()}

def set_delays(unsigned long long seed, int max_us):
    """For tests: sleep up to max_us microseconds before about every fourth task. seed 0 turns it off."""
    shared.delay_seed = seed
    store_int(&shared.delay_us, max_us if seed else 0)

cdef int test_locks[BIN_LOCK + 1]       # by rank; the engine takes none of them

def take_lock(int rank, bint tried=False):
    """For tests of the rules in _base/locks.pxd: this thread holds a lock of that rank until give_lock(rank)."""
    if not DFLOW_DEBUG:
        raise RuntimeError("only the debug build checks what is done under a lock")
    if not tried:
        lock(&test_locks[rank], <LockRank>rank)
    elif not try_lock(&test_locks[rank], <LockRank>rank):
        raise RuntimeError("it is taken")

def give_lock(int rank):
    unlock(&test_locks[rank])

def statistics():
    """Counters since the process started, and what is pending now.

    Returns
    -------
    dict
        pending, inline (operations run in their caller), queued (tasks), groups (that ran), fused (their members),
        native (loops of machine code that ran in them, each for several members), native_broken (of these loops, those
        that computed something else than NumPy's and are not used),
        bytes_never_stored (of results that groups kept in registers), never_run (tasks whose results nobody could see
        any more), stolen (tasks run by another worker than the one
        that made them ready), waits (that blocked), waits_at ({"file:line in function": count}), storages, bytes (of
        array data that is allocated or promised), workers.

    Examples
    --------
    >>> before = engine.statistics()["queued"]
    >>> y = np.ones((300, 300)) @ np.ones((300, 300))
    >>> engine.statistics()["queued"] > before
    True
    """
    cdef Runner* r
    cdef long long stolen = 0
    drain()
    nudge()
    r = shared.runners
    while r != NULL:
        stolen += load_i64(&r.stolen)
        r = r.next
    counts = live()
    return {"pending": pending(), "inline": settings.inlined, "queued": shared.submitted,
            "fused": load_i64(&shared.grouped), "groups": load_i64(&shared.groups), "native": load_i64(&shared.native),
            "native_broken": native.broken(), "bytes_never_stored": load_i64(&shared.bytes_never_stored),
            "never_run": load_i64(&shared.never_run), "stolen": stolen, "waits": waiting.waits,
            "waits_at": errors.waits_by_site(), "storages": counts["storages"], "bytes": counts["bytes"],
            "workers": lanes[0].nworkers}

def live():
    """Storages, unfinished tasks and bytes of array data that exist now."""
    return {**graph.live(), "tasks": pending()}

def check_idle():
    """Assert that nothing is pending, queued or running."""
    cdef int i
    assert open_leader() == NULL, "a group is open"
    assert pending() == 0, f"{pending()} tasks are pending"
    for i in range(shared.nlanes):
        assert not any_ready(used[i]), f"a queue of lane {used[i].number} is not empty"
    assert load_i64(&shared.host_tasks) == 0, "a host task is pending"
    assert load_int(&shared.helping) == shared.waiting_all == shared.waiting_room == 0, "a thread waits"
    assert load_int(&shared.opening) == 0, "a kernel is to be split"
    for i in range(shared.nlanes):
        assert used[i].parking.hosting == used[i].parking.engaged == 0, f"lane {used[i].number} counts who is at work"
    assert all_at_rest(), "a worker is running"

cdef bint all_at_rest() noexcept:
    """Whether no runner has a task. As for a fork, each is kept outside meanwhile: inside it may change what it has."""
    cdef Runner* r
    cdef bint rest = True
    hold_runners()
    r = shared.runners
    while r != NULL:
        rest = rest and r.current == NULL
        r = r.next
    let_runners_go()
    return rest
