/** Checks stream messages against the AsyncAPI document. */
import { Ajv, type ValidateFunction } from 'ajv';
import type { AsyncApiDocument } from '../../../gateway/contract/stream/document.js';
import { buildStreamDocument } from '../../../gateway/contract/stream/document.js';
import { programVersion } from '../../../persistence/storage/program-folder.js';
import { FORMATS, KEYWORDS } from './check.js';

interface Checks {
  document: AsyncApiDocument;
  messages: Map<string, ValidateFunction>;
  /** Messages sent by the exchange. */
  sent: ValidateFunction[];
}
let checks: Checks | null = null;

export function streamDocument(): AsyncApiDocument {
  return checksOf().document;
}

/** Names of all described messages that `message` matches. */
export function namesOfMessage(message: unknown, from = [...checksOf().messages.keys()]): string[] {
  return from.filter((name) => checksOf().messages.get(name)!(message));
}

/** @throws Error for a message that the exchange may not send, by the document */
export function checkStreamMessage(message: unknown): void {
  if (checksOf().sent.some((isValid) => isValid(message))) return;
  throw new Error(`the AsyncAPI document has no such message: ${JSON.stringify(message)}`);
}

function checksOf(): Checks {
  if (checks !== null) return checks;
  const document = buildStreamDocument(programVersion());
  const ajv = new Ajv({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    keywords: KEYWORDS,
    formats: FORMATS,
    validateSchema: false,
  });
  ajv.addVocabulary(Object.keys(document));
  ajv.addSchema(document, 'stream', undefined, false);
  const messages = Object.entries(document.components.messages).map(
    ([name, { payload }]) => [name, ajv.compile({ $ref: `stream${payload.$ref}` })] as const,
  );
  const byName = new Map(messages);
  const names = Object.values(document.operations).flatMap(({ action, messages, reply }) =>
    (action === 'send' ? messages : reply!.messages).map(({ $ref }) => $ref.split('/').at(-1)!),
  );
  const sent = [...new Set(names)].map((name) => byName.get(name)!);
  checks = { document, messages: byName, sent };
  return checks;
}
