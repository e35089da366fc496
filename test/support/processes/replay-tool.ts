/** Runs the built replay tool. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compiledFile } from '../../../persistence/storage/program-folder.js';

const TOOL = compiledFile('persistence/tools/replay/main.js');

/** Problems that `verify` and `audit` find: damage, or money that was not conserved. */
export async function replayProblems(folder: string): Promise<string[]> {
  const problems: string[] = [];
  for (const command of ['verify', 'audit']) {
    const given = [TOOL, '--data', folder, command, '--json'];
    try {
      await promisify(execFile)(process.execPath, given, { maxBuffer: 2 ** 28 });
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      problems.push(`replay ${command}: ${(stderr || message).trim().slice(-500)}`);
    }
  }
  return problems;
}
