/**
 * Which characters of the exchange's code have run, according to V8's block counts. Only code that
 * is compiled after {@link Coverage.start} is counted by block, so import it later.
 */
import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';
import { ROOT } from '../../support/sources.js';

const OWN = ['engine', 'persistence', 'gateway'].map((folder) => join(ROOT, folder, '/'));

export class Coverage {
  /** For each file, which of its characters have run. */
  private readonly ran = new Map<string, Uint8Array>();
  private readonly session = new Session();

  start(): void {
    this.session.connect();
    this.session.post('Profiler.enable');
    this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  stop(): void {
    this.session.post('Profiler.stopPreciseCoverage');
    this.session.disconnect();
  }

  /**
   * Whether code has run since the last call that had never run before. `isKept`: that code then
   * counts as having run.
   */
  grows(isKept = true): boolean {
    let grown = false;
    // A session of the same thread calls back immediately.
    this.session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
      for (const script of result)
        if (OWN.some((folder) => script.url.includes(folder)))
          grown = this.add(script, isKept) || grown;
    });
    return grown;
  }

  private add({ url, functions }: Profiler.ScriptCoverage, isKept: boolean): boolean {
    const length = Math.max(...functions.map(({ ranges }) => ranges[0]!.endOffset));
    let ran = this.ran.get(url) ?? new Uint8Array(0);
    if (ran.length < length) {
      const longer = new Uint8Array(length);
      longer.set(ran);
      ran = longer;
      this.ran.set(url, ran);
    }
    // Inner functions and blocks follow the ranges that contain them.
    const runsNow = new Uint8Array(length);
    for (const { ranges } of functions)
      for (const { startOffset, endOffset, count } of ranges)
        runsNow.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    let grown = false;
    for (let at = 0; at < length; at++) {
      if (runsNow[at]! <= ran[at]!) continue;
      if (!isKept) return true;
      ran[at] = 1;
      grown = true;
    }
    return grown;
  }
}
