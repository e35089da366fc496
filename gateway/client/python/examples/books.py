"""What both example bots do: they keep books in a file, the account and what its changes add up to;
and they run until they are stopped or cannot go on.

The file is replaced as a whole, so a bot that is killed continues where it was, and is told what
has changed since. A bot that cannot go on cancels what rests if it still can, says why, and exits
with status 1.
"""

import os
import signal
import sys
import time
from decimal import Decimal
from typing import Callable

from quarter_hour import Client, ExchangeError, Live, NoAnswer, dumps, loads

PAUSE_S = 0.1
#: For a longer wait, what rests is cancelled first.
LONG_S = 5


class Books:
    def __init__(self, exchange: Client, path: str) -> None:
        self.path = path
        self.kept = {"account": {}, "causes": {}, "gaps": 0, "isFinished": False}
        if os.path.exists(path):
            with open(path) as file:
                self.kept = {**loads(file.read()), "isFinished": False}
        self.gaps_before = self.kept["gaps"]
        self.exchange = exchange
        self.live = Live(exchange, self.kept["account"])
        self.kept["mode"] = self.live.mode
        self.quiet_until = 0.0
        self.is_stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_: object) -> None:
        self.is_stopping = True

    def run(self, look: Callable[[bool], None]) -> None:
        """Looks again and again until a SIGTERM, and then until nothing rests and nothing is owned."""
        try:
            is_done = False
            while not is_done:
                self.update(PAUSE_S)
                if time.time() >= self.quiet_until:
                    is_done = self.round(look)
        except (ExchangeError, NoAnswer) as error:
            self.give_up(error)
        self.kept["isFinished"] = True
        self.save()
        self.live.close()

    def round(self, look: Callable[[bool], None]) -> bool:
        """Returns whether the bot is done. If the exchange asks for a long wait, the bot cancels what
        rests and sends nothing until then."""
        try:
            look(self.is_stopping)
            self.claim_won()
            return self.is_stopping and self.is_flat()
        except ExchangeError as error:
            if error.retry_after is None:
                raise
            self.quiet_until = time.time() + error.retry_after
            until = time.strftime("%H:%M:%S", time.gmtime(self.quiet_until))
            print(f"{error} Nothing is sent until {until} UTC.", file=sys.stderr)
            # Prices move meanwhile. Room for the keys of cancels is kept free.
            if error.retry_after > LONG_S:
                self.exchange.cancel_all()
            return False

    def give_up(self, error: Exception) -> None:
        print(f"The bot cannot go on: {error}", file=sys.stderr)
        try:
            cancelled = self.exchange.cancel_all()["cancelledOrders"]
            print(f"Its {cancelled} resting orders were cancelled.", file=sys.stderr)
        except (ExchangeError, NoAnswer) as refusal:
            count = len(self.live.account.orders)
            print(f"Its {count} orders still rest: {refusal}", file=sys.stderr)
        sys.exit(1)

    def update(self, seconds: float) -> None:
        """Takes what is new."""
        causes = self.kept["causes"]
        for change in self.live.update(seconds):
            before = causes.get(change.cause, Decimal(0))
            causes[change.cause] = before + change.available + change.held
        self.kept["account"] = self.live.account.saved()
        self.kept["gaps"] = self.gaps_before + self.live.gaps
        self.save()

    def claim_won(self) -> None:
        """The exchange may have paid it already."""
        for market_id in self.live.account.claimable():
            try:
                self.exchange.claim(market_id)
            except ExchangeError as error:
                # It may have been paid while the bot was not running.
                if error.code not in ("nothing_to_claim", "already_paid"):
                    raise

    def is_flat(self) -> bool:
        """Nothing rests and nothing is owned, and no change of the money is missing."""
        account = self.live.account
        balance = self.exchange.balance()
        is_current = (account.available, account.held) == (balance["available"], balance["held"])
        return is_current and not account.orders and not account.positions

    def save(self) -> None:
        with open(f"{self.path}.new", "w") as file:
            file.write(dumps(self.kept))
        os.replace(f"{self.path}.new", self.path)
