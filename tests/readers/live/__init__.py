"""SDKs in Python that do not install beside what the other tests need: `.ci/producers` makes an environment for each."""
