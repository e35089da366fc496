/**
 * `npm test`: checks the requirements of the tests, runs the tests, and ends everything that they
 * have started.
 *
 * Invariant: a run that lacks something reports all of it before any time is spent (exit status 2).
 * After a run has ended or was interrupted, none of its processes and folders is left: the
 * processes are in a process group of their own; nodes of PostgreSQL, which leave it, have their
 * folders inside the run's folder.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** How long vitest may take to end after an interruption. */
const ENDING_MS = 5_000;
/** Required programs, with the Debian package of each. */
const PROGRAMS = { bash: 'bash', mkfifo: 'coreutils', nice: 'coreutils', prlimit: 'util-linux' };

function json(path: string) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
}

/** Packages that are missing, or not in the version of the lock file. */
function missingPackages(): string[] {
  const { packages } = json('package-lock.json');
  const { dependencies, devDependencies } = packages[''];
  return Object.keys({ ...dependencies, ...devDependencies }).filter((name) => {
    const path = `node_modules/${name}`;
    const isThere = existsSync(join(ROOT, path, 'package.json'));
    return !isThere || json(`${path}/package.json`).version !== packages[path].version;
  });
}

function isInPath(program: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.some((folder) => existsSync(join(folder, program)));
}

/** The missing requirements, each with its remedy. */
async function look(): Promise<string[]> {
  const packages = missingPackages();
  if (packages.length > 0) return [`${packages.join(', ')}: run npm ci`];
  const lines: string[] = [];
  for (const name of ['sqlite3', 'uWebSockets.js'])
    await import(name).catch(({ message }) => {
      lines.push(`${name} cannot be loaded (${message}): run npm ci`);
    });
  const { findChromium } = await import(`${ROOT}/dist/test/support/site/browser.js`);
  try {
    findChromium();
  } catch (error) {
    lines.push((error as Error).message);
  }
  const programs = Object.keys(PROGRAMS).filter((program) => !isInPath(program));
  if (programs.length > 0) {
    const debian = new Set(programs.map((name) => PROGRAMS[name as keyof typeof PROGRAMS]));
    lines.push(`${programs.join(', ')}: on Debian, apt-get install ${[...debian].join(' ')}`);
  }
  return lines;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended.
  }
}

/** Ends nodes of PostgreSQL, which are in sessions of their own, each with its children. */
function endDatabases(folder: string): void {
  for (const path of globSync('**/postmaster.pid', { cwd: folder })) {
    const pid = Number(readFileSync(join(folder, path), 'utf8').split('\n')[0]);
    signal(-pid, 'SIGKILL');
    signal(pid, 'SIGKILL');
  }
}

const missing = await look();
if (missing.length > 0) {
  process.stderr.write(`npm test needs what is not there:\n${missing.join('\n')}\n`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'tests-'));
// PostgreSQL does not run as root.
chmodSync(folder, 0o711);
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const tests = spawn(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: ROOT,
  detached: true,
  stdio: 'inherit',
  env: { ...process.env, TMPDIR: folder },
});
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    signal(tests.pid!, 'SIGTERM');
    setTimeout(() => signal(tests.pid!, 'SIGKILL'), ENDING_MS).unref();
  });
}
tests.on('exit', (status, name) => {
  signal(-tests.pid!, 'SIGKILL');
  endDatabases(folder);
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = status ?? 128 + constants.signals[name!];
});
