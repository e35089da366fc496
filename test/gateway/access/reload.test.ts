/** Keys and secrets that an operator replaces with SIGHUP while the exchange runs. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { ChildServer } from '../../support/programs.js';
import { type ApiClient, PASSWORD } from '../../support/server.js';

const AGAIN = 'keys and secrets were read again';
const REFUSED = 'keys and secrets stay as they were';
const partners = () => join(folder, 'partners');
const secrets = () => join(folder, 'data', 'session-secret');
const newSecret = () => randomBytes(32).toString('base64url');
const keyLine = (name: string) =>
  `${name}:${createHash('sha256').update(`key of ${name}`.replaceAll(' ', '-')).digest('hex')}\n`;

let folder: string;
let server: ChildServer;
let api: ApiClient;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-reload-'));
  await writeFile(partners(), keyLine('acme') + keyLine('zenith'));
  server = ChildServer.spawn({
    DATA_FOLDER: join(folder, 'data'),
    PARTNER_KEYS: `file:${partners()}`,
    HOUSE: 'off',
  });
  api = await server.listening();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function register(partner: string, username: string): Promise<number> {
  const headers = { authorization: `Bearer key-of-${partner}` };
  const body = { username, password: PASSWORD };
  return (await api.send('POST', '/auth/register', body, { headers })).status;
}

test("a partner's key that was taken out of the file is refused", async () => {
  expect(await register('acme', 'one')).toBe(201);
  await writeFile(partners(), keyLine('zenith'));
  expect(await register('acme', 'two')).toBe(201);
  await server.hangUp();
  expect(await register('acme', 'three')).toBe(403);
  expect(await register('zenith', 'three')).toBe(201);
});

test('a file with a mistake changes nothing', async () => {
  await writeFile(partners(), `${keyLine('zenith')}acme:123\n`);
  await server.hangUp(REFUSED);
  expect(server.stderr).toContain(`PARTNER_KEYS: line 2 of ${partners()} must be name:`);
  expect(await register('zenith', 'four')).toBe(201);
  await writeFile(partners(), keyLine('zenith'));
});

test('two secrets overlap, and the end of one ends its sessions and streams', async () => {
  const login = async () =>
    (await api.post('/auth/login', { username: 'one', password: PASSWORD })).json;
  const { userId, token: old } = await login();
  const stream = new WebSocket(`${api.url.replace('http', 'ws')}/api/stream`, {
    headers: { 'x-user-token': old },
  });
  const closed = new Promise((resolve) => stream.on('close', resolve));
  await new Promise((resolve) => stream.on('open', resolve));
  const balance = async (token: string) =>
    (await api.get(`/users/${userId}/balance`, token)).status;

  const [first, second] = [await readFile(secrets(), 'utf8'), newSecret()];
  await writeFile(secrets(), `${second}\n${first}`);
  await server.hangUp();
  const { token: young } = await login();
  expect([await balance(old), await balance(young)]).toEqual([200, 200]);
  expect(stream.readyState).toBe(WebSocket.OPEN);

  await writeFile(secrets(), `${second}\n`);
  await server.hangUp();
  expect([await balance(old), await balance(young)]).toEqual([401, 200]);
  expect(await closed).toBe(4001);
  const read = server.stderr.split('\n').filter((line) => line.includes(AGAIN));
  const counts = read.slice(-2).map((line) => JSON.parse(line));
  expect(counts.map(({ sessionSecrets }) => sessionSecrets)).toEqual([2, 1]);
  expect(counts[0]).toMatchObject({ partnerKeys: 1, operatorKeys: 0, replicaKeys: 0 });
});
