/** The variables that give a process a clock that a test can set: see preloaded.ts. */
import { join } from 'node:path';

const PRELOADED = join(import.meta.dirname, 'preloaded.ts');

export function clockVariables(shiftFile: string): Record<string, string> {
  const NODE_OPTIONS = `--import=${PRELOADED} --disable-warning=ExperimentalWarning`;
  return { NODE_OPTIONS, CLOCK_SHIFT_FILE: shiftFile };
}
