/**
 * The replay tool on a sound journal. For a seeded run it prints what the exchange showed, and it
 * changes nothing in the folder, whether the exchange runs, was stopped or was killed.
 */
import { execFile } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_NAMES } from '../../../../engine/interface/events.js';
import { marketIdText, microsText } from '../../../../engine/interface/notation.js';
import { CAUSES } from '../../../../persistence/history/account/changes.js';
import { Folders } from '../../../support/journal-fixture.js';
import { programLines, replayProgram, runProgram, TOOL } from '../../../support/programs.js';
import {
  type Checkpoint,
  checkpointOf,
  IDLE_USER,
  ReplayExchange,
} from '../../../support/replay-exchange.js';
import {
  ofType,
  replayJson,
  replayLines,
  replayTool,
  runTool,
  traceOf,
} from '../../../support/replay-tool.js';

const folders = new Folders();
let folder: string;
let exchange: ReplayExchange;
let end: Checkpoint;

beforeAll(async () => {
  folder = folders.make();
  exchange = await ReplayExchange.open(folder, 'replay');
  let pauses = 0;
  await exchange.run(3_000, () => {
    if (++pauses === 30) exchange.operate();
  });
  end = checkpointOf(exchange.engine);
  await exchange.sequencer.close();
});
afterAll(() => folders.removeAll());

/** An amount as JSON shows it, parsed. */
const money = (micros: number) => Number(microsText(micros));
const marketName = (marketId: number) => marketIdText(exchange.engine, marketId);

it('the test run has everything that can happen', () => {
  const never = EVENT_NAMES.filter((name) => name !== 'none' && !exchange.eventCounts.has(name));
  expect(never.filter((name) => name !== 'startPriceFixed' && name !== 'vaultRemainder')).toEqual(
    [],
  );
  expect(exchange.commandKinds.size).toBe(40);
  expect(exchange.refusals.size).toBeGreaterThan(10);
  expect(exchange.sequencer.batchesCommitted).toBeGreaterThan(100);
  expect(exchange.checkpoints.length).toBeGreaterThan(5);
});

describe('verify', () => {
  it('finds a sound journal good up to the last command', async () => {
    const { sequence, digest } = end;
    const batches = exchange.sequencer.batchesCommitted;
    expect(await replayJson(folder, 'verify')).toMatchObject({
      ...{ type: 'verify', good: true, findings: 0, whole: true },
      ...{ sequence, digest, batches, atMs: exchange.nowMs },
    });
    const people = await replayTool(folder, 'verify');
    expect(people).toMatchObject({ status: 0, err: '' });
    expect(people.out).toContain('No damage was found.');
    expect(people.out).toContain(digest);
  });
});

describe('state', () => {
  it('is what the engine showed at the end, and after any command, even within a batch', async () => {
    expectState(await replayLines(folder, 'state'), end);
    for (const checkpoint of exchange.checkpoints) {
      expectState(await replayLines(folder, 'state', '--at', `${checkpoint.sequence}`), checkpoint);
    }
  });

  it('at a time is the one after the last command up to then', async () => {
    const { times } = exchange;
    const sames = times.findIndex((time, i) => i > 500 && time === times[i - 1]);
    const gap = times.findIndex((time, i) => i > 500 && time > times[i - 1]! + 2);
    expect(Math.min(sames, gap)).toBeGreaterThan(500);
    const cases: [string, number][] = [
      [`${times[sames]}`, times.lastIndexOf(times[sames]!)],
      [new Date(times[gap]! - 1).toISOString(), gap - 1],
      [new Date(times[gap]!).toISOString(), times.lastIndexOf(times[gap]!)],
      [new Date(times[1]! - 1).toISOString(), 0],
      ['2199-12-31', end.sequence],
      [localTime(times[gap]! - 1), gap - 1],
    ];
    for (const [at, sequence] of cases) {
      const state = await replayJson(folder, 'state', '--at', at);
      expect([at, state.sequence]).toEqual([at, sequence]);
    }
  });

  it('shows only the requested user and market', async () => {
    const checkpoint = exchange.checkpoints.find(({ orders }) => orders.length > 1)!;
    const order = checkpoint.orders[0]!;
    const market = marketName(order.marketId);
    const at = `${checkpoint.sequence}`;
    const user = `u${order.userId}`;
    const only = ['--user', user, '--market', market];
    const state = await replayLines(folder, 'state', '--at', at, ...only);
    expect(ofType(state, 'user').map(({ userId }) => userId)).toEqual([user]);
    expect(ofType(state, 'market').map(({ marketId }) => marketId)).toEqual([market]);
    const ids = checkpoint.orders
      .filter(({ userId, marketId }) => userId === order.userId && marketId === order.marketId)
      .map(({ orderId }) => `o${orderId}`);
    expect(ofType(state, 'order').map(({ orderId }) => orderId)).toEqual(ids);
  });

  it('is tables for people', async () => {
    const { status, out, err } = await replayTool(folder, 'state');
    expect([status, err]).toEqual([0, '']);
    expect(out).toMatch(/^user \(14\)\n {2}userId .*\n {2}u1 /m);
    expect(out).toMatch(/^funds\n {2}available [\d.]+\n/m);
    expect(out).not.toMatch(/undefined|\[object/);
    for (const { username } of end.accounts) expect(out).toContain(` ${username} `);
  });

  /** +01:00 is an hour ahead. */
  function localTime(atMs: number): string {
    return new Date(atMs + 3_600_000).toISOString().replace('Z', '+01:00');
  }
});

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON
function expectState(lines: any[], checkpoint: Checkpoint): void {
  const { sequence, digest, funds } = checkpoint;
  expect(lines.at(-1)).toMatchObject({ type: 'state', sequence, digest });
  expect(ofType(lines, 'funds')[0]).toMatchObject({
    available: money(funds.availableMicros),
    held: money(funds.heldMicros),
    collateral: money(funds.collateralMicros),
    feeEscrow: money(funds.feeEscrowMicros),
    staked: money(funds.stakedMicros),
    yieldDue: money(funds.yieldDueMicros),
    treasury: money(funds.treasuryMicros),
    sum: money(funds.netDepositsMicros),
    netDeposits: money(funds.netDepositsMicros),
  });
  const accounts = checkpoint.accounts.map((account) => ({
    userId: `u${account.userId}`,
    username: account.username,
    partner: account.partner,
    available: money(account.availableMicros),
    held: money(account.heldMicros),
    realizedProfit: money(account.realizedProfitMicros),
    tradeCount: account.tradeCount,
  }));
  const users = ofType(lines, 'user');
  expect(users).toMatchObject(accounts);
  expect(users).toHaveLength(accounts.length);
  const orders = checkpoint.orders.map(({ orderId }) => `o${orderId}`);
  expect(ofType(lines, 'order').map(({ orderId }) => orderId)).toEqual(orders);
  const markets = checkpoint.markets.map(({ marketId }) => marketName(marketId));
  expect(ofType(lines, 'market').map(({ marketId }) => marketId)).toEqual(markets);
}

interface Shown {
  userId?: string;
  marketId?: string;
  operations?: Shown[];
}

describe('events', () => {
  it('are everything that happened, each with its command', async () => {
    const lines = await replayLines(folder, 'events');
    expect(lines.map(({ sequence }) => sequence)).toEqual(
      exchange.times.slice(1).map((_, i) => i + 1),
    );
    expect(lines.map(({ atMs }) => atMs)).toEqual(exchange.times.slice(1));
    const counts = new Map<string, number>();
    for (const { events } of lines) {
      for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
    expect(counts).toEqual(exchange.eventCounts);
    expect(new Set(lines.map(({ command }) => command.kind))).toEqual(
      new Set(exchange.commandKinds.keys()),
    );
    expect(new Set(lines.map(({ answer }) => answer.code)).size).toBe(exchange.refusals.size);
  });

  it('never show credentials', async () => {
    for (const json of [[], ['--json']]) {
      const { out } = await replayTool(folder, 'events', ...json);
      expect(out).toContain('trader-3');
      expect(out).not.toContain('hash');
    }
  });

  it('can be limited to a range, by sequence and by time', async () => {
    const { times } = exchange;
    const bySequence = await replayLines(folder, 'events', '--from', '1000', '--to', '1010');
    expect(bySequence.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 11 }, (_, i) => 1_000 + i),
    );
    const from = new Date(times[1_000]!).toISOString();
    const byTime = await replayLines(folder, 'events', '--from', from, '--to', `${times[1_010]}`);
    const inTime = times.flatMap((time, i) =>
      time >= times[1_000]! && time <= times[1_010]! ? [i] : [],
    );
    expect(byTime.map(({ sequence }) => sequence)).toEqual(inTime);
  });

  it('of a user or of a market are its commands and what happened to it, and nothing else', async () => {
    const all = await replayLines(folder, 'events');
    const market = all.find(({ events }) => events[0]?.type === 'trade').events[0].marketId;
    const isIn = (thing: { marketId?: string }) => thing.marketId === market;
    const names = (event: object) => Object.values(event).includes('u3');
    const isOfMarket = (one: Shown) => isIn(one) || one.operations?.some(isIn) === true;
    const cases: [
      string,
      string,
      (event: object) => boolean,
      (command: Shown) => boolean,
      moreThan: number,
    ][] = [
      ['--user', 'u3', names, (one) => one.userId === 'u3', 100],
      ['--market', market, isIn, isOfMarket, 20],
    ];
    for (const [option, value, concerns, isOwn, moreThan] of cases) {
      const wanted = all
        .map((line) => ({ ...line, events: line.events.filter(concerns) }))
        .filter(({ events, command }) => events.length > 0 || isOwn(command));
      expect(wanted.length).toBeGreaterThan(moreThan);
      expect(await replayLines(folder, 'events', option, value)).toEqual(wanted);
    }
  });

  it('are readable lines: the command, its result and its events', async () => {
    const AT = 'atMs 2025-11-21T04:45:00.000Z';
    const { out } = await replayTool(folder, 'events', '--from', '1', '--to', '4');
    expect(out.split('\n').slice(0, 4)).toEqual([
      `type command, sequence 1, ${AT}, sender "the exchange", command (kind listAsset, symbol BTC), answer (code ok, replayed false)`,
      '  type assetListed, asset BTC',
      `type command, sequence 2, ${AT}, sender "the exchange", command (kind listAsset, symbol ETH), answer (code ok, replayed false)`,
      '  type assetListed, asset ETH',
    ]);
  });

  it('can be cut off by the reader of the pipe', async () => {
    const command = 'set -o pipefail; "$0" "$@" | head -n 1';
    const args = ['-c', command, process.execPath, TOOL, '--data', folder, 'events', '--json'];
    const [out, err] = await new Promise<[string, string]>((resolve) => {
      execFile('bash', args, (_error, stdout, stderr) => resolve([stdout, stderr]));
    });
    expect([JSON.parse(out).sequence, err]).toEqual([1, '']);
  });
});

describe('explain', () => {
  it("adds up to the engine's balance for every user", async () => {
    let changes = 0;
    for (const { userId, availableMicros, heldMicros } of end.accounts.slice(-5)) {
      const all = await replayLines(folder, 'explain', '--user', `u${userId}`);
      const lines = ofType(all, 'change');
      expect(ofType(all, 'rules').map(({ command }) => command.ruleSet)).toEqual([3, 1]);
      expect(ofType(all, 'upgrade')).toHaveLength(1);
      const sums = { available: 0, held: 0 };
      for (const change of lines) {
        sums.available += Math.round(change.available * 1e6);
        sums.held += Math.round(change.held * 1e6);
        expect([change.availableAfter, change.heldAfter]).toEqual([
          money(sums.available),
          money(sums.held),
        ]);
      }
      expect(sums).toEqual({ available: availableMicros, held: heldMicros });
      expect(all.at(-1)).toMatchObject({
        ...{ type: 'summary', changes: lines.length },
        ...{ available: money(availableMicros), held: money(heldMicros) },
      });
      expect(lines.length > 0).toBe(userId !== IDLE_USER);
      changes += lines.length;
    }
    expect(changes).toBeGreaterThan(300);
  });

  it('names the cause, the command and its sender', async () => {
    const lines = (
      await Promise.all([2, 3, 6].map((id) => replayLines(folder, 'explain', '--user', `u${id}`)))
    ).flatMap((changes) => ofType(changes, 'change'));
    const causes = new Set(lines.map(({ cause }) => cause));
    expect([...causes].sort()).toEqual([...CAUSES].sort());
    const deposit = lines.find(({ cause }) => cause === 'deposit');
    expect(deposit).toMatchObject({
      sender: 'partner "acme"',
      command: { kind: 'deposit', partner: 'acme' },
    });
    // Only makers pay from held money.
    const fill = lines.find(({ cause, held }) => cause === 'fill' && held !== 0);
    expect(fill.event.type).toBe('trade');
    expect(fill.command.userId).toBe(fill.event.takerId);
  });

  it('is readable lines, and a table of the causes', async () => {
    const { status, out, err } = await replayTool(folder, 'explain', '--user', 'u2');
    expect([status, err]).toEqual([0, '']);
    expect(out).toContain('type change, sequence 4, atMs 2025-11-21T04:45:00.000Z, sender ');
    expect(out).toContain(', cause grant, available 2000, ');
    expect(out).toMatch(/^ {2}grant +1 +2000 /m);
    expect(out).toContain('\nsummary\n  userId u2\n');
  });
});

describe('audit', () => {
  it('finds that money is conserved after every batch', async () => {
    const { sequence, digest, funds } = end;
    const lines = await replayLines(folder, 'audit');
    expect(lines.at(-1)).toMatchObject({
      ...{ type: 'audit', good: true, findings: 0, sequence, digest },
      batchChecks: exchange.sequencer.batchesCommitted,
    });
    expect(ofType(lines, 'funds')[0].treasury).toBe(money(funds.treasuryMicros));
  });
});

describe('the built program', () => {
  // Output to a terminal differs; here both write to a pipe. Verify and state run below.
  it.each([
    ['events', '--from', '10', '--user', 'u3', '--json'],
    ['explain', '--user', 'u2', '--json'],
    ['audit'],
  ])('prints what the command line prints in this process: %s', async (...args) => {
    const program = await replayProgram(folder, ...args);
    expect(program).toMatchObject({ status: 0, err: '' });
    expect(await replayTool(folder, ...args)).toEqual(program);
  });

  it('prints the same errors and the same help', async () => {
    const refused = await replayProgram(folder, 'state', '--at', '99999');
    expect(refused).toMatchObject({ status: 2, out: '' });
    expect(await replayTool(folder, 'state', '--at', '99999')).toEqual(refused);
    const help = await runProgram('state', '--help');
    expect(help.status).toBe(0);
    expect(await runTool('state', '--help')).toEqual(help);
  });
});

describe('an invalid request', () => {
  const cases: [string[], RegExp][] = [
    [[], /Usage|command/],
    [['rebuild'], /unknown command 'rebuild'/],
    [['state', '--at', '2025-13-41'], /"2025-13-41" is neither a sequence .* nor a time/],
    [['state', '--at', '2025-02-30'], /neither/],
    [['state', '--at', '9000000000000'], /neither/],
    [['state', '--at', '2025-02-03T24:00:00Z'], /neither/],
    [['state', '--at', '99999'], /99999 is beyond the end: the journal ends at \d+/],
    [['events', '--from', '99999'], /99999 is beyond the end: .* ends at \d+/],
    [['events', '--to', '99999', '--user', 'u1'], /99999 is beyond the end/],
    [['events', '--from', '20', '--to', '10'], /--from is after --to/],
    [['explain', '--user', 'u999'], /no user u999: .* the users are u1 to u14/],
    [['events', '--user', 'u999'], /no user u999/],
    [['state', '--at', '4', '--user', 'u9'], /no user u9: at sequence 4/],
    [['state', '--at', '0', '--user', 'u1'], /at sequence 0 there are no users yet/],
    [['explain', '--user', '12'], /"12" is not a user id/],
    [['events', '--market', 'btc'], /"btc" is not a market id/],
    [['events', '--market', 'doge-15m-1763700300'], /no market doge-15m-1763700300/],
    [['state', '--market', 'btc-15m-1763000100'], /no market btc-15m-1763000100/],
  ];
  it.each(cases)('%j: prints only an error and exits with 2', async (args, message) => {
    const { status, out, err } = await replayTool(folder, ...args);
    expect([status, out]).toEqual([2, '']);
    expect(err).toMatch(message);
  });

  it('a folder that is missing, is a file or has no journal', async () => {
    const none = folders.make();
    const file = join(folder, 'journal.db');
    const cases = [
      [none, `error: there is no folder ${none}\n`],
      [file, `error: ${file} is not a folder\n`],
      [join(folder, '..'), expect.stringContaining('holds no journal')],
    ] as const;
    for (const [where, err] of cases)
      expect(await replayTool(where, 'verify')).toEqual({ status: 2, out: '', err });
    const unsaid = await runTool('verify');
    expect(unsaid.status).toBe(2);
    expect(unsaid.err).toContain("'--data <folder>' not specified");
  });
});

describe('changes nothing', () => {
  /**
   * Checks that a command changes nothing. Every command reads the folder in one of these two ways:
   * to the end, or up to a sequence.
   */
  async function expectNoTrace(where: string, files: string[], sequence: number): Promise<void> {
    expect(readdirSync(where).sort()).toEqual(files);
    const before = traceOf(where);
    expect((await programLines(where, 'verify')).at(-1)).toMatchObject({ sequence });
    expect((await replayProgram(where, 'state', '--at', '500')).status).toBe(0);
    expect(traceOf(where)).toEqual(before);
  }

  it('in the folder of an exchange that was stopped, runs or was killed, with and without its -shm file', async () => {
    await expectNoTrace(folder, ['journal.db', 'journal.head', 'journal.lock'], end.sequence);
    const live = folders.make();
    const running = await ReplayExchange.open(live, 'live');
    await running.run(600);
    const { sequence } = running.engine;
    const files = ['db', 'db-shm', 'db-wal', 'head', 'lock'].map((end) => `journal.${end}`);
    const killed = folders.make();
    cpSync(live, killed, { recursive: true });
    const copied = folders.copy(live);
    await expectNoTrace(live, files, sequence);
    // The exchange continues undisturbed, and its new commands are shown.
    running.submit({ kind: 'advanceTime' });
    await running.settle();
    const verified = (await programLines(live, 'verify')).at(-1);
    expect(verified).toMatchObject({ sequence: sequence + 1 });
    await running.sequencer.close();
    await expectNoTrace(killed, files, sequence);
    await expectNoTrace(
      copied,
      files.filter((name) => !name.endsWith('-shm')),
      sequence,
    );
  });
});
