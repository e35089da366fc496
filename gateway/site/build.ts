/**
 * Builds the site into dist/site: bundles gateway/site/app, names every file after a hash of its
 * content, and writes each file plain and compressed. Part of `npm run build`. esbuild and preact
 * are needed only here; the built program runs without them.
 */

import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { programFolder } from '../../persistence/storage/program-folder.js';
import { buildFile } from '../http/answers/static-file.js';

const ROOT = fileURLToPath(programFolder());
const APP = join(ROOT, 'gateway/site/app');
const OUT = join(ROOT, 'dist/site');
/** The URL path at which the exchange serves the built files. */
const SERVED = '/site/';

async function main(): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  const { metafile, outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['main.tsx', 'worker.ts', 'styles/site.css'].map(
      (name) => `gateway/site/app/${name}`,
    ),
    outdir: 'dist/site',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    write: false,
  });
  for (const { path, contents } of outputFiles) write(nameOf(path), contents);
  const icon = writeHashed('icon', 'svg', readFileSync(join(APP, 'icon.svg')));
  const large = writeHashed('icon', 'png', picture({ up: [96, 150], down: [266, 150] }, ICON));
  const manifest = writeHashed(
    'manifest',
    'webmanifest',
    JSON.stringify(manifestWith(icon, large)),
  );
  write('index.html', page(metafile, icon, manifest).replace('{{largeIcon}}', SERVED + large));
  // These names have no hash, because the exchange's answers use them (markets/card.ts).
  write('card-up.png', picture({ up: [165, 300] }, PREVIEW));
  write('card-down.png', picture({ down: [165, 300] }, PREVIEW));
  for (const name of ['open', 'void'])
    write(`card-${name}.png`, picture({ up: [125, 180], down: [325, 180] }, PREVIEW));
}

/** A browser finds a new service worker at the path of the old one, so it has no hash. */
const nameOf = (path: string): string => basename(path).replace(/^worker-\w+/, 'worker');

interface Size {
  width: number;
  height: number;
}
const PREVIEW: Size = { width: 1_200, height: 630 };
/** The size that phones ask for. */
const ICON: Size = { width: 512, height: 512 };
/** Red, green and blue of the site's background and of the outcomes. */
const COLOURS = [0x0b0e13, 0x3fcf9b, 0xff8a6b].flatMap((rgb) => [rgb >> 16, rgb >> 8, rgb]);
type Place = readonly [top: number, height: number];

/** A triangle for each outcome, as a PNG with a palette (https://www.w3.org/TR/png-3/). */
function picture({ up, down }: { up?: Place; down?: Place }, { width, height }: Size): Buffer {
  const rows = Buffer.alloc((width + 1) * height);
  const fill = (colour: number, from: number, count: number, widthAt: (row: number) => number) => {
    for (let row = 0; row < count; row++) {
      const middle = (from + row) * (width + 1) + 1 + width / 2;
      rows.fill(colour, middle - widthAt(row), middle + widthAt(row));
    }
  };
  if (up !== undefined) fill(1, ...up, (row) => row);
  if (down !== undefined) fill(2, ...down, (row) => down[1] - row);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits a pixel, which index the palette.
  head.set([8, 3], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(COLOURS)),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(content.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(content, 4);
  framed.writeUInt32BE(crc32(content), content.length + 4);
  return framed;
}

/** Makes the site installable (https://www.w3.org/TR/appmanifest/). */
function manifestWith(icon: string, large: string): object {
  return {
    name: 'Quarter-Hour Exchange',
    short_name: 'Quarter-Hour',
    start_url: '/',
    display: 'standalone',
    background_color: '#0b0e13',
    theme_color: '#0b0e13',
    icons: [
      { src: SERVED + icon, sizes: 'any', type: 'image/svg+xml' },
      { src: SERVED + large, sizes: '512x512', type: 'image/png', purpose: 'any maskable' },
    ],
  };
}

function writeHashed(name: string, extension: string, content: Uint8Array | string): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8);
  const hashed = `${name}-${hash}.${extension}`;
  write(hashed, content);
  return hashed;
}

function write(name: string, content: Uint8Array | string): void {
  buildFile(`site/${name}`, content);
}

/** The page, with placeholders such as `{{script}}` replaced by file names. */
function page(metafile: Metafile, icon: string, manifest: string): string {
  const outputs = Object.entries(metafile.outputs);
  const builtFrom = (source: string) => {
    const found = outputs.find(([, { entryPoint }]) => entryPoint === `gateway/site/app/${source}`);
    if (found === undefined) throw new Error(`nothing was built from ${source}`);
    return found;
  };
  const [script, { imports }] = builtFrom('main.tsx');
  const [style] = builtFrom('styles/site.css');
  const served = (path: string) => SERVED + basename(path);
  // Without these hints, the browser would find the files only after loading the script.
  const preloads = imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="${served(path)}">`);
  return readFileSync(join(APP, 'index.html'), 'utf8')
    .replace('{{icon}}', served(icon))
    .replace('{{manifest}}', served(manifest))
    .replace('{{style}}', served(style))
    .replace('{{script}}', served(script))
    .replace('{{preloads}}', preloads.join('\n    '));
}

await main();
