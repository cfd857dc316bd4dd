"""Tasks whose operands are on a GPU."""

from dflow._kernels.kernel cimport Kernel
from dflow._runtime.graph cimport Task
from dflow._runtime.queues cimport Runner

cdef object recipe_of(Kernel* k)                                # of _gpu/codegen.py; None: the GPU does not know it
cdef int tell(Runner* me, Task* t, object gpu) except -1        # t and its group; me is not needed while gpu.capturing
