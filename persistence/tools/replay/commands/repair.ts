/**
 * `repair`: copies the good beginning of a damaged journal into a new folder. The damaged folder is
 * only read. The copy lacks what comes after, which may have been acknowledged. So the sequence is
 * the operator's choice, and the report says what it costs.
 */
import { join } from 'node:path';
import { HEAD_FILE } from '../../../journal/format.js';
import { readMark } from '../../../journal/head-mark.js';
import { repair as copyBeginning } from '../../operations/backup.js';
import { ExitStatus, type Invocation } from '../input/replay-journal.js';

interface RepairRequest extends Invocation {
  /** The last sequence that is kept. */
  after: number;
  to: string;
}

export async function repair(request: RepairRequest): Promise<ExitStatus> {
  const { folder, to, after, archive, output, progress } = request;
  try {
    progress.start(after);
    const copied = (sequence: number) => progress.reached(sequence);
    const { end } = await copyBeginning({ from: folder, to, after, archive, copied });
    const markState = readMark(join(folder, HEAD_FILE));
    const marked = markState.state === 'read' ? markState.mark.sequence : null;
    const lost = marked === null ? null : Math.max(0, marked - after);
    const fields = { to, sequence: after, digest: end.digest, lost };
    output.report({ fields, head: reportText(to, after, lost) }, request.json);
    return ExitStatus.GOOD;
  } finally {
    progress.stop();
  }
}

function reportText(to: string, after: number, lost: number | null): string {
  const loss =
    lost === null
      ? `${HEAD_FILE} is unreadable, so it is unknown how many acknowledged commands it lacks.`
      : `It lacks ${lost} commands that had been acknowledged.`;
  return (
    `${to} has the commands up to sequence ${after}, every one proven. ${loss} ` +
    'It has no session secret: every user signs in again, because the exchange will give out ids ' +
    'again that others had. The folder it was copied from was not changed.\n'
  );
}
