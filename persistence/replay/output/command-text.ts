/**
 * Commands, results and events as text: one line each, in dollars, shares and the ids of the API.
 */
import type { Buy, Cancel, Command, Sell } from '../../../engine/interface/commands.js';
import { SelfTrade, Side, TimeInForce } from '../../../engine/interface/domain.js';
import type { EventRecord } from '../../../engine/interface/events.js';
import {
  MAX_ORDER_LOTS,
  MAX_PRICE_TICKS,
  MAX_TIME_MS,
  MIN_PRICE_TICKS,
} from '../../../engine/interface/limits.js';
import {
  lotsText,
  microsText,
  outcomeName,
  resolutionName,
  ticksText,
  tokenScopeName,
} from '../../../engine/interface/notation.js';
import type { Rules } from '../../../engine/interface/rule-sets.js';
import {
  type Answer,
  cancelReason,
  commandObject,
  hasOddValue,
  marketName,
  type Names,
  pointsReason,
  symbolOf,
} from './command-json.js';
import { Decimal, type JsonValue, jsonText, timeText } from './json-values.js';

/** "$1,234.50": at least two decimals, at most six. */
export function dollarsText(micros: number): string {
  const [whole, fraction = ''] = microsText(Math.abs(micros)).split('.');
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${micros < 0 ? '-' : ''}$${grouped}.${fraction.padEnd(2, '0')}`;
}

/** "+$10.00", "-$0.05", or "" without a change. */
export function changeText(micros: number): string {
  if (micros === 0) return '';
  return micros > 0 ? `+${dollarsText(micros)}` : dollarsText(micros);
}

/** The sender of a command. */
export function senderText(command: Command): string {
  switch (command.kind) {
    case 'advanceTime':
    case 'listAsset':
    case 'observePrice':
    case 'observeSourcePrice':
    case 'vouchForSnapshot':
    case 'recordUpgrade':
      return 'the exchange';
    case 'register':
      return `sign-up of ${quoted(command.username)}`;
    case 'deposit':
    case 'withdraw':
      return `partner ${quoted(command.partner)}`;
    case 'setPaused':
    case 'setFrozen':
    case 'operatorCancel':
    case 'voidMarket':
    case 'setRules':
      return `operator ${quoted(command.operator)}, because ${quoted(command.reason)}`;
    case 'setCredential':
    case 'buy':
    case 'sell':
    case 'cancel':
    case 'cancelAll':
    case 'cancelEverywhere':
    case 'cancelDisconnected':
    case 'amend':
    case 'claim':
    case 'stake':
    case 'unstake':
    case 'claimYield':
    case 'setReferralCode':
    case 'batch':
    case 'createToken':
    case 'revokeToken':
    case 'setCancelAfter':
      return `u${command.userId}`;
  }
}

function ofPartnerText(partner: string | null): string {
  return partner === null ? '' : `, of partner ${quoted(partner)}`;
}

/** A command without its sender. */
export function commandText(command: Command, names: Names): string {
  if (hasOddValue(command)) return jsonText(commandObject(command, names));
  switch (command.kind) {
    case 'advanceTime':
      return 'advanceTime';
    case 'listAsset':
      return `listAsset ${quoted(command.symbol)}`;
    case 'observePrice':
      return `observePrice ${symbolOf(command.asset, names)} ${dollarsText(command.priceMicros)} of ${timeText(command.observedAtMs)}`;
    case 'observeSourcePrice':
      return `observeSourcePrice ${symbolOf(command.asset, names)} ${dollarsText(command.priceMicros)} of ${timeText(command.observedAtMs)} by ${quoted(command.source)}`;
    case 'register': {
      const grant =
        command.grantMicros === 0 ? '' : `, starts with ${dollarsText(command.grantMicros)}`;
      const referral =
        command.referralCode === '' ? '' : `, referral code ${quoted(command.referralCode)}`;
      return `register ${quoted(command.username)}${grant}${referral}${ofPartnerText(command.partner)}`;
    }
    case 'setCredential':
      return `setCredential of u${command.userId}`;
    case 'deposit':
    case 'withdraw':
      return `${command.kind} ${dollarsText(command.amountMicros)} for u${command.userId}, reference ${quoted(command.reference)}`;
    case 'buy':
    case 'sell':
      return `${orderCommandText(command)} in ${marketName(command.marketId, names)}`;
    case 'cancel':
      return `cancel ${namedOrderText(command)} in ${marketName(command.marketId, names)}`;
    case 'cancelEverywhere':
      return 'cancelEverywhere';
    case 'cancelDisconnected':
      return `cancelDisconnected up to o${command.lastOrderId}`;
    case 'amend': {
      const size = command.sizeLots === 0 ? '' : ` to ${lotsText(command.sizeLots)}`;
      const price = command.priceTicks === 0 ? '' : ` at ${ticksText(command.priceTicks)}`;
      return `amend o${command.orderId}${size}${price} in ${marketName(command.marketId, names)}`;
    }
    case 'cancelAll':
    case 'claim':
      return `${command.kind} in ${marketName(command.marketId, names)}`;
    case 'stake':
      return `stake ${dollarsText(command.amountMicros)}`;
    case 'unstake':
    case 'claimYield':
      return `${command.kind} d${command.depositId}`;
    case 'setReferralCode':
      return `setReferralCode ${quoted(command.code)}`;
    case 'vouchForSnapshot':
      return `vouchForSnapshot of sequence ${command.snapshotSequence}, SHA-256 ${quoted(command.snapshotHash)}`;
    case 'createToken': {
      const from =
        command.allowedAddresses === '' ? '' : ` from ${quoted(command.allowedAddresses)}`;
      return `createToken ${quoted(command.name)} to ${tokenScopeName(command.scope)}${from}${untilText(command.expiresAtMs)}`;
    }
    case 'revokeToken':
      return `revokeToken k${command.tokenId}`;
    case 'setPaused': {
      const market = command.marketId === 0 ? 'everything' : marketName(command.marketId, names);
      const subject = command.asset === -1 ? market : symbolOf(command.asset, names);
      return `setPaused ${command.paused ? 'pause' : 'resume'} ${subject}`;
    }
    case 'setFrozen':
      return `setFrozen ${command.frozen ? 'freeze' : 'unfreeze'} u${command.userId}`;
    case 'operatorCancel':
      return `operatorCancel all orders of u${command.userId}`;
    case 'voidMarket':
      return `voidMarket ${marketName(command.marketId, names)}`;
    case 'setRules':
      return `setRules ${rulesText(command)}`;
    case 'recordUpgrade':
      return `recordUpgrade from version ${command.fromVersion} to ${command.toVersion}, after the batch ${command.chainHash}`;
    case 'setCancelAfter':
      return `setCancelAfter ${command.timeoutMs} ms`;
    case 'batch': {
      const operations = command.operations.map((operation) => commandText(operation, names));
      return `${command.atomic ? 'atomic batch' : 'batch'} of ${operations.length}: ${operations.join('; ')}`;
    }
  }
}

function namedOrderText({ orderId, clientOrderId }: Cancel): string {
  return typeof clientOrderId === 'string' ? quoted(clientOrderId) : `o${orderId}`;
}

function orderCommandText(order: Buy | Sell): string {
  const isBuy = order.kind === 'buy';
  const bounds: string[] = [];
  if (order.sizeLots !== MAX_ORDER_LOTS) bounds.push(lotsText(order.sizeLots));
  bounds.push(outcomeName(order.outcome));
  if (isBuy) bounds.push(`for up to ${dollarsText(order.budgetMicros)}`);
  const worst = isBuy ? MAX_PRICE_TICKS : MIN_PRICE_TICKS;
  if (order.priceTicks !== worst) bounds.push(`at ${ticksText(order.priceTicks)} or better`);
  if (order.timeInForce === TimeInForce.FOK) bounds.push('FOK');
  if (order.timeInForce === TimeInForce.GTC) bounds.push(order.postOnly ? 'GTC post-only' : 'GTC');
  const { expiresAtMs, selfTrade, clientOrderId } = order;
  if (expiresAtMs !== undefined && expiresAtMs !== MAX_TIME_MS)
    bounds.push(`until ${timeText(expiresAtMs)}`);
  if (selfTrade === SelfTrade.CANCEL_TAKER) bounds.push('self-trade cancels the taker');
  if (selfTrade === SelfTrade.CANCEL_BOTH) bounds.push('self-trade cancels both');
  if (typeof clientOrderId === 'string') bounds.push(`as ${quoted(clientOrderId)}`);
  return `${order.kind} ${bounds.join(' ')}`;
}

/** The code, with its details. */
export function answerText({
  code,
  replayed,
  operationCodes,
  required,
  available,
}: Answer): string {
  const repeated = replayed ? ' (replayed answer to an earlier command)' : '';
  const operations = operationCodes.length === 0 ? '' : ` (${operationCodes.join(', ')})`;
  const shortage =
    required === null ? '' : ` (needs ${valueText(required)}, has ${valueText(available)})`;
  return `${code}${operations}${shortage}${repeated}`;
}

function valueText(value: JsonValue): string {
  return value instanceof Decimal ? value.text : String(value);
}

export function eventText(event: EventRecord, names: Names): string {
  return `${event.type} ${eventDetail(event, names)}`;
}

function eventDetail(event: EventRecord, names: Names): string {
  switch (event.type) {
    case 'assetListed':
      return symbolOf(event.asset, names);
    case 'priceObserved':
    case 'priceHeld':
      return `${symbolOf(event.asset, names)} ${dollarsText(event.priceMicros)} of ${timeText(event.observedAtMs)}`;
    case 'marketOpened':
    case 'startPriceFixed':
      return `${marketName(event.marketId, names)} at ${dollarsText(event.startPriceMicros)}`;
    case 'marketEnded':
    case 'marketClosed':
      return marketName(event.marketId, names);
    case 'marketResolved': {
      const at = event.endPriceMicros === 0 ? '' : ` at ${dollarsText(event.endPriceMicros)}`;
      return `${marketName(event.marketId, names)} is ${resolutionName(event.resolution)}${at}`;
    }
    case 'feesShared':
      return `${marketName(event.marketId, names)}: vault ${dollarsText(event.vaultMicros)}, referrers ${dollarsText(event.referrersMicros)}, treasury ${dollarsText(event.treasuryMicros)}`;
    case 'userRegistered':
      return `u${event.userId}${event.referrerId === 0 ? '' : `, referred by u${event.referrerId}`}${ofPartnerText(names.partnerName(event.partner))}`;
    case 'credentialSet':
      return `u${event.userId}, version ${event.version}`;
    case 'deposited':
      return `${dollarsText(event.amountMicros)} to u${event.userId}`;
    case 'withdrawn':
      return `${dollarsText(event.amountMicros)} from u${event.userId}`;
    case 'orderRested':
      return restingText(event, names);
    case 'orderAmended': {
      const { oldPriceTicks, oldSizeLots, keptPriority } = event;
      const old = `${lotsText(oldSizeLots)} at ${ticksText(oldPriceTicks)}`;
      return `${restingText(event, names)}, before ${old}${keptPriority === 1 ? '' : ', placed anew'}`;
    }
    case 'orderCancelled':
      return `${restingText(event, names)} (${cancelReason(event.reason)})`;
    case 'trade':
      return tradeText(event, names);
    case 'positionSettled':
      return `u${event.userId} in ${marketName(event.marketId, names)}: ${lotsText(event.upLots)} UP, ${lotsText(event.downLots)} DOWN, payout ${dollarsText(event.payoutMicros)}, refund ${dollarsText(event.refundMicros)}, profit ${dollarsText(event.profitMicros)}`;
    case 'claimed': {
      const refund =
        event.refundMicros === 0 ? '' : ` and ${dollarsText(event.refundMicros)} of fees`;
      return `${dollarsText(event.payoutMicros)}${refund} to u${event.userId} for ${lotsText(event.lots)} in ${marketName(event.marketId, names)}${event.automatic === 1 ? ' (automatic)' : ''}`;
    }
    case 'pointsCredited':
      return `${microsText(event.microPoints)} to u${event.userId} (${pointsReason(event.reason)}, ${marketName(event.marketId, names)})`;
    case 'referralEarned':
      return `${dollarsText(event.amountMicros)} to u${event.referrerId} for u${event.userId}'s fees in ${marketName(event.marketId, names)}`;
    case 'staked':
      return `d${event.depositId}: ${dollarsText(event.amountMicros)} of u${event.userId}, earns from ${timeText(event.earnsFromMs)}`;
    case 'unstaked':
      return `d${event.depositId}: ${dollarsText(event.amountMicros)} and yield ${dollarsText(event.yieldMicros)} to u${event.userId}`;
    case 'yieldClaimed':
      return `d${event.depositId}: ${dollarsText(event.yieldMicros)} to u${event.userId}`;
    case 'vaultRemainder':
      return `${dollarsText(event.amountMicros)} to the treasury`;
    case 'referralCodeSet':
      return `u${event.userId}`;
    case 'tokenCreated':
      return `k${event.tokenId} of u${event.userId} to ${tokenScopeName(event.scope)}${untilText(event.expiresAtMs)}`;
    case 'marketPaused':
      return `${marketName(event.marketId, names)} is ${event.paused === 1 ? 'paused' : 'resumed'}`;
    case 'rulesChanged':
      return rulesText(event);
    case 'userFrozen':
      return `u${event.userId} is ${event.frozen === 1 ? 'frozen' : 'no longer frozen'}`;
    case 'cancelAfterFired':
      return `u${event.userId}, due at ${timeText(event.dueAtMs)}`;
    case 'tokenRevoked':
    case 'tokenExpired':
      return `k${event.tokenId} of u${event.userId}`;
  }
}

/** "set 2, fee 0.3%, vault 40%, orders to $1000.00, 100 open" */
function rulesText(rules: Rules): string {
  const { ruleSet, takerFeeBasisPoints, vaultSharePercent, maxOrderMicros, maxOpenOrders } = rules;
  const fee = `fee ${takerFeeBasisPoints / 100}%, vault ${vaultSharePercent}%`;
  return `set ${ruleSet}, ${fee}, orders to ${dollarsText(maxOrderMicros)}, ${maxOpenOrders} open`;
}

function untilText(expiresAtMs: number): string {
  return expiresAtMs === MAX_TIME_MS ? '' : ` until ${timeText(expiresAtMs)}`;
}

type Resting = EventRecord<'orderRested' | 'orderCancelled' | 'orderAmended'>;

function restingText(order: Resting, names: Names): string {
  const verb = order.side === Side.BUY ? 'buy' : 'sell';
  return `o${order.orderId} of u${order.userId}: ${verb} ${lotsText(order.sizeLots)} ${outcomeName(order.outcome)} at ${ticksText(order.priceTicks)} in ${marketName(order.marketId, names)}`;
}

function tradeText(trade: EventRecord<'trade'>, names: Names): string {
  const taker = partText(
    trade.takerId,
    trade.takerOrderId,
    trade.takerSide,
    trade.takerOutcome,
    trade.upTicks,
  );
  const maker = partText(
    trade.makerId,
    trade.makerOrderId,
    trade.makerSide,
    trade.makerOutcome,
    trade.upTicks,
  );
  const fee = trade.feeMicros === 0 ? '' : `, fee ${dollarsText(trade.feeMicros)}`;
  return `t${trade.tradeId}: ${lotsText(trade.sizeLots)} in ${marketName(trade.marketId, names)}, ${taker} from the book, where ${maker}${fee}`;
}

/** "u3 (o9) buys UP at 0.4" */
function partText(
  userId: number,
  orderId: number,
  side: number,
  outcome: number,
  upTicks: number,
): string {
  const ticks = outcomeName(outcome) === 'UP' ? upTicks : 1_000 - upTicks;
  const verb = side === Side.BUY ? 'buys' : 'sells';
  return `u${userId} (o${orderId}) ${verb} ${outcomeName(outcome)} at ${ticksText(ticks)}`;
}

/** Users choose names and references: JSON keeps control characters from the terminal. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
