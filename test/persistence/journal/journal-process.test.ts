/**
 * The journal with several processes: kill -9, a second exchange on one folder, a full disk. Child
 * processes run the build in dist/ (`npm test` makes it).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listSegments } from '../../../persistence/journal/segments.js';
import { openJournal } from '../../../persistence/recovery/data-folder.js';
import { eventually } from '../../support/eventually.js';
import { Folders, journalErrorOf, start } from '../../support/journal-fixture.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DIST = `${ROOT}dist`;

/**
 * Submits commands endlessly and prints the sequence of every release; exits with 3 on a failure.
 */
const PROGRAM = `
  import { writeSync } from 'node:fs';
  import { Engine } from '${pathToFileURL(`${DIST}/engine/engine.js`)}';
  import { openJournal } from '${pathToFileURL(`${DIST}/persistence/recovery/data-folder.js`)}';
  import { openJournalReader } from '${pathToFileURL(`${DIST}/persistence/journal/reader.js`)}';
  import { JournalFollower } from '${pathToFileURL(`${DIST}/persistence/recovery/recovery.js`)}';
  import { Sequencer } from '${pathToFileURL(`${DIST}/persistence/sequencer.js`)}';
  const [, folder, segmentBytes] = process.argv;
  const journal = await openJournal({ folder, segmentBytes: Number(segmentBytes) });
  const engine = new Engine();
  const reader = await openJournalReader(folder);
  await new JournalFollower(engine).follow(reader);
  await reader.close();
  const onFatal = (error) => { writeSync(1, 'fatal ' + error.message + '\\n'); setTimeout(() => process.exit(3), 50); };
  const sequencer = new Sequencer({ engine, journal, now: Date.now, onFatal });
  const credential = 'x'.repeat(400);
  const submitSome = () => {
    for (let i = 0; i < 20 && sequencer.failure === null && sequencer.backlog < 200; i++) {
      sequencer.submit({ kind: 'register', username: 'u' + engine.sequence, credential, referralCode: '', grantMicros: 0, partner: null });
      const { sequence } = engine;
      sequencer.releaseAt(sequence, { release: () => writeSync(1, sequence + '\\n') });
    }
    if (sequencer.failure === null) setImmediate(submitSome);
  };
  submitSome();
`;

const folders = new Folders();
const children: ChildProcess[] = [];
beforeAll(() => {
  if (!existsSync(`${DIST}/persistence/sequencer.js`))
    throw new Error('dist/ is missing: npm run build');
});
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  folders.removeAll();
});

interface Exchange {
  child: ChildProcess;
  /** The lines printed so far. */
  lines(): string[];
  /** Resolves when the process has printed this many lines, or has exited. */
  printed(count: number): Promise<unknown>;
  ended: Promise<unknown>;
  /** The errors printed so far. */
  errors(): string;
}

function run(folder: string, shellPrefix = '', segmentBytes = 1e9): Exchange {
  const node = [process.execPath, '--input-type=module', '-e', PROGRAM, folder, `${segmentBytes}`];
  const child = spawn('sh', ['-c', `${shellPrefix} exec "$0" "$@"`, ...node]);
  children.push(child);
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const lines = () => output.split('\n').slice(0, -1);
  const ended = once(child, 'close');
  const printed = (count: number) =>
    Promise.race([eventually(() => lines().length >= count, 60_000), ended]);
  return { child, lines, printed, ended, errors: () => errors };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('another process', () => {
  it('that is killed repeatedly loses nothing that it had released', async () => {
    const folder = folders.make();
    let recovered = 0;
    for (let round = 1; round <= 4; round++) {
      // Segments of some sixty commands, so that many kills happen while a segment is cut or
      // sealed.
      const exchange = run(folder, '', 25_000);
      await exchange.printed(300 * round);
      await kill(exchange.child);
      await exchange.ended;
      const released = exchange.lines().map(Number);
      expect(released.length).toBeGreaterThanOrEqual(300 * round);
      expect(released).toEqual(released.map((_, index) => recovered + index + 1));
      const { engine, end } = await start(folder);
      expect(engine.sequence).toBeGreaterThanOrEqual(released.at(-1)!);
      expect(end.sequence).toBe(engine.sequence);
      engine.checkInvariants();
      recovered = engine.sequence;
    }
    expect(listSegments(folder).length).toBeGreaterThan(10);
  });

  it('locks the folder while it runs, and frees it when killed', async () => {
    const folder = folders.make();
    const exchanges = [1, 2, 3].map(() => run(folder));
    await eventually(() => exchanges.some(({ lines }) => lines().length > 50));
    const others = exchanges.filter(({ lines }) => lines().length === 0);
    for (const { ended, child, errors } of others) {
      await ended;
      expect([child.exitCode, errors()]).toEqual([1, expect.stringContaining('in use')]);
    }
    expect(others).toHaveLength(2);
    const { child, lines, ended } = exchanges.find((one) => !others.includes(one))!;
    const { message, firstBadSequence } = await journalErrorOf(openJournal({ folder }));
    expect([message, firstBadSequence]).toEqual([
      expect.stringContaining(`${folder} is in use`),
      null,
    ]);
    await kill(child);
    await ended;
    const journal = await openJournal({ folder });
    expect(journal.end.sequence).toBeGreaterThanOrEqual(Number(lines().at(-1)));
    expect((await journalErrorOf(openJournal({ folder }))).message).toContain('in use');
    await journal.close();
  });

  it('stops when the disk is full, and everything that it had released is there', async () => {
    const folder = folders.make();
    // A limit on the size of files, in units of 512 bytes.
    const exchange = run(folder, 'ulimit -f 2000;');
    await exchange.ended;
    expect([exchange.child.exitCode, exchange.errors()]).toEqual([3, '']);
    const fatal = exchange.lines().at(-1)!;
    expect(fatal).toMatch(/^fatal the journal could not be written: SQLITE_(FULL|IOERR)/);
    const released = exchange.lines().slice(0, -1).map(Number);
    expect(released.length).toBeGreaterThan(500);
    expect(released).toEqual(released.map((_, index) => index + 1));
    const { engine } = await start(folder);
    expect(engine.sequence).toBeGreaterThanOrEqual(released.length);
  });
});
