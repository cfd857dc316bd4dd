"""What floors below call of this one: their hooks, filled. See _base/hooks.pxd."""

from dflow._array.array_type cimport numpy_sees
from dflow._array.core cimport array_hooks, ArrayHooks, hooks
from dflow._base.hooks cimport check_hooks
from dflow._functions.advanced_indexing cimport get_selected, set_selected
from dflow._functions.basic_indexing cimport get_index, index_first, selection_hooks, SelectionHooks, set_index
from dflow._functions.operators cimport (
    binary_operator, brought_into, inplace_operator, seen_at_once, unary_operator)
from dflow._functions.advanced_indexing import places, where
from dflow._functions.basic_indexing import Iterator
from dflow._functions.buffers cimport borrow, end_buffer, fill_buffer
from dflow._functions.buffers import adopt
from dflow._functions.constructors import copy_order
from dflow._functions.host_task import host, wait_for_seconds
from dflow._functions.joining import stack_nested
from dflow._functions.mapped import in_file
from dflow._functions.points cimport put_into_numpys, taken_of_numpys
from dflow._functions.numbers import set_part
from dflow._functions.placement import brought
from dflow._functions.views import reshape, strided, view

array_hooks.index_get = get_index
array_hooks.index_item = index_first
array_hooks.index_set = set_index
array_hooks.operator_binary = binary_operator
array_hooks.operator_inplace = inplace_operator
array_hooks.operator_unary = unary_operator
array_hooks.buffer_fill = fill_buffer
array_hooks.buffer_end = end_buffer
array_hooks.memory_borrow = borrow
numpy_sees(seen_at_once, brought_into, taken_of_numpys, put_into_numpys)

selection_hooks.advanced_get = get_selected
selection_hooks.advanced_set = set_selected

hooks.adopt = adopt
hooks.brought = brought
hooks.copy_order = copy_order
hooks.host = host
hooks.in_file = in_file
hooks.iterator = Iterator
hooks.places = places
hooks.reshape = reshape
hooks.set_part = set_part
hooks.stack = stack_nested
hooks.strided = strided
hooks.view = view
hooks.wait_for_seconds = wait_for_seconds
hooks.where = where

def check():
    check_hooks("_array.core", &array_hooks, sizeof(ArrayHooks),
                "index_get index_item index_set operator_binary operator_inplace operator_unary buffer_fill buffer_end "
                "memory_borrow")
    check_hooks("_functions.basic_indexing", &selection_hooks, sizeof(SelectionHooks), "advanced_get advanced_set")

check()
