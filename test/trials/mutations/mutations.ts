/**
 * Mistakes in lines that matter, one promise each, and the file of `npm test` that must
 * notice it.
 */

export interface Mutation {
  mistake: string;
  file: string;
  /** Occurs once in the file. */
  from: string;
  to: string;
  /** The test file, relative to test/ and without .test.ts. */
  noticedBy: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    mistake: 'a fee is rounded down',
    file: 'engine/interface/parameters.ts',
    from: 'Math.ceil(flat / BASIS_POINTS)',
    to: 'Math.floor(flat / BASIS_POINTS)',
    noticedBy: 'engine/fee',
  },
  {
    mistake: 'the money that a resting buy holds is not released when it trades',
    file: 'engine/rules/orders/trade.ts',
    from: 'state.ledger.addHeld(userId, 0 - valueMicros);',
    to: '',
    noticedBy: 'engine/examples/matching',
  },
  {
    mistake: 'two sellers mint a set, and two buyers merge one',
    file: 'engine/rules/orders/trade.ts',
    from: 'taker.side === Side.BUY ? lots : 0 - lots',
    to: 'taker.side === Side.SELL ? lots : 0 - lots',
    noticedBy: 'engine/examples/matching',
  },
  {
    mistake: 'an order trades with one of its own user',
    file: 'engine/rules/orders/place-order.ts',
    from: 'if (isOwn(state, taker, row)) {\n      if (taker.selfTrade !== SelfTrade.CANCEL_RESTING) {\n',
    to: 'if (row < 0) {\n      if (taker.selfTrade !== SelfTrade.CANCEL_RESTING) {\n',
    noticedBy: 'engine/examples/matching',
  },
  {
    mistake: 'a share of a VOID market pays a dollar',
    file: 'engine/rules/markets/settlement.ts',
    from: 'isVoid ? MICROS_PER_SET / 2 : MICROS_PER_SET',
    to: 'MICROS_PER_SET',
    noticedBy: 'engine/settlement',
  },
  {
    mistake: 'a VOID market keeps the fees',
    file: 'engine/rules/markets/settlement.ts',
    from: 'Resolution.VOID ? state.positions.feesMicros(row) : 0',
    to: 'Resolution.VOID ? 0 : 0',
    noticedBy: 'engine/settlement',
  },
  {
    mistake: 'the guard holds no price back',
    file: 'engine/rules/markets/observe-price.ts',
    from: 'if (prices.guard(asset).holds(prices.last(asset), priceMicros, nowMs)) {',
    to: 'if (prices.guard(asset).holds(prices.last(asset), priceMicros, nowMs) && false) {',
    noticedBy: 'engine/differential',
  },
  {
    mistake: 'a key is answered with the result of another command',
    file: 'engine/state/idempotency.ts',
    from: ': KeyLookup.DIFFERENT_REQUEST;',
    to: ': KeyLookup.SAME_REQUEST;',
    noticedBy: 'engine/idempotency',
  },
  {
    mistake: 'a frozen user is withdrawn from',
    file: 'engine/rules/transfer.ts',
    from: 'if (!isDeposit && state.accounts.isFrozen(command.userId)) return Code.user_frozen;',
    to: '',
    noticedBy: 'gateway/access/operators',
  },
  {
    mistake: 'an answer leaves before its command is durable',
    file: 'persistence/sequencer.ts',
    from: 'if (sequence <= this.durable) this.release();',
    to: 'target.release();',
    noticedBy: 'persistence/journal/sequencer',
  },
  {
    mistake: 'a commit that failed counts as durable',
    file: 'persistence/sequencer.ts',
    from: 'if (error !== null) this.fail(error);',
    to: '',
    noticedBy: 'persistence/journal/sequencer',
  },
  {
    mistake: 'a batch is not chained to the one before it',
    file: 'persistence/journal/format.ts',
    from: '.update(previousHash)\n',
    to: '\n',
    noticedBy: 'persistence/journal/journal',
  },
  {
    mistake: 'a replay that leads elsewhere goes on',
    file: 'persistence/recovery/recovery.ts',
    from: 'if (digest !== batch.digest) throw otherDigest(batch, digest);',
    to: '',
    noticedBy: 'persistence/damage',
  },
  {
    mistake: 'a snapshot is used that the journal does not vouch for',
    file: 'persistence/recovery/snapshot/load.ts',
    from: 'if (vouched === hash) return null;',
    to: 'return null;',
    noticedBy: 'persistence/follower/snapshot',
  },
  {
    mistake: 'a token that may only read trades',
    file: 'gateway/commands/intake.ts',
    from: "(right === 'trade' && scope < Scope.TRADE)",
    to: 'false',
    noticedBy: 'gateway/access/tokens',
  },
  {
    mistake: 'a token outlives the password that it came with',
    file: 'gateway/access/sessions.ts',
    from: "engine.credentialVersion(userId) === version ? null : 'token_revoked'",
    to: 'engine.credentialVersion(userId) === version ? null : null',
    noticedBy: 'gateway/limits/auth-sessions',
  },
  {
    mistake: 'a signature is not compared',
    file: 'gateway/access/sessions.ts',
    from: 'return signature.length === valid.length && timingSafeEqual(signature, valid);',
    to: 'return signature.length === valid.length || timingSafeEqual(signature, valid);',
    noticedBy: 'gateway/limits/auth-sessions',
  },
  {
    mistake: 'any key is an operator’s',
    file: 'gateway/access/access-keys.ts',
    from: 'if (timingSafeEqual(candidate.sha256, digest)) found = candidate;',
    to: 'if (candidate.sha256.length === digest.length) found = candidate;',
    noticedBy: 'gateway/access/operators',
  },
  {
    mistake: 'another site’s page changes something with the cookie',
    file: 'gateway/http/admission.ts',
    from: '!isSameSite(request, gateway.config.siteOrigins)',
    to: 'false',
    noticedBy: 'gateway/limits/auth-sessions',
  },
  {
    mistake: 'a request that is refused for its user has paid by its address',
    file: 'gateway/access/fair-use/fair-use.ts',
    from: 'if (bill.byAddress > 0) address!.giveBack(bill.sender.address, bill.byAddress / tier);',
    to: '',
    noticedBy: 'gateway/limits/fair-use',
  },
  {
    mistake: 'a token is used from an address that it does not allow',
    file: 'gateway/commands/intake.ts',
    from: 'if (allowedAddresses !== null && !isAllowed(allowedAddresses, sender.addressBytes))\n    return ELSEWHERE;',
    to: '',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a session that has ended is not checked again',
    file: 'gateway/access/sessions.ts',
    from: 'return this.faultOf(session, engine) ?? session;',
    to: 'return session;',
    noticedBy: 'gateway/access/tokens',
  },
  {
    mistake: 'a refusal for a missing session costs nothing',
    file: 'gateway/commands/intake.ts',
    from: 'const isCharged = quota !== null && units > 0;',
    to: "const isCharged = quota !== null && units > 0 && (request.token !== '' || request.known !== null);",
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'the user does not pay, only the address',
    file: 'gateway/commands/intake.ts',
    from: 'bill.payer = payer;',
    to: '',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a forged token is checked for nothing',
    file: 'gateway/commands/intake.ts',
    from: 'let paid = isPaid ? fairUse',
    to: 'let paid = isPaid && known !== null ? fairUse',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a large text costs no more than a short one',
    file: 'gateway/http/admission.ts',
    from: 'Math.max(asked, body.units)',
    to: 'asked',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a record of an edge costs its operations, however large its text was',
    file: 'gateway/edge/core/received-record.ts',
    from: 'summary.units = Math.max(summary.units, leastUnits);',
    to: '',
    noticedBy: 'gateway/conformance/edge-thread',
  },
  {
    mistake: 'cancels are counted as orders',
    file: 'gateway/commands/cancels.ts',
    from: "const quota = onlyCancels(command) ? 'cancels' : 'orders';",
    to: "const quota = 'orders';",
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'orders are admitted however much waits for the disk',
    file: 'gateway/commands/intake.ts',
    from: 'if (refuseForOverload(intake.overload, quota)) {',
    to: 'if (units < 0) {',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a large message that is refused for overload has paid',
    file: 'gateway/commands/intake.ts',
    from: 'fairUse.giveBack(bill);',
    to: '',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a handshake costs nothing',
    file: 'gateway/stream/handshake.ts',
    from: 'units: HANDSHAKE_UNITS,',
    to: 'units: 0,',
    noticedBy: 'gateway/limits/charges',
  },
  {
    mistake: 'a batch of few operations costs no more for its text',
    file: 'gateway/access/fair-use/wallet.ts',
    from: 'Math.max(count, this.leastUnits)',
    to: 'count',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'a refused order closes its stream',
    file: 'gateway/stream/protocol.ts',
    from: 'operationsOfRefusal(units));',
    to: 'Number.POSITIVE_INFINITY);',
    noticedBy: 'gateway/conformance/exchange',
  },
  {
    mistake: 'an answer from before is executed again',
    file: 'gateway/commands/stored-result.ts',
    from: 'return values[ResultHead.code] === Code.executed_before;',
    to: 'return false;',
    noticedBy: 'gateway/conformance/exchange',
  },
];
