"""Shared by both example bots: they save their books in a file (the account, and the sums of its
changes), and run until they are stopped or cannot continue.

The file is replaced as a whole. A killed bot continues where it stopped and receives the changes
since then. A bot that cannot continue cancels its resting orders if possible, prints the reason,
and exits with status 1.
"""

import os
import signal
import sys
import time
from decimal import Decimal
from typing import Callable

from quarter_hour import Client, ExchangeError, Live, NoAnswer, dumps, loads

PAUSE_S = 0.1
#: Before a longer wait, the bot cancels its resting orders.
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
        """Acts in rounds until SIGTERM, then until the account has no orders and no shares."""
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
        """Returns whether the bot is done. Before a long wait that the exchange asks for, the bot
        cancels its resting orders; it sends nothing until the wait is over."""
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
            # Prices move during the wait. The exchange reserves room for the keys of cancels.
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
        """Applies new changes."""
        causes = self.kept["causes"]
        for change in self.live.update(seconds):
            before = causes.get(change.cause, Decimal(0))
            causes[change.cause] = before + change.available + change.held
        self.kept["account"] = self.live.account.saved()
        self.kept["gaps"] = self.gaps_before + self.live.gaps
        self.save()

    def claim_won(self) -> None:
        """Claims winnings. The exchange may already have paid them."""
        for market_id in self.live.account.claimable():
            try:
                self.exchange.claim(market_id)
            except ExchangeError as error:
                # The exchange may have paid while the bot was not running.
                if error.code not in ("nothing_to_claim", "already_paid"):
                    raise

    def is_flat(self) -> bool:
        """Whether the account has no orders and no shares, and no money change is missing."""
        account = self.live.account
        balance = self.exchange.balance()
        is_current = (account.available, account.held) == (balance["available"], balance["held"])
        return is_current and not account.orders and not account.positions

    def save(self) -> None:
        with open(f"{self.path}.new", "w") as file:
            file.write(dumps(self.kept))
        os.replace(f"{self.path}.new", self.path)
