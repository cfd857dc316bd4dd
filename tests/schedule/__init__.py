"""Small concurrent programs, each under a seed that decides every choice of the system's scheduler: see __main__.py."""
