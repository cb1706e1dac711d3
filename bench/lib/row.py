"""One line of the table, and how a ratio comes about."""

import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    name: str
    unit: str
    ours: float
    baseline: float | None
    value: float    # what is compared with the target: mostly a ratio, or ours where there is no baseline
    target: float
    values: list = dataclasses.field(default_factory=list)  # of each run
    at_least: bool = False  # the target is a lower bound
    value_unit: str = ""    # of a value that is no ratio

    NOISE = 0.03  # a miss by less is reported but not counted

    def verdict(self):
        reached = lambda target: self.value >= target if self.at_least else self.value <= target
        if reached(self.target):
            return "yes"
        slack = -self.NOISE if self.at_least else self.NOISE
        return "within noise" if reached(self.target * (1 + slack)) else "MISSED"


def interleaved(ours, baseline, runs):
    """Runs both sides in turn; the ratio is the median of the ratios of neighbours."""
    pairs = [(ours(), baseline()) for _ in range(runs)]
    ratios = [a / b for a, b in pairs]
    return (statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs),
            statistics.median(ratios), ratios)
