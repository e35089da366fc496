/** Reading orders: from the bytes of a body to the command, by each reader that the product has. */
import type { z } from 'zod';
import { marketIdText } from '../../engine/interface/notation.js';
import { ReceivedBody } from '../../gateway/http/body.js';
import { inexactNumber } from '../../gateway/json/decimal.js';
import { problemText } from '../../gateway/json/problems.js';
import { repeatedKey } from '../../gateway/json/repeated-key.js';
import { JsonScanner } from '../../gateway/json/scanner.js';
import { BatchReader } from '../../gateway/resources/batch/batch-reader.js';
import { BatchBody, readOperations } from '../../gateway/resources/batch/requests.js';
import { buyCommand } from '../../gateway/resources/orders/commands.js';
import { OrderReader } from '../../gateway/resources/orders/order-reader.js';
import { BuyBody, readBuy } from '../../gateway/resources/orders/requests.js';
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
  const order = new OrderReader(new JsonScanner());
  const batch = new BatchReader();
  return [
    read('a limit order', 'readOrder', ORDER, {
      scan: (bytes) => order.buy(bytes, place),
      schema: BuyBody,
      command: (body) => buyCommand(place, readBuy(body, refused)),
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
    zod: () => command(schema.parse(jsonOf(bytes), { error: problemText })),
  };
  mustAgree(name, [ways['byte scanner'](), ways.zod()]);
  return { name: `${name}, ${bytes.length} bytes`, figure, ways };
}

/** The JSON of a body, with the checks that come before its schema (http/admission.ts). */
function jsonOf(bytes: Uint8Array): unknown {
  const body = new ReceivedBody(bytes);
  const { json, text = '' } = body;
  const isClear = repeatedKey(json, text, body.colons) === null && inexactNumber(text) === null;
  return isClear ? json : refused();
}
