/** The command lines of the benchmark, the soak and the attacks. */
import { Command, InvalidArgumentError } from 'commander';
import { programVersion } from '../../../persistence/storage/program-folder.js';

/** A command whose exit status is 2 when its arguments are invalid. */
export function commandLine(name: string, description: string): Command {
  return new Command(name)
    .version(programVersion())
    .description(description)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

export function numberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (text.trim() !== '' && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
  };
}

export function wholeNumberFrom(least: number, most: number): (text: string) => number {
  const parse = numberFrom(least, most);
  return (text) => Math.floor(parse(text));
}

/** Parses a list, each entry by `parse`. */
export function listOf<T>(parse: (text: string) => T): (text: string) => T[] {
  return (text) => text.split(',').map(parse);
}

export function oneOf<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const name = names.find((each) => each === text);
    if (name !== undefined) return name;
    throw new InvalidArgumentError(`It must be one of ${names.join(', ')}, not ${text}.`);
  };
}
