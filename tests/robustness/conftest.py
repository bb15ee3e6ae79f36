"""`pytest tests/robustness --hypothesis-profile=thorough` draws some thousand examples a property."""

from hypothesis import Phase, settings

# Without shrinking: what an attack draws is too large for it to come to an end.
settings.register_profile("thorough", max_examples=5000, phases=[Phase.explicit, Phase.reuse, Phase.generate])
