"""Why tests of NumPy's fail over dflow by design, where no class of tools/numpy_suite.py says so already.

For each file {reason: tests}: a regular expression to find in "name: error's last line", the name without the file's.
"""

SCALARS = "numbers are arrays without axes, of one class"
NUMBERS = "the test needs objects, texts, records or dates, too"
NUMPYS = "numpy.ma is NumPy's: it makes arrays of NumPy, and takes no object whose __array__ gives one of ours"
METADATA = "a dtype's metadata are not kept"
SHARED = "views with elements that have several places are read-only"
STREAM = "draws have other numbers than NumPy's, by the bits of Philox; RandomState has NumPy's"
PARAMETERS = "draws whose parameters are arrays have other numbers than those of plain parameters"
PLAIN = "parameters of subclasses are arrays: their __float__ is not asked"
SOURCE = "a Generator's bit generator is dflow's; NumPy's counts for its seed"
STATE = "a state is that of dflow's stream; RandomState has NumPy's"
CAPI = "internals: the test hands arrays to NumPy's C interface, which takes NumPy's alone"
GIVES_OURS = "NumPy's own functions take no object whose __array__ gives one of ours"
NOT_ASKED = "__array_wrap__ is not asked where __array__ gives one of ours"
MATRICES = "matrices are NumPy's: what is no matrix beside them is NumPy's array"
SUBCLASSES = "subclasses are NumPy's: so is what their methods and wraps give, but for numbers"
PICKLES = "pickles are made in another way: those of NumPy's objects give NumPy's objects"

EXPECTED = {
    "_core/tests/test_numeric.py": {
        SCALARS: "TestIsclose::test_non_finite_scalar",
        SUBCLASSES: "TestNonzero::test_return_type",
        "np.broadcast is NumPy's, over other views": "TestBroadcast::test_broadcast_(in_args|single_arg|error_kwargs)",
    },
    "_core/tests/test_array_coercion.py": {
        "NumPy's arrays of objects are made of lists once more": "TestBadSequences::test_replace_0d_array",
        METADATA: "TestAsArray::test_dtype_identity",
    },
    "_core/tests/test_arrayobject.py": {
        SCALARS: r"test_array_wrap\[ndarray-ndarray\]",
        SUBCLASSES: r"test_array_wrap\[MyArr\w*-ndarray\]",
    },
    "_core/tests/test_deprecations.py": {
        NOT_ASKED: "TestDeprecatedArrayWrap::test_deprecated",
    },
    "_core/tests/test_einsum.py": {
        "out= must hold the result, with optimize=, too": "test_einsum_0d_out",
    },
    "_core/tests/test_indexing.py": {
        CAPI: "TestCApiAccess::test_[gs]etitem",
        "what an index array selects is in C order": "TestIndexing::test_memory_order",
        GIVES_OURS: "TestIndexing::test_scalar_return_type",
    },
    "_core/tests/test_nditer.py": {
        CAPI: "test_iter_too_large_with_multiindex",
        "np.nditer is NumPy's, over views": "test_iter_(copy_if_overlap|allocate_output_subtype)",
        "a look for our arrays among 2^31 takes minutes": "test_arbitrary_number_of_ops_error",
    },
    "_core/tests/test_overrides.py": {
        "the namespace has another name": "test_set_module",
        "functions have a class of their own": "test_function_like",
        "functions dflow does not know get NumPy's arrays": "TestArrayFunctionImplementation::test_not_implemented",
    },
    "_core/tests/test_regression.py": {
        SUBCLASSES: "TestRegression::test_attributes",
        PICKLES: "TestRegression::test_load_ufunc_pickle",
    },
    "_core/tests/test_scalar_methods.py": {
        "NumPy's numbers name NumPy's namespace": "TestDevice::test___array_namespace__",
        "methods take by name what NumPy's do, though its signatures say otherwise, and name what those call **kwargs":
            "test_array_scalar_method_signatures",
    },
    "_core/tests/test_scalarmath.py": {
        GIVES_OURS: "test_no_seq_repeat_basic_array_like",
    },
    "_core/tests/test_ufunc.py": {
        SHARED: "TestUfunc::test_broadcast: ValueError: assignment destination is read-only",
        "methods take out=... by its place, too": "test_output_ellipsis_errors",
    },
    "_core/tests/test_umath.py": {
        GIVES_OURS: r"TestSpecialMethods::test_(\w*wrap|default_prepare): ValueError: object __array__ method",
        NOT_ASKED: "TestSpecialMethods::test_priority",
        "other libraries' objects are told NumPy's ufuncs, not ours": "TestSpecialMethods::test_ufunc_override_methods",
        "NumPy asks ours for its subclasses, and these decline what is none": "test_ufunc_override_where",
        "who declines is asked again, with NumPy's arrays for ours": "TestSpecialMethods::test_ufunc_override_mro",
        "internals: NumPy's C function documents NumPy's ufuncs": "TestAdd_newdoc_ufunc::test_ufunc_arg",
    },
    "lib/tests/test_format.py": {METADATA: r"test_metadata_dtype\[dt1\]"},
    "lib/tests/test_function_base.py": {
        SCALARS: "TestQuantile::test_correct_quantile_value",
        "NumPy's ufuncs tell nobody of out=...": "TestLerp::test_linear_interpolation_formula_0d_inputs",
    },
    "lib/tests/test_io.py": {
        SCALARS: "TestLoadTxt::test_from_float_hex",
        NUMBERS: "TestSaveTxt::test_large_zip",
    },
    "lib/tests/test_recfunctions.py": {
        "NumPy's function gives the array that it was given: a copy of ours": "TestStackArrays::test_solo",
    },
    "lib/tests/test_nanfunctions.py": {"internals: a private function copies more": "test__replace_nan"},
    "lib/tests/test_stride_tricks.py": {SHARED: "test_writeable"},
    "linalg/tests/test_linalg.py": {"internals: lapack_lite": "test_blas64_geqrf_lwork_smoketest"},
    "ma/tests/test_core.py": {
        NUMPYS: "test_indexing|test_count_func|test_masked_invalid_pandas|test_compressed|test_astype_mask_ordering",
    },
    "ma/tests/test_subclassing.py": {GIVES_OURS: "TestClassWrapping::test_masked_binary_operations"},
    "ma/tests/test_old_ma.py": {
        NUMPYS: "test_testCI|test_xtestCount",
        "arrays have methods that masked arrays have not, as asnumpy()": "test_testAPI",
    },
    "matrixlib/tests/test_defmatrix.py": {MATRICES: "test_instance_methods"},
    "matrixlib/tests/test_interaction.py": {
        "np.nditer is NumPy's, over views": "test_iter_allocate_output_subtype",
    },
    "matrixlib/tests/test_matrix_linalg.py": {
        "the cases of NumPy's linalg, shared with it, look for NumPy's class": "::test_sq_cases: AssertionError",
    },
    "matrixlib/tests/test_regression.py": {MATRICES: "test_matrix_properties"},
    "random/tests/test_direct.py": {
        STREAM: "test_uniform_(double|float)",
        STATE: "test_advange_large|test_state_tuple",
        SOURCE: "::test_str|TestDefaultRNG::test_(seed|passthrough|coercion_RandomState_Generator)",
        "a stream's keys need a SeedSequence": "test_non_spawnable",
    },
    "random/tests/test_generator_mt19937.py": {
        PLAIN: "test_scalar_exception_propagation",
        PARAMETERS: "TestIntegers::test_scalar_array_equiv",
        STREAM: r"Test(RandomDist|Broadcast|Integers|MultivariateHypergeometric|Seed)::.*: AssertionError: "
                r"(Arrays are not|Items are not equal|assert_\((choice_hash|tgt\[))",
        STATE: "TestSetState::test_(gaussian_reset|negative_binomial)",
        PICKLES: "test_generator_ctor_old_style_pickle",
    },
    "random/tests/test_generator_mt19937_regressions.py": {
        STREAM: "test_call_within_randomstate|test_shuffle_mixed_dimension",
    },
    "random/tests/test_random.py": {
        STREAM: "test_shuffle_memoryview: .* Arrays are not equal",
        PLAIN: "test_scalar_exception_propagation",
    },
    "random/tests/test_randomstate.py": {
        PLAIN: "test_scalar_exception_propagation",
        STREAM: "test_swapped_singleton_against_direct: .* Arrays are not equal",
        STATE: "test_seed_alt_bit_gen|test_swap_worked|test_state_error_alt_bit_gen",
        PICKLES: "TestSetState::test_state_setting|test_randomstate_ctor_old_style_pickle",
    },
    "random/tests/test_randomstate_regression.py": {"byte order": "test_warns_byteorder"},
    "random/tests/test_smoke.py": {
        PARAMETERS: r"test_integers_broadcast\[.*: AssertionError: Arrays are not equal",
        STATE: "test_numpy_state",
        SOURCE: "test_default_is_pcg64",
    },
}
