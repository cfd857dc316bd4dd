"""Where arrays are: devices by their numbers, of which cpu(i) has i. See _base/thread_state.pxd."""

from dflow._array.core cimport become, copy_of, ndarray, is_ours, be_like
from dflow._array.dispatch cimport device_name, several
from dflow._runtime.graph cimport abroad
from dflow._base.thread_state cimport (
    CPUS as FIRST_GPU, DEVICES, FIXED, crossing, current_device, many_devices, set_crossing, set_current_device,
    set_recording, use_devices)

CPUS = FIRST_GPU                # cpu(0), cpu(1), ...; gpu(0) has this number, gpu(1) the next
GPUS = DEVICES - FIRST_GPU

cpdef int device_number(object device) except -2:
    """The number of a device that is named, or an object of dflow.devices; -1: of None.
    ValueError for one that there is not."""
    if device is None:
        return -1
    kind = getattr(device, "device_type", None)
    if kind is None:
        if device != "cpu":
            raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
        return 0
    if device.device_id >= (CPUS if kind == "cpu" else num_gpus()):
        raise ValueError(f"{device} does not exist: there are {name_of(0)} to {name_of(CPUS - 1)}, and {gpu_names()}")
    if kind == "cpu":
        return device.device_id
    from dflow._gpu import executor
    from dflow._tracing import cuda_graph
    executor.open_gpu(device.device_id)
    return CPUS + device.device_id

def gpu_memory(int number):
    """Bytes of a GPU that is ready: free, and all."""
    from dflow._gpu import mirror
    return mirror.open_gpus[number - CPUS].memory()

def num_gpus():
    """How many GPUs arrays can be on."""
    from dflow._gpu import cuda             # as above, for those who have none
    return min(cuda.count(), GPUS)

cdef str gpu_names():
    from dflow._gpu import cuda
    cdef int n = num_gpus()
    return (f"no GPU: {cuda.missing()}" if n == 0 else name_of(CPUS) if n == 1
            else f"{name_of(CPUS)} to {name_of(CPUS + n - 1)}")

def name_of(int number):
    """Of a device."""
    return device_name(2 * number)

cpdef ndarray put(ndarray a, int number):
    """A new array, on a device from now on; -1: the current one, unless it was made of arrays put somewhere."""
    if number > 0:
        use_devices()
    if number >= 0 or many_devices and not a.st.device & FIXED:
        set_device(a, 2 * number | FIXED if number >= 0 else 2 * current_device())
    return a

cdef int set_device(ndarray a, int device) except -1:
    """Let a be on a device. What is on a GPU stays there: then a becomes a copy."""
    if abroad(a.st) and device >> 1 != a.st.device >> 1:
        become(a, copy_to(a, device >> 1))
    if not (a.st.pins and device >> 1 >= CPUS):
        a.st.device = <unsigned char>device
    return 0

def put_on(made, device):
    """What was just made, an array or a tuple, on a device; None: where it is."""
    if type(made) is tuple:
        return tuple([put_on(x, device) for x in made])
    if getattr(device, "device_type", None) == "worker":
        return device.put(made)
    cdef int number = device_number(device)
    return put(made, number) if isinstance(made, ndarray) else made

def follow(args, made, function=None):
    """What was made of arrays, maybe in lists, is where they are. Were they put on several, ValueError, if there is a
    function to name; else nowhere."""
    cdef int device
    if many_devices:
        device = common(args, function, 0)
        go(made, device if device > 0 else 2 * current_device())
    return made

cdef int common(x, function, int known) except -2:
    """What is known of their device, and of those of arrays in x: 0 at first; -1: several."""
    cdef int device
    if is_ours(x):
        device = (<ndarray>x).st.device
        if known == 0 or known == device or not device & FIXED:
            return device if known == 0 and device & FIXED else known
        if known > 0 and function is not None:
            raise several(getattr(function, "__name__", "this function"), known, device)
        return -1
    if type(x) is list or type(x) is tuple:
        for item in x:
            known = common(item, function, known)
    return known

cdef int go(made, int device) except -1:
    if is_ours(made):
        if not (<ndarray>made).st.device & FIXED and not abroad((<ndarray>made).st):
            set_device(<ndarray>made, device)
    elif isinstance(made, (list, tuple)):
        for item in made:
            go(item, device)
    return 0

def on_gpu(ndarray a):
    """Whether a GPU computes what is made of it."""
    return abroad(a.st)

def number_of(ndarray a):
    """Of the device that it is on."""
    return a.st.device >> 1

def copy_to(ndarray a, int number):
    """A copy on a device; of a scalar, one."""
    cdef bint before = crossing()
    cdef int here = set_current_device(number)
    cdef ndarray result
    set_crossing(True)
    try:
        result = put(copy_of(a), number)
    finally:
        set_crossing(before)
        set_current_device(here)
    be_like(result, a)
    return result

def brought(ndarray a):
    """A copy of what is on a GPU, on the CPU, put nowhere."""
    cdef bint records = set_recording(False), crosses = crossing()
    cdef int here = set_current_device(0)
    set_crossing(True)
    try:
        return copy_of(a)
    finally:
        set_crossing(crosses)
        set_current_device(here)
        set_recording(records)


def write_to(ndarray target, source):
    """target[...] = source, from whatever device."""
    cdef bint before = crossing()
    cdef int here = set_current_device(target.st.device >> 1)
    set_crossing(True)
    try:
        target[...] = source
    finally:
        set_crossing(before)
        set_current_device(here)

def current():
    """The number of the device that this thread makes arrays on."""
    return current_device()

def set_current(int number):
    """Make arrays on it from now on; the one before."""
    return set_current_device(number)
