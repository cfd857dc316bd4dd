"""A magic of IPython's: see `%load_ext dflow`."""

from dflow._profile import timing


def load(shell):
    from IPython.core.error import UsageError
    from IPython.core.magic import Magics, line_cell_magic, magics_class

    @magics_class
    class Timing(Magics):
        @line_cell_magic
        def dtimeit(self, line, cell=None):
            """%timeit, with all that the statement leaves to dflow's workers.

              %dtimeit [-n<N>] [-r<R>] [-p<P>] [-q] [-o] statement
              %%dtimeit [-n<N>] [-r<R>] [-p<P>] [-q] [-o] setup code
              code
              code...

            -n: loops in a run; else as many as take 0.2 seconds. -r: runs; else 7. -p: digits that are shown; else 3.
            -q: nothing is shown. -o: the result is the value of the line. dflow.timeit() says what is measured.
            """
            options, text = self.parse_options(line, "n:r:p:qo", posix=False, strict=False, preserve_non_opts=True)
            setup, code = ("", text) if cell is None else (text, cell)
            if not code.strip():
                raise UsageError("%dtimeit: there is no statement")
            number, repeat, digits = (_number(options, name, UsageError) for name in "nrp")
            setup, code = (self.shell.transform_cell(source) for source in (setup, code))
            result = timing.timeit(code, number=number, repeat=repeat or 7, setup=setup, globals=self.shell.user_ns)
            result = timing.TimeitResult(result.all_runs, result.loops, digits or 3)
            if "q" not in options:
                print(result)
            return result if "o" in options else None

    shell.register_magics(Timing)


def _number(options, name, error):
    """The value of an option, None without it."""
    text = options.get(name)
    if text is not None and (not text.isdigit() or int(text) < 1):
        raise error(f"%dtimeit: -{name} must be a number of at least 1, not {text!r}")
    return None if text is None else int(text)
