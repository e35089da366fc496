/**
 * The journal holds refused commands, with whatever numbers and texts they had. The replay tool
 * shows every one of them.
 */
import { expect, it } from 'vitest';
import { readCommand } from '../../../../engine/interface/command-record.js';
import type { Buy, Command } from '../../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../../engine/interface/records.js';
import {
  commandObject,
  commandText,
  senderText,
} from '../../../../persistence/tools/replay/output/fields.js';
import { jsonText } from '../../../../persistence/tools/replay/output/units.js';
import { buy, openMarket } from '../../../support/engine-support.js';
import { ODD_NUMBERS, ODD_TEXTS } from '../../../support/random-commands.js';

it('shows commands with odd values as JSON and as text', () => {
  const { engine, marketId } = openMarket(1);
  const order: Buy = { ...buy({ userId: 1, marketId }), idempotencyKey: 'key' };
  const { budgetMicros: _, ...sale } = order;
  const user = { userId: 1, idempotencyKey: null };
  const commands: Command[] = [
    { kind: 'observePrice', asset: 0, priceMicros: 5, observedAtMs: 7 },
    { kind: 'deposit', userId: 1, amountMicros: 5, partner: 'bank', reference: 'r' },
    order,
    { ...sale, kind: 'sell' },
    { kind: 'cancel', ...user, marketId, orderId: 1 },
    { kind: 'stake', ...user, amountMicros: 1 },
    { kind: 'unstake', ...user, depositId: 1 },
    { kind: 'batch', ...user, operations: [order], atomic: true },
  ];
  const records = new RecordBuffer();
  for (const command of commands) {
    for (const [name, value] of Object.entries(command)) {
      if (name === 'kind' || (typeof value !== 'number' && typeof value !== 'string')) continue;
      for (const odd of typeof value === 'number' ? ODD_NUMBERS : ODD_TEXTS) {
        const at = records.append({ ...command, [name]: odd } as Command, 1);
        const read = readCommand(records, at);
        const json = JSON.parse(jsonText(commandObject(read, engine)));
        expect(json.kind).toBe(command.kind);
        expect(Object.keys(json)).toHaveLength(Object.keys(command).length);
        const text = `${commandText(read, engine)} by ${senderText(read)}`;
        expect(text).toContain(command.kind);
        expect(text).not.toMatch(/undefined|\[object/);
      }
    }
  }
  expect(records.count).toBeGreaterThan(300);
});
