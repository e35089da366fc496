/**
 * The password of a journal on PostgreSQL ends while an exchange leads. The exchange reports it
 * while it still leads, and needs no restart once the file has the new password. The trial cluster-
 * kill also drops connections.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PASSWORD_USER } from '../../support/cluster/postgres.js';
import { eventually } from '../../support/eventually.js';
import { registerTraders } from '../../trials/disk/scenario.js';
import { Machines } from './machines.js';

const SEEN_MS = 60_000;
let machines: Machines;
beforeAll(async () => {
  machines = await Machines.start();
}, 120_000);
afterAll(() => machines?.end());

test('a password that ends is told before it stops anything, and replaced without a stop', async () => {
  const { cluster, work } = machines;
  const file = join(work, 'password');
  const write = (password: string) => writeFileSync(file, `${password}\n`, { mode: 0o600 });
  write('first');
  await cluster.addPasswordUser('first');
  const leader = machines.spawn({ JOURNAL: cluster.urlWithPassword, JOURNAL_PASSWORD_FILE: file });
  const api = await machines.listening(leader);
  await cluster.query(cluster.primary, `ALTER ROLE ${PASSWORD_USER} PASSWORD 'second'`);
  const refused = 'NEW CONNECTIONS TO THE JOURNAL ARE REFUSED';
  await eventually(() => leader.stderr.includes(refused), SEEN_MS);
  expect(leader.stderr).toMatch(/password authentication failed .* Write the current password to /);
  expect(leader.stderr).toContain(`Write the current password to ${file}`);
  // The exchange still leads.
  expect(await registerTraders(api)).not.toEqual([]);
  write('second');
  await eventually(() => leader.stderr.includes('are accepted again'), SEEN_MS);
  expect(leader.stderr.split(refused).length).toBe(2);
  expect(await leader.stop()).toBe(0);
});
