/** Writes the dashboard into dist/deploy. Part of `npm run build`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { programFolder } from '../../persistence/storage/program-folder.js';
import { DASHBOARD } from './dashboard.js';

const folder = new URL('dist/deploy/', programFolder());
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('grafana-dashboard.json', folder), JSON.stringify(DASHBOARD, null, 2));
