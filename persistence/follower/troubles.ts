/**
 * The parts that are made from the journal (DERIVED_PARTS), and why one cannot be made now. Trading
 * depends on none of them: a part that fails is logged with its remedy, counted, and tried again.
 * For `doctor`, the failing parts are in a file of the data folder, which exists only while there
 * are any.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILE_MODE } from '../storage/files.js';
import { isOfFile, troubleOf, troubleText } from '../storage/trouble.js';

export type LogLevel = 'info' | 'warn' | 'error';
export type FollowerLog = Record<LogLevel, (fields: object, message: string) => void>;

export const TROUBLES_FILE = 'troubles.json';
export const DERIVED_PARTS = ['history', 'leaderboards', 'dayFiles', 'snapshots'] as const;
export type DerivedPart = (typeof DERIVED_PARTS)[number];

export interface PartTrouble {
  part: DerivedPart;
  problem: string;
  /** The remedy for the operator. */
  remedy: string;
}

/** Reports why a part cannot be made now; null if it can be made again. */
export type ReportTrouble = (part: DerivedPart, problem: string | null) => void;

const NAMES: Record<DerivedPart, string> = {
  history: 'the history',
  leaderboards: 'the leaderboards',
  dayFiles: 'the day files',
  snapshots: 'the snapshots',
};

export class Troubles {
  private readonly failing = new Map<DerivedPart, PartTrouble>();

  constructor(
    private readonly folder: string,
    private readonly log: FollowerLog,
    private readonly report: ReportTrouble,
    /** The parts that failed in the previous thread. They count as failing until they are built. */
    failing: Iterable<readonly [DerivedPart, string]> = [],
  ) {
    for (const trouble of readTroubles(folder)) this.failing.set(trouble.part, trouble);
    for (const [part, problem] of failing) this.failing.set(part, { part, problem, remedy: '' });
  }

  /** @param otherwise the remedy, unless the error is about a file and has its own */
  failed(part: DerivedPart, error: unknown, otherwise: string): void {
    const told = troubleOf(error);
    const { problem } = told;
    const ofFile = isOfFile(error) ? told.remedy : null;
    const remedy = ofFile ?? otherwise;
    const where = ofFile !== null ? { file: told.file } : { stack: (error as Error).stack };
    // A failure that repeats at each attempt is logged once.
    if (this.failing.get(part)?.problem !== problem)
      this.log.error(
        { part, problem, remedy, ...where },
        `${NAMES[part]} cannot be made now; trading continues`,
      );
    this.note({ part, problem, remedy });
  }

  /** Records and reports a failure that the caller has logged. */
  note(trouble: PartTrouble): void {
    const { part, problem } = trouble;
    this.failing.set(part, trouble);
    this.save();
    this.report(part, problem);
  }

  works(part: DerivedPart): void {
    if (!this.failing.delete(part)) return;
    this.log.info({ part }, `${NAMES[part]} can be made again`);
    this.save();
    this.report(part, null);
  }

  /** Writes the file. On a full disk it is missing, which is harmless: it only informs. */
  private save(): void {
    const path = join(this.folder, TROUBLES_FILE);
    try {
      if (this.failing.size === 0) rmSync(path, { force: true });
      else writeFileSync(path, JSON.stringify([...this.failing.values()]), { mode: FILE_MODE });
    } catch {}
  }
}

/** The parts that could not be built when the exchange last ran in the folder. */
export function readTroubles(folder: string): PartTrouble[] {
  try {
    const troubles: PartTrouble[] = JSON.parse(readFileSync(join(folder, TROUBLES_FILE), 'utf8'));
    return troubles.filter(({ part }) => DERIVED_PARTS.includes(part));
  } catch {
    // The file does not exist, or a crash has cut it.
    return [];
  }
}

/** The text for an operator. */
export function partTroubleText({ part, problem, remedy }: PartTrouble): string {
  const name = NAMES[part];
  const what = `${name[0]!.toUpperCase()}${name.slice(1)} cannot be made: ${problem}`;
  return troubleText({ problem: what, remedy });
}
