/** The served guides, and /llms.txt (https://llmstxt.org). Every link leads to a served page. */
import { readFileSync } from 'node:fs';
import { programFolder } from '../../persistence/storage/program-folder.js';

/** Paths in the repository, by name below /api/docs. */
export const GUIDES: Readonly<Record<string, string>> = {
  'recipes.md': 'gateway/RECIPES.md',
  'api.md': 'gateway/API.md',
  'protocol.md': 'gateway/stream/PROTOCOL.md',
  'rules.md': 'engine/RULES.md',
};

export const LLMS = `# Quarter-hour exchange

> An exchange for 15-minute UP/DOWN prediction markets on asset prices. JSON over HTTP under /api, and a WebSocket stream with order entry.

## Guides

- [Recipes](/api/docs/recipes.md): the ten requests that programs send most, with curl, in TypeScript and in Python
- [The API](/api/docs/api.md): routes, orders, money, errors, idempotency keys, limits
- [The stream](/api/docs/protocol.md): channels, order entry, resuming
- [The rules](/api/docs/rules.md): matching, fees, settlement

## Contract

- [OpenAPI 3.1](/api/openapi.json): every route with its schemas
- [AsyncAPI 3](/api/asyncapi.json): every message of the stream

## Clients

- [Clients](/client/): an npm package and one file of Python
`;

export function guides(): Record<string, string> {
  const read = (path: string) => readFileSync(new URL(path, programFolder()), 'utf8');
  return Object.fromEntries(
    Object.entries(GUIDES).map(([name, path]) => [name, withServedLinks(path, read(path))]),
  );
}

/** Points links at the served guides. A link to any other file becomes plain text. */
function withServedLinks(path: string, markdown: string): string {
  return markdown.replace(
    /\[([^\]]+)\]\(([^)#\s]*)(#[^)\s]*)?\)/g,
    (link, text, target, anchor = '') => {
      if (target === '' || /^(https?:|\/)/.test(target)) return link;
      const file = new URL(target, `file:///${path}`).pathname.slice(1);
      const served = Object.keys(GUIDES).find((name) => GUIDES[name] === file);
      return served === undefined ? text : `[${text}](/api/docs/${served}${anchor})`;
    },
  );
}
