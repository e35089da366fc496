/**
 * The built program as a black box: clients trade and read over HTTP and the stream while the
 * program is killed and paused and answers are lost. The answers form a history of the naive
 * engine: each answer is the naive engine's at its sequence in the journal, each balance and book
 * is the state at its own sequence, and for all clients together the sequences follow the order of
 * time. SEED repeats the choices, not the moments at which requests arrive.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import type { Command } from '../../engine/interface/commands.js';
import { eventually } from '../support/eventually.js';
import { extent, SEED } from '../support/extent.js';
import { replayJournal } from '../support/journal-fixture.js';
import { judge, NO_PROBLEM } from '../support/load/judge.js';
import { type Acknowledgement, Load } from '../support/load/load.js';
import type { Observation } from '../support/load/observation.js';
import { Specification } from '../support/load/specification.js';
import { Exchanges } from '../support/programs.js';
import { Random } from '../support/workload/random.js';

const HISTORIES = extent(5, 1);
const IS_TRIAL = extent(1, 0) > 0;
/** The number of commands; there are half as many reads in addition. */
const COMMANDS = IS_TRIAL ? 7_000 : 250;
const KILLS = IS_TRIAL ? 6 : 1;
const CLIENTS = 12;
/** At this speed a market lasts 15 s. */
const SPEED = 60;

interface History {
  commands: readonly (readonly [command: Command, atMs: number])[];
  acknowledged: Acknowledgement[];
  observed: Observation[];
  sent: Set<string>;
}

const exchanges = new Exchanges({
  ASSETS: 'BTC',
  HOUSE: 'off',
  FEED_SPEED: `${SPEED}`,
  LOG_LEVEL: 'warn',
});
let last: History;

afterAll(() => exchanges.end());

async function record(index: number): Promise<History & Pick<Load, 'retries'>> {
  const random = new Random(`${SEED}:${index}`);
  const variables = { DATA_FOLDER: `${exchanges.work}/${index}` };
  let server = exchanges.spawn(variables);
  let api = await exchanges.listening(server);
  const load = new Load({
    urls: () => [`${api.url}/api`],
    random,
    clients: CLIENTS,
    pauseMs: 3,
    reads: 0.3,
    observes: true,
    onStream: CLIENTS / 2,
    lost: 0.02,
  });
  await load.start();
  const count = () => load.acknowledged.length;
  for (let kill = 1; kill <= KILLS; kill++) {
    const enough = (COMMANDS * kill) / (KILLS + 1);
    await eventually(() => count() >= enough);
    server.child.kill('SIGSTOP');
    await sleep(random.whole(0, 300));
    server.child.kill('SIGCONT');
    await sleep(random.whole(0, 100));
    await server.stop('SIGKILL');
    server = exchanges.spawn(variables);
    api = await exchanges.listening(server);
  }
  await eventually(() => count() >= COMMANDS);
  await load.stop();
  expect(await server.stop()).toBe(0);
  const commands: [Command, number][] = [];
  await replayJournal(variables.DATA_FOLDER, (_engine, command, atMs) => {
    commands.push([command, atMs]);
  });
  const { acknowledged, observed, sent, retries } = load;
  return { commands, acknowledged, observed, sent, retries };
}

/** The problems of a history, by kind. */
function problemsOf(history: History) {
  const specification = new Specification(history.observed);
  for (const [command, atMs] of history.commands) specification.apply(command, atMs);
  specification.end();
  return { ...judge(specification.executions, history), wrong: specification.wrong };
}

test.for(Array.from({ length: HISTORIES }, (_, index) => index))(
  `history %i is one of the naive engine, SEED=${SEED}`,
  async (index, { annotate }) => {
    const history = await record(index);
    last = history;
    const { acknowledged, observed } = history;
    expect(problemsOf(history)).toEqual({ ...NO_PROBLEM, wrong: [] });
    expect(history.retries).toBeGreaterThan(0);
    const answered = (what: RegExp) => acknowledged.filter(({ text }) => what.test(text)).length;
    expect(answered(/"fills":\[\{/)).toBeGreaterThan(COMMANDS / 20);
    expect(observed.filter(({ calledMs }) => calledMs > 0).length).toBeGreaterThan(COMMANDS / 10);
    expect(observed.length).toBeGreaterThan(acknowledged.length);
    await annotate(
      `${acknowledged.length} answers, ${observed.length} reads and messages, ` +
        `${history.commands.length} commands, ${KILLS} kills, ${history.retries} retries`,
    );
    // Few commands amend an order only by chance.
    if (IS_TRIAL) expect(answered(/"keptPriority"/)).toBeGreaterThan(0);
  },
);

/** Proves that the checks can fail: each changes the last history. */
describe('a lie is found', () => {
  const asked = (one: Observation) => one.calledMs > 0;
  const lie = (change: Partial<History>) => {
    return Object.entries(problemsOf({ ...last, ...change })).flatMap(([name, found]) =>
      found.length > 0 ? [name] : [],
    );
  };
  const replaced = <T>(list: readonly T[], old: T, ...fresh: T[]) =>
    list.flatMap((one) => (one === old ? fresh : [one]));

  test('two answers are swapped', () => {
    const [a] = last.acknowledged;
    const b = last.acknowledged.find(({ text }) => text !== a!.text);
    const acknowledged = last.acknowledged.map((one) =>
      one === a ? { ...a!, text: b!.text } : one === b ? { ...b!, text: a!.text } : one,
    );
    expect(lie({ acknowledged })).toEqual(['different']);
  });

  test('a read shows the state before an answer that was there', () => {
    const stale = last.observed.filter(asked)[0]!;
    const nowMs = performance.now();
    const late = { ...stale, calledMs: nowMs, receivedMs: nowMs + 1 };
    expect(lie({ observed: replaced(last.observed, stale, late) })).toEqual(['outOfOrder']);
  });

  test('a read shows another state', () => {
    const balances = last.observed.filter(({ what }) => what.startsWith('u'));
    const [one] = balances;
    const other = balances.find(({ value }) => value !== one!.value)!;
    const observed = replaced(last.observed, one!, { ...one!, value: other.value });
    expect(lie({ observed })).toEqual(['wrong']);
  });

  test('a command is executed before it was sent', () => {
    const first = last.acknowledged.find(({ isReplayed, isStale }) => !isReplayed && !isStale)!;
    const nowMs = performance.now();
    const late = { ...first, calledMs: nowMs, receivedMs: nowMs + 1 };
    const others = last.acknowledged.filter(({ name }) => name !== first.name);
    expect(lie({ acknowledged: [...others, late] })).toEqual(['outOfOrder']);
  });

  test('the last command is not in the journal', () => {
    const found = lie({ commands: last.commands.slice(0, last.acknowledged.length >> 1) });
    expect(found).toContain('lost');
    expect(found).toContain('wrong');
  });
});
