"""Example: a taker. It buys what looks cheap compared with the asset's price, one order per market
and round, sells after a gain, and claims the rest.

    python3 taker.py http://127.0.0.1:3000 taker taker.json

SIGTERM: waits until its markets are paid, and exits with status 0. Status 1: it could not
continue; the message names the reason and whether orders still rest.
"""

import sys
from decimal import Decimal

from books import Books
from quarter_hour import Client, ExchangeError, Live, Retries

#: Size of an order in dollars.
AMOUNT = Decimal("2.5")
#: How far below the fair price an offer must be, and how far above it a bid.
MARGIN = Decimal("0.004")
SHARES_MAX = 200
PASSWORD = "an example, not a secret"
DEFAULTS = ["http://127.0.0.1:3000", "example-taker", "taker.json"]
#: Refusals to expect when other traders are faster or the market ends.
USUAL = (
    "market_not_active",
    "market_paused",
    "market_not_found",
    "insufficient_liquidity",
    "price_not_met",
    "amount_too_small",
    "insufficient_balance",
    "insufficient_shares",
)


def fair_price(live: Live, market: dict) -> Decimal:
    """UP's fair price, from the asset's distance to its start price."""
    price = live.price(market["asset"]) or market["startPrice"]
    chance = Decimal("0.5") + (price / market["startPrice"] - 1) * 250
    return min(max(chance, Decimal("0.03")), Decimal("0.97")).quantize(Decimal("0.001"))


def trade(exchange: Client, live: Live, market: dict) -> None:
    """Sends one order: sells what is dear or buys what is cheap."""
    book, up = live.book_of(market["asset"]), fair_price(live, market)
    if book is None or book.market_id != market["id"]:
        return
    for outcome, fair in (("UP", up), ("DOWN", 1 - up)):
        bid, ask = book.best_bid(outcome), book.best_ask(outcome)
        shares = live.account.shares(market["id"], outcome)
        if bid is not None and shares > 0 and bid.price >= fair + MARGIN:
            shares = min(shares, bid.shares)
            exchange.sell(market["id"], outcome, shares=shares, price=bid.price)
            return
        if ask is not None and shares < SHARES_MAX and ask.price <= fair - MARGIN:
            exchange.buy(market["id"], outcome, amount=AMOUNT, price=ask.price)
            return


def main() -> None:
    url, username, path = (sys.argv[1:] + DEFAULTS[len(sys.argv) - 1 :])[:3]
    with Client(url, retries=Retries(attempts=30, longest_wait=0.5)) as exchange:
        exchange.sign_in(username, PASSWORD)
        books = Books(exchange, path)

        def look(is_stopping: bool) -> None:
            for market in [] if is_stopping else list(books.live.markets.values()):
                try:
                    trade(exchange, books.live, market)
                except ExchangeError as error:
                    if error.code not in USUAL:
                        raise

        books.run(look)


if __name__ == "__main__":
    main()
