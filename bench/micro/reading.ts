/** Reading orders: from a body's bytes to the command, with each of the product's readers. */
import type { z } from 'zod';
import { marketIdText } from '../../engine/interface/notation.js';
import { ReceivedBody } from '../../gateway/http/body.js';
import { checkJson } from '../../gateway/json/checks.js';
import { BatchBody, BatchReader, readOperations } from '../../gateway/resources/batch/requests.js';
import {
  BuyBody,
  givenIn,
  OPERATIONS as KINDS,
} from '../../gateway/resources/orders/operations.js';
import { OperationReader } from '../../gateway/resources/orders/reader.js';
import { type Market, OPERATIONS, TAKER } from './market.js';
import { mustAgree, type Work } from './timing.js';

const ORDER = { outcome: 'UP', shares: 12.5, price: 0.495, timeInForce: 'GTC', postOnly: true };
const USER = { userId: TAKER, idempotencyKey: null };

export function reading({ engine, marketId }: Market): Work[] {
  const name = marketIdText(engine, marketId);
  const quote = { op: 'buy', marketId: name, ...ORDER };
  const cancel = { op: 'cancel', marketId: name, orderId: 'o17' };
  const operations = Array.from({ length: OPERATIONS }, (_, i) => (i % 2 === 0 ? quote : cancel));
  const place = { ...USER, marketId };
  const order = new OperationReader();
  const batch = new BatchReader();
  return [
    read('a limit order', 'readOrder', ORDER, {
      scan: (bytes) => order.body('buy', bytes, engine, place),
      schema: BuyBody,
      command: (body) => KINDS.buy.command(place, givenIn(KINDS.buy, body, engine, refused)),
    }),
    read(
      `a batch of ${OPERATIONS}, quotes and cancels in turn`,
      'readBatch',
      { operations },
      {
        scan: (bytes) => batch.read(engine, bytes, TAKER, null),
        schema: BatchBody,
        command: ({ operations, atomic = false }) => {
          const { commands } = readOperations(engine, TAKER, operations);
          return { ...USER, kind: 'batch', operations: commands, atomic };
        },
      },
    ),
  ];
}

const refused = (): never => {
  throw new Error('a reader refuses the body');
};

interface Readers<Schema extends z.ZodType> {
  scan: (bytes: Uint8Array) => unknown;
  schema: Schema;
  command: (body: z.output<Schema>) => unknown;
}

function read<Schema extends z.ZodType>(
  name: string,
  figure: string,
  sent: object,
  { scan, schema, command }: Readers<Schema>,
): Work {
  const bytes = new Uint8Array(Buffer.from(JSON.stringify(sent)));
  const ways = {
    'byte scanner': () => scan(bytes),
    zod: () => command(taken(schema, bytes)),
  };
  mustAgree(name, [ways['byte scanner'](), ways.zod()]);
  return { name: `${name}, ${bytes.length} bytes`, figure, ways };
}

function taken<Schema extends z.ZodType>(schema: Schema, bytes: Uint8Array): z.output<Schema> {
  const { json, text = '', colons } = new ReceivedBody(bytes);
  const checked = checkJson(schema, { json, text, colons }, 'body');
  return checked.problems === null ? checked.value : refused();
}
