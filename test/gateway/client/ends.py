"""What reaches a program when something is refused, lost or over: run by python.test.ts.

    ends.py <address> <market> <mode>

At the address, a delta with an order named lost-once... is lost the first time, and one with an
order named lost... each time.
"""

import sys
import time
from decimal import Decimal

from quarter_hour import Client, ExchangeError, Live, Retries

URL, MARKET, MODE = sys.argv[1:]
RETRIES = Retries(first_wait=0.05)
PASSWORD = "correct horse battery"
RESTS = {"shares": 2, "price": "0.5", "timeInForce": "GTC"}


def refused(code, act):
    try:
        act()
    except ExchangeError as error:
        assert error.code == code, error
        return
    raise AssertionError(f"{code} was expected")


def signed_in(name):
    exchange = Client(URL, retries=RETRIES)
    exchange.sign_in(f"{name}-{MODE}", PASSWORD)
    return exchange


def until(live, is_reached):
    end = time.monotonic() + 60
    while not is_reached():
        assert time.monotonic() < end, (live.account, live.gaps)
        live.update(0.05)


def check_refusals():
    """What does not exist is refused each time, and nothing else suffers."""
    with signed_in("curious") as exchange, Live(exchange) as live:
        assert live.mode == MODE
        for _ in range(2):
            refused("market_not_found", lambda: live.book("btc-15m-1763700301"))
            refused("invalid_request", lambda: live.price("DOGE"))
            refused("invalid_request", lambda: live.book_of("DOGE"))
            live.update(0)
        assert live.price("BTC") == 100_000
        assert live.book(MARKET).sequence > 0


def check_losses():
    """A lost message is asked for again; one that never comes is a gap."""
    with signed_in("careful") as exchange, Live(exchange, {}) as live:
        money = 0
        for name in ("lost-once", "lost"):
            exchange.buy(MARKET, "UP", clientOrderId=f"{name}-{MODE}", **RESTS)
            orders = len(live.account.orders) + 1
            end = time.monotonic() + 60
            while len(live.account.orders) < orders:
                assert time.monotonic() < end, (name, live.gaps)
                money += sum(each.held for each in live.update(0.05))
            assert live.gaps == (MODE == "stream" and name == "lost"), live.gaps
            if name == "lost-once":
                assert money == 1, money
        assert live.account.held == exchange.balance()["held"] == 2


def check_large_messages():
    """A message of the exchange may be larger than a part."""
    with signed_in("ending-taker") as taker, Live(taker, {}) as live:
        order = {"op": "buy", "marketId": MARKET, "outcome": "UP", "timeInForce": "GTC"}
        order = {**order, "shares": Decimal("0.01"), "price": Decimal("0.6")}
        makers = [signed_in(name) for name in ("one", "two")]
        for maker in makers:
            for start in range(0, 1000, 100):
                names = [f"a-name-as-long-as-a-program-makes-one-{n}" for n in range(start, start + 100)]
                maker.batch([{**order, "clientOrderId": name} for name in names])
        with Live(makers[0], {}) as one, Live(makers[1], {}) as two:
            for other in (one, two):
                until(other, lambda: len(other.account.orders) == 1000)
            filled = taker.buy(MARKET, "DOWN", shares=20, price="0.4")
            assert len(filled["fills"]) == 2000, filled["status"]
            until(live, lambda: live.account.shares(MARKET, "DOWN") == 20)
            for other in (one, two):
                until(other, lambda: not other.account.orders)
                assert other.account.shares(MARKET, "UP") == 10, other.account
                assert other.gaps == 0


def check_dead_token():
    with signed_in("gone") as exchange, Live(exchange) as live:
        passwords = {"currentPassword": PASSWORD, "newPassword": f"{PASSWORD}!"}
        terms = {"name": "bot", "scope": "trade", "expiresAtMs": 1_763_800_000_000}
        token = exchange.call("POST", "/auth/tokens", terms, repeat="never")["token"]
        if MODE == "stream":
            with Live(Client(URL, token, retries=RETRIES)) as named:
                assert named.session_ends_at_ms == terms["expiresAtMs"]
        exchange.call("PUT", "/auth/password", passwords, repeat="never")
        end = time.monotonic() + 60
        for _ in range(2):
            error = None
            while error is None:
                assert time.monotonic() < end
                try:
                    live.update(0.05)
                except ExchangeError as thrown:
                    error = thrown
            assert error.code == "token_revoked", error
        if MODE == "stream":
            assert live.failure is error
            refused("token_revoked", lambda: live.book(MARKET))
            refused("token_revoked", lambda: Live(exchange))


check_refusals()
check_losses()
check_large_messages()
check_dead_token()
print("checked", MODE)
