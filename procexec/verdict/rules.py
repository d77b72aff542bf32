"""Which findings count for what."""

from procexec.model.result import Code

FAILS = frozenset(
    [
        Code.MISSING_STEP,
        Code.WRONG_ORDER,
        Code.INVENTED_STEP,
        Code.OLD_VERSION_STEP,
        Code.WRONG_VALUE,
        Code.STEP_FAILED,
        Code.GOAL_NOT_REACHED,
        Code.COLLATERAL_CHANGE,
        Code.UNSAFE_STEP,
        Code.NOT_DECLINED,
        Code.STALE_DOCS,
        Code.VACUOUS_GOAL,
    ]
)
UNFAITHFUL = frozenset(
    [
        Code.MISSING_STEP,
        Code.WRONG_ORDER,
        Code.INVENTED_STEP,
        Code.OLD_VERSION_STEP,
        Code.WRONG_VALUE,
        Code.UNSAFE_STEP,
    ]
)
BY_TEXT = frozenset(
    [Code.MISSING_STEP, Code.INVENTED_STEP, Code.WRONG_VALUE, Code.OLD_VERSION_STEP]
)
"""What is seen by comparing with the documentation rather than by running."""
