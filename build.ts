/**
 * `npm run build`: compiles the project into dist/, unless nothing has changed since the last time.
 * Every command that runs compiled code begins with it. With `--if-missing`, which the operator's
 * tools use, it compiles only if dist/ is incomplete, because an exchange may be running from it.
 *
 * Invariant: dist/.inputs is written last, and describes the files that dist/ was built from.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = import.meta.dirname;
const FOLDERS = ['engine', 'persistence', 'gateway', 'bench', 'test/support', 'test/trials/site'];
const FILES = [
  'README.md',
  'build.ts',
  'package-lock.json',
  'rolldown.config.ts',
  'tsconfig.json',
  'tsconfig.build.json',
];
const INPUTS = join(ROOT, 'dist/.inputs');

/** Every file with its size and modification time. */
function inputs(): string {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, path),
    ),
  );
  return [...FILES, ...inFolders.sort()]
    .map((path) => ({ path, ...statSync(join(ROOT, path)) }))
    .filter(({ mode }) => (mode & 0o170000) === 0o100000)
    .map(({ path, size, mtimeMs }) => `${path} ${size} ${mtimeMs}`)
    .join('\n');
}

function run(program: string, ...args: string[]): void {
  execFileSync(process.execPath, [join(ROOT, program), ...args], {
    cwd: ROOT,
    // rolldown writes a table of all its files to standard output.
    stdio: ['ignore', program.includes('rolldown') ? 'ignore' : 'inherit', 'inherit'],
  });
}

const now = inputs();
const built = existsSync(INPUTS) ? readFileSync(INPUTS, 'utf8') : null;
if (built !== null && built !== now && process.argv.includes('--if-missing')) {
  process.stderr.write(
    'This is the program as it was built: the source has changed since then. While no exchange runs ' +
      'from this folder, npm run build compiles it.\n',
  );
} else if (built !== now) {
  process.stderr.write('Compiling, which takes about 15 seconds.\n');
  rmSync(INPUTS, { force: true });
  try {
    run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
    run('node_modules/rolldown/bin/cli.mjs', '--config');
    run('dist/gateway/site/build.js');
    run('dist/gateway/contract/build.js');
    run('dist/gateway/contract/downloads/build.js');
    run('dist/gateway/deploy/build.js');
  } catch {
    // The compiler has reported the errors.
    process.exit(1);
  }
  writeFileSync(INPUTS, now);
}
