from numpy.lib import Arrayterator as Arrayterator
from numpy.lib import NumpyVersion as NumpyVersion
from numpy.lib import __all__ as __all__
from numpy.lib import add_docstring as add_docstring
from numpy.lib import add_newdoc as add_newdoc
from numpy.lib import array_utils as array_utils
from numpy.lib import introspect as introspect
from numpy.lib import mixins as mixins
from numpy.lib import npyio as npyio
from numpy.lib import scimath as scimath
from numpy.lib import tracemalloc_domain as tracemalloc_domain

from dflow.numpy.lib import format as format
from dflow.numpy.lib import stride_tricks as stride_tricks
