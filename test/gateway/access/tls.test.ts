/** TLS in the program: the certificate that clients see, a new certificate, and wrong files. */
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createLog } from '../../../gateway/observe/log.js';
import { readConfig } from '../../../gateway/start/config.js';
import { checkCertificate, warnOfOpenAddresses } from '../../../gateway/start/encryption.js';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../support/house-support.js';
import {
  type Certificate,
  ENCRYPTED_KEY,
  EXPIRED,
  FIRST,
  SECOND,
  writeCertificate,
} from '../../support/http/certificates.js';
import { ChildServer } from '../../support/programs.js';
import { type ApiClient, PASSWORD } from '../../support/server.js';

const RENEWED = 'new connections have the certificate that was read again';
const KEYS_AGAIN = 'keys and secrets were read again';
const STAYS = 'the certificate stays as it was';

let folder: string;
let server: ChildServer | null;
let clients: ApiClient[];
let logged: string[];
const log = createLog('warn', { write: (line) => logged.push(line) });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exchange-tls-'));
  server = null;
  clients = [];
  logged = [];
});
afterEach(async () => {
  for (const client of clients) await client.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(variables: Record<string, string> = {}): ChildServer {
  server = ChildServer.spawn({ DATA_FOLDER: join(folder, 'data'), HOUSE: 'off', ...variables });
  return server;
}

function startWith(certificate: Certificate, variables: Record<string, string> = {}): ChildServer {
  const { certFile, keyFile } = writeCertificate(folder, certificate);
  return start({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, ...variables });
}

async function listening(trusted: Certificate[]): Promise<ApiClient> {
  const api = await server!.listening({ ca: trusted.map(({ cert }) => cert) });
  clients.push(api);
  return api;
}

/** Returns the subject of a new connection's certificate. */
async function shown(url: string): Promise<string> {
  const { port, hostname } = new URL(url);
  const socket: TLSSocket = connect({ host: hostname, port: +port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

/** Sends a request and returns the first bytes of the answer. */
async function ask(socket: TLSSocket, path: string): Promise<string> {
  socket.write(`GET /api${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const [data] = await once(socket, 'data');
  return String(data);
}

const keyLine = (name: string) =>
  `${name}:${createHash('sha256').update(`key-of-${name}`).digest('hex')}\n`;

test('the certificates of these tests are what they are said to be', () => {
  for (const { cert, key } of [FIRST, SECOND]) {
    const { validTo, subjectAltName } = new X509Certificate(cert);
    expect(new Date(validTo).getUTCFullYear()).toBeGreaterThan(2100);
    expect(subjectAltName).toContain('127.0.0.1');
    expect(key).toContain('PRIVATE KEY');
  }
});

describe.each([0, 2])('with EDGE_THREADS=%i', (threads) => {
  const EDGES = { EDGE_THREADS: `${threads}`, OPERATIONS_PORT: '0' };

  test('a new certificate is for new connections, and none that is open is lost', async () => {
    startWith(FIRST, EDGES);
    const api = await listening([FIRST, SECOND]);
    expect(api.url).toMatch(/^https:/);
    const { port } = new URL(api.url);
    const registered = await api.post('/auth/register', { username: 'ada', password: PASSWORD });
    expect(registered.status).toBe(201);
    expect(registered.headers['set-cookie']).toContain('Secure');
    expect(registered.headers['strict-transport-security']).toBeDefined();

    const socket = connect({ host: '127.0.0.1', port: +port, ca: FIRST.cert });
    await once(socket, 'secureConnect');
    expect(await ask(socket, '/time')).toContain('200 OK');
    const stream = new WebSocket(`${api.url.replace('https', 'wss')}/api/stream`, {
      ca: FIRST.cert,
    });
    const messages: { type: string; channel: string }[] = [];
    stream.on('message', (data) => messages.push(JSON.parse(String(data))));
    await once(stream, 'open');
    stream.send('{"op":"subscribe","channels":["prices:BTC"]}');
    await eventually(() => messages.some(({ channel }) => channel === 'prices:BTC'));
    const operations = `https://127.0.0.1:${/"port":(\d+),"msg":"open to operators/.exec(server!.stderr)![1]}`;
    expect([await shown(api.url), await shown(operations)]).toEqual(['first', 'first']);

    // Two signals in a row, with a certificate that changes between them.
    writeCertificate(folder, EXPIRED);
    server!.child.kill('SIGHUP');
    writeCertificate(folder, SECOND);
    await server!.hangUp(RENEWED);
    await eventually(async () => (await shown(api.url)) === 'second');
    expect(await shown(operations)).toBe('second');
    expect((await api.get('/time')).status).toBe(200);

    // Open connections continue with requests and published messages.
    expect(await ask(socket, '/time')).toContain('200 OK');
    expect(stream.readyState).toBe(WebSocket.OPEN);
    const before = messages.length;
    await eventually(() => messages.length > before + 2);
    socket.destroy();
    stream.terminate();
    expect(await server!.stop()).toBe(0);
  });

  test('wrong files change nothing, and keys are read again all the same', async () => {
    const partners = join(folder, 'partners');
    writeFileSync(partners, keyLine('acme'));
    startWith(FIRST, { ...EDGES, PARTNER_KEYS: `file:${partners}` });
    const api = await listening([FIRST]);
    const register = async (partner: string, username: string) => {
      const headers = { authorization: `Bearer key-of-${partner}` };
      const body = { username, password: PASSWORD };
      return (await api.send('POST', '/auth/register', body, { headers })).status;
    };
    expect(await register('zenith', 'one')).toBe(403);
    writeFileSync(partners, keyLine('zenith'));
    writeCertificate(folder, { cert: SECOND.cert, key: FIRST.key });
    await server!.hangUp(STAYS);
    expect(server!.stderr).toContain(KEYS_AGAIN);
    expect(server!.stderr).toContain('does not belong to the certificate in TLS_CERT_FILE');
    expect(await shown(api.url)).toBe('first');
    expect(await register('zenith', 'one')).toBe(201);

    // A wrong file of keys does not prevent a new certificate.
    writeFileSync(partners, 'acme:123');
    writeCertificate(folder, SECOND);
    await server!.hangUp(RENEWED);
    expect(server!.stderr).toContain('keys and secrets stay as they were');
    expect(await shown(api.url)).toBe('second');
    expect(await register('zenith', 'two')).toBe(201);
  });
});

test('a standby says at once that it could not serve with wrong ones', async () => {
  // This standby waits for a database that does not exist.
  const JOURNAL = 'postgres://exchange@127.0.0.1:1/exchange';
  startWith(FIRST, { ROLE: 'standby', JOURNAL, UNREPLICATED: 'on' });
  await eventually(() => server!.stderr.includes('a standby: it follows the leader and waits'));
  writeCertificate(folder, { cert: SECOND.cert, key: FIRST.key });
  await server!.hangUp('this process cannot serve with these files');
  writeCertificate(folder, FIRST);
  await server!.hangUp('are read again before this process serves');
  expect(server!.stderr.split('cannot serve with these files')).toHaveLength(2);
  expect(await server!.stop()).toBe(0);
});

const WRONG: [name: string, change: (folder: string) => void, message: string][] = [
  [
    'a missing certificate',
    (at) => rmSync(join(at, 'tls.crt')),
    'TLS_CERT_FILE cannot be used: ENOENT',
  ],
  ['a missing key', (at) => rmSync(join(at, 'tls.key')), 'TLS_KEY_FILE cannot be used: ENOENT'],
  [
    'a folder as certificate',
    (at) => {
      rmSync(join(at, 'tls.crt'));
      mkdirSync(join(at, 'tls.crt'));
    },
    'TLS_CERT_FILE cannot be used: EISDIR',
  ],
  [
    'a certificate that is none',
    (at) => writeFileSync(join(at, 'tls.crt'), FIRST.key),
    'tls.crt does not begin with a certificate in PEM',
  ],
  [
    'a key that others can read',
    (at) => chmodSync(join(at, 'tls.key'), 0o644),
    'tls.key can be read by other users. Run: chmod 600',
  ],
  [
    'a key that is none',
    (at) => writeFileSync(join(at, 'tls.key'), FIRST.cert),
    'tls.key does not contain a private key in PEM, without a passphrase',
  ],
  [
    'a key with a passphrase',
    (at) => writeFileSync(join(at, 'tls.key'), ENCRYPTED_KEY),
    'tls.key does not contain a private key in PEM, without a passphrase',
  ],
  [
    'a key that does not belong to the certificate',
    (at) => writeFileSync(join(at, 'tls.key'), SECOND.key),
    'tls.key does not belong to the certificate in TLS_CERT_FILE',
  ],
];

describe('a start', () => {
  test.each(WRONG)('refuses %s', async (_name, change, message) => {
    const files = writeCertificate(folder, FIRST);
    change(folder);
    await expect(checkCertificate(files, silentLog)).rejects.toThrow(message);
  });

  test('that is refused ends the program, with the same words', async () => {
    startWith({ cert: SECOND.cert, key: FIRST.key });
    expect(await server!.end()).toBe(1);
    expect(server!.stderr).toContain('does not belong to the certificate');
  });

  test('warns of a certificate that has expired', async () => {
    await checkCertificate(writeCertificate(folder, EXPIRED), log);
    expect(logged.join('')).toContain('THE CERTIFICATE IS NOT VALID NOW');
  });

  test('warns of an address of other machines without TLS', async () => {
    start({ HOST: '0.0.0.0', OPERATIONS_HOST: '0.0.0.0', OPERATIONS_PORT: '0' });
    await server!.listening();
    expect(server!.stderr).toContain('HOST=0.0.0.0 IS NOT ENCRYPTED');
    expect(server!.stderr).toContain('OPERATIONS_HOST=0.0.0.0 IS NOT ENCRYPTED');
  });

  test.each([
    { TLS_CERT_FILE: '/a', TLS_KEY_FILE: '/b' },
    { TRUST_PROXY: 'on' },
    { HOST: '127.0.0.1' },
  ])('does not warn with TLS, where a proxy is said to be, or of this machine: %j', (variables) => {
    warnOfOpenAddresses(readConfig({ HOST: '0.0.0.0', ...variables }), log);
    expect(logged).toEqual([]);
  });
});
