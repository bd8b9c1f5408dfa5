"""Every rule of DESIGN section 5 has a named test that fails if the rule is removed.

Here is the list, in files by what rules are about: the rule in words, its test, and what removes it. Left out are what
live bodies do with Redis and how the placement service moves partitions, whose planted bugs are in tests/chaos.
"""

from pathlib import Path

import pytest

from tests.unit.rules import leading, numbers, pricing, scouting, walking
from tests.unit.rules.rule import Rule

RULES = (*walking.RULES, *scouting.RULES, *pricing.RULES, *leading.RULES, *numbers.RULES)


@pytest.mark.parametrize("rule", RULES, ids=[rule.words for rule in RULES])
def test_without_the_rule_its_test_fails(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an assertion of its own; a crash would only say that the removal was clumsy."""
    rule.run_test()
    rule.remove(monkeypatch)
    with pytest.raises(AssertionError) as caught:
        rule.run_test()
    assert rule.module.__file__ is not None
    assert Path(rule.module.__file__) == caught.traceback[-1].path, "not what the test asserts"


def test_no_rule_is_listed_twice() -> None:
    """A list that names one rule in two places hides that another is missing."""
    assert len(RULES) == len({rule.words for rule in RULES})
