# SPDX-License-Identifier: BSD-2-Clause
"""For the tests: whether two traces tell the same."""

import collections
import json


def happenings(events):
    """What a trace has, in an order of its own. Arrows and spans by what they join: their numbers are those of the order in
    which they have ended, which of two in one moment is nobody's."""
    joined = collections.defaultdict(list)
    for event in events:
        number = (event["cat"], event["ph"] in "be", event.pop("id")) if "id" in event else None
        joined[number].append(json.dumps(event, sort_keys=True))
    return sorted(joined.pop(None)) + sorted(sorted(part) for part in joined.values())
