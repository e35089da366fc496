"""The books of an example bot, in a file: the account, and what its changes add up to.

The file is replaced as a whole, so a bot that is killed continues where it was, and is told what
has changed since.
"""

import os
from decimal import Decimal

from quarter_hour import Client, ExchangeError, Live, dumps, loads


class Books:
    def __init__(self, exchange: Client, path: str) -> None:
        self.path = path
        self.kept = {"account": {}, "causes": {}, "gaps": 0, "isFinished": False}
        if os.path.exists(path):
            with open(path) as file:
                self.kept = loads(file.read())
        self.gaps_before = self.kept["gaps"]
        self.exchange = exchange
        self.live = Live(exchange, self.kept["account"])
        self.kept["mode"] = self.live.mode

    def update(self, seconds: float) -> None:
        """Takes what is new, and claims what is won."""
        causes = self.kept["causes"]
        for change in self.live.update(seconds):
            before = causes.get(change.cause, Decimal(0))
            causes[change.cause] = before + change.available + change.held
        self.kept["account"] = self.live.account.saved()
        self.kept["gaps"] = self.gaps_before + self.live.gaps
        self.save()
        for market_id in self.live.account.claimable():
            try:
                self.exchange.claim(market_id)
            except ExchangeError as error:
                if error.code != "nothing_to_claim":
                    raise

    def is_flat(self) -> bool:
        """Nothing rests and nothing is owned, and no change of the money is missing."""
        account = self.live.account
        balance = self.exchange.balance()
        is_current = (account.available, account.held) == (balance["available"], balance["held"])
        return is_current and not account.orders and not account.positions

    def finish(self) -> None:
        self.kept["isFinished"] = True
        self.save()
        self.live.close()

    def save(self) -> None:
        with open(f"{self.path}.new", "w") as file:
            file.write(dumps(self.kept))
        os.replace(f"{self.path}.new", self.path)
