"""One reading of one daemon."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from pegaflow.document import check_form, parse, read
from pegaflow.errors import PegaflowError
from pegaflow.event_models import LoggedEvent
from pegaflow.json_text import parse_json
from pegaflow.models import Status
from pegaflow.observe.series import Series

RECORDING: Final = "pegaflow.recording/1"
"""The form of a recording's lines; another major number says that a part has another form."""


@dataclass(frozen=True)
class Sample:
    """A daemon's status document and metrics, as they came at ``at`` (seconds since 1970, UTC)."""

    host: str
    """What people call the daemon."""
    at: float
    status_json: str
    series: Series
    events: tuple[LoggedEvent, ...] | None = None
    """What the daemon's log has more than at the reading before; None where it keeps none."""

    @cached_property
    def status(self) -> Status:
        """The status document."""
        return parse(Status, self.status_json)

    def line(self) -> str:
        """The sample as one line of a recording."""
        return json.dumps(
            {
                "schema": RECORDING,
                "host": self.host,
                "at": self.at,
                "status": json.loads(self.status_json),
                "metrics": self.series.text,
                "events": None if self.events is None else [asdict(one) for one in self.events],
            },
            separators=(",", ":"),
        )

    @classmethod
    def of_line(cls, line: str) -> "Sample":
        """The sample of a recording's line; raises ``PegaflowError`` for another line."""
        try:
            raw: dict[str, Any] = parse_json(line)
            check_form(raw)
            status = json.dumps(raw["status"])
            series, logged = Series(str(raw["metrics"])), raw.get("events")
            events = None if logged is None else tuple(read(LoggedEvent, one) for one in logged)
            return cls(str(raw["host"]), float(raw["at"]), status, series, events)
        except (KeyError, TypeError, ValueError) as error:
            raise PegaflowError(
                f"the recording has a line that is no sample ({error!r}); "
                "give a file that `pegaflow top --record FILE` wrote"
            ) from error
