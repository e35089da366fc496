"""Checks of the client in Python against an exchange whose time stands still: run by python.test.ts.

    checks.py <address> <address that loses answers> <market> <mode>
"""

import sys
import urllib.request
from decimal import Decimal

import quarter_hour
from quarter_hour import Client, ExchangeError, Live, NoAnswer, Retries, loads

URL, LOSSY, MARKET, MODE = sys.argv[1:]
RETRIES = Retries(first_wait=0.001)
PASSWORD = "correct horse battery"


def refused(code, act):
    try:
        act()
    except ExchangeError as error:
        assert error.code == code, error
        return error
    raise AssertionError(f"{code} was expected")


def compare(live, exchange):
    """The local account and book are those of the exchange, which stands still meanwhile."""
    live.update(0)
    account, balance = live.account, exchange.balance()
    assert (account.available, account.held) == (balance["available"], balance["held"])
    resting = {order["orderId"]: order["shares"] for order in exchange.orders()}
    assert {name: order["shares"] for name, order in account.orders.items()} == resting
    owned = {(each["marketId"], each["outcome"]): each["shares"] for each in exchange.positions()}
    local = {
        (market_id, each["outcome"]): each["shares"]
        for market_id, outcomes in account.positions.items()
        for each in outcomes
    }
    assert local == owned, (local, owned)
    answer = exchange.orderbook(MARKET, depth=999)
    sides = [(outcome, side) for outcome in ("UP", "DOWN") for side in ("bids", "asks")]
    theirs = [[(at["price"], at["shares"]) for at in answer[of][side]] for of, side in sides]
    for book in (live.book(MARKET), live.book_of("BTC")):
        assert book.market_id == MARKET
        for _ in range(600):
            if [book.levels(*side) for side in sides] == theirs:
                break
            live.update(0.05)
        else:
            raise AssertionError((sides, theirs, [book.levels(*side) for side in sides]))


def check_live():
    maker, taker = Client(URL, retries=RETRIES), Client(URL, retries=RETRIES)
    maker.sign_in(f"maker-{MODE}", PASSWORD)
    taker.sign_in(f"taker-{MODE}", PASSWORD)
    with maker, taker, Live(maker, {}) as live:
        assert live.mode == MODE, live.mode
        assert live.markets[MARKET]["status"] == "active"
        assert live.price("BTC") == 100_000
        upcoming = maker.upcoming_markets("BTC")
        assert [each["startPrice"] for each in upcoming] == [None] * 4
        of_btc = (each["id"] for each in live.upcoming.values() if each["asset"] == "BTC")
        assert [*of_btc] == [each["id"] for each in upcoming]
        rests = {"timeInForce": "GTC", "clientOrderId": f"first-{MODE}"}
        order = maker.buy(MARKET, "UP", shares="10.5", price=0.4, **rests)["orderId"]
        compare(live, maker)
        assert live.account.orders[order]["clientOrderId"] == f"first-{MODE}"
        assert live.book(MARKET).best_bid("UP") == (Decimal("0.4"), Decimal("10.5"))
        assert live.book(MARKET).best_ask("DOWN") == (Decimal("0.6"), Decimal("10.5"))
        second = {"timeInForce": "GTC", "clientOrderId": f"second-{MODE}"}
        steps = [
            lambda: maker.amend(MARKET, order, shares=8),
            lambda: maker.amend(MARKET, client_order_id=f"first-{MODE}", price="0.41"),
            lambda: taker.buy(MARKET, "DOWN", amount="1.23"),
            lambda: maker.sell(MARKET, "UP", shares=1, price="0.7", timeInForce="GTC"),
            lambda: taker.buy(MARKET, "UP", amount=Decimal("0.5"), price="0.75"),
            lambda: maker.batch(
                [
                    {"op": "buy", "marketId": MARKET, "outcome": "DOWN", "amount": Decimal(1)},
                    {"op": "cancel", "marketId": MARKET, "orderId": order},
                ]
            ),
            lambda: maker.cancel_after(60),
            lambda: maker.set_auto_claim(True),
            lambda: refused("too_much_to_start_again", maker.start_again),
            lambda: maker.create_order_group(5, 60),
            lambda: maker.buy(
                MARKET,
                "DOWN",
                shares=6,
                price="0.25",
                timeInForce="GTC",
                groupId=maker.order_groups()[-1]["groupId"],
            ),
            lambda: taker.buy(MARKET, "UP", shares=5, price="0.75"),
            lambda: maker.reset_order_group(maker.order_groups()[-1]["groupId"]),
            lambda: maker.remove_order_group(maker.order_groups()[-1]["groupId"]),
            lambda: maker.buy(MARKET, "DOWN", shares=3, price="0.2", timeInForce="GTC"),
            lambda: maker.buy(MARKET, "DOWN", shares=4, price="0.3", **second),
            lambda: maker.cancel(MARKET, client_order_id=f"second-{MODE}"),
            lambda: maker.cancel_all(),
        ]
        for step in steps:
            step()
            # What another has done is waited for like what one has done oneself.
            maker.changed_at = max(maker.changed_at, taker.changed_at)
            compare(live, maker)
        saved = live.account.saved()
        maker.buy(MARKET, "UP", shares=2, price="0.1", timeInForce="GTC")
    money = {}
    with Live(maker, loads(quarter_hour.dumps(saved)), poll=MODE == "poll") as live:
        compare(live, maker)
        maker.cancel_all()
        compare(live, maker)
    for entry in maker.ledger():
        money[entry["cause"]] = money.get(entry["cause"], 0) + entry["available"] + entry["held"]
    assert sum(money.values()) == live.account.available + live.account.held
    assert live.gaps == 0


def check_changes():
    """A change is executed once, and refusals say what is wrong."""
    with Client(URL, retries=RETRIES) as exchange, Client(LOSSY, retries=RETRIES) as lossy:
        lossy.token = exchange.sign_in(f"careful-{MODE}", PASSWORD)["token"]
        terms = {"shares": 5, "price": "0.3", "timeInForce": "GTC"}
        lossy.buy(MARKET, "UP", **terms)
        assert len(list(exchange.orders())) == 1
        orders = [exchange.buy(MARKET, "UP", key="mine", **terms)["orderId"] for _ in range(2)]
        assert orders[0] == orders[1]
        try:
            lossy.buy(MARKET, "UP", client_sequence=7, **terms)
            raise AssertionError("its answer was lost")
        except NoAnswer as lost:
            assert lost.may_be_executed and lost.idempotency_key is None
        stale = refused(
            "client_sequence_stale",
            lambda: exchange.buy(MARKET, "UP", client_sequence=7, **terms),
        )
        assert stale.details["last"] == 7
        assert len(list(exchange.orders())) == 3
        assert next(exchange.candles(MARKET, "5s"))["assetPrice"]["close"] == 100_000
        assert next(exchange.asset_candles("BTC"))["assetPrice"]["low"] == 100_000
        exchange.cancel_all()
        error = refused("insufficient_balance", lambda: exchange.buy(MARKET, "UP", amount=20_000))
        assert error.details["required"] > error.details["available"]
        refused("invalid_request", lambda: exchange.buy(MARKET, "UP", amount="1.0000001"))


def check_recovery():
    with Client(URL, retries=RETRIES) as exchange:
        name = f"forgot-{MODE}"
        refused("wrong_credentials", lambda: exchange.recover(name, "no code", PASSWORD))
        exchange.recover(name, "a code", PASSWORD)
        assert exchange.balance()["held"] == 0
        refused("wrong_credentials", lambda: exchange.recover(name, "a code", PASSWORD))


def check_sub_accounts():
    with Client(URL, retries=RETRIES) as parent:
        own = parent.sign_in(f"parent-{MODE}", PASSWORD)["userId"]
        sub = parent.create_sub_account(f"sub-{MODE}")["userId"]
        assert parent.transfer(own, sub, "12.5")["toAvailable"] == Decimal("12.5")
        assert [each["userId"] for each in parent.sub_accounts()["subAccounts"]] == [sub]
        token = parent.sub_account_token(sub, "grid", "trade")["token"]
        with Client(URL, token, retries=RETRIES) as bot, Live(parent) as live:
            if MODE == "stream":
                account = live.sub_account(sub)
                bot.buy(MARKET, "UP", shares=5, price="0.3", timeInForce="GTC")
                parent.transfer(sub, own, 1)
                for _ in range(600):
                    if account.available == 10:
                        break
                    live.update(0.05)
                assert (account.available, account.held) == (10, Decimal("1.5"))
                assert len(account.orders) == 1
                assert live.account.available == parent.balance()["available"]
            bot.cancel_all()
            refused("user_not_found", lambda: bot.transfer(sub, own, 1))


def check_numbers():
    """Amounts are decimals, and counts, times and sequences are not: by the API's description."""
    with urllib.request.urlopen(f"{URL}/api/openapi.json") as answer:
        contract = quarter_hour.json.load(answer)

    checked = set()

    def visit(schema):
        if isinstance(schema, list):
            for each in schema:
                visit(each)
        elif isinstance(schema, dict):
            properties = schema.get("properties")
            for name, field in properties.items() if isinstance(properties, dict) else ():
                if not isinstance(field, dict):
                    continue
                kinds = str(field.get("type")) + str([a.get("type") for a in field.get("anyOf", ())])
                if "integer" in kinds or "number" in kinds:
                    checked.add(name)
                    is_whole = "integer" in kinds
                    assert isinstance(loads(f'{{"{name}": 1}}')[name], int) == is_whole, name
            for each in schema.values():
                visit(each)

    for part in ("responses", "schemas"):
        visit(contract["components"].get(part, {}))
    visit([each["responses"] for path in contract["paths"].values() for each in path.values()])
    assert len(checked) > 50


check_numbers()
check_changes()
check_live()
check_sub_accounts()
check_recovery()
print("checked", MODE)
