/** The stream in AsyncAPI 3.0 (https://www.asyncapi.com/docs/reference/specification/v3.0.0). */
import { BODIES, RESPONSES, withMore } from '../../json/components.js';
import { CHANNEL_NAMES } from '../../stream/channels/names.js';
import { CLIENT_MESSAGES } from '../../stream/client-messages.js';
import { CLOSE, STREAM_LIMITS } from '../../stream/limits.js';
import { OUTGOING_BYTES_MAX } from '../../stream/parts.js';
import { SERVER_MESSAGES } from '../../stream/server-messages.js';
import type { JsonSchema, Reference } from '../openapi.js';
import { TITLE } from '../prose.js';
import { jsonSchemasOf, REFERENCE } from '../schemas.js';

const ADDRESS = '/api/stream';
const CHANNEL: Reference = { $ref: '#/channels/stream' };

const DESCRIPTION = `Market data, your account, and order entry over one WebSocket. Messages are text, one JSON object each, in both directions.

- A **snapshot** replaces your state of a channel; a **delta** changes it. \`channelSequence\` numbers the messages of a channel (with gaps: one is missing if the \`previousSequence\` of a delta is higher than your last number), and \`sequence\` is the journal sequence that a message is true at.
- Every message is durable before it is sent, and messages are sent in the order of the commands.
- Every request may have an \`id\`, which its answers repeat. Requests are answered in order, and need not wait for the answers before.
- A message of more than ${OUTGOING_BYTES_MAX} bytes travels in **parts**, which follow one another: join the \`text\` of parts 1 to \`parts\`, and read the result as the message.
- Numbers, ids, names and errors are those of the HTTP API, which \`/api/docs\` describes.
- The **channels** are ${CHANNEL_NAMES.map((name) => `\`${name}\``).join(', ')}.`;

type ClientName = keyof typeof CLIENT_MESSAGES;

export interface Message {
  name: string;
  title: string;
  summary: string;
  contentType: 'application/json';
  payload: Reference;
  /** The field with the same value in a request and its answers. */
  correlationId?: { location: string; description: string };
}

/** An operation from the exchange's side, which receives requests and sends all else. */
interface Operation {
  action: 'send' | 'receive';
  channel: Reference;
  title: string;
  summary: string;
  messages: Reference[];
  reply?: { channel: Reference; messages: Reference[] };
}

export type AsyncApiDocument = ReturnType<typeof buildStreamDocument>;

const isSnapshot = (name: string) => name.endsWith('Snapshot');
const isDelta = (name: string) => name.endsWith('Delta');
const NAMES = Object.keys(SERVER_MESSAGES);

const REPLIES: Record<ClientName, string[]> = {
  auth: ['authenticated', 'error'],
  subscribe: [...NAMES.filter(isSnapshot), 'error'],
  unsubscribe: ['unsubscribed', 'error'],
  resume: [
    'resumed',
    'replayed',
    'gap',
    ...NAMES.filter(isSnapshot),
    ...NAMES.filter(isDelta),
    'error',
  ],
  ping: ['pong', 'error'],
  order: ['orderReceipt', 'error'],
  batch: ['batchReceipt', 'error'],
};

const MATTER_OF_COURSE = ['closed', 'heartbeat', 'part', 'sessionEnding', ...NAMES.filter(isDelta)];

export function buildStreamDocument(version: string) {
  const clientNames = Object.keys(CLIENT_MESSAGES) as ClientName[];
  return {
    asyncapi: '3.0.0',
    info: {
      title: `${TITLE}: stream`,
      version,
      description: DESCRIPTION,
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: {
      exchange: {
        host: '{host}',
        protocol: 'ws',
        description: 'This exchange',
        variables: {
          host: { default: '127.0.0.1:3000', description: 'The exchange’s host and port' },
        },
        security: ['session', 'sessionCookie'].map((name) => ({
          $ref: `#/components/securitySchemes/${name}`,
        })),
      },
    },
    channels: { stream: channelOf([...clientNames, ...NAMES]) },
    operations: {
      ...Object.fromEntries(clientNames.map((name) => [name, requestOf(name)])),
      ...Object.fromEntries(MATTER_OF_COURSE.map((name) => [`send_${name}`, sendingOf(name)])),
    },
    components: {
      messages: {
        ...messagesOf(CLIENT_MESSAGES),
        ...messagesOf(SERVER_MESSAGES),
      },
      schemas: schemas(),
      securitySchemes: {
        session: { type: 'httpApiKey', name: 'x-user-token', in: 'header' },
        sessionCookie: { type: 'httpApiKey', name: 'service-session', in: 'cookie' },
      },
    },
  };
}

function channelOf(names: readonly string[]) {
  // The operator sets the total number of connections.
  const { connections: _, ...limits } = STREAM_LIMITS;
  const refs = names.map((name) => [name, { $ref: `#/components/messages/${name}` }]);
  const token = { type: 'string', description: 'A session token. Optional' };
  return {
    address: ADDRESS,
    title: 'The stream',
    description: 'One WebSocket for all channels and requests',
    messages: Object.fromEntries(refs) as Record<string, Reference>,
    bindings: {
      ws: {
        method: 'GET',
        headers: { type: 'object', properties: { 'x-user-token': token } },
        bindingVersion: '0.1.0',
      },
    },
    'x-close-codes': [...Object.values(CLOSE), WITHOUT_CODE],
    'x-limits': limits,
  };
}

const WITHOUT_CODE = {
  code: 1006,
  reason: '',
  description:
    'No code was sent: a frame was not UTF-8 or was too large, too much data was queued for all clients, or the exchange was killed. Reconnect and resume.',
};

const inChannel = (name: string): Reference => ({ $ref: `#/channels/stream/messages/${name}` });

function requestOf(name: ClientName): Operation {
  return {
    action: 'receive',
    channel: CHANNEL,
    title: name,
    summary: CLIENT_MESSAGES[name].description ?? '',
    messages: [inChannel(name)],
    reply: { channel: CHANNEL, messages: REPLIES[name].map(inChannel) },
  };
}

function sendingOf(name: string): Operation {
  return {
    action: 'send',
    channel: CHANNEL,
    title: name,
    summary: SERVER_MESSAGES[name]?.description ?? '',
    messages: [inChannel(name)],
  };
}

function messagesOf(schemasByName: typeof SERVER_MESSAGES): Record<string, Message> {
  const entries = Object.entries(schemasByName).map(([name, schema]): [string, Message] => [
    name,
    {
      name,
      title: name,
      summary: schema.description ?? '',
      contentType: 'application/json',
      payload: { $ref: REFERENCE + schemaName(name) },
      correlationId: { location: '$message.payload#/id', description: 'The request’s id' },
    },
  ]);
  for (const [name, message] of entries)
    if (MATTER_OF_COURSE.includes(name)) delete message.correlationId;
  return Object.fromEntries(entries);
}

/** Distinct from the names of HTTP bodies. */
function schemaName(message: string): string {
  return `${message[0]!.toUpperCase()}${message.slice(1)}Message`;
}

function schemas(): Record<string, JsonSchema> {
  const renamed = (byName: typeof SERVER_MESSAGES) =>
    Object.fromEntries(Object.entries(byName).map(([name, schema]) => [schemaName(name), schema]));
  const all = {
    ...jsonSchemasOf(withMore(RESPONSES, renamed(SERVER_MESSAGES)), 'output', 'draft-7'),
    ...jsonSchemasOf(withMore(BODIES, renamed(CLIENT_MESSAGES)), 'input', 'draft-7'),
  };
  const used = new Set<string>();
  const use = (name: string) => {
    if (used.has(name)) return;
    used.add(name);
    for (const [, other] of JSON.stringify(all[name]).matchAll(REFERENCES)) use(other!);
  };
  for (const name of [...NAMES, ...Object.keys(CLIENT_MESSAGES)]) use(schemaName(name));
  const names = [...used].sort();
  return Object.fromEntries(names.map((name) => [name, all[name]!]));
}

const REFERENCES = /"#\/components\/schemas\/(\w+)"/g;
