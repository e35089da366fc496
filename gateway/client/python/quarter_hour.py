"""The client of the Quarter-Hour Exchange: one file that needs only the standard library.

    from quarter_hour import Client

    with Client("http://127.0.0.1:3000") as exchange:
        exchange.register("my-bot", "correct horse battery")
        market = exchange.active_markets("BTC")[0]
        print(exchange.buy(market["id"], "UP", amount=10)["status"])

Answers are dictionaries with the exchange's own fields; amounts are Decimal. Fields added by a
newer exchange do no harm.

Invariants:
- A change is executed at most once per call. All attempts have the same idempotency key. A change
  without a key is sent again only if the exchange reports that it was not executed.
- Everything runs in the calling thread, without callbacks. With the package websockets (10 or
  later), Live has one thread of its own, which only transfers text.
- Amounts are never binary fractions, neither here nor in messages.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import queue
import random
import re
import secrets
import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

try:
    websockets: Any = import_module("websockets")
except ImportError:  # Live polls.
    websockets = None

__version__ = "1.0.0"

log = logging.getLogger("quarter_hour")

#: Dollars, shares or a price: Decimal("0.495"), "0.495" or 5. A float means its shortest decimal.
Amount = Union[Decimal, int, str, float]
#: An answer of the exchange, or an operation of a batch.
Fields = Dict[str, Any]

_DOLLAR = Decimal(1)
_ZERO = Decimal(0)
#: Numbers in answers that are not amounts: times, sequences and counts.
_WHOLE = re.compile(
    "(Ms|[sS]equence)$|^(batchOperations|bodyBytes|bookLevels|burst|bytes|cancelledOrders|deposits"
    "|epoch|idempotencyKeys|last|openOrders|orderGroups|pageEntries|rank|referralCodes"
    "|rateTier|referredUsers|ruleSet|trades|tradesPerOrder|vaultDeposits)$"
)


class ExchangeError(Exception):
    """The exchange answered with an error. Nothing was executed.

    The exception: if details["executed"] is True, an earlier attempt was executed, at
    details["sequence"], and the same key returns its answer later.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Fields,
        status: int,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        #: One of the API's codes; "unknown" if the answer is not the API's, such as a proxy's.
        self.code = code
        #: Depends on the code: insufficient_balance has "required" and "available".
        self.details = details
        #: The HTTP status, or 0 for an error of the stream.
        self.status = status
        #: Seconds to wait before repeating the request, if the exchange says so.
        milliseconds = details.get("retryAfterMs")
        self.retry_after = retry_after if milliseconds is None else float(milliseconds) / 1000


class NoAnswer(ConnectionError):
    """The exchange did not answer, even after all attempts."""

    def __init__(self, message: str, may_be_executed: bool, key: Optional[str]) -> None:
        super().__init__(message)
        #: Whether the request may have been executed. Repeat it with the same idempotency key.
        self.may_be_executed = may_be_executed
        #: The key that was sent, or None.
        self.idempotency_key = key


@dataclass(frozen=True)
class Retries:
    """When a request is sent again, and after which wait. Times are in seconds."""

    #: How often one request is sent, including the first time.
    attempts: int = 8
    #: After this time an attempt counts as lost.
    timeout: float = 10
    #: The first wait. Each further wait is twice as long, less a random part of up to half.
    first_wait: float = 0.1
    #: The longest wait. If the exchange asks for a longer one, the call fails immediately, and the
    #: error's `retry_after` says when the request can succeed: you decide whether to wait.
    longest_wait: float = 30

    def backoff(self, attempt: int) -> float:
        longest: float = min(self.first_wait * 2 ** (attempt - 1), self.longest_wait)
        return longest * random.uniform(0.5, 1)


def decimal(amount: Amount) -> Decimal:
    """The exact amount."""
    value = amount if isinstance(amount, Decimal) else Decimal(str(amount))
    if not value.is_finite():
        raise ValueError(f"{amount} is not an amount")
    return value


def _optional(amount: Optional[Amount]) -> Optional[Decimal]:
    return None if amount is None else decimal(amount)


def _given(**fields: Any) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def dumps(value: Any) -> str:
    """JSON with exact decimals."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dumps(value[name])}" for name in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    if isinstance(value, (Decimal, float)):
        return format(decimal(value), "f")
    return json.dumps(value)


def _amounts(pairs: List[Tuple[str, Any]]) -> Fields:
    """Makes whole amounts decimals, so that division is exact."""
    return {
        name: Decimal(value)
        if type(value) is int and _WHOLE.search(name) is None
        else value
        for name, value in pairs
    }


def loads(text: Union[str, bytes]) -> Any:
    """Parses an answer of the exchange or a text of `dumps`, with amounts as decimals."""
    return json.loads(text, parse_float=Decimal, object_pairs_hook=_amounts)


def _path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


class Client:
    """A connection to the exchange, for one thread at a time.

    :param url: the exchange's address, with or without /api
    :param token: a session's or named token; it can be set later with `token`
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:3000",
        token: Optional[str] = None,
        retries: Retries = Retries(),
    ) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or address.hostname is None:
            raise ValueError(f"{url} is not an address such as http://127.0.0.1:3000")
        self._address = address
        path = address.path.rstrip("/")
        self._base = path if path.endswith("/api") else f"{path}/api"
        self.url = f"{address.scheme}://{address.netloc}{self._base}"
        self.token = token
        #: The user who signed in with this client, or None.
        self.user_id: Optional[str] = None
        #: The sequence of the last executed change; Live.update waits for it.
        self.changed_at = 0
        self.retries = retries
        self._connection: Optional[http.client.HTTPConnection] = None
        self._used_at = 0.0
        #: Whether the exchange may have received the last request.
        self._is_sent = False

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Requests

    def get(self, path: str, **query: Any) -> Fields:
        """Any GET route of the API: get("/leaderboard", metric="volume")."""
        return self.call("GET", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Fields] = None,
        *,
        query: Optional[Fields] = None,
        key: Optional[str] = None,
        client_sequence: Optional[int] = None,
        repeat: str = "key",
    ) -> Fields:
        """Calls any route of the API, and repeats the request until an answer is final.

        :param key: the idempotency key of a change, 1 to 64 of A-Z a-z 0-9 _ - : . ; default: a
            random one. Give your own, and save it first, to repeat a change after a crash.
        :param client_sequence: replaces the key: a number that grows with each change made with
            the token. The change is not repeated, because its answer is not stored.
        :param repeat: "key", "harmless": a repetition changes nothing, or "never"
        """
        headers = {}
        is_safe = method == "GET" or repeat == "harmless"
        if client_sequence is not None:
            headers["Client-Sequence"] = str(client_sequence)
            is_safe, key = False, None
        elif method != "GET" and repeat == "key":
            key = key or secrets.token_hex(16)
            headers["Idempotency-Key"] = key
            is_safe = True
        if self.token is not None:
            headers["X-User-Token"] = self.token
        text = None if body is None else dumps(body).encode()
        if text is not None:
            headers["Content-Type"] = "application/json"
        pairs = [(name, value) for name, value in (query or {}).items() if value is not None]
        target = f"{self._base}{path}" + (f"?{urlencode(pairs)}" if pairs else "")
        attempt, is_lost = 1, False
        while True:
            error: Union[ExchangeError, NoAnswer]
            asked: Optional[float] = None
            try:
                status, retry_after, answer = self._send(method, target, text, headers)
                if status < 300:
                    return self._executed(method, loads(answer) if answer else {})
                error = _error(status, answer, retry_after)
                asked = error.retry_after
                if error.code == "outcome_unknown":
                    # A replica has lost its leader, which is treated like no answer.
                    error = NoAnswer(str(error), True, key)
            except (OSError, http.client.HTTPException) as lost:
                may_be_executed = self._is_sent and method != "GET"
                self.close()
                error = NoAnswer(
                    f"no answer from {self._address.netloc} to {method} {path}: {lost!r}",
                    may_be_executed,
                    key,
                )
            is_lost = is_lost or (isinstance(error, NoAnswer) and error.may_be_executed)
            is_last = attempt >= self.retries.attempts or not _is_temporary(error, is_safe)
            if is_last or (asked or 0) > self.retries.longest_wait:
                if is_lost and isinstance(error, ExchangeError) and error.code in _SILENT:
                    raise NoAnswer(str(error), True, key) from error
                raise error from None
            wait = max(asked or 0, self.retries.backoff(attempt))
            log.debug("%s; again in %.3f s", error, wait)
            time.sleep(wait)
            attempt += 1

    def _send(
        self, method: str, target: str, text: Optional[bytes], headers: Dict[str, str]
    ) -> Tuple[int, Optional[float], bytes]:
        now = time.monotonic()
        # The exchange closes a connection 8 s after its last request.
        if now - self._used_at > 6:
            self.close()
        self._used_at = now
        self._is_sent = False
        if self._connection is None:
            is_https = self._address.scheme == "https"
            kind = http.client.HTTPSConnection if is_https else http.client.HTTPConnection
            host = self._address.hostname or ""
            self._connection = kind(host, self._address.port, timeout=self.retries.timeout)
            self._connection.connect()
        self._is_sent = True
        self._connection.request(method, target, text, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status in (204, 304):
            self.close()
        seconds = response.getheader("Retry-After", "")
        return response.status, float(seconds) if seconds.isdigit() else None, answer

    def _executed(self, method: str, answer: Fields) -> Fields:
        if method != "GET":
            self.changed_at = max(self.changed_at, answer.get("sequence", 0))
        return answer

    def _own(self, *parts: str) -> str:
        return _path("users", "me", *parts)

    # Signing in

    def register(self, username: str, password: str, referral_code: Optional[str] = None) -> Fields:
        """Registers an account. Not sent again if it may have been executed."""
        body = _given(username=username, password=password, referralCode=referral_code)
        return self._sign_in("/auth/register", body, "never")

    def login(self, username: str, password: str) -> Fields:
        body = {"username": username, "password": password}
        return self._sign_in("/auth/login", body, "harmless")

    def recover(self, username: str, code: str, new_password: str) -> Fields:
        """Sets a new password with a single-use code from the operator."""
        body = {"username": username, "code": code, "newPassword": new_password}
        return self._sign_in("/auth/recovery", body, "never")

    def sign_in(self, username: str, password: str) -> Fields:
        """Logs in, or registers a new name. Also succeeds if a registration's answer is lost."""
        while True:
            try:
                return self.login(username, password)
            except ExchangeError as error:
                if error.code != "wrong_credentials":
                    raise
            try:
                return self.register(username, password)
            except NoAnswer as lost:
                log.debug("%s", lost)

    def _sign_in(self, path: str, body: Fields, repeat: str) -> Fields:
        answer = self.call("POST", path, body, repeat=repeat)
        self.token, self.user_id = answer["token"], answer["userId"]
        return answer

    # Markets

    def active_markets(self, asset: Optional[str] = None) -> List[Fields]:
        """The markets trading now. Around each quarter hour, none trades for about a minute."""
        markets: List[Fields] = self.get("/markets/15m", asset=asset)["markets"]
        return markets

    def upcoming_markets(self, asset: Optional[str] = None) -> List[Fields]:
        """The markets of the next hour. Orders can rest in them, but do not trade yet."""
        return [*self.pages("/markets", "markets", status="upcoming", asset=asset)][::-1]

    def market(self, market_id: str) -> Fields:
        return self.get(_path("markets", market_id))

    def orderbook(self, market_id: str, depth: int = 20) -> Fields:
        return self.get(_path("markets", "15m", market_id, "orderbook"), depth=depth)

    def candles(self, market_id: str, interval: str = "1m", **query: Any) -> Iterator[Fields]:
        """Every interval ("5s" or "1m") of a market, newest first; filters: fromMs, toMs."""
        path = _path("markets", "15m", market_id, "candles")
        return self.pages(path, "candles", interval=interval, **query)

    def asset_candles(self, asset: str, interval: str = "1m", **query: Any) -> Iterator[Fields]:
        """Every interval of an asset, with the trades of all its markets, newest first."""
        return self.pages(_path("assets", asset, "candles"), "candles", interval=interval, **query)

    def day_files(self, asset: Optional[str] = None) -> List[Fields]:
        """The files with all events of an asset on a UTC day."""
        return self.get("/history", asset=asset)["files"]

    def limits(self) -> Fields:
        """Fees, sizes, maximums and rate limits."""
        return self.get("/limits")

    # Orders

    def buy(
        self,
        market_id: str,
        outcome: str,
        *,
        amount: Optional[Amount] = None,
        shares: Optional[Amount] = None,
        price: Optional[Amount] = None,
        key: Optional[str] = None,
        client_sequence: Optional[int] = None,
        **terms: Any,
    ) -> Fields:
        """Buys for `amount` dollars, or a number of `shares`. `price` is the worst acceptable one.

        :param terms: the API's own fields, such as timeInForce="GTC", postOnly=True
        """
        order = _given(
            outcome=outcome,
            amount=_optional(amount),
            shares=_optional(shares),
            price=_optional(price),
            **terms,
        )
        path = _path("markets", "15m", market_id, "buy")
        return self.call("POST", path, order, key=key, client_sequence=client_sequence)

    def sell(
        self,
        market_id: str,
        outcome: str,
        *,
        shares: Amount,
        price: Optional[Amount] = None,
        key: Optional[str] = None,
        client_sequence: Optional[int] = None,
        **terms: Any,
    ) -> Fields:
        order = _given(outcome=outcome, shares=decimal(shares), price=_optional(price), **terms)
        path = _path("markets", "15m", market_id, "sell")
        return self.call("POST", path, order, key=key, client_sequence=client_sequence)

    def split(self, market_id: str, shares: Amount, **options: Any) -> Fields:
        """Turns dollars into `shares` of UP and of DOWN. A pair costs a dollar plus the fee."""
        path = _path("markets", "15m", market_id, "split")
        return self.call("POST", path, {"shares": decimal(shares)}, **options)

    def merge(self, market_id: str, shares: Amount, **options: Any) -> Fields:
        """Turns `shares` of UP and of DOWN into dollars, one dollar per pair."""
        path = _path("markets", "15m", market_id, "merge")
        return self.call("POST", path, {"shares": decimal(shares)}, **options)

    def claim(self, market_id: str, **options: Any) -> Fields:
        """Collects what a resolved market owes you."""
        return self.call("POST", _path("markets", "15m", market_id, "claim"), {}, **options)

    def cancel(
        self,
        market_id: str,
        order_id: str = "by-client-id",
        *,
        client_order_id: Optional[str] = None,
        **options: Any,
    ) -> Fields:
        """Cancels a resting order by its id or by your own name for it."""
        path = _path("markets", "15m", market_id, "orders", order_id)
        return self.call("DELETE", path, query={"clientOrderId": client_order_id}, **options)

    def cancel_all(self, market_id: Optional[str] = None, **options: Any) -> Fields:
        """Cancels all your resting orders, in all markets or in one market."""
        query = {"marketId": market_id}
        return self.call("DELETE", self._own("orders"), query=query, **options)

    def amend(
        self,
        market_id: str,
        order_id: str = "by-client-id",
        *,
        client_order_id: Optional[str] = None,
        shares: Optional[Amount] = None,
        price: Optional[Amount] = None,
        **options: Any,
    ) -> Fields:
        """Changes a resting order. `shares` is the total size, including filled shares."""
        terms = _given(shares=_optional(shares), price=_optional(price))
        path = _path("markets", "15m", market_id, "orders", order_id)
        return self.call("PATCH", path, terms, query={"clientOrderId": client_order_id}, **options)

    def batch(self, operations: Sequence[Fields], atomic: bool = False, **options: Any) -> Fields:
        """Executes up to 100 operations in order without interruption. `atomic`: all or none.

        Operations are the API's own: {"op": "buy", "marketId": ..., "outcome": "UP", "amount": 5}
        """
        body: Fields = {"operations": list(operations)}
        if atomic:
            body["atomic"] = True
        return self.call("POST", "/batch", body, **options)

    def cancel_after(self, seconds: float, **options: Any) -> Fields:
        """Cancels all your resting orders in `seconds`, unless called again. 0 turns it off."""
        body = {"timeoutMs": round(seconds * 1000)}
        return self.call("PUT", self._own("cancel-after"), body, **options)

    def create_order_group(
        self, max_filled_shares: Amount, window_seconds: float, **options: Any
    ) -> Fields:
        """Creates a group: once enough of it fills within the window, the rest is cancelled."""
        body = {
            "maxFilledShares": decimal(max_filled_shares),
            "windowMs": round(window_seconds * 1000),
        }
        return self.call("POST", self._own("order-groups"), body, **options)

    def order_groups(self) -> List[Fields]:
        """Your order groups, oldest first."""
        return self.get(self._own("order-groups"))["orderGroups"]

    def reset_order_group(self, group_id: str, **options: Any) -> Fields:
        """Lets a group that has tripped take orders again."""
        return self.call("POST", self._own("order-groups", group_id, "reset"), {}, **options)

    def remove_order_group(self, group_id: str, **options: Any) -> Fields:
        """Removes a group and cancels its orders."""
        return self.call("DELETE", self._own("order-groups", group_id), **options)

    def set_privacy(self, private: bool, listed: bool = False, **options: Any) -> Fields:
        """`private`: others see only your name. `listed`: leaderboards still list you."""
        body = {"private": private, "listed": listed}
        return self.call("PUT", self._own("privacy"), body, **options)

    def set_auto_claim(self, enabled: bool, **options: Any) -> Fields:
        """Whether a market's settlement pays you without a claim. Off by default."""
        return self.call("PUT", self._own("auto-claim"), {"enabled": enabled}, **options)

    def start_again(self, **options: Any) -> Fields:
        """Gives you play money again, once a day, if you have little left."""
        return self.call("POST", self._own("start-again"), {}, **options)

    # Sub-accounts, for a token from their parent's sign-in

    def create_sub_account(self, username: str, **options: Any) -> Fields:
        """Creates a sub-account: a separate account without a password. At most 32."""
        return self.call("POST", self._own("sub-accounts"), {"username": username}, **options)

    def sub_accounts(self) -> Fields:
        """All sub-accounts with their balances, oldest first, and the total."""
        return self.get(self._own("sub-accounts"))

    def sub_account_token(self, sub_account_id: str, name: str, scope: str, **terms: Any) -> Fields:
        """A named token, "read" or "trade", for a Client of the sub-account.

        Only this answer contains the token. Terms: expiresAtMs, allowedAddresses.
        """
        path = self._own("sub-accounts", sub_account_id, "tokens")
        return self.call("POST", path, {"name": name, "scope": scope, **terms}, repeat="never")

    def transfer(self, source: str, target: str, amount: Any, **options: Any) -> Fields:
        """Moves available money between you and a sub-account, or between two sub-accounts."""
        body = {"from": source, "to": target, "amount": amount}
        return self.call("POST", self._own("transfers"), body, **options)

    # The account

    def balance(self) -> Fields:
        return self.get(self._own("balance"))

    def pages(self, path: str, name: str, **query: Any) -> Iterator[Fields]:
        """The entries of all pages of a list: pages("/markets", "markets", status="resolved")."""
        cursor = None
        while True:
            page = self.get(path, **{"limit": 200, **query, "cursor": cursor})
            yield from page[name]
            cursor = page["nextCursor"]
            if cursor is None:
                return

    def positions(self, **query: Any) -> Iterator[Fields]:
        """Open and claimable positions, newest market first; filters: marketId, status."""
        return self.pages(self._own("positions"), "positions", **query)

    def orders(self, **query: Any) -> Iterator[Fields]:
        """Your orders, newest first. Without a filter: your resting orders, oldest first."""
        return self.pages(self._own("orders"), "orders", **query)

    def trades(self, **query: Any) -> Iterator[Fields]:
        """Your trades, newest first; filters: orderId, marketId, fromMs, toMs."""
        return self.pages(self._own("trades"), "trades", **query)

    def ledger(self, **query: Any) -> Iterator[Fields]:
        """The statement: every change of your money and shares, newest first."""
        return self.pages(self._own("ledger"), "entries", **query)

    def live(self, saved: Optional[Fields] = None) -> Live:
        """Follows markets, books and your account. See Live."""
        return Live(self, saved)


#: Refusals made before the key is looked up, so an earlier attempt may have been executed.
_SILENT = (
    "unknown",
    "unavailable",
    "rate_limited",
    "limit_reached",
    "missing_token",
    "invalid_token",
    "token_revoked",
    "token_expired",
    "address_not_allowed",
)


def _error(status: int, text: bytes, retry_after: Optional[float]) -> ExchangeError:
    try:
        error = loads(text)["error"]
        known = error["code"], error["message"], error.get("details", {})
        return ExchangeError(*known, status, retry_after)
    except (ValueError, KeyError, TypeError):
        return ExchangeError("unknown", f"status {status}", {}, status, retry_after)


def _is_temporary(error: Union[ExchangeError, NoAnswer], is_safe: bool) -> bool:
    """Whether a repetition may succeed and cannot execute the request twice."""
    if isinstance(error, NoAnswer):
        return is_safe or not error.may_be_executed
    if error.status == 429 or error.details.get("executed") is False:
        return True
    # The request was executed before, and the same key returns its answer later.
    return is_safe and (error.details.get("executed") is True or error.status in (502, 503, 504))


class Level(NamedTuple):
    price: Decimal
    shares: Decimal


class Book:
    """The order book of a market, at `sequence`.

    Only levels of UP are stored: a bid for DOWN at q is an offer of UP at 1 - q.
    """

    def __init__(self, market_id: str) -> None:
        self.market_id = market_id
        #: The journal sequence of the book's state; 0 before the first message.
        self.sequence = 0
        self._bids: Dict[Decimal, Decimal] = {}
        self._asks: Dict[Decimal, Decimal] = {}

    def _apply(self, data: Fields, is_whole: bool, sequence: int) -> None:
        for side, kept in (("bids", self._bids), ("asks", self._asks)):
            if is_whole:
                kept.clear()
            for level in data["UP"][side]:
                kept[level["price"]] = level["shares"]
                if not level["shares"]:
                    del kept[level["price"]]
        self.sequence = sequence

    def levels(self, outcome: str, side: str) -> List[Level]:
        """All levels of "bids" or "asks", best first."""
        is_up = outcome == "UP"
        kept = self._bids if (side == "bids") == is_up else self._asks
        found = [Level(at if is_up else _DOLLAR - at, shares) for at, shares in kept.items()]
        return sorted(found, reverse=side == "bids")

    def best_bid(self, outcome: str) -> Optional[Level]:
        """None without bids."""
        return next(iter(self.levels(outcome, "bids")), None)

    def best_ask(self, outcome: str) -> Optional[Level]:
        """None without offers."""
        return next(iter(self.levels(outcome, "asks")), None)


class Change(NamedTuple):
    """A change of the account's money, as in the statement."""

    sequence: int
    #: As in the statement: grant, fill, fee, hold, release, claim, and so on.
    cause: str
    available: Decimal
    held: Decimal


@dataclass
class Account:
    """Your balance, resting orders and positions, at `sequence`."""

    sequence: int = 0
    available: Decimal = _ZERO
    held: Decimal = _ZERO
    #: By order id: orderId, clientOrderId, marketId, side, outcome, price, shares.
    orders: Dict[str, Fields] = field(default_factory=dict)
    #: By market id.
    positions: Dict[str, List[Fields]] = field(default_factory=dict)

    def shares(self, market_id: str, outcome: str) -> Decimal:
        """Shares of an outcome, including those offered for sale."""
        for position in self.positions.get(market_id, ()):
            if position["outcome"] == outcome:
                return Decimal(position["shares"])
        return _ZERO

    def claimable(self) -> List[str]:
        """The markets that owe you money."""
        return [
            market_id
            for market_id, outcomes in self.positions.items()
            if any(position["status"] == "claimable" for position in outcomes)
        ]

    def saved(self) -> Fields:
        """The state from which Live can continue in a later run. Save it with `dumps`."""
        return {**self.__dict__, "orders": list(self.orders.values())}

    def _rest(self, order: Fields, shares: Decimal) -> None:
        names = ("orderId", "clientOrderId", "marketId", "side", "outcome", "price")
        resting = {name: order[name] for name in names}
        self.orders[order["orderId"]] = {**resting, "shares": shares}

    def _apply_orders(self, event: Fields) -> None:
        kind = event["type"]
        if kind == "order_rested" or (kind == "order_amended" and event["keptPriority"]):
            self._rest(event, event["shares"])
        elif kind in ("order_cancelled", "order_amended"):
            # An order that loses priority leaves the book. Other events report its new place.
            self.orders.pop(event["orderId"], None)
        elif kind == "fill" and event["role"] == "maker" and event["orderId"] in self.orders:
            self.orders[event["orderId"]]["shares"] -= event["shares"]
        if event.get("orderId") in self.orders and not self.orders[event["orderId"]]["shares"]:
            del self.orders[event["orderId"]]


def _held(event: Fields, value: Decimal) -> List[Tuple[str, Decimal, Decimal]]:
    """A resting buy holds money, and a resting sale holds shares."""
    if event["side"] == "SELL" or not value:
        return []
    return [("hold" if value > 0 else "release", -value, value)]


def _money(event: Fields) -> Optional[List[Tuple[str, Decimal, Decimal]]]:
    """How an event changes available and held money, by cause; None if unknown."""
    kind = event["type"]
    if kind == "order_rested":
        return _held(event, event["price"] * event["shares"])
    if kind == "order_cancelled":
        return _held(event, -event["price"] * event["shares"])
    if kind == "order_amended":
        left = event["shares"] if event["keptPriority"] else _ZERO
        return _held(event, (left - event["oldShares"]) * event["oldPrice"])
    if kind == "fill":
        value = event["value"] if event["side"] == "SELL" else -event["value"]
        if event["role"] == "maker" and event["side"] == "BUY":
            return [("fill", _ZERO, value)]
        return [("fill", value, _ZERO), ("fee", -event["fee"], _ZERO)]
    if kind == "sets_split":
        paid = [("split", -event["shares"]), ("fee", -event["fee"])]
    elif kind == "sets_merged":
        paid = [("merge", event["shares"])]
    elif kind == "claimed":
        paid = [("claim", event["payout"]), ("refund", event["refundedFees"])]
    elif kind == "deposited":
        paid = [("grant" if event["source"] == "grant" else "deposit", event["amount"])]
    elif kind == "unstaked":
        paid = [("unstake", event["amount"]), ("yield", event["yield"])]
    elif kind == "yield_claimed":
        paid = [("yield", event["yield"])]
    elif kind == "referral_earned":
        paid = [("referral", event["amount"])]
    elif kind == "maker_share_earned":
        paid = [("maker_share", event["amount"])]
    elif kind == "transferred_in":
        paid = [("transfer_in", event["amount"])]
    elif kind == "transferred_out":
        paid = [("transfer_out", -event["amount"])]
    elif kind in ("withdrawn", "staked"):
        paid = [("withdrawal" if kind == "withdrawn" else "stake", -event["amount"])]
    elif kind in (
        "order_ended",
        "user_frozen",
        "cancel_after_fired",
        "order_group_tripped",
        "position_settled",
        "points_credited",
    ):
        paid = []
    else:
        return None
    return [(cause, amount, _ZERO) for cause, amount in paid]


#: Time between two heartbeats of the stream.
_HEARTBEAT_S = 10
#: Wait before a temporary refusal is tried again, if the exchange does not say how long.
_REFUSED_WAIT_S = 1.0
#: Close codes after which this token cannot connect again.
_ENDS = {4001: "token_revoked", 4002: "token_expired"}


class _Socket:
    """A thread that transfers text to and from the stream and reconnects after a loss."""

    OPEN, LOST = object(), object()

    def __init__(self, url: str, retries: Retries) -> None:
        #: OPEN with the connection, then messages, then LOST with the close code. An exception
        #: means that the thread has ended.
        self.received: queue.Queue[Tuple[object, Any]] = queue.Queue()
        self._url, self._retries = url, retries
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._run())
        # A daemon thread does not keep the program alive.
        self._thread = threading.Thread(target=self._follow, name="quarter-hour", daemon=True)
        self._thread.start()

    def send(self, connection: Any, text: str) -> None:
        """Does nothing if the connection is lost, because the request is repeated later."""
        asyncio.run_coroutine_threadsafe(self._send(connection, text), self._loop)

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join(self._retries.timeout)

    def _follow(self) -> None:
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            self._loop.close()
        except Exception as error:
            self.received.put((error, None))

    async def _run(self) -> None:
        failures = 0
        while True:
            code = None
            began_at = time.monotonic()
            try:
                async with websockets.connect(self._url, max_queue=None) as stream:
                    self.received.put((self.OPEN, stream))
                    async for text in stream:
                        self.received.put((text, None))
            except (OSError, EOFError, asyncio.TimeoutError, websockets.WebSocketException) as lost:
                code = getattr(getattr(lost, "rcvd", None), "code", None)
                log.debug("stream: %r", lost)
            self.received.put((self.LOST, code))
            failures = 1 if time.monotonic() - began_at > _HEARTBEAT_S else failures + 1
            await asyncio.sleep(min(self._retries.backoff(failures), 5))

    @staticmethod
    async def _send(connection: Any, text: str) -> None:
        try:
            await connection.send(text)
        except websockets.WebSocketException:
            pass


class _Channel:
    """One channel on Live's side: the states of "Following a channel" in PROTOCOL.md.

    The TypeScript client has the same.
    """

    def __init__(self, name: str, place: Optional[int], on_gap: Callable[[], None]) -> None:
        self.name = name
        #: "idle": not requested, because the connection is lost or the channel is refused for now.
        self.state = "idle"
        #: Whether a message has arrived, now or in an earlier run.
        self.has_begun = place is not None
        #: The last message's number; None to begin with a snapshot.
        self._place = place
        #: Heartbeats since the channel was requested.
        self._heartbeats = 0
        #: The number after which missing messages were requested, if any.
        self._missed_after: Optional[int] = None
        self._on_gap = on_gap

    def request(self) -> Fields:
        """The message that requests the channel. Its id, which answers repeat, is the name."""
        self.state, self._heartbeats = "asked", 0
        if self._place is None:
            return {"op": "subscribe", "id": self.name, "channels": [self.name]}
        return {"op": "resume", "id": self.name, "channel": self.name, "after": self._place}

    def takes(self, message: Fields) -> Optional[bool]:
        """Whether to apply a snapshot or delta; None to request the channel again."""
        number = message["channelSequence"]
        if message["type"] == "delta":
            if self.state != "live":
                return False
            last = self._place or 0
            if number <= last or message["previousSequence"] > last:
                self._missed()
                return None
        self.state, self._place, self.has_begun = "live", number, True
        return True

    def note(self, message: Fields) -> bool:
        """Handles the answer to a resume. Returns whether to request the channel again."""
        if message["type"] == "gap":
            self.state = "asked"
            self.skip()
        elif message["type"] == "resumed":
            self.state = "live"
        elif self.state == "live" and self._place is not None:
            if message["previousSequence"] > self._place:
                self._missed()
                return True
            self._place = max(self._place, message["channelSequence"])
        return False

    def compare(self, number: Optional[int]) -> bool:
        """Handles a heartbeat. `number`: the channel's last number, if the heartbeat lists it.

        Returns whether to request the channel again.
        """
        if self.state == "live":
            is_behind = number is not None and number > (self._place or 0)
            if is_behind:
                self._missed()
            return is_behind
        # At the first heartbeat the answer may still be under way. A resume may take longer.
        self._heartbeats += self.state == "asked" and (number is not None or self._place is None)
        return self._heartbeats > 1

    def skip(self) -> None:
        """Call when messages were lost. A snapshot follows."""
        self._place = None
        self._on_gap()

    def _missed(self) -> None:
        """Requests a missing message. If that was done before, the message is lost."""
        if self._missed_after == self._place:
            self.skip()
        else:
            self._missed_after = self._place


class Live:
    """The markets, books and your account, kept up to date by `update`.

    `mode` is "stream" with the package websockets, else "poll". Both give the same data, but the
    stream also shows the states between two polls.

    If the stream ends for good (the token was refused, was revoked or has expired), every method
    that waits raises the error, at each call. Orders still rest.

    :param saved: `Account.saved()` of an earlier run, to get every change since then; {} for
        changes since the account's beginning; None for changes from now on
    """

    def __init__(self, client: Client, saved: Optional[Fields] = None, poll: bool = False) -> None:
        self._client = client
        self.mode = "poll" if poll or websockets is None else "stream"
        log.info("live: %s", self.mode)
        #: Active markets by id.
        self.markets: Dict[str, Fields] = {}
        #: Markets of the next hour by id.
        self.upcoming: Dict[str, Fields] = {}
        #: The account, if there is a token.
        self.account: Optional[Account] = None
        #: How often changes were missed. The account is correct anyway.
        self.gaps = 0
        #: When the token expires, by the exchange's clock; None if never or unknown.
        self.session_ends_at_ms: Optional[int] = None
        #: Why the stream has ended permanently, or None.
        self.failure: Optional[Exception] = None
        self._prices: Dict[str, Optional[Decimal]] = {}
        self._books: Dict[str, Book] = {}
        #: The active market's book, by asset.
        self._latest: Dict[str, Optional[Book]] = {}
        #: By id.
        self._sub_accounts: Dict[str, Account] = {}
        self._changes: List[Change] = []
        self._channels: Dict[str, _Channel] = {}
        self._socket: Optional[_Socket] = None
        #: None while not connected.
        self._connection: Any = None
        #: Whether the connection is open and, if there is a token, signed in.
        self._is_open = False
        #: Requests to repeat over this connection, each with its time.
        self._later: List[Tuple[float, Callable[[], None]]] = []
        #: Received parts of an incomplete message.
        self._parts: List[str] = []
        #: The account's messages up to this sequence have arrived.
        self._sequence = 0
        self._looked_at = time.monotonic()
        if client.token is not None:
            kept: Fields = dict(saved or {})
            kept["orders"] = {order["orderId"]: order for order in kept.get("orders", ())}
            self.account = Account(**kept)
        #: The account is complete up to this sequence; None to begin with the current state.
        self._since = None if saved is None or self.account is None else self.account.sequence
        if self.mode == "poll":
            self._look()
            return
        self._socket = _Socket(f"{client.url.replace('http', 'ws', 1)}/stream", client.retries)
        self._follow("markets")
        if self.account is not None:
            self._follow("user", self._since)
        self._wait_for(lambda: all(each.state == "live" for each in self._channels.values()))

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def book(self, market_id: str) -> Book:
        """A market's book, followed from the first call until the market ends."""
        book = self._books.get(market_id) or Book(market_id)
        if self._socket is not None:
            self._books[market_id] = book
            self._begin(f"book:{market_id}")
        elif market_id not in self._books:
            self._look_at_book(book)
            self._books[market_id] = book
        return book

    def book_of(self, asset: str) -> Optional[Book]:
        """The book of the asset's active market, if any, then of the next one."""
        if self._socket is None:
            ids = (each["id"] for each in self._listed(asset))
            market_id = next(ids, None)
            return None if market_id is None else self.book(market_id)
        self._begin(f"books:{asset}")
        return self._latest[asset]

    def sub_account(self, sub_account_id: str) -> Account:
        """A sub-account, followed from the first call. Works only on the stream."""
        if self._socket is None:
            raise RuntimeError("sub-accounts are followed on the stream: install websockets")
        account = self._sub_accounts.setdefault(sub_account_id, Account())
        self._begin(f"account:{sub_account_id}")
        return account

    def price(self, asset: str) -> Optional[Decimal]:
        """An asset's price in dollars; None before the first price."""
        if self._socket is None:
            for market in self._listed(asset):
                self._prices[asset] = market["assetPrice"]
            return self._prices.get(asset)
        self._begin(f"prices:{asset}")
        return self._prices[asset]

    def update(self, seconds: float = 1.0) -> List[Change]:
        """Waits up to `seconds` for news, and applies everything that has arrived.

        Includes the effects of earlier calls: an order answered by `buy` is in the account.

        :return: the changes of your money since the last call, in order
        """
        if self._socket is None:
            time.sleep(max(0.0, self._looked_at + seconds - time.monotonic()))
            self._look()
        else:
            self._receive(seconds)
            if self.account is not None:
                self._wait_for(lambda: self._sequence >= self._client.changed_at, ask=True)
        changes, self._changes = self._changes, []
        return changes

    # The stream

    def _wait_for(self, is_reached: Callable[[], bool], ask: bool = False) -> None:
        retries = self._client.retries
        give_up_at = time.monotonic() + retries.timeout * retries.attempts
        while not is_reached():
            if time.monotonic() > give_up_at:
                raise NoAnswer("the stream does not answer", False, None)
            if not self._receive(0.1) and ask:
                # Not every change sends a message. The pong confirms the sequence without one.
                self._send({"op": "ping"})

    def _receive(self, seconds: float) -> bool:
        """Returns whether anything arrived."""
        assert self._socket is not None
        if self.failure is not None:
            raise self.failure
        due = [again for at, again in self._later if at <= time.monotonic()]
        self._later = [each for each in self._later if each[1] not in due]
        for again in due:
            again()
        received, is_news = self._socket.received, False
        try:
            message = received.get(timeout=seconds)
            while True:
                is_news = True
                self._take(*message)
                message = received.get_nowait()
        except queue.Empty:
            return is_news

    def _take(self, what: object, of: Any) -> None:
        if isinstance(what, Exception):
            self._fail(what)
        if what is _Socket.OPEN:
            self._connection = of
            self._sign_in()
        elif what is _Socket.LOST:
            self._connection, self._is_open, self._later = None, False, []
            for channel in self._channels.values():
                channel.state = "idle"
            if of in _ENDS:
                self._fail(ExchangeError(_ENDS[of], "sign in again", {}, 401))
        else:
            self._read(loads(str(what)))

    def _fail(self, error: Exception) -> None:
        """Ends the stream permanently."""
        self.failure = error
        raise error

    def _sign_in(self) -> None:
        assert self._socket is not None
        if self._client.token is None:
            self._opened()
        else:
            auth = {"op": "auth", "id": "auth", "token": self._client.token}
            self._socket.send(self._connection, dumps(auth))

    def _opened(self) -> None:
        self._is_open = True
        self._ask(*self._channels.values())

    def _send(self, message: Fields) -> None:
        if self._socket is not None and self._is_open:
            self._socket.send(self._connection, dumps(message))

    def _follow(self, name: str, place: Optional[int] = None) -> None:
        on_gap = self._missed_changes if name == "user" else lambda: None
        channel = self._channels[name] = _Channel(name, place, on_gap)
        self._ask(channel)

    def _begin(self, name: str) -> None:
        """Follows a channel and waits until it has begun.

        :raise ExchangeError: if the channel is refused
        """
        if name not in self._channels:
            self._follow(name)
        self._wait_for(lambda: name not in self._channels or self._channels[name].has_begun)

    def _missed_changes(self) -> None:
        self.gaps += 1

    def _ask(self, *channels: _Channel) -> None:
        for channel in channels if self._is_open else ():
            self._send(channel.request())

    def _read(self, message: Fields) -> None:
        kind = message["type"]
        channel = self._channels.get(message.get("channel", message.get("id", "")))
        if kind == "part":
            self._read_part(message)
        elif kind == "authenticated":
            self.session_ends_at_ms = message.get("expiresAtMs")
            self._opened()
        elif kind == "session_ending":
            log.warning("the token expires at %s ms; orders still rest", message["endsAtMs"])
        elif kind == "pong":
            if self._channels["user"].state == "live":
                self._sequence = message["sequence"]
        elif kind == "heartbeat":
            numbers = message["channels"]
            behind = [each for each in self._channels.values() if each.compare(numbers.get(each.name))]
            self._ask(*behind)
        elif kind == "error":
            self._refused(message, channel)
        elif channel is None:
            return
        elif kind in ("snapshot", "delta"):
            is_next = channel.takes(message)
            if is_next is None or (is_next and not self._deliver(channel, message)):
                self._ask(channel)
        elif kind == "closed":
            self._forget(channel)
        elif kind in ("resumed", "replayed", "gap"):
            if channel.note(message):
                self._ask(channel)
            elif kind == "replayed" and channel.state == "live":
                self._sequence = message["sequence"]

    def _read_part(self, message: Fields) -> None:
        """Drops parts after a missing one, so that the whole message counts as missing."""
        if message["part"] == 1:
            self._parts = []
        if message["part"] == len(self._parts) + 1:
            self._parts.append(message["text"])
            if message["part"] == message["parts"]:
                self._read(loads("".join(self._parts)))

    def _deliver(self, channel: _Channel, message: Fields) -> bool:
        """Returns False if the channel needs a snapshot."""
        data, sequence = message["data"], message["sequence"]
        is_whole = message["type"] == "snapshot"
        kind, _, of = channel.name.partition(":")
        if kind == "book":
            self._books[of]._apply(data, is_whole, sequence)
        elif kind == "books":
            book = data["book"]
            if is_whole:
                self._latest[of] = None if book is None else Book(book["marketId"])
            latest = self._latest[of]
            if latest is not None:
                latest._apply(book, is_whole, sequence)
        elif kind == "prices":
            self._prices[of] = data["price"]
        elif kind in ("user", "account"):
            account = self.account if kind == "user" else self._sub_accounts[of]
            assert account is not None
            if kind == "user":
                self._sequence = sequence
            if not self._apply_account(account, data, is_whole, sequence):
                channel.skip()
                return False
        elif is_whole:
            self._enter_markets(data["markets"])
        else:
            for change in data["changes"]:
                self._change_market(change["marketId"], change["market"])
        return True

    def _refused(self, message: Fields, channel: Optional[_Channel]) -> None:
        error = ExchangeError(message["code"], message["message"], message.get("details", {}), 0)
        wait = error.retry_after
        if wait is None and error.code in ("rate_limited", "unavailable"):
            wait = _REFUSED_WAIT_S
        if message.get("id") == "auth":
            # Too many connections may be temporary: the exchange may still count lost ones.
            if wait is None and error.code != "limit_reached":
                self._fail(error)
            self._try_again(wait or _REFUSED_WAIT_S, self._sign_in)
        elif channel is None:
            log.warning("stream: %s", error)
        elif wait is not None:
            channel.state = "idle"
            self._try_again(wait, lambda: self._ask(channel))
        else:
            self._forget(channel)
            # For a channel that has begun, the market was closed while the connection was lost.
            if error.code != "market_not_found" or not channel.has_begun:
                raise error

    def _try_again(self, seconds: float, again: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + seconds, again))

    def _forget(self, channel: _Channel) -> None:
        """Removes an ended channel and its data."""
        kind, _, of = channel.name.partition(":")
        del self._channels[channel.name]
        kept: Dict[str, Dict[str, Any]] = {
            "book": self._books,
            "books": self._latest,
            "prices": self._prices,
            "account": self._sub_accounts,
        }
        kept.get(kind, {}).pop(of, None)

    def _apply_account(
        self, account: Account, data: Fields, is_whole: bool, sequence: int
    ) -> bool:
        """Returns False if the account is no longer certain and needs a snapshot."""
        is_known = True
        available, held = account.available, account.held
        if is_whole:
            account.orders.clear()
            account.positions.clear()
            for order in data["orders"]:
                account._rest(order, order["shares"])
        for event in data.get("events", ()):
            money = _money(event)
            is_known = is_known and money is not None
            for cause, free, kept in money or ():
                available, held = available + free, held + kept
                if (free or kept) and account is self.account:
                    self._changes.append(Change(sequence, cause, free, kept))
            account._apply_orders(event)
        for position in data["positions"]:
            account.positions[position["marketId"]] = position["outcomes"]
            if not position["outcomes"]:
                del account.positions[position["marketId"]]
        balance = data["balance"]
        account.sequence = sequence
        account.available, account.held = balance["available"], balance["held"]
        is_equal = (available, held) == (account.available, account.held)
        return is_known and (is_whole or is_equal)

    # Markets

    def _enter_markets(self, markets: List[Fields]) -> None:
        listed = {each["id"]: each for each in markets}
        for market_id in {*self.markets, *self.upcoming} - listed.keys():
            self._change_market(market_id, None)
        for market_id, market in listed.items():
            self._change_market(market_id, market)

    def _change_market(self, market_id: str, market: Optional[Fields]) -> None:
        self.upcoming.pop(market_id, None)
        if market is not None and market["status"] == "active":
            self.markets[market_id] = market
            return
        if market is not None and market["status"] == "upcoming":
            self.upcoming[market_id] = market
            return
        self.markets.pop(market_id, None)
        self._books.pop(market_id, None)
        if self._channels.pop(f"book:{market_id}", None) is not None:
            self._send({"op": "unsubscribe", "channels": [f"book:{market_id}"]})

    # Polling

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        self._enter_markets(self._client.active_markets() + self._client.upcoming_markets())
        for book in list(self._books.values()):
            try:
                self._look_at_book(book)
            except ExchangeError as error:
                if error.code != "market_not_found":
                    raise
                # The market was closed.
                del self._books[book.market_id]
        while self.account is not None and not self._look_at_account(self.account):
            pass

    def _listed(self, asset: str) -> List[Fields]:
        """The active markets of an asset, as of the last poll.

        :raise ExchangeError: if the exchange does not know the asset
        """
        listed = [each for each in self.markets.values() if each["asset"] == asset]
        return listed or self._client.active_markets(asset)

    def _look_at_book(self, book: Book) -> None:
        answer = self._client.orderbook(book.market_id, depth=999)
        book._apply(answer, True, answer["sequence"])

    def _look_at_account(self, account: Account) -> bool:
        """Returns False if the account changed during the reads."""
        orders, at = self._list("orders")
        positions, also_at = self._list("positions")
        sequence = min(at, also_at)
        newest: Fields = {"available": _ZERO, "held": _ZERO}
        changes: List[Change] = []
        for number, entry in enumerate(self._client.ledger()):
            if entry["sequence"] > sequence:
                return False
            if number == 0:
                newest = entry["balance"]
            if self._since is None or entry["sequence"] <= self._since:
                break
            if entry["available"] or entry["held"]:
                money = entry["cause"], entry["available"], entry["held"]
                changes.insert(0, Change(entry["sequence"], *money))
        account.sequence = self._since = sequence
        account.available, account.held = newest["available"], newest["held"]
        account.orders.clear()
        account.positions.clear()
        for order in orders:
            account._rest(order, order["shares"])
        for position in positions:
            account.positions.setdefault(position["marketId"], []).append(position)
        self._changes += changes
        return True

    def _list(self, name: str) -> Tuple[List[Fields], int]:
        """A whole list of the account, and the sequence of its first page."""
        found: List[Fields] = []
        query: Fields = {"limit": 200}
        sequence = 0
        while True:
            page = self._client.get(self._client._own(name), **query)
            found += page[name]
            sequence = sequence or page["sequence"]
            query["cursor"] = page["nextCursor"]
            if query["cursor"] is None:
                return found, sequence
