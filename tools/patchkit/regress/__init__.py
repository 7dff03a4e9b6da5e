"""The regression suite's runner: environments, one process per reproducer, verdicts, comparisons, reports."""
