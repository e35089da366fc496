/** Requests that hide a stake (smuggling-cases.ts): the balance shows whether it was executed. */
import { requestText } from '../../../../bench/http/load/messages.js';
import type { Attack, AttackClass } from '../attack.js';
import type { Trader } from '../methods/client.js';
import {
  type Carrier,
  CHUNK_CASES,
  FRAMING_CASES,
  LIBRARY_CASES,
  type RawExpectation,
  type RawOutcome,
  REQUEST_CASES,
  rawBytes,
  sendRaw,
} from '../methods/smuggling-cases.js';
import { mustHold } from '../promises.js';
import type { Stage } from '../stage.js';

const CARRIERS: readonly Carrier[] = [
  { method: 'POST', path: '/api/vaults/flex/stake' },
  { method: 'POST', path: '/api/auth/login' },
  { method: 'GET', path: '/api/health' },
  { method: 'GET', path: '/api/docs' },
  { method: 'HEAD', path: '/api/openapi.json' },
  { method: 'GET', path: '/api/stream' },
  { method: 'POST', path: '/api/nowhere' },
];
const REFUSALS: readonly number[] = [400, 431, 501, 505];
const DOLLAR_MICROS = 1_000_000;

interface Sent {
  name: string;
  expected: RawExpectation;
  bytes: string;
  /** The client ends its side, because the exchange may wait for more. */
  leaves: boolean;
}

/** Sends all of them at once. What they hide must not be executed. */
async function mustHideNothing(stage: Stage, sentFor: (hidden: string) => Sent[]): Promise<string> {
  const trader = await stage.register();
  const all = sentFor(hiddenStake(trader));
  const { port } = stage.exchange;
  const sending = all.map(({ bytes, leaves }) => sendRaw(port, [bytes], leaves));
  const outcomes = await Promise.all(sending);
  for (const [i, sent] of all.entries()) judge(sent, outcomes[i]!);
  await trader.mustHaveSpent(0);
  return `${all.length} requests`;
}

function hiddenStake(trader: Trader): string {
  const request = { method: 'POST', path: '/vaults/flex/stake', body: { amount: 1 } } as const;
  return requestText(trader.signed(request));
}

function judge({ name, expected, bytes }: Sent, { statuses }: RawOutcome): void {
  const [line] = bytes.split('\r\n');
  const figure = `${line}, ${name}: answered ${statuses.join(', ')}`;
  mustHold(statuses.length <= (expected === 'ignored' ? 0 : 1), figure);
  const isRefused = statuses.every((status) => REFUSALS.includes(status));
  mustHold(isRefused || expected !== 'refused', figure);
}

const carried = (carrier: Carrier): Attack => ({
  name: `${carrier.method} ${carrier.path}`,
  done: `${FRAMING_CASES.length} lengths and codings, and ${CHUNK_CASES.length} bodies in chunks, that hide a stake`,
  run: (stage) =>
    mustHideNothing(stage, (hidden) =>
      [...FRAMING_CASES, ...CHUNK_CASES].map((raw) => ({
        ...raw,
        bytes: rawBytes(raw, carrier, hidden),
        leaves: raw.expected !== 'refused',
      })),
    ),
});

const requests: Attack = {
  name: 'malformed requests',
  done: `${REQUEST_CASES.length} requests that are not HTTP/1.1`,
  run: (stage) =>
    mustHideNothing(stage, (hidden) =>
      REQUEST_CASES.map((raw) => ({ ...raw, bytes: raw.bytes(hidden), leaves: true })),
    ),
};

const library: Attack = {
  name: 'what only a proxy can refuse',
  done: `${LIBRARY_CASES.length} requests that uWebSockets.js reads loosely, as documented`,
  run: async (stage) => {
    const carrier = { method: 'GET', path: '/api/health' };
    for (const raw of LIBRARY_CASES) {
      const trader = await stage.register();
      const before = await trader.availableMicros();
      await sendRaw(stage.exchange.port, [rawBytes(raw, carrier, hiddenStake(trader))], true);
      const stakes = (before - (await trader.availableMicros())) / DOLLAR_MICROS;
      mustHold(stakes <= 1, `${raw.name}: ${stakes} stakes were executed`);
    }
    return 'executed once at most';
  },
};

export const smuggling: AttackClass = {
  name: 'smuggling',
  attacks: [...CARRIERS.map(carried), requests, library],
};
