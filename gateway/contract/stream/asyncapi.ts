/**
 * The parts of an AsyncAPI 3.0 document that are used here
 * (https://www.asyncapi.com/docs/reference/specification/v3.0.0).
 */
import type { JsonSchema, Reference } from '../openapi.js';

export interface Message {
  name: string;
  title: string;
  summary: string;
  contentType: 'application/json';
  payload: Reference;
  /** Where the request and its answers have the same value. */
  correlationId?: { location: string; description: string };
}

export interface Channel {
  address: string;
  title: string;
  description: string;
  messages: Record<string, Reference>;
  bindings: { ws: { method: 'GET'; headers: JsonSchema; bindingVersion: string } };
  /** Why the exchange closes connections. */
  'x-close-codes': CloseCode[];
  'x-limits': Record<string, number>;
}

export interface CloseCode {
  code: number;
  reason: string;
  description: string;
}

/** Seen from the exchange: it receives requests and sends everything else. */
export interface Operation {
  action: 'send' | 'receive';
  channel: Reference;
  title: string;
  summary: string;
  messages: Reference[];
  reply?: { channel: Reference; messages: Reference[] };
}

export interface AsyncApiDocument {
  asyncapi: '3.0.0';
  info: {
    title: string;
    version: string;
    description: string;
    license: { name: string };
    externalDocs: { url: string; description: string };
  };
  defaultContentType: 'application/json';
  servers: Record<string, object>;
  channels: { stream: Channel };
  operations: Record<string, Operation>;
  components: {
    messages: Record<string, Message>;
    schemas: Record<string, JsonSchema>;
    securitySchemes: Record<string, object>;
  };
}
