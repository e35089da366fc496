"""Example: a market maker. In every market it bids for UP and for DOWN, slightly below a fair price
derived from the asset's price. When both bids trade, the pair costs less than the dollar it pays.
In upcoming markets of the next hour it bids before they open, at even odds.

    python3 market_maker.py http://127.0.0.1:3000 maker maker.json

SIGTERM: cancels its orders, waits until its markets are paid, and exits with status 0. Status 1:
it could not continue; the message names the reason and whether orders still rest.
"""

import sys
from decimal import Decimal

from books import Books
from quarter_hour import Client, Live, Retries

EDGE = Decimal("0.005")
SHARES = Decimal(20)
#: If this many of its shares trade within this many seconds, the exchange cancels its other bids.
SWEPT_SHARES, SWEPT_S = 60, 1
#: Maximum position: with more of an outcome, it stops buying.
SHARES_MAX = 400
#: A quote within this distance of its price stays.
TOLERANCE = Decimal("0.002")
PASSWORD = "an example, not a secret"
DEFAULTS = ["http://127.0.0.1:3000", "example-maker", "maker.json"]


def fair_price(live: Live, market: dict) -> Decimal:
    """UP's fair price, from the asset's distance to its start price."""
    if market["startPrice"] is None:
        return Decimal("0.5")
    price = live.price(market["asset"]) or market["startPrice"]
    chance = Decimal("0.5") + (price / market["startPrice"] - 1) * 300
    return min(max(chance, Decimal("0.03")), Decimal("0.97")).quantize(Decimal("0.001"))


def requote(live: Live, market: dict, group_id: str) -> list:
    """The operations that leave one bid per outcome at its price."""
    operations = []
    fair = fair_price(live, market)
    for outcome, chance in (("UP", fair), ("DOWN", 1 - fair)):
        place = {"marketId": market["id"], "outcome": outcome}
        price = chance - EDGE
        resting = [
            order
            for order in live.account.orders.values()
            if all(order[name] == value for name, value in place.items())
        ]
        if len(resting) == 1 and abs(resting[0]["price"] - price) <= TOLERANCE:
            continue
        operations += [
            {"op": "cancel", "marketId": market["id"], "orderId": order["orderId"]}
            for order in resting
        ]
        if live.account.shares(market["id"], outcome) < SHARES_MAX:
            terms = {"shares": SHARES, "price": price, "groupId": group_id}
            rests = {"timeInForce": "GTC", "postOnly": True}
            operations.append({"op": "buy", **place, **terms, **rests})
    return operations


def main() -> None:
    url, username, path = (sys.argv[1:] + DEFAULTS[len(sys.argv) - 1 :])[:3]
    with Client(url, retries=Retries(attempts=30, longest_wait=0.5)) as exchange:
        exchange.sign_in(username, PASSWORD)
        groups = exchange.order_groups() or [exchange.create_order_group(SWEPT_SHARES, SWEPT_S)]
        group_id = groups[0]["groupId"]
        books = Books(exchange, path)
        live = books.live

        def look(is_stopping: bool) -> None:
            if is_stopping:
                if live.account.orders:
                    exchange.cancel_all()
                return
            # Refusals are harmless: prices move, markets end. The next round corrects them.
            operations = []
            for market in [*live.markets.values(), *live.upcoming.values()]:
                operations += requote(live, market, group_id)
            if not operations:
                return
            results = exchange.batch(operations[:100])["results"]
            errors = [each["error"]["code"] for each in results if each["type"] == "error"]
            # The bids were swept, so their prices were wrong. The next round uses the new price.
            if "order_group_tripped" in errors:
                exchange.reset_order_group(group_id)

        books.run(look)


if __name__ == "__main__":
    main()
