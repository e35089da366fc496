/** Shared by the programs of the tools: streams, exit status and options. */
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { JournalError, JournalUnavailable } from '../journal/errors.js';
import { FolderDisturbed } from '../journal/read-only.js';
import { programVersion } from '../storage/program-folder.js';
import { isOfFile, troubleOf, troubleText } from '../storage/trouble.js';
import { UsageError } from './replay/input/arguments.js';

type Stream = Pick<NodeJS.WriteStream, 'write'>;

/** 1: damage was found. 2: an invalid request, or files that cannot be used now. */
export const ExitStatus = { GOOD: 0, DAMAGE: 1, USAGE: 2 } as const;
export type ExitStatus = (typeof ExitStatus)[keyof typeof ExitStatus];

export function programOf(
  name: string,
  description: string,
  { answers, notices }: { answers: Stream; notices: Stream },
): Command {
  return new Command(name)
    .version(programVersion())
    .description(description)
    .showHelpAfterError('(--help shows the usage)')
    .configureOutput({
      writeOut: (text) => void answers.write(text),
      writeErr: (text) => void notices.write(text),
    })
    .exitOverride();
}

export async function statusOf(
  work: () => Promise<ExitStatus>,
  notices: Stream,
  damageText = ({ message }: JournalError) => `error: ${message}`,
): Promise<ExitStatus> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? ExitStatus.GOOD : ExitStatus.USAGE;
    if (error instanceof JournalError) {
      notices.write(`${damageText(error)}\n`);
      return ExitStatus.DAMAGE;
    }
    if (!isRefusal(error)) throw error;
    notices.write(`error: ${troubleText(troubleOf(error))}\n`);
    return ExitStatus.USAGE;
  }
}

const REFUSALS = [UsageError, JournalUnavailable, FolderDisturbed];

/** An invalid request, or a refusal of the operating system (a full disk, say). */
function isRefusal(error: unknown): error is Error {
  const isOurs = REFUSALS.some((kind) => error instanceof kind);
  return isOurs || isOfFile(error);
}

/** Makes commander report an invalid value with its option. */
export function refusing<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof UsageError) throw new InvalidArgumentError(`${error.message}.`);
      throw error;
    }
  };
}
