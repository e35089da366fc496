/** The page for the AsyncAPI document. It has its own style, no scripts, and loads nothing. */
import type { JsonSchema, Reference } from '../openapi.js';
import { REFERENCE } from '../schemas.js';
import type { AsyncApiDocument, Message } from './document.js';
import { STYLE } from './style.js';

/** Deeper fields belong to the HTTP API's objects, which its own document describes. */
const DEPTH_MAX = 4;

export function streamPage(document: AsyncApiDocument): string {
  return new Page(document).html();
}

class Page {
  constructor(private readonly document: AsyncApiDocument) {}

  html(): string {
    const { info, operations, channels } = this.document;
    const requests = Object.values(operations).filter(({ action }) => action === 'receive');
    const sent = Object.values(operations).filter(({ action }) => action === 'send');
    const answers = new Set(requests.flatMap(({ reply }) => reply!.messages.map(lastName)));
    for (const { title } of sent) answers.delete(title);
    const { address, 'x-close-codes': codes, 'x-limits': limits } = channels.stream;
    return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(info.title)}</title><style>${STYLE}</style></head>
<body>
<h1>${escaped(info.title)}</h1>
<p>WebSocket <code>${address}</code>. The same as data: <a href="/api/asyncapi.json">AsyncAPI 3</a>. <a href="/api/docs">The HTTP API</a>.</p>
${paragraphs(info.description)}
<nav>${listOf('Requests', requests.map(titleOf))}${listOf('Answers', [...answers])}${listOf('Other messages', sent.map(titleOf))}</nav>
<h2>Requests</h2>
${requests
  .map(({ title, reply }) => {
    const names = reply!.messages.map(lastName).map((name) => linkTo(name));
    return `${this.message(title)}<p>Answered by ${names.join(', ')}.</p>`;
  })
  .join('\n')}
<h2>Answers</h2>
${[...answers].map((name) => this.message(name)).join('\n')}
<h2>Other messages</h2>
${sent.map(({ title }) => this.message(title)).join('\n')}
<h2>Close codes</h2>
${table(
  ['code', 'reason', 'what to do'],
  codes.map(({ code, reason, description }) => [
    `<code>${code}</code>`,
    `<code>${escaped(reason)}</code>`,
    escaped(description),
  ]),
)}
<h2>Limits of this exchange</h2>
${table(
  ['limit', 'value'],
  Object.entries(limits).map(([name, value]) => [
    `<code>${name}</code>`,
    value.toLocaleString('en'),
  ]),
)}
</body>
</html>
`;
  }

  private message(name: string): string {
    const message = this.document.components.messages[name]!;
    return `<h3 id="${name}">${name}</h3>\n<p>${escaped(message.summary)}.</p>\n${this.fields(message)}`;
  }

  private fields({ payload }: Message): string {
    const rows = this.rows(this.resolved(payload as JsonSchema), '', 1);
    return table(['field', 'type', 'meaning'], rows);
  }

  /** `path` is the object whose fields are listed. Each of its alternatives has a heading. */
  private rows(schema: JsonSchema, path: string, depth: number): string[][] {
    const options = this.optionsOf(schema).filter(({ properties }) => properties !== undefined);
    return options.flatMap((option) => {
      const rows = this.rowsOf(option, path, depth);
      return options.length === 1
        ? rows
        : [[`<code>${path}</code>`, 'if', nameOf(option)], ...rows];
    });
  }

  private rowsOf(option: JsonSchema, path: string, depth: number): string[][] {
    return Object.entries(option.properties ?? {}).flatMap(([name, field]): string[][] => {
      if (typeof field === 'boolean') return [];
      const value = this.resolved(field);
      const isOptional = option.required?.includes(name) !== true;
      const row = [
        `<code>${path}${name}</code>`,
        `${this.typeOf(value)}${isOptional ? ', optional' : ''}`,
        escaped(field.description ?? value.description ?? ''),
      ];
      if (depth === DEPTH_MAX) return [row];
      const inner = value.type === 'array' ? this.resolved(value.items as JsonSchema) : value;
      const mark = value.type === 'array' ? '[].' : '.';
      return [row, ...this.rows(inner, `${path}${name}${mark}`, depth + 1)];
    });
  }

  private optionsOf(schema: JsonSchema): JsonSchema[] {
    const options = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])] as JsonSchema[];
    return schema.properties === undefined && options.length > 0
      ? options.flatMap((option) => this.optionsOf(this.resolved(option)))
      : [schema];
  }

  private typeOf(schema: JsonSchema): string {
    if (schema.const !== undefined) return `<code>${escaped(JSON.stringify(schema.const))}</code>`;
    if (schema.enum !== undefined) {
      const values = schema.enum.map((value) => `<code>${escaped(JSON.stringify(value))}</code>`);
      return values.join(' or ');
    }
    if (schema.type === 'array') {
      const items = this.resolved(schema.items as JsonSchema);
      return `list of ${items.type === 'object' ? 'objects' : this.typeOf(items)}`;
    }
    if (typeof schema.type === 'string') return schema.type;
    const types = this.optionsOf(schema).map((option) =>
      option === schema ? 'any' : this.typeOf(option),
    );
    return [...new Set(types)].join(' or ');
  }

  private resolved(schema: JsonSchema | Reference): JsonSchema {
    const { $ref } = schema as Reference;
    if ($ref === undefined) return schema as JsonSchema;
    return this.document.components.schemas[$ref.slice(REFERENCE.length)]!;
  }
}

/** A constant field or the description. */
function nameOf({ properties, description }: JsonSchema): string {
  for (const [name, field] of Object.entries(properties!)) {
    const value = (field as JsonSchema).const;
    if (value !== undefined && (name === 'op' || description === undefined))
      return `<code>${name}</code> is <code>${escaped(JSON.stringify(value))}</code>`;
  }
  return escaped(description ?? '');
}

const lastName = ({ $ref }: Reference): string => $ref.slice($ref.lastIndexOf('/') + 1);
const titleOf = ({ title }: { title: string }): string => title;
const linkTo = (name: string): string => `<a href="#${name}">${name}</a>`;

function listOf(heading: string, names: readonly string[]): string {
  return `<p>${heading}</p><ul>${names.map((name) => `<li>${linkTo(name)}</li>`).join('')}</ul>`;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

function paragraphs(markdown: string): string {
  const inline = (text: string) =>
    escaped(text)
      .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
      .replace(/`(.+?)`/g, '<code>$1</code>');
  return markdown
    .split('\n\n')
    .map((part) =>
      part.startsWith('- ')
        ? `<ul>${part
            .split('\n')
            .map((line) => `<li>${inline(line.slice(2))}</li>`)
            .join('')}</ul>`
        : `<p>${inline(part)}</p>`,
    )
    .join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
