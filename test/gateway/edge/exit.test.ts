/** An exchange with edge threads exits with its status, even while clients are connected. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Exchanges } from '../../support/programs.js';
import { RawConnection, requestText } from '../../support/raw-connection.js';

const exchanges = new Exchanges();
const connections: RawConnection[] = [];

afterEach(async () => {
  for (const connection of connections) connection.leave();
  await exchanges.end();
});

test('that of files that are gone', async () => {
  const folder = join(exchanges.work, 'data');
  const server = exchanges.spawn({ DATA_FOLDER: folder, EDGE_THREADS: '2', HOUSE: 'off' });
  const { url } = await exchanges.listening(server);
  for (let i = 0; i < 4; i++) {
    const connection = new RawConnection(url);
    connections.push(connection);
    await connection.send(requestText('GET', '/health'));
    await connection.answers(1);
  }
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  expect(await server.end()).toBe(3);
  expect(server.stderr).toContain('The exchange has ended');
});
