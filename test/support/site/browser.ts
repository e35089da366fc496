/**
 * Chromium, driven by playwright-core. On x64 Linux it comes from the package @sparticuz/chromium,
 * with the libraries and fonts that a bare machine lacks; elsewhere it is the system's. CHROMIUM
 * selects another one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

const OF_SYSTEM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

interface Program {
  path: string;
  variables: Record<string, string>;
}

/** Unpacks the archives given into TMPDIR. */
const UNPACK = `
  const [module, ...archives] = process.argv.slice(1);
  const { inflate } = await import(module);
  await Promise.all(archives.map((archive) => inflate(archive)));
`;

/** Replaces the package's own file, which names folders that exist only on its maker's platform. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

/** @throws Error with the program to install */
export function findChromium(): Program {
  const { CHROMIUM: chosen } = process.env;
  if (chosen !== undefined) {
    if (existsSync(chosen)) return { path: chosen, variables: {} };
    throw new Error(`CHROMIUM is ${chosen}, which does not exist`);
  }
  if (process.platform === 'linux' && process.arch === 'x64') return fromPackage();
  const path = OF_SYSTEM.find((each) => existsSync(each));
  if (path !== undefined) return { path, variables: {} };
  throw new Error('Chromium is missing: install Chromium or Chrome, or set CHROMIUM to its path');
}

/** Unpacks the package once, beside itself; a new version is unpacked again. */
function fromPackage(): Program {
  const module = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const home = dirname(dirname(module));
  const unpacked = join(home, 'unpacked');
  if (!existsSync(unpacked)) unpack(home, unpacked);
  return {
    path: join(unpacked, 'chromium'),
    variables: {
      LD_LIBRARY_PATH: join(unpacked, 'al2023/lib'),
      FONTCONFIG_FILE: join(unpacked, 'fonts.conf'),
    },
  };
}

function unpack(home: string, unpacked: string): void {
  const folder = mkdtempSync(`${unpacked}-`);
  const names = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br', 'swiftshader.tar.br'];
  const module = pathToFileURL(join(home, 'build/lambdafs.js')).href;
  const archives = names.map((name) => join(home, 'bin', name));
  try {
    execFileSync(process.execPath, ['--input-type=module', '--eval', UNPACK, module, ...archives], {
      env: { ...process.env, TMPDIR: folder },
    });
    writeFileSync(join(folder, 'fonts.conf'), FONTS);
    renameSync(folder, unpacked);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    // Another process has unpacked it first.
    if (!existsSync(unpacked)) throw error;
  }
}

/** Turns off the browser's requests to its makers. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Runs `work` with a browser, and always closes the browser. */
export async function withBrowser(work: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = await launchBrowser();
  try {
    await work(browser);
  } finally {
    await browser.close();
  }
}

export function launchBrowser(): Promise<Browser> {
  const { path, variables } = findChromium();
  const env = { ...process.env, ...variables } as Record<string, string>;
  return chromium.launch({ executablePath: path, args: FLAGS, env });
}
