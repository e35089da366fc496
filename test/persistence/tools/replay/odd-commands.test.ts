/**
 * The journal contains refused commands, with arbitrary numbers and texts. The replay tool shows
 * every one.
 */
import { expect, it } from 'vitest';
import { readCommand } from '../../../../engine/interface/command-record.js';
import type { Command } from '../../../../engine/interface/commands.js';
import { RecordBuffer } from '../../../../engine/interface/records.js';
import { commandObject } from '../../../../persistence/tools/replay/output/fields.js';
import { lineText } from '../../../../persistence/tools/replay/output/printer.js';
import { jsonText } from '../../../../persistence/tools/replay/output/units.js';
import { wellFormed } from '../../../engine/differential/limits/well-formed.js';
import { openMarket } from '../../../support/engine-support.js';
import { ODD_NUMBERS, ODD_TEXTS } from '../../../support/random-commands.js';

it('shows commands with odd values as JSON and as text', () => {
  const { engine } = openMarket(2);
  const records = new RecordBuffer();
  for (const command of wellFormed()) {
    for (const [name, value] of Object.entries(command)) {
      if (name === 'kind' || (typeof value !== 'number' && typeof value !== 'string')) continue;
      for (const odd of typeof value === 'number' ? ODD_NUMBERS : ODD_TEXTS) {
        const at = records.append({ ...command, [name]: odd } as Command, 1);
        const read = readCommand(records, at);
        const object = commandObject(read, engine);
        const json = JSON.parse(jsonText(object));
        expect(json.kind).toBe(command.kind);
        expect(Object.keys(json)).toHaveLength(Object.keys(read).length);
        const text = lineText(object);
        expect(text).toContain(command.kind);
        expect(text).not.toMatch(/undefined|\[object/);
      }
    }
  }
  expect(records.count).toBeGreaterThan(300);
});
