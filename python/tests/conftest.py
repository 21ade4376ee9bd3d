import os

try:
    import hypothesis
except ImportError:  # tests/gpu needs none
    hypothesis = None

if hypothesis is not None:
    # fast: few examples, always the same ones; thorough: as many as a minute has time for.
    hypothesis.settings.register_profile("fast", max_examples=25, derandomize=True, deadline=None)
    hypothesis.settings.register_profile("thorough", max_examples=400, deadline=None)
    hypothesis.settings.load_profile("thorough" if os.environ.get("SORTIUM_TEST_FULL") else "fast")
