/** Operator routes. Each change is a journalled command with a reason and the operator's name. */

import type { z } from 'zod';
import type { Engine } from '../../../engine/engine.js';
import { Code } from '../../../engine/interface/codes.js';
import type { Command } from '../../../engine/interface/commands.js';
import { CommandKind } from '../../../engine/interface/commands.js';
import { Resolution } from '../../../engine/interface/domain.js';
import { MICROS_PER_DOLLAR } from '../../../engine/interface/limits.js';
import { marketIdNumber, marketIdText } from '../../../engine/interface/notation.js';
import { ResultHead } from '../../../engine/interface/results.js';
import { areRules, fixedIn } from '../../../engine/interface/rule-sets.js';
import type { AccountView, OperatorActionView } from '../../../engine/interface/views.js';
import type { NumberBuffer } from '../../../engine/storage/number-buffer.js';
import type { AsOf } from '../../../persistence/history/as-of.js';
import { CODE_LASTS_MS, credentialOf, newCode } from '../../access/sign-in-codes.js';
import { errorAnswer, invalidRequest } from '../../commands/errors.js';
import { resultFields } from '../../commands/receipt.js';
import type { Call } from '../../http/call.js';
import { defineRoute, type Route } from '../../http/route.js';
import { submitFor } from '../../http/submission.js';
import { jsonText } from '../../json/serializer.js';
import { Json, Writer } from '../../json/writer.js';
import { orders, restingOrder } from '../account-history/views.js';
import { balance, type OpenPosition, openPositions, positionText } from '../accounts/views.js';
import { findAccount, requireListed } from '../find.js';
import { answerPageOf } from '../paging.js';
import { rulesOf } from '../status/limits.js';
import { pausesIn } from '../status/pauses.js';
import { operationRoutes } from '../status/routes.js';
import * as schemas from './schemas.js';

const USER_SUMMARIES = {
  freeze:
    'Freeze a user, who then cannot trade, stake or be withdrawn from; cancels the resting orders',
  unfreeze: 'End the freezing of a user',
  'cancel-orders': 'Cancel all resting orders of a user',
};

const OF_OPERATORS = { access: 'operator', quota: null } as const;

type ActionName = (typeof schemas.ACTION_NAMES)[number];
type PauseFields = { reason: string; marketId?: string | undefined; asset?: string | undefined };

export const operatorRoutes: Route[] = [
  ...(['pause', 'resume'] as const).map((verb) =>
    defineRoute('POST', `/operator/${verb}`, {
      ...OF_OPERATORS,
      summary:
        verb === 'pause'
          ? 'Refuse new orders in a market, in the markets of an asset, or everywhere'
          : 'End the pause of a market, of an asset, or of everything',
      body: schemas.PauseBody,
      responses: { 200: schemas.Paused },
      errors: ['market_not_found', 'market_not_active'],
      handle: (call) => setPaused(call, verb === 'pause'),
    }),
  ),
  ...(['freeze', 'unfreeze', 'cancel-orders'] as const).map((verb) =>
    defineRoute('POST', `/operator/users/:id/${verb}`, {
      ...OF_OPERATORS,
      summary: USER_SUMMARIES[verb],
      body: schemas.ReasonBody,
      responses: { 200: schemas.CancelledOrders },
      errors: ['user_not_found'],
      handle(call) {
        const account = findAccount(call, 'id');
        if (account === null) return;
        const { userId } = account;
        const signed = { userId, operator: call.operator!, reason: call.body.reason };
        const command: Command =
          verb === 'cancel-orders'
            ? { kind: 'operatorCancel', ...signed }
            : { kind: 'setFrozen', frozen: verb === 'freeze', ...signed };
        run(call, command, (done, result) => {
          const { cancelledOrders } = resultFields(command.kind, result);
          call.answerJson<typeof schemas.CancelledOrders>({ cancelledOrders, ...done });
        });
      },
    }),
  ),
  defineRoute('POST', '/operator/users/:id/rate-tier', {
    ...OF_OPERATORS,
    summary: 'Multiply the rate limits of a user and its sub-accounts by 1, 2, 5 or 10',
    body: schemas.RateTierBody,
    responses: { 200: schemas.Done },
    errors: ['user_not_found'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const { rateTier, reason } = call.body;
      const { userId } = account;
      run(call, { kind: 'setRateTier', userId, rateTier, operator: call.operator!, reason });
    },
  }),
  defineRoute('POST', '/operator/users/:id/recovery', {
    ...OF_OPERATORS,
    summary:
      'Create a one-time code with which a user sets a new password; the old password and all tokens end now',
    body: schemas.ReasonBody,
    responses: { 201: schemas.SignInCode },
    errors: ['user_not_found'],
    handle: makeSignInCode,
  }),
  defineRoute('POST', '/operator/markets/:id/void', {
    ...OF_OPERATORS,
    summary: 'Declare an unresolved market VOID; an active or upcoming market ends',
    body: schemas.ReasonBody,
    responses: { 200: schemas.Done },
    errors: ['market_not_found', 'market_not_active'],
    handle(call) {
      const marketId = marketIdNumber(call.engine, call.parameter('id'));
      const { reason } = call.body;
      run(call, { kind: 'voidMarket', marketId, operator: call.operator!, reason });
    },
  }),
  defineRoute('POST', '/operator/rules', {
    ...OF_OPERATORS,
    summary: 'Change the rules from now on: the fee, the vault’s share, limits of orders',
    body: schemas.RulesBody,
    responses: { 200: schemas.Done },
    handle: setRules,
  }),
  defineRoute('GET', '/operator/status', {
    ...OF_OPERATORS,
    summary: 'The exchange’s state: leader, copies, free space, pauses, configuration',
    responses: { 200: schemas.OperatorStatus },
    handle: (call) =>
      call.answerOfProcess(200, jsonText<typeof schemas.OperatorStatus>(statusOf(call))),
  }),
  defineRoute('GET', '/operator/users', {
    ...OF_OPERATORS,
    summary: 'The id of the user with a given name',
    query: schemas.UserQuery,
    responses: { 200: schemas.FoundUser },
    errors: ['user_not_found'],
    handle(call) {
      const { engine } = call;
      const account = engine.account(engine.findUser(call.query.username));
      if (account === null) {
        call.refuseWhenDurable(NO_SUCH_NAME);
        return;
      }
      const { userId, username } = account;
      call.answerJson<typeof schemas.FoundUser>({ userId: `u${userId}`, username });
    },
  }),
  defineRoute('GET', '/operator/users/:id', {
    ...OF_OPERATORS,
    summary: 'The account of a user, with its orders and positions',
    responses: { 200: schemas.OperatorUser },
    errors: ['user_not_found'],
    handle(call) {
      const account = findAccount(call, 'id');
      if (account === null) return;
      const { engine } = call;
      const { userId } = account;
      const positions = engine
        .positions(userId)
        .flatMap((position) => openPositions(position, engine.market(position.marketId)!));
      call.answer(OPERATOR_USER, { ...account, positions, ...call.asOf });
    },
  }),
  defineRoute('GET', '/operator/actions', {
    ...OF_OPERATORS,
    summary: 'The last 10,000 actions of operators, newest first; the journal has all',
    query: schemas.ActionsQuery,
    responses: { 200: schemas.Actions },
    handle(call) {
      const { engine } = call;
      answerPageOf(call, engine.operatorActions(), {
        list: 'operator-actions',
        positionOf: ({ actionId }) => actionId,
        newestFirst: true,
        name: 'actions',
        text: (action) => JSON.stringify(actionOf(call, action)),
      });
    },
  }),
  ...operationRoutes.filter(({ path }) => path === '/metrics' || path === '/status'),
];

interface ShownUser extends AccountView {
  positions: OpenPosition[];
}
const OPERATOR_USER = new Writer<ShownUser, Engine>(schemas.OperatorUser, {
  cancelAtMs: ({ userId }, engine) => engine.cancelAtMs(userId),
  balance,
  orders: ({ userId }, engine) =>
    orders.entry.all(
      engine.orders(userId).map((order) => restingOrder(order)),
      engine,
    ),
  positions: ({ positions, userId }, engine) =>
    new Json(`[${positions.map((position) => positionText(engine, position, userId)).join(',')}]`),
});

const NO_SUCH_NAME = errorAnswer('user_not_found', {}, 'There is no user with this name.');
const FROZEN_SHOWN = 100;

function statusOf({ engine, gateway, asOf }: Call) {
  const { standing, clock, sequencer, config, version, startedAtMs } = gateway;
  const { freeBytes, daysLeft } = standing;
  return {
    version,
    ...standing.leading,
    startedAtMs,
    nowMs: clock.nowMs(),
    clockAheadMs: standing.clockAheadMs,
    ...asOf,
    durableSequence: sequencer.durableSequence,
    problem: gateway.notReady(),
    warning: gateway.warning(),
    snapshot: standing.snapshot,
    backup: standing.backup,
    segments: standing.segments,
    disk: { freeBytes, daysLeft },
    paused: pausesIn(engine),
    frozenUsers: engine
      .frozenUsers()
      .slice(0, FROZEN_SHOWN)
      .map((userId) => engine.account(userId)!.username),
    configuration: config.settings,
  };
}

function setPaused(call: Call<PauseFields>, paused: boolean): void {
  const { marketId: market, asset: symbol, reason } = call.body;
  const { engine } = call;
  const marketId = market === undefined ? 0 : marketIdNumber(engine, market);
  if (market !== undefined && marketId === 0) {
    call.refuseWhenDurable(errorAnswer('market_not_found'));
    return;
  }
  if (symbol !== undefined && !requireListed(call, symbol.toUpperCase())) return;
  const asset = symbol === undefined ? -1 : engine.findAsset(symbol.toUpperCase());
  const command = { marketId, asset, paused, operator: call.operator!, reason };
  run(call, { kind: 'setPaused', ...command }, (done) =>
    call.answerJson<typeof schemas.Paused>({ paused: pausesIn(engine), ...done }),
  );
}

/** Refuses sub-accounts, whose parent signs in. */
function makeSignInCode(call: Call<{ reason: string }>): void {
  const account = findAccount(call, 'id');
  if (account === null) return;
  const { userId } = account;
  const code = newCode();
  const endsAtMs = call.gateway.clock.nowMs() + CODE_LASTS_MS;
  const credential = credentialOf(code, endsAtMs);
  const { reason } = call.body;
  const command = { userId, credential, operator: call.operator!, reason };
  const result = submitFor(call, { kind: 'resetCredential', ...command });
  if (result === null) return;
  const { sequence, atMs } = resultFields('resetCredential', result);
  logAction(call, sequence);
  const answer = jsonText<typeof schemas.SignInCode>({ code, endsAtMs, sequence, atMs });
  call.answerWhenDurable(201, answer, sequence);
}

function logAction(call: Call, sequence: number): void {
  const { log, sequencer } = call.gateway;
  const fields = actionOf(call, call.engine.operatorActions()[0]!);
  sequencer.releaseAt(sequence, { release: () => log.warn(fields, 'an operator acted') });
}

/** Omitted fields keep their value, or have the only one that the set allows. */
function setRules(call: Call<z.infer<typeof schemas.RulesBody>>): void {
  const { body } = call;
  const { ruleSet, reason } = body;
  const kept = { ...call.engine.rules(), ...fixedIn(ruleSet) };
  const rules = {
    ruleSet,
    takerFeeBasisPoints: scaled(body.feeRate, 10_000) ?? kept.takerFeeBasisPoints,
    curveFeeBasisPoints: scaled(body.curveFeeRate, 10_000) ?? kept.curveFeeBasisPoints,
    makerSharePercent: scaled(body.makerShare, 100) ?? kept.makerSharePercent,
    vaultSharePercent: scaled(body.vaultShare, 100) ?? kept.vaultSharePercent,
    maxOrderMicros: scaled(body.orderAmount, MICROS_PER_DOLLAR) ?? kept.maxOrderMicros,
    maxOpenOrders: body.openOrders ?? kept.maxOpenOrders,
    minRestingMicros: scaled(body.restingOrderValue, MICROS_PER_DOLLAR) ?? kept.minRestingMicros,
  };
  if (areRules(rules)) run(call, { kind: 'setRules', ...rules, operator: call.operator!, reason });
  else call.refuseWhenDurable(NO_SUCH_RULES);
}

/** A fraction if the value has too many decimal places. */
function scaled(value: number | undefined, scale: number): number | undefined {
  if (value === undefined) return undefined;
  const whole = Math.round(value * scale);
  return whole / scale === value ? whole : value * scale;
}

const NO_SUCH_RULES = invalidRequest({
  ruleSet:
    '1 has fixed values; in 2 and 3 feeRate and curveFeeRate are multiples of 0.0001, makerShare and vaultShare of 0.01, orderAmount and restingOrderValue of 0.000001; curveFeeRate and makerShare are above 0 only in 3',
});

const RESOLVED = errorAnswer(
  'market_not_active',
  {},
  'The market has ended or is resolved: an ended market cannot be paused, and a resolved one cannot be declared VOID.',
);

function isVoid(engine: Call['engine'], command: Command): boolean {
  if (command.kind !== 'voidMarket') return false;
  return engine.market(command.marketId)?.resolution === Resolution.VOID;
}

/** The command acts once. The result ends at the next command. */
function run(
  call: Call<{ reason: string }>,
  command: Command,
  answer: (done: AsOf, result: NumberBuffer) => void = (done) =>
    call.answerJson<typeof schemas.Done>(done),
): void {
  const result = submitFor(call, command, 'market_not_active');
  if (result === null) return;
  const { values } = result;
  const isActive = values[ResultHead.code] === Code.ok;
  if (!isActive && !isVoid(call.engine, command)) {
    call.refuseWhenDurable(RESOLVED);
    return;
  }
  const done = { sequence: values[ResultHead.sequence]!, atMs: values[ResultHead.atMs]! };
  // Voiding a VOID market is not logged.
  if (isActive) logAction(call, done.sequence);
  answer(done, result);
}

function actionOf(call: Call, action: OperatorActionView) {
  const { engine } = call;
  const { userId, marketId, asset, rateTier, rules } = action;
  return {
    actionId: `${action.actionId}`,
    sequence: action.sequence,
    atMs: action.atMs,
    action: NAMES[action.kind]![Number(action.isSet)]!,
    operator: action.operator,
    reason: action.reason,
    userId: userId === 0 ? null : `u${userId}`,
    marketId: marketId === 0 ? null : marketIdText(engine, marketId),
    asset: asset === -1 ? null : engine.assetSymbol(asset),
    rateTier: rateTier === 0 ? null : rateTier,
    rules: rules === null ? null : rulesOf(rules),
  };
}

const NAMES: Readonly<Record<number, readonly [ends: ActionName, sets: ActionName]>> = {
  [CommandKind.setPaused]: ['resume', 'pause'],
  [CommandKind.setFrozen]: ['unfreeze', 'freeze'],
  [CommandKind.setRules]: ['set_rules', 'set_rules'],
  [CommandKind.resetCredential]: ['sign_in_code', 'sign_in_code'],
  [CommandKind.setRateTier]: ['set_rate_tier', 'set_rate_tier'],
  [CommandKind.voidMarket]: ['void', 'void'],
  [CommandKind.operatorCancel]: ['cancel_orders', 'cancel_orders'],
};
