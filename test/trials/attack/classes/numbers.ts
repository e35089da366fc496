/** Invalid numbers are refused and change nothing. Valid ones count for exactly what they say. */
import type { RequestFields } from '../../../../bench/http/load/messages.js';
import type { Attack, AttackClass } from '../attack.js';
import { microsOf, openMarket, stakeOf, type Trader } from '../methods/client.js';
import { mustHold } from '../promises.js';
import { SPEED } from '../stage.js';

/** JSON, and what looks like it. None is a sum of money. */
const REFUSED: readonly [name: string, text: string][] = [
  ['NaN', 'NaN'],
  ['Infinity', 'Infinity'],
  ['nothing', ''],
  ['null', 'null'],
  ['true', 'true'],
  ['a string', '"10"'],
  ['a string with an exponent', '"1e1"'],
  ['an array', '[10]'],
  ['an object', '{"$gt":0}'],
  ['zero', '0'],
  ['minus zero', '-0'],
  ['minus zero with places', '-0.000000'],
  ['negative', '-10'],
  ['the least double', '5e-324'],
  ['below the least double', '1e-400'],
  ['a tenth of a micro-dollar', '0.0000001'],
  ['a micro-dollar and a tenth', '1.0000001'],
  ['a place that no double holds', '10.0000000000000000000000001'],
  ['2^53', '9007199254740992'],
  ['2^53 + 1', '9007199254740993'],
  ['2^53 micro-dollars', '9007199254.740992'],
  ['2^63', '9223372036854775808'],
  ['2^64 + 10', '18446744073709551626'],
  ['1e308', '1e308'],
  ['1e309', '1e309'],
  ['a huge exponent', '1e1000000000'],
  ['a huge negative exponent', '1e-1000000000'],
  ['an exponent of 10,000 digits', `1e${'9'.repeat(10_000)}`],
  ['60,000 digits', '9'.repeat(60_000)],
  ['60,000 places', `1.${'0'.repeat(59_999)}1`],
  ['hexadecimal', '0x10'],
  ['octal', '010'],
  ['a leading dot', '.5'],
  ['a trailing dot', '5.'],
  ['a plus', '+5'],
  ['an underscore', '1_0'],
  ['a BigInt', '10n'],
  ['a comma', '1,5'],
];

const TEN = ['10', '10.0', '10.000000', '1e1', '1E+1', '100e-1', '0.1e2'];

interface Field {
  name: string;
  request(text: string, marketId: string): RequestFields;
}

const order = (side: string, fields: string): Field['request'] => {
  return (text, marketId) => {
    const body = `{"outcome":"UP",${fields.replace('?', () => text)}}`;
    return { method: 'POST', path: `/markets/15m/${marketId}/${side}`, body };
  };
};

const FIELDS: readonly Field[] = [
  { name: 'stake.amount', request: (text) => stakeOf(text, 'number') },
  { name: 'buy.amount', request: order('buy', '"amount":?') },
  { name: 'buy.shares', request: order('buy', '"shares":?,"price":0.5') },
  { name: 'buy.price', request: order('buy', '"amount":1,"price":?') },
  { name: 'sell.shares', request: order('sell', '"shares":?') },
];

const refused = ([name, text]: (typeof REFUSED)[number]): Attack => ({
  name,
  done: `${text.length > 30 ? `${text.slice(0, 27)}…` : text || '(empty)'} in each field that takes a number`,
  run: async (stage) => {
    const trader = await stage.register();
    const marketId = await openMarket(trader, 2_000 * SPEED);
    for (const { name: field, request } of FIELDS)
      await mustRefuse(trader, field, request(text, marketId));
    await trader.mustHaveSpent(0);
    return `${FIELDS.length} fields refused it`;
  },
});

async function mustRefuse(trader: Trader, field: string, request: RequestFields): Promise<void> {
  const { status, text, json } = await trader.send(request);
  const isRefused =
    status === 400 && ['invalid_json', 'invalid_request'].includes(json?.error?.code);
  mustHold(isRefused, `${field} was answered ${status} ${text.slice(0, 200)}`);
}

const spellings: Attack = {
  name: 'spellings of ten',
  done: TEN.join(' '),
  run: async (stage) => {
    const trader = await stage.register();
    for (const [i, text] of TEN.entries()) {
      const answer = await trader.send(stakeOf(text, `ten:${i}`));
      mustHold(answer.status === 201, `${text} was answered ${answer.text}`);
      await trader.mustHaveSpent(10 * (i + 1));
    }
    return 'each costs exactly 10 dollars';
  },
};

const FEE_ROUNDS = 20;

const fees: Attack = {
  name: 'the fee of a buy',
  done: `${FEE_ROUNDS} buys of odd amounts: half a percent of a filled amount, the same as the trades and the balance say`,
  run: async (stage) => {
    const trader = await stage.register();
    let filled = 0;
    for (let i = 0; i < FEE_ROUNDS; i++) {
      const marketId = await openMarket(trader, 2_000 * SPEED);
      const amountMicros = stage.random.whole(1_000_000, 50_000_000);
      const body = { outcome: i % 2 === 0 ? 'UP' : 'DOWN', amount: amountMicros / 1_000_000 };
      await trader.noteBalance();
      const path = `/markets/15m/${marketId}/buy`;
      const { status, json } = await trader.send({ method: 'POST', path, body });
      if (status !== 200 || json.status !== 'filled') continue;
      filled++;
      const feeMicros = microsOf(json.fee);
      const dueMicros = Math.ceil(amountMicros / 200);
      mustHold(
        feeMicros === dueMicros,
        `${body.amount} dollars paid a fee of ${json.fee}: ${JSON.stringify(json)}`,
      );
      await trader.mustHaveSpent(json.spent + json.fee);
    }
    mustHold(filled > 0, 'no buy was filled');
    return `${filled} filled buys paid exactly that`;
  },
};

export const numbers: AttackClass = {
  name: 'numbers',
  attacks: [...REFUSED.map(refused), spellings, fees],
};
