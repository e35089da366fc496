/** The document's error responses: one component per status, codes and headers. */
import { ERROR_CODES } from '../commands/errors.js';
import type { Operation, Reference, Response } from './openapi.js';

/** A response with more codes is named after its first operation, to keep names short. */
const CODES_IN_NAME_MAX = 2;

export class SharedResponses {
  readonly components: Record<string, Response> = {};
  private readonly names = new Map<string, string>();

  of(operationId: string, responses: Operation['responses']): Operation['responses'] {
    const entries = Object.entries(responses).map(([status, response]) => {
      const isOwn = Number(status) < 400 || '$ref' in response;
      return [status, isOwn ? response : this.share(`${operationId}${status}`, response)];
    });
    return Object.fromEntries(entries);
  }

  private share(place: string, response: Response): Reference {
    const key = JSON.stringify(response);
    let name = this.names.get(key);
    if (name === undefined) {
      name = this.nameFor(place, response);
      this.names.set(key, name);
      this.components[name] = response;
    }
    return { $ref: `#/components/responses/${name}` };
  }

  private nameFor(place: string, { content }: Response): string {
    const examples = content?.['application/json']?.examples ?? {};
    const codes = ERROR_CODES.filter((code) => code in examples);
    const byCodes = codes.map(pascalCase).join('Or');
    const isFree = codes.length <= CODES_IN_NAME_MAX && !(byCodes in this.components);
    return isFree ? byCodes : pascalCase(place);
  }
}

function pascalCase(text: string): string {
  const words = text.split('_');
  return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}
