/** Debian's Chromium, driven by playwright-core. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where Debian installs it; CHROMIUM names another one. */
export function chromiumPath(): string {
  const { CHROMIUM: path = '/usr/bin/chromium' } = process.env;
  if (!existsSync(path))
    throw new Error(`${path} is missing: apt-get install chromium, or set CHROMIUM`);
  return path;
}

/** Without the browser's own requests to its makers. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: FLAGS });
}
