/** The results of the attacks as a table. */
import Table from 'cli-table3';

export interface Row {
  attack: string;
  done: string;
  verdict: 'held' | 'BROKEN' | 'could not run';
  /** What was counted; if a promise broke, what happened instead. */
  figure: string;
  seconds: number;
}

export function reportText(rows: readonly Row[]): string {
  const table = new Table({
    head: ['attack', 'what was done', 'verdict', 'figure', 'seconds'],
    colWidths: [34, 52, 15, 60, 9],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { attack, done, verdict, figure, seconds } of rows) {
    table.push([attack, done, verdict, figure, { content: seconds.toFixed(1), hAlign: 'right' }]);
  }
  const count = (verdict: Row['verdict']) => rows.filter((row) => row.verdict === verdict).length;
  const [held, broken, notRun] = [count('held'), count('BROKEN'), count('could not run')];
  return `${table.toString()}\n${held} attacks held, ${broken} broke a promise, ${notRun} could not run.`;
}
